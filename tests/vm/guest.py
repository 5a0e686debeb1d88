# SPDX-License-Identifier: MIT
"""A virtual machine: a kernel, some modules of it, some programs of ours with their libraries, and what they said.

No disk and no network: the first file system is all that it has. qemu interprets, so that no /dev/kvm is needed, and
its processors take turns: at the same time, one may run code that the other is about to replace, as a kernel does where
an event is switched, and stops with "Oops: int3".
"""
import os
import re
import shutil
import subprocess
import tempfile

INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "init.sh")
COMMAND_LINE = ("console=ttyS0 quiet loglevel=4 panic=-1 nokaslr mitigations=off tsc=reliable no_timer_check "
                "rcupdate.rcu_expedited=1")


class Guest:
    """What a machine said: modules that were loaded, of each test its exit status and its lines."""

    def __init__(self, text):
        self.modules = set()
        self.tests = {}
        self.is_finished = False
        lines = None
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if lines is None and word == "module":
                self.modules.add(rest.split()[0])
            elif lines is None and word == "begin":
                lines = []
                self.tests[rest] = (None, lines)
            elif word == "end" and lines is not None and len(rest.split()) == 2 and rest.split()[0] in self.tests:
                name, status = rest.split()
                self.tests[name] = (int(status), lines)
                lines = None
            elif lines is not None:
                lines.append(line)
            else:
                self.is_finished |= word == "finished"


def libraries(program):
    """Files that it is linked with, as the loader finds them."""
    text = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"(?:=> |^\s*)(/\S+) \(", text, re.M)


def fill(folder, modules, files, tests):
    """The first file system. modules: {name and options: bytes}, in the order in which they are loaded; files: {path inside: path here}, links of which stay links; tests: [(name, command)]."""
    wanted = {"bin/busybox": "/bin/busybox", "init": INIT, **files}
    for path in list(files.values()):
        if os.access(path, os.X_OK) and not path.endswith((".o", ".sh")):
            wanted.update((library.lstrip("/"), library) for library in libraries(path))
    for target, source in wanted.items():
        path = os.path.join(folder, target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(source, path, follow_symlinks=target not in files)
    for name in ("proc", "sys", "dev", "tmp", "modules"):
        os.mkdir(os.path.join(folder, name))
    for name, data in modules.items():
        with open(os.path.join(folder, "modules", name.split()[0] + ".ko"), "wb") as file:
            file.write(data)
    for path, lines in (("modules/order", modules), ("tests", (" ".join(test) for test in tests))):
        with open(os.path.join(folder, path), "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))


def pack(folder, target):
    names = subprocess.run(["find", "."], cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    with open(target, "wb") as file:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=folder, input=names, stdout=file, check=True)


def boot(image, archive, log, limit_s):
    """What came over the second serial line; the kernel's own words go to `log`."""
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-machine", "q35", "-cpu", "max", "-smp", "2",
               "-m", "2048", "-display", "none", "-nodefaults", "-no-reboot",
               "-serial", f"file:{log}", "-serial", "stdio",
               "-kernel", image, "-initrd", archive, "-append", COMMAND_LINE]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=limit_s, check=False).stdout
    except subprocess.TimeoutExpired as expired:
        return expired.stdout or b""


def run(image, modules, files, tests, log, limit_s=1200):
    """What the machine said. Its bytes stand in the file `log`.said too."""
    with tempfile.TemporaryDirectory() as work:
        folder, archive = os.path.join(work, "root"), os.path.join(work, "root.cpio")
        os.mkdir(folder)
        fill(folder, modules, files, tests)
        pack(folder, archive)
        said = boot(image, archive, log, limit_s)
        with open(f"{log}.said", "wb") as file:
            file.write(said)
        return Guest(said.decode(errors="replace"))

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""duet VERB --host: another machine, which is a stand-in for ssh that runs a shell here with an empty environment and a
home of its own; and a real sshd in a bare Debian 12, where nothing of duet is installed.

The second part needs root, sshd, and mmdebstrap with a mirror. DUET_REMOTE_ROOT names a folder in which the bootstrap is
kept for the next run.
"""
import contextlib
import glob
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import time

import duet_test
from duet_test import DUET, PATIENCE, Skip, counted, run, text

t = duet_test.Suite()

# ---- a stand-in for ssh ----

STUB = """#!/bin/sh
while :; do
  case $1 in
  -O) exit 255;;
  -o) shift 2;;
  --) shift; break;;
  *) shift;;
  esac
done
echo "$1" >>{home}/hosts
shift
cd {home} || exit
echo 'a start file prints, too'
setsid -w env -i HOME={home} PATH={tools}:/usr/bin:/bin POCL_DEVICES=pthread LC_ALL=C {variables} {shell} -c "$*"
exit $?
"""


class Machine:
    """A home of its own, and programs that stand before those of this machine in PATH."""

    def __init__(self, name, tools=(), shell="sh", variables=""):
        self.folder = t.path(name)
        self.home = os.path.join(self.folder, "home")
        self.tools = os.path.join(self.folder, "tools")
        self.here = os.path.join(self.folder, "here")
        for folder in (self.home, self.tools, self.here):
            os.makedirs(folder)
        for tool, body in tools:
            self.write(os.path.join(self.tools, tool), f"#!/bin/sh\n{body}\n")
        if not any(tool == "id" for tool, _ in tools):
            self.write(os.path.join(self.tools, "id"), "#!/bin/sh\necho 1000\n")  # root's folder is not in its home
        self.ssh = os.path.join(self.folder, "ssh")
        self.write(self.ssh, STUB.format(home=self.home, tools=self.tools, shell=shell, variables=variables))
        self.cache = os.path.join(self.home, ".cache", "duet")

    @staticmethod
    def write(path, body):
        with open(path, "w", encoding="utf-8") as file:
            file.write(body)
        os.chmod(path, 0o755)

    def command(self, verb, *words):
        return [DUET, verb, "--host", "box", "--ssh", self.ssh, *words]

    def run(self, verb, *words, **options):
        options.setdefault("cwd", self.here)
        return run(self.command(verb, *words), **options)

    def start(self, *words, **options):
        return subprocess.Popen(self.command("record", *words), cwd=self.here, env=duet_test.clean_environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True, preexec_fn=duet_test.default_signals, **options)

    def bundles(self):
        return glob.glob(os.path.join(self.cache, "*-*", "bin", "duet"))

    def recordings(self):
        return glob.glob(os.path.join(self.cache, "recordings", "*", "recording.duet"))


def path_named(stderr):
    """The path of the recording that was left on the other machine."""
    found = re.search(r"the recording is on \S+ in (\S+);", text(stderr))
    return found.group(1) if found else None


def wait_for(condition, seconds=20):
    end = time.monotonic() + PATIENCE * seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def check_counts(path, stdout):
    facts = counted(stdout)
    document = t.report(path)
    calls = {row["name"]: row["count"] for row in document["api"]}
    t.true(facts["launched"] > 0, "the program launched")
    t.equal({name: calls.get(name) for name in facts["call"]}, facts["call"], "calls")
    t.equal(sum(row["count"] for row in document["kernels"]), facts["command"]["kernel"], "kernels")
    t.ledger(document)
    return document


COUNTS = duet_test.program("counts")
SOCKETS = t.path("sockets")
os.makedirs(SOCKETS)
os.environ["XDG_RUNTIME_DIR"] = SOCKETS
box = Machine("box")

with t.case("the counts of a program there are its own, and its symbols are here"):
    t.wanted()
    result = box.run("record", "-o", "run.duet", "--", COUNTS)
    t.equal((result.status, text(result.stderr)), (0, ""), "status and stderr")
    trace = os.path.join(box.here, "run.duet")
    check_counts(trace, result.stdout.replace(b"a start file prints, too\n", b""))
    t.equal(os.stat(trace).st_mode & 0o777, 0o600, "mode")
    t.true(glob.glob(trace + ".symbols/.build-id/*/*"), "symbol files")
    t.equal(len(box.bundles()), 1, "bundles")
    t.equal(box.recordings(), [], "recordings left there")
    t.equal(set(os.listdir(box.here)), {"run.duet", "run.duet.symbols"}, "files here")

with t.case("a second run uses the same bundle, and its libraries do not reach the program"):
    t.wanted()
    before = [(path, os.stat(path).st_ino, os.stat(path).st_mtime_ns) for path in box.bundles()]
    result = box.run("record", "--no-archive", "-o", "env.duet", "--", "env")
    t.equal(result.status, 0, text(result.stderr))
    t.equal([(path, os.stat(path).st_ino, os.stat(path).st_mtime_ns) for path in box.bundles()], before, "bundle")
    t.true(b"bundled" not in result.stdout and b"LD_LIBRARY_PATH" in result.stdout or
           b"LD_LIBRARY_PATH" not in result.stdout, text(result.stdout))
    t.true(not os.path.exists(os.path.join(box.here, "env.duet.symbols")), "no archive")

HOSTILE = ["", " ", "a b", "'", '"', "it's", "new\nline\n", "\n", "-x", "--host", "--", "$HOME", "`id`", "$(id)", "\\", "\\n",
           "!", "!!", "*", "~", "#", ";", "&", "|", ">x", "(", "%s", "\t", "é", "'\\''", "\r"]

with t.case("arguments arrive byte by byte, for each login shell"):
    t.wanted()
    code = "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    every = [os.fsdecode(bytes([byte])) for byte in range(1, 256)] + [os.fsdecode(bytes(range(1, 256)))]
    words = HOSTILE + every
    for shell in ("sh", "bash", "dash", "csh", "fish", "zsh"):
        if not shutil.which(shell):
            continue
        other = Machine("shell_" + shell, shell=shell)
        os.makedirs(os.path.dirname(other.cache))
        os.symlink(box.cache, other.cache + ".link")
        os.makedirs(other.cache)
        for path in glob.glob(os.path.join(box.cache, "*-*")):
            shutil.copytree(path, os.path.join(other.cache, os.path.basename(path)), symlinks=True)
        result = other.run("record", "--no-archive", "--collect", "cpu", "--", "python3", "-c", code, *words)
        t.equal(result.status, 0, f"{shell}: {text(result.stderr)}")
        got = result.stdout.partition(b"too\n")[2].split(b"\0")
        t.equal(got, [os.fsencode(word) for word in words], f"arguments with {shell}")
        t.equal(t.report(os.path.join(other.here, "duet.duet"))["command"].count("--host"), 1, "command in the trace")

with t.case("status of the program, of a missing one, and of a wrong option"):
    t.wanted()
    for words, want in ((["sh", "-c", "exit 3"], 3), (["sh", "-c", "exit 255"], 255), (["sh", "-c", "exit 125"], 125),
                        (["sh", "-c", "kill -9 $$"], 137), (["sh", "-c", "kill -HUP $$"], 129),
                        (["./no-such-program"], 127), (["/etc/passwd"], 126)):
        os.makedirs(os.path.join(box.here, "status"), exist_ok=True)
        path = os.path.join("status", f"{want}.duet")
        result = box.run("record", "--no-archive", "--collect", "cpu", "-o", path, "--", *words)
        t.equal(result.status, want, f"{words}: {text(result.stderr)}")
        t.equal(os.path.exists(os.path.join(box.here, path)), want not in (126, 127), f"a trace of {words}")
        t.equal(box.recordings(), [], "left there")
    result = box.run("record", "-F", "often", "--", "true")
    t.equal((result.status, b"--frequency takes a whole number" in result.stderr), (125, True), text(result.stderr))
    result = box.run("record", "--frequncy", "5", "--", "true")
    t.equal((result.status, b"did you mean '--frequency'" in result.stderr), (125, True), text(result.stderr))

with t.case("stdin is the program's, to the last byte"):
    t.wanted()
    data = os.urandom(1 << 20)
    result = box.run("record", "--no-archive", "--collect", "cpu", "--", "sha256sum", stdin=data)
    want = subprocess.run(["sha256sum"], input=data, stdout=subprocess.PIPE, check=True).stdout
    t.equal(result.stdout.partition(b"too\n")[2], want, "what the program read")

with t.case("the working directory there"):
    t.wanted()
    shared = t.path("shared folder 'x'")
    os.makedirs(shared)
    quick = ["--no-archive", "--collect", "cpu", "-o", os.path.join(box.here, "dir.duet")]
    for words, folder, want in (([], shared, shared), (["--remote-dir", box.tools], shared, box.tools),
                                (["--remote-dir", ".cache"], shared, os.path.join(box.home, ".cache"))):
        result = box.run("record", *words, *quick, "--", "pwd", cwd=folder)
        t.equal((result.status, result.stdout.partition(b"too\n")[2]), (0, want.encode() + b"\n"), f"{words}")
    gone = t.path("gone")
    os.makedirs(gone)
    result = run(["sh", "-c", f"cd {gone} && rmdir {gone} && exec \"$@\"", "-", *box.command("record", *quick, "--", "pwd")])
    t.equal(result.stdout.partition(b"too\n")[2], box.home.encode() + b"\n", "a folder that is not there")
    result = box.run("record", "--remote-dir", "/no/such", *quick, "--", "pwd")
    t.equal((result.status, b"/no/such" in result.stderr), (125, True), text(result.stderr))

with t.case("a configuration file of this side"):
    t.wanted()
    with open(os.path.join(box.here, "site.textproto"), "w", encoding="utf-8") as file:
        file.write('collect: ["cpu"] command: ["sh", "-c", "exit 7"]\n')
    result = box.run("record", "--no-archive", "-c", "site.textproto", "-o", "site.%h.duet")
    t.equal(result.status, 7, text(result.stderr))
    t.readable(os.path.join(box.here, f"site.{os.uname().nodename}.duet"))
    result = box.run("record", "-c", "none.textproto", "--", "true")
    t.equal((result.status, b"none.textproto" in result.stderr), (125, True), text(result.stderr))

SLEEPS = ["--no-archive", "--collect", "cpu", "-o", "sleep.duet", "--", "sh", "-c",
          "trap 'echo got' INT; echo ready; i=0; while [ $i -lt 60 ]; do sleep 0.05; i=$((i+1)); done; exit 9"]

with t.case("a signal ends the recording, and not the program"):
    t.wanted()
    process = box.start(*SLEEPS)
    process.stdout.readline()
    t.equal(process.stdout.readline(), b"ready\n", "the program runs")
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60 * PATIENCE)
    t.equal((process.returncode, stdout), (9, b""), text(stderr))
    document = t.report(os.path.join(box.here, "sleep.duet"))
    t.true(document["wall_ns"] < 2.5e9, f"the recording ended with the signal: {document['wall_ns']}")
    t.equal(box.recordings(), [], "left there")


def lose(process, kill):
    """Starts, loses the connection, and returns (status, stderr, the path that is named)."""
    process.stdout.readline()
    t.equal(process.stdout.readline(), b"ready\n", "the program runs")
    time.sleep(0.3)
    kill(process)
    _, stderr = process.communicate(timeout=60 * PATIENCE)
    return process.returncode, stderr, path_named(stderr)


def ended(path):
    """Whether the recorder there has written the index, which it does at the end."""
    about = run([DUET, "info", "--json", path])
    return about.status == 0 and not json.loads(about.stdout)["damage"]["damaged"]


def check_ended(path):
    """The recording there ends soon, and before the program does."""
    t.true(wait_for(lambda: ended(path)), "the recording there has an index")
    wall_ns = t.readable(path)["wall_ns"]
    t.true(wall_ns < 2.5e9, f"the recording ended with the connection: {wall_ns}")


def kill_children(process):
    for child in subprocess.run(["pgrep", "-P", str(process.pid)], stdout=subprocess.PIPE, check=True).stdout.split():
        os.kill(int(child), signal.SIGKILL)


with t.case("a lost connection ends the recording there, and its path is named"):
    t.wanted()
    status, stderr, path = lose(box.start(*SLEEPS), kill_children)
    t.equal(status, 125, text(stderr))
    t.true(b"connection was lost" in stderr and path, text(stderr))
    check_ended(path)
    t.equal(os.path.exists(os.path.join(box.here, "sleep.duet.symbols")), False, "nothing here")
    shutil.rmtree(os.path.dirname(path))

with t.case("kill -9 of duet here ends the recording there"):
    t.wanted()
    lose(box.start(*SLEEPS), lambda process: process.kill())
    t.true(wait_for(box.recordings), "a recording there")
    path = box.recordings()[0]
    check_ended(path)
    shutil.rmtree(os.path.dirname(path))

with t.case("a third signal ends a connection that is dead"):
    t.wanted()
    # the ssh of this machine answers as long as the network does
    other = Machine("dead")
    alive = other.ssh + ".alive"
    os.rename(other.ssh, alive)
    other.write(other.ssh, f"""#!/bin/sh
case " $* " in *" -O "*) exit 255;; esac
[ -e {other.folder}/dead ] && exec sleep 1000
exec {alive} "$@"
""")
    process = other.start(*SLEEPS)
    process.stdout.readline()
    t.equal(process.stdout.readline(), b"ready\n", "the program runs")
    open(os.path.join(other.folder, "dead"), "w", encoding="ascii").close()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):  # at once: the run has no time to end
        process.send_signal(number)
    _, stderr = process.communicate(timeout=60 * PATIENCE)
    t.equal((process.returncode, b"connection was lost" in stderr), (125, True), text(stderr))

with t.case("a connection that is lost and cannot be made again is given up"):
    t.wanted()
    # its processes end as ssh does, with 255, and later ones wait for a machine that does not answer
    other = Machine("silent")
    alive = other.ssh + ".alive"
    os.rename(other.ssh, alive)
    other.write(other.ssh, f"""#!/bin/sh
case " $* " in *" -O exit "*) [ -e {other.folder}/dead ] && exec sleep 1000;; *" -O "*) exit 255;; esac
[ -e {other.folder}/dead ] && exec sleep 1000
case " $* " in *"exec sh "*/run*) ;; *) exec {alive} "$@";; esac
{alive} "$@" & wait_for=$!
trap 'kill $wait_for; exit 255' USR1
wait $wait_for
""")
    process = other.start(*SLEEPS)
    process.stdout.readline()
    t.equal(process.stdout.readline(), b"ready\n", "the program runs")
    open(os.path.join(other.folder, "dead"), "w", encoding="ascii").close()
    begun = time.monotonic()
    for child in subprocess.run(["pgrep", "-P", str(process.pid)], stdout=subprocess.PIPE, check=True).stdout.split():
        with open(f"/proc/{int(child)}/cmdline", "rb") as file:
            if b"/run" in file.read():
                os.kill(int(child), signal.SIGUSR1)
    _, stderr = process.communicate(timeout=100 * PATIENCE)
    t.equal((process.returncode, b"connection was lost" in stderr), (125, True), text(stderr))
    t.true(time.monotonic() - begun < 60 * PATIENCE, f"{time.monotonic() - begun:.0f} s")

with t.case("a full disk here leaves the recording there"):
    t.wanted()
    result = box.run("record", "--no-archive", "-o", "/dev/full", "--", COUNTS)
    path = path_named(result.stderr)
    t.equal((result.status, b"No space left" in result.stderr), (125, True), text(result.stderr))
    if t.true(path, text(result.stderr)):
        check_counts(path, result.stdout)
        shutil.rmtree(os.path.dirname(path))

with t.case("a file that is not a trace is not replaced"):
    t.wanted()
    with open(os.path.join(box.here, "notes"), "w", encoding="utf-8") as file:
        file.write("mine\n")
    result = box.run("record", "-o", "notes", "--", "touch", t.path("has_run"))
    t.equal((result.status, b"is not a trace" in result.stderr), (125, True), text(result.stderr))
    t.equal((open(os.path.join(box.here, "notes"), encoding="utf-8").read(), os.path.exists(t.path("has_run"))),
            ("mine\n", False), "the file, and the program")

with t.case("an archive of symbol files writes regular files below its folder only"):
    t.wanted()
    outside, links = t.path("outside"), t.path("links")
    os.makedirs(outside)
    os.makedirs(links)
    os.symlink(outside, os.path.join(links, "way"))
    with open(os.path.join(links, "file"), "w", encoding="ascii") as file:
        file.write("a symbol file\n")
    other = Machine("hostile", [("tar", f'case "$*" in *-cf*) exec /usr/bin/tar -C {links} -cf - .;; esac\n'
                                        'exec /usr/bin/tar "$@"')])
    result = other.run("record", "--", COUNTS)
    t.equal((result.status, b"not all symbol files" in result.stderr), (0, True), text(result.stderr))
    symbols = os.path.join(other.here, "duet.duet.symbols")
    t.equal(os.listdir(symbols), ["file"], "what was kept")
    # such a link was left by an earlier recording
    os.symlink(outside, os.path.join(symbols, "way"))
    os.remove(os.path.join(links, "way"))
    os.makedirs(os.path.join(links, "way"))
    os.rename(os.path.join(links, "file"), os.path.join(links, "way", "file"))
    result = other.run("record", "--", COUNTS)
    t.equal((result.status, b"not all symbol files" in result.stderr), (0, True), text(result.stderr))
    t.equal((os.listdir(outside), sorted(os.listdir(symbols))), ([], ["file", "way"]), "what was written")

with t.case("the name of a machine is one part of a file's name"):
    t.wanted()
    other = Machine("named", [("uname", '[ "$1" = -n ] && echo "../a b$" || exec /usr/bin/uname "$@"')])
    result = other.run("record", "--no-archive", "--collect", "cpu", "-o", "%h.duet", "--", "true")
    t.equal((result.status, os.listdir(other.here)), (0, ["_._a_b_.duet"]), text(result.stderr))

with t.case("a command of ssh with a socket of its own"):
    t.wanted()
    result = run([DUET, "record", "--host", "box", "--ssh", box.ssh + " -o ControlPath=/x", "--no-archive", "--collect", "cpu",
                  "-o", t.path("socket.duet"), "--", "true"])
    t.equal(result.status, 0, text(result.stderr))

with t.case("machines where a bundle does not run"):
    t.wanted()
    for name, tools, want in (
            ("old", [("ldd", "echo 'ldd (GNU libc) 2.28'")], "box: glibc 2.28 is older than 2.3"),
            ("musl", [("ldd", "echo 'musl libc (x86_64)' >&2; exit 1")], "box: its C library is not glibc"),
            ("arm", [("uname", '[ "$1" = -m ] && echo riscv64 || exec /usr/bin/uname "$@"')], "its processor is riscv64"),
            ("bsd", [("uname", '[ "$1" = -s ] && echo FreeBSD || exec /usr/bin/uname "$@"')], "its system is FreeBSD")):
        result = Machine(name, tools).run("record", "--", "true")
        t.equal((result.status, want in text(result.stderr)), (125, True), f"{name}: {text(result.stderr)}")
    result = Machine("broken", [("sha256sum", "echo 0 -")]).run("record", "--", "true")
    t.equal((result.status, b"copy of duet is damaged" in result.stderr), (125, True), text(result.stderr))

with t.case("a machine with the commands of busybox"):
    t.wanted()
    if not shutil.which("busybox"):
        raise Skip("busybox is missing")
    # its shell has an id of its own
    other = Machine("busybox", variables="XDG_CACHE_HOME=" + t.path("busybox/home/.cache"))
    for tool in ("sh", "cat", "dd", "find", "grep", "gzip", "head", "mkdir", "mktemp", "mv", "rm", "rmdir", "sha256sum",
                 "touch", "uname", "wc", "date", "sleep"):
        os.symlink(shutil.which("busybox"), os.path.join(other.tools, tool))
    result = other.run("record", "--", COUNTS)
    t.equal((result.status, text(result.stderr)), (0, ""), "status")
    check_counts(os.path.join(other.here, "duet.duet"), result.stdout)
    t.true(glob.glob(os.path.join(other.here, "duet.duet.symbols", ".build-id", "*", "*")), "symbol files")
    t.equal((len(other.bundles()), other.recordings()), (1, []), "bundle, and recordings left there")
    status, stderr, path = lose(other.start(*SLEEPS), kill_children)
    if t.true(path, text(stderr)):
        check_ended(path)

with t.case("an installed duet of the same version is used"):
    t.wanted()
    other = Machine("installed")
    os.symlink(DUET, os.path.join(other.tools, "duet"))
    result = other.run("record", "--no-archive", "--", COUNTS)
    t.equal((result.status, other.bundles()), (0, []), text(result.stderr))
    check_counts(os.path.join(other.here, "duet.duet"), result.stdout)
    old = Machine("older", [("duet", "echo duet 0.0.1")])
    result = old.run("record", "--no-archive", "--collect", "cpu", "--", "true")
    t.equal((result.status, len(old.bundles())), (0, 1), "another version is not")

with t.case("a home that is read-only: the bundle is in /tmp"):
    t.wanted()
    user = str(os.getpid())
    other = Machine("read_only", [("id", f"echo {user}")])
    open(os.path.join(other.home, ".cache"), "w", encoding="ascii").close()
    try:
        result = other.run("record", "--no-archive", "--collect", "cpu", "--", "true")
        t.equal((result.status, text(result.stderr)), (0, ""), "status")
        t.true(glob.glob(f"/tmp/duet-{user}/*/bin/duet"), "bundle")
    finally:
        shutil.rmtree(f"/tmp/duet-{user}", ignore_errors=True)

with t.case("verbs that read a recording there"):
    t.wanted()
    trace = os.path.join(box.home, "there.duet")
    shutil.copy(os.path.join(box.here, "run.duet"), trace)
    shutil.rmtree(box.here + ".read", ignore_errors=True)
    folder = box.here + ".read"
    os.makedirs(folder)
    for words in (["report", trace], ["report", "--json", trace], ["info", trace], ["flame", "--folded", trace],
                  ["view", "-o", "-", trace], ["top", "--batch", "-n", "1", trace]):
        local = run([DUET, *words], cwd=folder)
        result = box.run(words[0], *words[1:], cwd=folder)
        t.equal((result.status, result.stdout.partition(b"too\n")[2] == local.stdout, text(result.stderr)),
                (local.status, True, text(local.stderr)), " ".join(words))
    t.equal(os.listdir(folder), [], "no file was written")
    for words, name in ((["view", trace], "there.html"), (["view", trace, "-o", "x.html"], "x.html"),
                        (["flame", trace], "duet.svg"), (["flamescope", trace], "there.flamescope.html")):
        local = run([DUET, words[0], trace, "-o", t.path("local.out")])
        t.equal((local.status, box.run(words[0], *words[1:], cwd=folder).status), (0, 0), "status")
        with open(t.path("local.out"), "rb") as one, open(os.path.join(folder, name), "rb") as other:
            t.true(one.read() == other.read(), f"{name} is what is written there")
    result = box.run("view", "none.duet", "-o", "none.html", cwd=folder)
    t.equal((result.status, b"none.duet" in result.stderr, os.path.exists(os.path.join(folder, "none.html"))),
            (1, True, False), text(result.stderr))
    with open(os.path.join(folder, "x.html"), "rb") as file:
        before = file.read()
    for words, want in ((["--from", "then", trace], 2), ([trace, trace], 2), (["--remote-dir", "/no/such", trace], 1)):
        result = box.run("view", "-o", "x.html", *words, cwd=folder)
        with open(os.path.join(folder, "x.html"), "rb") as file:
            t.equal((result.status, file.read() == before), (want, True), f"{words}: {text(result.stderr)}")
    t.equal(glob.glob(os.path.join(box.cache, "recordings", "*")), [], "folders left there")

with t.case("--keep-remote and --forget-bundle"):
    t.wanted()
    result = box.run("record", "--keep-remote", "--no-archive", "--collect", "cpu", "-o", "kept.duet", "--", "true")
    t.equal((result.status, len(box.recordings())), (0, 1), text(result.stderr))
    t.true(box.recordings()[0] in text(result.stderr), text(result.stderr))
    with open(box.recordings()[0], "rb") as one, open(os.path.join(box.here, "kept.duet"), "rb") as other:
        t.true(one.read() == other.read(), "the copies are equal")
    # a copy that runs, one whose guest a program has, and one that is being copied
    copies = box.bundles()
    t.equal(len(copies), 1, "bundles")
    used = os.path.join(box.cache, "0.0-0123456789abcdef")
    shutil.copytree(os.path.dirname(os.path.dirname(copies[0])), used, symlinks=True)
    os.makedirs(os.path.join(box.cache, ".part.123456"))
    with open(t.path("log"), "wb") as log:
        runner = subprocess.Popen([os.path.join(used, "bin", "duet"), "record", "--collect", "cpu", "-o", t.path("used.duet"),
                                   "--", "sleep", "1000"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  preexec_fn=duet_test.default_signals, env=duet_test.clean_environment())
    wait_for(lambda: os.path.exists(t.path("used.duet")))
    result = box.run("record", "--forget-bundle")
    t.equal((result.status, box.bundles()), (0, [os.path.join(used, "bin", "duet")]), text(result.stderr))
    t.true(b"1 copy of duet removed" in result.stderr and b"0.0-0123456789abcdef" in result.stderr, text(result.stderr))
    t.true(os.path.exists(os.path.join(box.cache, ".part.123456")), "a copy that is being made")
    runner.send_signal(signal.SIGINT)  # ends the recording; the second one leaves the program
    subprocess.run(["pkill", "-P", str(runner.pid), "sleep"], check=False)
    runner.wait(timeout=60 * PATIENCE)
    result = box.run("record", "--forget-bundle")
    t.equal((result.status, box.bundles(), len(box.recordings())), (0, [], 1), text(result.stderr))
    t.true(b"1 copy of duet removed" in result.stderr, text(result.stderr))

with t.case("wrong usage"):
    t.wanted()
    for words, want in ((["record", "--ssh", "ssh", "--", "true"], "need --host"),
                        (["record", "--host", "", "--", "true"], "--host needs the name"),
                        (["record", "--host", "-oProxyCommand=x", "--", "true"], "--host needs the name"),
                        (["record", "--host"], "--host"),
                        (["record", "--host", "box", "--ssh", "/no/such/ssh", "--", "true"], "install openssh-client"),
                        (["record", "--host", "box", "--ssh", "false", "--", "true"], "box: ")):
        result = run([DUET, *words])
        t.equal((result.status, want in text(result.stderr)), (125, True), f"{words}: {text(result.stderr)}")
    result = run([DUET, "view", "--keep-remote", "--host", "box", "f"])
    t.equal(result.status, 2, text(result.stderr))
    result = run([DUET, "record", "-o", t.path("own.duet"), "--collect", "cpu", "--", "echo", "--host", "box"])
    t.equal((result.status, result.stdout), (0, b"--host box\n"), "the program's own --host")

# ---- a real sshd in a bare Debian 12 ----

CONFIG = """Port {port}
ListenAddress 127.0.0.1
HostKey /etc/ssh/duet_host_key
AuthorizedKeysFile /root/.ssh/authorized_keys
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
StrictModes no
PidFile none
"""

CLIENT = """Host box
  HostName 127.0.0.1
  Port {port}
  User root
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking accept-new
  BatchMode yes
  LogLevel ERROR
"""


def make_bootstrap():
    """The folder of a bare Debian 12 with sshd and PoCL."""
    if os.getuid():
        raise Skip("the bootstrap needs root")
    for tool in ("mmdebstrap", "ssh", "ssh-keygen", "unshare"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is missing")
    root = os.environ.get("DUET_REMOTE_ROOT") or t.path("root")
    if os.path.exists(os.path.join(root, "usr", "sbin", "sshd")):
        return root
    sources = run(["sh", "-c", "apt-get indextargets --format '$(ORIGIN) $(CODENAME) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' "
                   "'Created-By: Packages' | sed -nE 's/^Debian bookworm[^ ]* (deb https?:)/\\1/p' | sort -u"]).stdout
    if not sources:
        raise Skip("apt has no lists of Debian 12")
    with open(t.path("apt.conf"), "wb") as file:
        file.write(run(["sh", "-c", "apt-config dump | grep -E '^Acquire::(http|https|ftp|Check|Retries)[^ ]* \"[^\"]'"]).stdout)
    made = run(["mmdebstrap", "--mode=root", "--variant=minbase",
                "--include=openssh-server,pocl-opencl-icd,ocl-icd-libopencl1", f"--aptopt={t.path('apt.conf')}",
                "--format=directory", "bookworm", root, "-"], stdin=sources, timeout=150)
    if made.status:
        raise Skip(f"mmdebstrap made no bootstrap: {text(made.stderr)[-300:]}")
    return root


@contextlib.contextmanager
def sshd():
    """Runs sshd in the bootstrap, in namespaces of its own. Gives the folder, and ssh's words for it."""
    root = make_bootstrap()
    folder = t.path("keys")
    os.makedirs(folder, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for path in (os.path.join(folder, "key"), os.path.join(root, "etc", "ssh", "duet_host_key")):
        if not os.path.exists(path):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    os.makedirs(os.path.join(root, "root", ".ssh"), exist_ok=True)
    shutil.copy(os.path.join(folder, "key.pub"), os.path.join(root, "root", ".ssh", "authorized_keys"))
    with open(os.path.join(root, "etc", "ssh", "duet_config"), "w", encoding="ascii") as file:
        file.write(CONFIG.format(port=port))
    with open(os.path.join(folder, "config"), "w", encoding="ascii") as file:
        file.write(CLIENT.format(port=port, folder=folder))
    shutil.copy(COUNTS, os.path.join(root, "root", "counts"))
    shutil.rmtree(os.path.join(root, "var", "cache", "duet"), ignore_errors=True)
    script = (f"mount -t proc proc {root}/proc && mount -t sysfs sys {root}/sys && mount -t tmpfs tmp {root}/dev/shm && "
              f"mount -t devpts -o newinstance,ptmxmode=0666 pts {root}/dev/pts && "
              f"mount --bind {root}/dev/pts/ptmx {root}/dev/ptmx && "
              f"mkdir -p {root}/run/sshd && exec chroot {root} /usr/sbin/sshd -D -e -f /etc/ssh/duet_config")
    with open(t.path("sshd.log"), "wb") as log:
        server = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        ssh = f"ssh -F {folder}/config"
        if not wait_for(lambda: run([*ssh.split(), "box", "true"]).status == 0, 5):
            with open(t.path("sshd.log"), encoding="utf-8", errors="replace") as log:
                raise Skip(f"sshd did not start: {log.read()[-300:]}")
        yield root, ssh
    finally:
        server.kill()
        server.wait()


with t.case("sshd in a bare Debian 12: counts, time, loss of the connection, a terminal, removal"):
    t.wanted()
    sockets = set(os.listdir(SOCKETS))  # of the duet that was killed
    with sshd() as (root, ssh):
        here = t.path("real")
        os.makedirs(here)

        def remote(verb, *words, **options):
            return run([DUET, verb, "--host", "box", "--ssh", ssh, *words], cwd=here, **options)

        result = remote("record", "--remote-dir", "/root", "-o", "run.duet", "--", "./counts")
        t.equal((result.status, text(result.stderr)), (0, ""), "status and stderr")
        check_counts(os.path.join(here, "run.duet"), result.stdout)
        first = result.seconds
        result = remote("record", "--remote-dir", "/root", "-o", "run.duet", "--", "./counts")
        check_counts(os.path.join(here, "run.duet"), result.stdout)
        bare = remote("record", "--no-archive", "--remote-dir", "/root", "-o", "bare.duet", "--", "./counts")
        print(f"# first {first:.2f} s, second {result.seconds:.2f} s, without symbols {bare.seconds:.2f} s")
        bundles = glob.glob(os.path.join(root, "var", "cache", "duet", "*-*"))
        t.equal(len(bundles), 1, "bundles")
        t.true(b"clEnqueueNDRangeKernel" in run([DUET, "report", os.path.join(here, "run.duet")]).stdout, "report here")

        # the shared connection is killed
        process = subprocess.Popen([DUET, "record", "--host", "box", "--ssh", ssh, *SLEEPS], cwd=here,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.equal(process.stdout.readline(), b"ready\n", "the program runs")
        time.sleep(0.5)
        masters = subprocess.run(["pgrep", "-f", "duet-ssh.*\\[mux\\]"], stdout=subprocess.PIPE, check=False).stdout.split()
        t.true(masters, "a shared connection")
        for master in masters:
            os.kill(int(master), signal.SIGKILL)
        _, stderr = process.communicate(timeout=60 * PATIENCE)
        path = path_named(stderr)
        t.equal((process.returncode, bool(path)), (125, True), text(stderr))
        if path:
            check_ended(root + path)

        # Ctrl-C on a terminal reaches both, as it does here
        pid, terminal = pty.fork()
        if not pid:
            os.chdir(here)
            os.execv(DUET, [DUET, "record", "--host", "box", "--ssh", ssh, *SLEEPS])
        seen = b""
        typed = False
        with contextlib.suppress(OSError):
            while True:
                piece = os.read(terminal, 4096)
                if not piece:
                    break
                seen += piece
                if b"ready" in seen and not typed:
                    time.sleep(0.3)
                    os.write(terminal, b"\x03")
                    typed = True
        _, status = os.waitpid(pid, 0)
        t.equal((duet_test.status_of(os.waitstatus_to_exitcode(status)), b"got" in seen), (9, True), text(seen))
        t.readable(os.path.join(here, "sleep.duet"))
        t.true(b"duet: wrote sleep.duet" in seen, text(seen))

        result = remote("record", "--forget-bundle")
        t.equal((result.status, glob.glob(os.path.join(root, "var", "cache", "duet", "*-*"))), (0, []), text(result.stderr))
        t.equal(set(os.listdir(SOCKETS)), sockets, "folders of shared connections")

t.end()

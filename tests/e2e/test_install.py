#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet install --root: into other folder trees, through links, and from folders of other users."""
import os
import shutil

import duet_test
from duet_test import DUET, GUEST, run, text

t = duet_test.Suite(needs_opencl=False)

FILES = ["etc/environment.d/60-duet.conf", "etc/profile.d/duet.sh",
         "etc/systemd/system.conf.d/60-duet.conf"]
NAME = os.path.basename(GUEST)
HOST_FILES = ["/etc/profile.d/duet.sh", "/etc/environment.d/60-duet.conf",
              "/etc/systemd/system.conf.d/60-duet.conf"]


def image(name, guest="usr/lib/duet"):
    """A tree with the guest in it."""
    t.wanted()
    root = t.path(name)
    os.makedirs(os.path.join(root, guest), mode=0o755)
    shutil.copy(GUEST, os.path.join(root, guest))
    os.makedirs(os.path.join(root, "etc"))
    return root


def install(root, verb="--system"):
    return run([DUET, "install", verb, "--root", root])


def files(folder):
    return sorted(os.path.relpath(os.path.join(base, name), folder)
                  for base, _, names in os.walk(folder) for name in names)


def content(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def layers(root, env=None):
    """What a login shell makes of OPENCL_LAYERS."""
    command = f'. "{root}/etc/profile.d/duet.sh"; printf %s "$OPENCL_LAYERS"'
    return text(run(["sh", "-c", command], env=env).stdout)


with t.case("paths in an image are those of the image"):
    root = image("plain")
    result = install(root)
    t.equal(result.status, 0, f"status, stderr {text(result.stderr)}")
    t.equal(files(os.path.join(root, "etc")), [name[4:] for name in FILES], "files")
    for name in FILES:
        t.true(root not in content(root, name), f"{name}: the image's own path is not in it")
        t.true(f"/usr/lib/duet/{NAME}" in content(root, name), f"{name}: {content(root, name)}")
        t.equal(os.stat(os.path.join(root, name)).st_mode & 0o777, 0o644, f"mode of {name}")
    t.equal(layers(root), f"/usr/lib/duet/{NAME}", "OPENCL_LAYERS")
    t.equal(layers(root, {"OPENCL_LAYERS": "/a:/b"}), f"/a:/b:/usr/lib/duet/{NAME}", "what was there")

with t.case("the messages"):
    root = image("said")
    said = text(install(root).stdout)
    for word in (f"wrote {root}/etc/profile.d/duet.sh", f"load /usr/lib/duet/{NAME}",
                 "Nothing is recorded until", "duet record -a",
                 "an ordinary user records their own programs, root those of all users",
                 f"To undo it: duet install --remove --root {root}"):
        t.true(word in said, f"{word!r} in {said}")
    said = text(install(root, "--remove").stdout)
    t.true(f"removed {root}/etc/profile.d/duet.sh" in said and "keep it" in said, said)
    t.true("nothing to remove" in text(install(root, "--remove").stdout), "a second time")
    t.equal(files(os.path.join(root, "etc")), [], "nothing is left")
    t.true("--root DIR" in text(run([DUET, "install", "--help"]).stdout).splitlines()[0], "usage")

with t.case("an image without the guest"):
    root = t.path("without")
    os.makedirs(os.path.join(root, "etc"))
    result = install(root)
    t.equal((result.status, files(root)), (1, []), "status and files")
    t.true(f"make install DESTDIR={root}" in text(result.stderr), text(result.stderr))

with t.case("links of an image stay inside it"):
    for number, link in enumerate(("/outside", "../outside", "../../../../../../outside")):
        root = image(f"links{number}")
        host = os.path.join(t.folder, "outside")
        os.makedirs(host, exist_ok=True)
        os.rmdir(os.path.join(root, "etc"))
        # the last two lead to the folder beside the image, where the image itself ends at "/"
        os.symlink(host if link == "/outside" else link, os.path.join(root, "etc"))
        inside = os.path.join(root, (host if link == "/outside" else "/outside").lstrip("/"))
        os.makedirs(inside)
        result = install(root)
        t.equal(result.status, 0, f"{link}: status, stderr {text(result.stderr)}")
        t.equal(files(host), [], f"{link}: nothing outside")
        t.equal(files(inside), [name[4:] for name in FILES], f"{link}: inside")
        t.equal(install(root, "--remove").status, 0, f"{link}: status of --remove")
        t.equal(files(inside), [], f"{link}: removed")

with t.case("a link that leads nowhere inside the image"):
    root = image("dangling")
    os.rmdir(os.path.join(root, "etc"))
    os.symlink(t.folder, os.path.join(root, "etc"))
    before = files(t.folder)
    result = install(root)
    t.equal(result.status, 1, "status")
    t.equal(files(t.folder), before, "nothing was written")

with t.case("a link in the place of a file is replaced, not followed"):
    root = image("file")
    victim = t.path("victim")
    with open(victim, "w", encoding="utf-8") as file:
        file.write("mine")
    os.makedirs(os.path.join(root, "etc/profile.d"))
    os.symlink(victim, os.path.join(root, "etc/profile.d/duet.sh"))
    t.equal(install(root).status, 0, "status")
    t.equal(content(t.folder, "victim"), "mine", "what it pointed to")
    t.true(not os.path.islink(os.path.join(root, "etc/profile.d/duet.sh")), "a file is there")

with t.case("a path is quoted"):
    for number, folder in enumerate(("opt/my duet", "opt/it's", 'opt/$HOME `id` "x" 100%',
                                     "opt/back\\slash")):
        root = image(f"quoted{number}", folder)
        moved = shutil.copy(DUET, os.path.join(root, folder))
        result = run([moved, "install", "--system", "--root", root])
        t.equal(result.status, 0, f"{folder}: status, stderr {text(result.stderr)}")
        t.equal(layers(root), f"/{folder}/{NAME}", f"{folder}: OPENCL_LAYERS")
    t.true('/$HOME `id` \\"x\\" 100%%/' in content(t.path("quoted2"), FILES[2]), "systemd's quotes")
    t.true('/$$HOME \\`id\\` \\"x\\" 100%/' in content(t.path("quoted2"), FILES[0]),
           "environment.d's quotes")
    root = image("colon", "opt/a:b")
    moved = shutil.copy(DUET, os.path.join(root, "opt/a:b"))
    result = run([moved, "install", "--system", "--root", root])
    t.equal((result.status, files(os.path.join(root, "etc"))), (1, []), "a colon: status and files")
    t.true("colon" in text(result.stderr), text(result.stderr))

with t.case("a guest that others may replace is refused"):
    for number, (path, mode) in enumerate((("usr/lib/duet", 0o775), ("usr/lib", 0o777),
                                           (f"usr/lib/duet/{NAME}", 0o666), ("", 0o777))):
        root = image(f"open{number}")
        os.chmod(os.path.join(root, path), mode)
        result = install(root)
        t.equal((result.status, files(os.path.join(root, "etc"))), (1, []), f"{path}: status, files")
        t.true(f"'{os.path.join(root, path).rstrip('/')}' can be written by users who are not root"
               in text(result.stderr) and "make install" in text(result.stderr), text(result.stderr))

with t.case("a guest of a user is refused"):
    if os.geteuid() != 0:
        raise duet_test.Skip("only root can give a file away")
    root = image("given")
    os.chown(os.path.join(root, "usr/lib/duet"), 65534, 65534)
    result = install(root)
    t.equal((result.status, files(os.path.join(root, "etc"))), (1, []), "status and files")
    t.true("belongs to a user who is not root" in text(result.stderr), text(result.stderr))

with t.case("--system from a build folder of a user"):
    t.wanted()
    if any(map(os.path.exists, HOST_FILES)):
        raise duet_test.Skip("duet is installed on this machine")
    folder = t.path("build")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    for name in (DUET, GUEST):
        shutil.copy(name, folder)
    result = run([os.path.join(folder, "duet"), "install", "--system"])
    written = [name for name in HOST_FILES if os.path.exists(name)]
    if written:
        run([DUET, "install", "--remove"])
    t.equal((result.status, written), (1, []), "status and files of this machine")
    t.true(f"'{folder}' can be written by users" in text(result.stderr), text(result.stderr))

t.end()

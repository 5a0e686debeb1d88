# SPDX-License-Identifier: MIT
"""Kernels that are not this machine's: Debian's packages of them, found by apt, downloaded and unpacked once.

A package's name holds its exact version, and a mirror drops old ones, so a kernel is asked for by its series ("6.12")
and is the newest that apt can have. What is downloaded lies in ${XDG_CACHE_HOME:-~/.cache}/duet-vm.
"""
import glob
import lzma
import os
import re
import shutil
import subprocess
import tempfile

# Besides this machine's own: suites of which the mirror may have more kernels.
MORE_SUITES = ("bookworm-backports", "trixie", "trixie-backports", "forky", "sid", "experimental")
# Modules that no GPU's driver needs, most of a package.
NO_GPU = ("net", "sound", "drivers/net", "drivers/scsi", "drivers/infiniband", "drivers/staging")
PACKAGE = re.compile(r"^linux-(image|modules|binary-unsigned|binary)-((\d+\.\d+)\S*-amd64)$")


class NotGiven(OSError):
    """The mirror does not give what apt knows of."""


def cache():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(root, "duet-vm")


def natural(text):
    """6.12.117 is behind 6.12.95; 7.3~rc7 before 7.3."""
    return [(0, int(part)) if part.isdigit() else (-1, part) if part.startswith("~") else (1, part)
            for part in re.findall(r"\d+|\D+", text)]


def packages_of(version, names):
    """What one needs of it, out of names; [] where that is not all there."""
    for image in (f"linux-binary-{version}", f"linux-binary-unsigned-{version}"):
        # Since 6.19 linux-image-* is empty.
        if image in names:
            modules = f"linux-modules-{version}"
            return [image, modules] if modules in names else []
    image = f"linux-image-{version}"
    return [image] if image in names else []


def newest(found, wanted):
    """(version, its packages) of a series, or of one version, out of Apt.kernels(); None: there is none."""
    for version, series, packages in found:
        if wanted in (series, version, version.removesuffix("-amd64")):
            return version, packages
    return None


class Apt:
    """Packages by apt: as this machine knows them, or in a state of our own, which leaves the machine's as it is."""

    def __init__(self, suites=None):
        """suites: those wanted besides the machine's own, of a state that is fetched now; None: as it is known."""
        self.options = []
        if suites is not None:
            self.options = self.own_state(suites)
            self.run("apt-get", "update")

    def run(self, *command, **arguments):
        return subprocess.run([command[0], *self.options, *command[1:]], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
                              **arguments)

    def own_state(self, suites):
        folder = os.path.join(cache(), "apt")
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        targets = self.run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(LABEL)",
                           "Created-By: Packages").stdout
        lines = set()
        for place, codename, label in (line.split(" ", 2) for line in targets.splitlines()):
            if label in ("Debian", "Debian-Security"):
                lines.add(f"deb {place} {codename} main")
            if label == "Debian":
                lines |= {f"deb {place} {suite} main" for suite in suites}
        sources = os.path.join(folder, "sources.list")
        with open(sources, "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in sorted(lines))
        return ["-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-",
                "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}"]

    def kernels(self):
        """[(version, series, its packages)] that the mirror has whole, the newest first."""
        known = [name for name in self.run("apt-cache", "pkgnames", "linux-").stdout.split()
                 if PACKAGE.match(name) and not re.search(r"-(rt|cloud)-amd64$", name)]
        # Of many it has the name only.
        lines = self.run("apt-cache", "madison", *known).stdout.splitlines()
        names = {line.split("|")[0].strip() for line in lines if line.rstrip().endswith("Packages")}
        versions = {PACKAGE.match(name)[2]: PACKAGE.match(name)[3] for name in names}
        found = [(version, versions[version], packages_of(version, names))
                 for version in sorted(versions, key=natural, reverse=True)]
        return [kernel for kernel in found if kernel[2]]

    def headers(self, version):
        """Packages to build a module with; []: the mirror has none."""
        name = f"linux-headers-{version}"
        depends = self.run("apt-cache", "depends", name).stdout
        others = re.findall(r"Depends: (linux-headers-\S+-common|linux-kbuild-\S+)", depends)
        return [name, *others] if others else []

    def download(self, packages, folder):
        result = self.run("apt-get", "download", *packages, cwd=folder)
        if result.returncode:
            raise NotGiven(f"the mirror does not give {' '.join(packages)}")


class Kernel:
    """One that is unpacked: its image, and its modules by name."""

    def __init__(self, version, folder):
        self.version = version
        self.image = (glob.glob(f"{folder}/**/vmlinuz*", recursive=True) or [None])[0]
        self.modules = {}
        for path in glob.glob(f"{folder}/**/*.ko*", recursive=True):
            name = os.path.basename(path).split(".ko")[0]
            self.modules[name.replace("-", "_")] = path

    def read_module(self, name):
        path = self.modules[name]
        with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
            return file.read()

    def closure(self, wanted):
        """{name: its bytes} of the modules and of all that they need, which come first. Without those that it lacks."""
        found = {}

        def add(name):
            if name in found or name not in self.modules:
                return
            data = self.read_module(name)
            needs = re.search(rb"\0depends=([^\0]*)\0", data)
            for need in needs[1].decode().split(",") if needs and needs[1] else []:
                add(need.replace("-", "_"))
            found[name] = data

        for name in wanted:
            add(name)
        return found


def unpack(archives, folder, wanted):
    for archive in archives:
        stream = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
        # Not each package has all that is wanted, and tar calls that an error.
        subprocess.run(["tar", "-x", "-C", folder, "--wildcards", *wanted], stdin=stream.stdout,
                       stderr=subprocess.DEVNULL, check=False)
        stream.stdout.close()
        stream.wait()


def fetch(apt, packages, name, wanted):
    """A folder of what packages hold; from the cache where it was there before."""
    folder = os.path.join(cache(), name)
    if not os.path.exists(folder):
        os.makedirs(cache(), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache()) as partial:
            apt.download(packages, partial)
            unpacked = os.path.join(partial, "unpacked")
            os.mkdir(unpacked)
            unpack(glob.glob(f"{partial}/*.deb"), unpacked, wanted)
            shutil.move(unpacked, folder)
    return folder


def fetch_kernel(apt, version, packages):
    excluded = [f"--exclude=*/kernel/{part}/*" for part in NO_GPU]
    kernel = Kernel(version, fetch(apt, packages, version, [*excluded, "*/vmlinuz*", "*/kernel/*"]))
    if not kernel.image:
        raise OSError(f"{' '.join(packages)} hold no image of a kernel")
    return kernel


def fetch_headers(apt, version):
    """The folder that a module of the kernel is built in; "": the mirror has none."""
    packages = apt.headers(version)
    if not packages:
        return ""
    # With the kernel's types (vmlinux), on which those of a module are built.
    root = fetch(apt, packages, f"{version}-build", ["*"])
    folder = f"{root}/usr/src/linux-headers-{version}"
    with open(f"{folder}/Makefile", "r+", encoding="ascii") as file:
        text = file.read().replace("include /usr/", f"include {root}/usr/")
        file.seek(0)
        file.write(text)
    return folder


def build_module(headers, source, target):
    """Why it could not be tried; ""; OSError: it failed. With its types where pahole is, which makes them."""
    if not headers:
        return "the mirror has no headers of it"
    with open(f"{headers}/.kernelvariables", encoding="ascii") as file:
        compiler = re.search(r"\bgcc-\d+\b", file.read())
    if compiler and not shutil.which(compiler[0]):
        return f"it is compiled by {compiler[0]}"
    shutil.copytree(source, target)
    options = [] if shutil.which("pahole") else ["CONFIG_DEBUG_INFO_BTF_MODULES="]
    result = subprocess.run(["make", "-C", headers, f"M={target}", *options, "modules"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        raise OSError("\n".join(result.stdout.splitlines()[-5:]))
    return ""


def without_names(module, prefix):
    """… and as if its functions that begin so were called otherwise; None: as without_types()."""
    plain = without_types(module)
    if not plain or not shutil.which("nm"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path, names = os.path.join(folder, "module.ko"), os.path.join(folder, "names")
        with open(path, "wb") as file:
            file.write(plain)
        symbols = subprocess.run(["nm", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        with open(names, "w", encoding="ascii") as file:
            for name in re.findall(rf" [tT] ({prefix}\w+)$", symbols, re.M):
                file.write(f"{name} other_{name}\n")
        subprocess.run(["objcopy", f"--redefine-syms={names}", path], check=True)
        with open(path, "rb") as file:
            return file.read()


def without_types(module):
    """The bytes of a module that has some, as if it had been built without; None: it has none, or nothing here takes
    them away."""
    if b"\0.BTF\0" not in module or not shutil.which("objcopy"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.ko")
        with open(path, "wb") as file:
            file.write(module)
        subprocess.run(["objcopy", "--remove-section=.BTF", "--remove-section=.BTF.base", path], check=True)
        with open(path, "rb") as file:
            return file.read()

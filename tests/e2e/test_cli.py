#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line itself: verbs, help, exit statuses, list, doctor and info."""
import json
import os
import re
import shutil
import subprocess
import time

import duet_test
from duet_test import DUET, ROOT, run, text

t = duet_test.Suite(needs_opencl=False)

TOPICS = ("collectors", "formats", "metrics", "stalls", "oa-sets", "disks", "interfaces")
STATUSES = re.compile(r"Verbs:(.*)")


def duet(*arguments, **options):
    return run([DUET, *arguments], **options)


def verbs():
    """As the list behind an unknown verb gives them."""
    return STATUSES.search(text(duet("no-such-verb").stderr)).group(1).split()


def document(*arguments, **options):
    """What --json prints; its first key must be the schema."""
    result = duet(*arguments, **options)
    t.equal(result.status, 0, f"status of {arguments}")
    t.equal(text(result.stderr), "", f"stderr of {arguments}")
    parsed = json.loads(result.stdout)
    t.equal(next(iter(parsed)), "schema", f"first key of {arguments}")
    return parsed


with t.case("--version"):
    result = duet("--version")
    t.equal(result.status, 0, "status")
    t.true(re.fullmatch(r"duet \d+\.\d+\.\d+\n", text(result.stdout)), text(result.stdout))

with t.case("no verb is wrong usage"):
    result = duet()
    t.equal(result.status, 2, "status")
    t.equal(result.stdout, b"", "stdout")
    t.true("usage: duet VERB" in text(result.stderr), "usage on stderr")

with t.case("an unknown verb names those that exist"):
    result = duet("reprot")
    t.equal(result.status, 2, "status")
    t.equal(result.stdout, b"", "stdout")
    t.true("unknown verb 'reprot'" in text(result.stderr), text(result.stderr))
    t.true({"list", "doctor", "info"} <= set(verbs()), f"verbs: {verbs()}")
    t.true("did you mean 'list'?" in text(duet("lst").stderr), "the nearest verb is offered")
    t.equal(duet("--frob").status, 2, "status of an unknown option before the verb")
    t.equal(duet("diff").status, 2, "status of a verb that is not there yet")

with t.case("--help, -h and help"):
    for arguments in (["--help"], ["-h"], ["help"]):
        result = duet(*arguments)
        t.equal(result.status, 0, f"status of {arguments}")
        for verb in verbs():
            t.true(re.search(rf"^  {verb} ", text(result.stdout), re.M), f"{verb} is listed")
    t.equal(duet("help", "list").stdout, duet("list", "--help").stdout, "help list")
    t.equal(duet("help", "no-such-verb").status, 2, "help for an unknown verb")

with t.case("every verb explains itself in 80 columns"):
    for verb in verbs():
        result = duet(verb, "--help")
        t.equal(result.status, 0, f"status of {verb} --help")
        t.true(text(result.stdout).startswith(f"usage: duet {verb}"), f"usage of {verb}")
        for line in text(result.stdout).splitlines():
            t.true(len(line) < 80, f"{verb}: {len(line)} columns: {line}")

with t.case("info: every option is in the usage line"):
    usage, options = text(duet("info", "--help").stdout).split("\n\n", 1)
    for option in re.findall(r"^  +(--[a-z]+)", options.partition("\non another machine")[0], re.M):
        t.true(option in usage or option == "--help", f"{option}: {usage}")

with t.case("every verb refuses an option that it does not know"):
    for verb in verbs():
        result = duet(verb, "--no-such-option")
        t.equal(result.status, 125 if verb == "record" else 2, f"status of {verb}")
        t.true("'--no-such-option'" in text(result.stderr), f"{verb} names it")
        t.equal(result.stdout, b"", f"stdout of {verb}")

with t.case("every option of every verb is in its manual page"):
    for verb in verbs():
        path = os.path.join(ROOT, "docs", "man", f"duet-{verb}.1.md")
        if not t.true(os.path.exists(path), f"there is a page for {verb}"):
            continue
        with open(path, encoding="utf-8") as file:
            page = file.read()
        for option in re.findall(r"^ +(?:-., )?(--[a-z-]+)", text(duet(verb, "--help").stdout), re.M):
            t.true(option == "--help" or option in page, f"{option} is in {path}")

with t.case("make help lists every target"):
    printed = text(run(["make", "-s", "-C", ROOT, "help"]).stdout)
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        targets = re.search(r"^\.PHONY: (.*)$", file.read(), re.M).group(1).split()
    t.true({"all", "help", "check", "install"} <= set(targets), f"targets: {targets}")
    t.equal(sorted(re.findall(r"^make ([\w-]+) +\S", printed, re.M)), sorted(targets), "targets")

with t.case("underscores of the manual pages are printed"):
    folder = os.path.join(ROOT, "docs", "man")
    for name in sorted(os.listdir(folder)):
        page = os.path.join(duet_test.BUILD, "docs", "man", name.removesuffix(".md"))
        if not name.endswith(".md"):
            continue
        if not os.path.exists(page):
            raise duet_test.Skip("the manual pages were not built: no lowdown")
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            words = set(re.findall(r"\w*_\w+", file.read().replace("\\_", "_")))
        with open(page, encoding="utf-8") as file:
            roff = re.sub(r"\\f.|\\\(..", " ", file.read())
        printed = set(re.findall(r"\w*_\w+", roff))
        t.true("**" not in roff, f"{name}: {[line for line in roff.splitlines() if '**' in line]}")
        t.equal(sorted(words - printed), [], f"words of {name} that are not printed")

with t.case("an output that cannot be written is a failure"):
    for arguments in (["--help"], ["list", "collectors"], ["doctor"], ["list", "--help"]):
        with open("/dev/full", "wb") as full:
            process = duet_test.subprocess.run([DUET, *arguments], stdout=full, check=False,
                                               stderr=duet_test.subprocess.PIPE)
        t.equal(process.returncode, 1, f"status of {arguments}")
        t.true(b"cannot write" in process.stderr, f"{arguments} says so")

with t.case("list"):
    t.true(text(duet("list", "collectors").stdout).startswith("opencl "), "opencl is listed")
    for topic in TOPICS:
        t.equal(duet("list", topic).status, 0, f"status of {topic}")
        parsed = document("list", "--json", topic)
        t.equal(parsed["schema"], "duet.list/1", "schema")
        lines = text(duet("list", topic).stdout).splitlines()
        t.equal([item["name"] for item in parsed[topic]], [line.split()[0] for line in lines],
                f"names of {topic}")

with t.case("list: metric sets of Intel's drivers, and how to request one"):
    root, listed = t.path("oa_sets"), "01234567-89ab-cdef-0123-456789abcdef"
    for card, (driver, names) in {"card0": ("xe", (listed, "none-of-theirs")), "card1": ("i915", ()), "card2": ("amdgpu", ())}.items():
        os.makedirs(f"{root}/sys/class/drm/{card}/device")
        with open(f"{root}/sys/class/drm/{card}/device/uevent", "w", encoding="ascii") as file:
            file.write(f"DRIVER={driver}\nPCI_SLOT_NAME=0000:0{card[-1]}:00.0\n")
        for name in names:
            os.makedirs(f"{root}/sys/class/drm/{card}/metrics/{name}")
            with open(f"{root}/sys/class/drm/{card}/metrics/{name}/id", "w", encoding="ascii") as file:
                file.write("3\n")
    sets = document("list", "--json", "oa-sets", env={"DUET_COUNTERS_ROOT": root})["oa-sets"]
    t.equal([(row["name"], row["device"]) for row in sets], [(listed, "0000:00:00.0")], "sets")
    t.true(text(duet("list", "oa-sets", env={"DUET_COUNTERS_ROOT": root}).stdout).startswith(f"{listed} 0000:00:00.0 "), "a line")
    library = os.path.join(os.path.dirname(os.path.realpath(DUET)), "sim/igdmd/libigdmd.so.1")
    if os.path.exists(library):
        env = {"DUET_COUNTERS_ROOT": root, "DUET_IGDMD": library, "SIM_IGDMD": "0"}
        t.equal([(row["name"], row["help"], row["device"]) for row in document("list", "--json", "oa-sets", env=env)["oa-sets"]][:2],
                [("SimBasic", "Simulated basic set", "0000:00:00.0"), ("SimSmall", "Simulated small set", "0000:00:00.0")], "by Intel's library")
        env["SIM_IGDMD"] = "9"
        t.equal([row["name"] for row in document("list", "--json", "oa-sets", env=env)["oa-sets"]], [listed], "it knows no GPU of these")
    for word in ("oa-set=", "oa-set=" + 64 * "x", "oa-sets=a"):
        result = duet("record", "--collect", f"intel:{word}", "-o", t.path("none.duet"), "--", "true")
        t.equal(result.status, 125, f"status of {word}")
        t.true("intel:oa-set=NAME" in text(result.stderr), text(result.stderr))

with t.case("an invalid value of the collector intel is reported with the valid ones"):
    for word, may in (("0", "1 to 100000 of the GPU's cycles"), ("100001", "1 to 100000 of the GPU's cycles"),
                      ("oa=abc", "1 to 1000 times a second"), ("oa=1001", "1 to 1000 times a second"),
                      ("oa=", "1 to 1000 times a second"), ("ring=100", "a power of two from 1 to 1024 MiB"),
                      ("ring=2048", "a power of two from 1 to 1024 MiB"), ("ring=", "a power of two from 1 to 1024 MiB"),
                      ("debug-stop=x", "debug-stop=PID"), ("debug-stop=99999999", "there is no process 99999999"),
                      ("oax=1", "collector 'intel' has no option 'oax=1'; there are:")):
        result = duet("record", "--collect", f"intel:{word}", "-o", t.path("none.duet"), "--", "true")
        t.equal(result.status, 125, f"status of {word}")
        t.true(may in text(result.stderr) and word in text(result.stderr), f"{word}: {text(result.stderr)}")
        t.true(not os.path.exists(t.path("none.duet")), f"{word}: nothing is recorded")

with t.case("without an Intel GPU, the collector intel is not reported as partial"):
    if next(row for row in document("doctor", "--json")["collectors"] if row["name"] == "intel")["available"]:
        raise duet_test.Skip("there is a GPU of Intel here")
    for words in ("intel", "intel:debug", "intel,intel:oa"):
        trace = t.path("no_gpu.duet")
        result = duet("record", "--collect", words, "-o", trace, "--", "true")
        t.equal(result.status, 0, text(result.stderr))
        said = text(duet("report", trace).stdout)
        t.true("intel: not recorded: no GPU whose instructions" in said, f"{words}: {said[:600]}")
        t.true("partial" not in said, f"{words}: {said[:600]}")
        t.equal("whose OA unit" in said, "oa" in words, f"{words}: {said[:600]}")

with t.case("list: why there is no metric set, and what a debugger counts"):
    root = t.path("no_sets")
    os.mkdir(root)
    said = duet("list", "oa-sets", env={"DUET_COUNTERS_ROOT": root})
    t.equal((said.status, said.stdout), (0, b""), "nothing is no failure")
    t.true("no oa-sets: this machine has no GPU with Intel's drivers xe or i915" in text(said.stderr), text(said.stderr))
    os.makedirs(f"{root}/sys/class/drm/card0/device")
    with open(f"{root}/sys/class/drm/card0/device/uevent", "w", encoding="ascii") as file:
        file.write("DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n")
    said = duet("list", "oa-sets", env={"DUET_COUNTERS_ROOT": root, "DUET_IGDMD": t.path("none.so")})
    t.true("no oa-sets: the drivers of this machine's Intel GPUs list none" in text(said.stderr), text(said.stderr))
    metric = [row for row in document("list", "--json", "metrics")["metrics"] if row["name"] == "gpu.eu.threads"]
    t.equal([(row["unit"], row["source"], row["most_hz"]) for row in metric], [("events", "EU debug", 10)], "gpu.eu.threads")

with t.case("list refuses an unknown topic"):
    for arguments in ([], ["kernels"], ["formats", "metrics"]):
        result = duet("list", *arguments)
        t.equal(result.status, 2, f"status of {arguments}")
        for topic in TOPICS:
            t.true(topic in text(result.stderr), f"{topic} is named")

with t.case("doctor: its keys"):
    parsed = document("doctor", "--json")
    t.equal(parsed["schema"], "duet.doctor/1", "schema")
    t.true(parsed["host"]["cpu_count"] >= 1, "the host has a CPU")
    for collector in parsed["collectors"]:
        t.true({"name", "available", "reason", "fix"} <= set(collector), f"keys: {collector}")
        if collector["available"]:
            t.equal((collector["reason"], collector["fix"]), (None, None), "nothing to mend")
    listed = document("list", "collectors", "--json")["collectors"]
    t.equal(sorted(c["name"] for c in parsed["collectors"]), sorted(c["name"] for c in listed), "collectors")
    t.equal(duet("doctor", "x").status, 2, "an operand is one too many")

with t.case("doctor: a machine without OpenCL"):
    root = t.path("bare")
    os.mkdir(root)
    bare = {"DUET_DOCTOR_ROOT": root}
    opencl = document("doctor", "--json", env=bare)["collectors"][0]
    t.equal(opencl["available"], False, "available")
    t.true("libOpenCL.so.1" in opencl["reason"], opencl["reason"])
    t.true("apt-get install ocl-icd-libopencl1" in opencl["fix"], opencl["fix"])
    t.true("apt-get install pocl-opencl-icd" in opencl["fix"], opencl["fix"])
    result = duet("doctor", env=bare)
    t.equal(result.status, 0, "what is missing is a result, not a failure")
    t.true("opencl    cannot be recorded" in text(result.stdout), text(result.stdout))
    t.true("no usable TSC" in text(result.stdout), "nothing is known of the clock")


def loader_root(name, loader, icd=None):
    """A machine with that file as its loader and one driver."""
    root = t.path(name)
    os.makedirs(os.path.join(root, "usr/lib"))
    os.makedirs(os.path.join(root, "etc/OpenCL/vendors"))
    shutil.copy(loader, os.path.join(root, "usr/lib/libOpenCL.so.1"))
    if icd:
        with open(os.path.join(root, "etc/OpenCL/vendors/one.icd"), "w", encoding="utf-8") as file:
            file.write(icd)
    return root


def compiled(name, source):
    """A shared library."""
    path = t.path(name)
    made = duet_test.subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path],
                                    input=source.encode(), check=False)
    t.equal(made.returncode, 0, f"compile {name}")
    return path


with t.case("doctor: a loader without layers, a missing driver"):
    plain = compiled("plain.so", "int duet_test_plain;")
    root = loader_root("old", plain, "libno-such-driver.so.1\n")
    opencl = document("doctor", "--json", env={"DUET_DOCTOR_ROOT": root})["collectors"][0]
    t.true("too old for layers" in opencl["reason"], opencl["reason"])
    t.true("no driver" in opencl["reason"], opencl["reason"])
    drivers = [c for c in opencl["checks"] if c["name"] == "driver" and "one.icd" in c["text"]]
    t.true(drivers and not drivers[0]["ok"], f"the driver: {drivers}")
    t.true(drivers and "libno-such-driver.so.1" in drivers[0]["text"], "it is named")

with t.case("doctor: a driver that crashes while it is loaded"):
    crash = compiled("crash.so", "#include <stdlib.h>\n"
                                 "__attribute__((constructor)) static void f(void) { abort(); }")
    layers = compiled("layers.so", 'const char *duet_test_name = "OPENCL_LAYERS";')
    root = loader_root("crash", layers, "/crash.so\n")
    shutil.copy(crash, os.path.join(root, "crash.so"))
    result = duet("doctor", "--json", env={"DUET_DOCTOR_ROOT": root})
    t.equal(result.status, 0, f"status, stderr {text(result.stderr)}")
    checks = json.loads(result.stdout)["collectors"][0]["checks"]
    told = {check["name"]: check for check in checks if check["name"] != "driver"}
    t.true(told["layers"]["ok"], "the loader has layers")
    t.true(any("crashed while loading (signal 6" in check["text"] for check in checks),
           f"the crash is told: {checks}")

with t.case("doctor: a variable that hides the devices is named"):
    if not document("doctor", "--json")["collectors"][0]["available"]:
        raise duet_test.Skip("no OpenCL device works here")
    empty = t.path("empty")
    os.mkdir(empty)
    for name, value in (("OCL_ICD_VENDORS", empty), ("POCL_DEVICES", "no-such-device")):
        opencl = document("doctor", "--json", env={name: value})["collectors"][0]
        if opencl["available"]:
            print(f"# {name} hides nothing here")
            continue
        t.true(f"because the environment has {name}={value}" in opencl["reason"], opencl["reason"])
        t.equal(opencl["fix"], f"unset {name}", "what mends it")
        t.true(any(check["name"] == "environment" and f"{name}={value} " in check["text"]
                   for check in opencl["checks"]), f"the variable is listed: {opencl['checks']}")

with t.case("doctor: a missing loader or driver of Level Zero is printed with its package"):
    root = t.path("no_level_zero")
    os.mkdir(root)
    env = {"DUET_DOCTOR_ROOT": root, "ZE_ENABLE_ALT_DRIVERS": ""}
    checks = {check["name"]: check for row in document("doctor", "--json", env=env)["collectors"] if row["name"] == "level_zero"
              for check in row["checks"]}
    t.equal([(checks[name]["ok"], checks[name]["fix"]) for name in ("loader", "driver")],
            [(False, "apt-get install libze1"), (False, "apt-get install libze-intel-gpu1")], f"{checks}")
    said = text(duet("doctor", env=env).stdout)
    for package in ("libze1", "libze-intel-gpu1"):
        t.true(f"; to fix it: apt-get install {package}\n" in said, said)
    os.makedirs(f"{root}/usr/lib/x86_64-linux-gnu")
    shutil.copy(compiled("ze.so", "int duet_test_driver;"), f"{root}/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1")
    for more, what in (({}, "libze_intel_gpu.so.1"), ({"ZE_ENABLE_ALT_DRIVERS": "/other.so"}, "ZE_ENABLE_ALT_DRIVERS=/other.so")):
        checks = {check["name"]: check for row in document("doctor", "--json", env={**env, **more})["collectors"]
                  if row["name"] == "level_zero" for check in row["checks"]}
        t.true(checks["driver"]["ok"] and what in checks["driver"]["text"], f"{checks}")

with t.case("doctor: without a cache folder PoCL has no device, and the reason is printed"):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise duet_test.Skip("only root may become nobody")
    shutil.copy(DUET, t.path("duet_of_all"))  # which nobody may execute, also where the build is not readable
    os.chmod(os.path.dirname(t.path("duet_of_all")), 0o755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", t.path("duet_of_all"), "doctor", "--json"]
    readable = os.path.join(t.path("cache"), "")
    os.mkdir(readable)
    os.chmod(readable, 0o777)
    found = {}
    for name, env in (("with", {"POCL_CACHE_DIR": readable}), ("without", {"HOME": "/proc/nowhere", "POCL_CACHE_DIR": "", "XDG_CACHE_HOME": ""})):
        result = duet_test.run(nobody, env=env)
        if result.status != 0:
            raise duet_test.Skip(f"nobody cannot run it: {text(result.stderr)}")
        rows = json.loads(result.stdout)["collectors"][0]["checks"]
        found[name] = next((check for check in rows if check["name"] == "devices"), None)
    if not found["with"] or not found["with"]["ok"] or found["without"]["ok"]:
        raise duet_test.Skip("no OpenCL device of PoCL works here, or it needs no cache")
    check = found["without"]
    t.true("HOME=/proc/nowhere" in check["text"], f"{check}")
    t.true(check["fix"].startswith("export POCL_CACHE_DIR="), f"what mends it is no package: {check}")

with t.case("doctor: a home that PoCL cannot write to is named, not an installed package"):
    if not document("doctor", "--json")["collectors"][0]["available"]:
        raise duet_test.Skip("no OpenCL device works here")
    opencl = document("doctor", "--json", env={"HOME": "/proc/nowhere"})["collectors"][0]
    if opencl["available"]:
        raise duet_test.Skip("this driver needs no home")
    t.true("because the environment has HOME=/proc/nowhere" in opencl["reason"], opencl["reason"])
    t.true(opencl["fix"].startswith("export POCL_CACHE_DIR="), f"what mends it: {opencl['fix']}")



def intel_of(name, files):
    """The checks of doctor for Intel's GPUs on a machine with those files, by their names, and whether it can be recorded."""
    root = t.path(name)
    for path, content in {"proc/sys/kernel/ostype": "Linux", **files}.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="ascii") as file:
            file.write(content + "\n")
    intel = next(row for row in document("doctor", "--json", env={"DUET_DOCTOR_ROOT": root})["collectors"] if row["name"] == "intel")
    return intel["available"], {check["name"]: check for check in intel["checks"]}


def card_of(driver, pci_id):
    return {"sys/class/drm/card0/device/uevent": f"DRIVER={driver}\nPCI_ID=8086:{pci_id}\nPCI_SLOT_NAME=0000:03:00.0"}


with t.case("doctor: a machine without a GPU of Intel's, and one whose GPU has no driver"):
    available, checks = intel_of("no_intel", {})
    t.equal((available, list(checks), checks["gpu"]["fix"]), (False, ["gpu"], None), "no GPU")
    t.true("no Intel GPU" in checks["gpu"]["text"], checks["gpu"]["text"])
    idle = {f"sys/bus/pci/devices/0000:03:00.0/{name}": value for name, value in (("vendor", "0x8086"), ("class", "0x030000"))}
    others = {f"sys/bus/pci/devices/0000:00:{name}": value for name, value in
              (("1f.0/vendor", "0x8086"), ("1f.0/class", "0x060100"), ("02.0/vendor", "0x1002"), ("02.0/class", "0x030000"))}
    available, checks = intel_of("idle_intel", {**idle, **others})
    t.equal((available, checks["gpu"]["fix"]), (False, "modprobe xe"), "no driver")
    t.true("0000:03:00.0 has no driver" in checks["gpu"]["text"], checks["gpu"]["text"])
    t.true("no Intel GPU" in intel_of("other_devices", others)[1]["gpu"]["text"], "others are none")

with t.case("doctor: GPUs of Intel's with the driver i915 alone"):
    paranoid = "proc/sys/dev/i915/perf_stream_paranoid"
    available, checks = intel_of("i915", {**card_of("i915", "A7A0"), paranoid: "1"})
    t.equal((available, checks["eu_stalls"]["ok"], checks["rights"]["ok"]), (False, False, False), "i915")
    t.true("Xe2 and later" in checks["eu_stalls"]["text"], f"{checks['eu_stalls']}")
    t.equal(checks["eu_stalls"]["fix"], None, "another driver would not give that GPU what it lacks")
    t.equal(checks["rights"]["fix"], "sudo sysctl dev.i915.perf_stream_paranoid=0", "rights")
    available, checks = intel_of("i915_open", {**card_of("i915", "A7A0"), paranoid: "0"})
    t.equal((available, checks["rights"]["ok"]), (True, True), "its counters can be recorded")
    for pci_id in ("0BD5", "0b69"):
        check = intel_of(f"max_{pci_id}", {**card_of("i915", pci_id), paranoid: "1"})[1]["eu_stalls"]
        t.true("Data Center GPU Max" in check["text"] and "xe.force_probe" in check["fix"], f"{check}")
    check = intel_of("i915_bare", card_of("i915", "A7A0"))[1]["rights"]
    t.true("does not exist" in check["text"] and check["fix"] is None, f"{check}")

with t.case("doctor: GPUs of Intel's with the driver xe, and who may observe them"):
    paranoid = "proc/sys/dev/xe/observation_paranoid"
    available, checks = intel_of("xe", {**card_of("xe", "E20B"), paranoid: "1"})
    t.equal((available, checks["rights"]["fix"]), (False, "sudo sysctl dev.xe.observation_paranoid=0"), "closed")
    t.true("cap_perfmon" in checks["rights"]["text"] and "setcap" in checks["rights"]["text"], checks["rights"]["text"])
    available, checks = intel_of("xe_open", {**card_of("xe", "E20B"), paranoid: "0"})
    t.equal((available, checks["gpu"]["ok"], checks["rights"]["ok"]), (True, True, True), "open")
    check = intel_of("xe_old", card_of("xe", "E20B"))[1]["rights"]
    t.true("does not exist" in check["text"] and "since Linux 6.11" in check["text"], check["text"])
    t.equal((check["ok"], check["fix"]), (False, None), "no sysctl where there is no file of it")

with t.case("doctor: wrong values in the variables of ROCm"):
    env = {"HSA_TOOLS_LIB": f"{t.path('none.so')} {DUET} other.so", "RTL_MODE": "fast"}
    amd = next(row for row in document("doctor", "--json", env=env)["collectors"] if row["name"] == "amd")
    broken = [row["text"] for row in amd["checks"] if row["name"] == "environment" and not row["ok"]]
    t.equal(len(broken), 2, f"one file, one mode: {broken}")
    t.true(broken[0].startswith(f"HSA_TOOLS_LIB names {t.path('none.so')}, which cannot be read"), broken[0])
    t.true("RTL_MODE=fast is not a mode" in broken[1] and "standard and hip" in broken[1], broken[1])

with t.case("doctor: duet moved away from its guest"):
    alone = t.path("alone")
    os.mkdir(alone)
    moved = shutil.copy(DUET, alone)
    opencl = json.loads(run([moved, "doctor", "--json"]).stdout)["collectors"][0]
    t.equal(opencl["available"], False, "available")
    t.true("libduet-opencl.so" in opencl["reason"], opencl["reason"])

with t.case("doctor: an installed program finds its guest in ../lib/duet"):
    for folder in ("installed/bin", "installed/lib/duet"):
        os.makedirs(t.path(folder))
    shutil.copy(duet_test.GUEST, t.path("installed/lib/duet"))
    moved = shutil.copy(DUET, t.path("installed/bin"))
    checks = json.loads(run([moved, "doctor", "--json"]).stdout)["collectors"][0]["checks"]
    t.true([check["ok"] for check in checks if check["name"] == "guest"] == [True], checks)

with t.case("info refuses a file that is not a trace"):
    missing = duet("info", t.path("missing.duet"))
    t.equal(missing.status, 1, "status of a missing file")
    t.true("missing.duet" in text(missing.stderr), text(missing.stderr))
    with open(t.path("text.duet"), "w", encoding="utf-8") as file:
        file.write("this is no trace\n" * 100)
    no_trace = duet("info", t.path("text.duet"))
    t.equal(no_trace.status, 1, "status of a text file")
    t.true("text.duet" in text(no_trace.stderr), text(no_trace.stderr))
    t.equal(duet("info", "a", "b").status, 2, "two files")

with t.case("info describes a recording"):
    output = t.path("info.duet")
    recorded = t.record([duet_test.program("counts"), "--quiet"], output)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    parsed = document("info", "--json", output)
    t.equal(parsed["schema"], "duet.info/1", "schema")
    t.equal(parsed["size_bytes"], os.path.getsize(output), "size")
    t.true(parsed["segments"] >= 1, "segments")
    kinds = {row["kind"]: row for row in parsed["kinds"]}
    t.true(kinds["launch"]["rows"] > 0 and kinds["execution"]["rows"] > 0, f"rows: {kinds}")
    t.true(len(parsed["devices"]) >= 1, "devices")
    t.true(any("counts" in process["command"] for process in parsed["processes"]), "processes")
    t.true(0 < parsed["begin_ns"] < parsed["end_ns"], "time range")
    t.equal(parsed["damage"]["damaged"], False, f"damage: {parsed['damage']}")
    t.true("damage    none" in text(duet("info", output).stdout), "the text says so too")
    with open(output, "rb") as whole, open(t.path("cut.duet"), "wb") as cut:
        cut.write(whole.read()[:-100])
    t.equal(document("info", "--json", t.path("cut.duet"))["damage"]["damaged"], True, "a cut file")

with t.case("duet -- PROGRAM records and reports"):
    folder = t.path("both")
    os.mkdir(folder)
    result = run([DUET, "--", duet_test.program("counts"), "--quiet"], cwd=folder)
    t.equal(result.status, 0, f"status, stderr {text(result.stderr)}")
    t.true(os.path.exists(os.path.join(folder, "duet.duet")), "the trace is kept as duet.duet")
    t.equal(result.stdout, run([DUET, "report"], cwd=folder).stdout, "stdout is the report's")
    t.equal(run([DUET, "--", "sh", "-c", "exit 7"], cwd=folder).status, 7, "the program's status")
    t.equal(run([DUET, "--", "/no/such/program"], cwd=folder).status, 127, "no such program")
    t.equal(run([DUET, "--"], cwd=folder).status, 2, "no program")

with t.case("if '--' or record is missing, the corrected command line is printed"):
    result = duet("true", "a b")
    t.equal(result.status, 2, "status of a program in the place of a verb")
    t.true("to record and report it: duet -- true a b\n" in text(result.stderr), text(result.stderr))
    t.true("duet --" not in text(duet("no-such-program-at-all").stderr), "not where there is no such program")
    for verb in ("report", "flame", "export", "info", "archive"):
        result = duet(verb, cwd=t.folder)
        t.equal(result.status, 1, f"status of {verb} without a trace")
        t.true("duet.duet does not exist: record first (duet record -- PROGRAM)" in text(result.stderr),
               text(result.stderr))
    t.true("did you mean" not in text(duet("report", "--foo").stderr), "--foo is nothing like --top")
    t.true("did you mean '--json'" in text(duet("report", "--jsno").stderr), "a slip of the finger")
    t.true("man -l build/docs/man/duet-" in text(duet("--help").stdout), "pages that are not installed yet")

with t.case("record prints essential messages even if stderr is not a terminal"):
    trace = t.path("said.duet")
    result = duet("record", "-o", trace, "--", "sh", "-c", "kill -SEGV $$")
    t.equal(result.status, 139, "status")
    t.true("duet: program killed by signal 11 (SIGSEGV)" in text(result.stderr), text(result.stderr))
    t.true("duet: no OpenCL call was recorded" in text(result.stderr), text(result.stderr))
    result = duet("record", "-o", t.path("%q{DUET_TEST_NOT_SET}.duet"), "--", "touch", t.path("touched"))
    t.equal(result.status, 125, "status with a variable that is not set")
    t.true("the environment has no variable 'DUET_TEST_NOT_SET'" in text(result.stderr), text(result.stderr))
    t.true(not os.path.exists(t.path("touched")), "the program was not started")

with t.case("after a second a terminal that can erase a line shows the progress"):
    def shown(terminal):
        """What `duet import` writes to a terminal while its input is slow."""
        ours, theirs = os.openpty()
        with subprocess.Popen([DUET, "import", "-f", "folded", "/dev/stdin", "-o", t.path(f"{terminal}.duet")],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=theirs,
                              env={**os.environ, "TERM": terminal}) as process:
            time.sleep(1.5)
            process.communicate(b"main;work 3\n")
        os.write(theirs, b"end\n")
        said = b""
        while not said.endswith(b"end\r\n"):
            said += os.read(ours, 4096)
        os.close(ours)
        os.close(theirs)
        return text(said)

    t.true("\rduet import: 1 s\r\x1b[K" in shown("xterm"), "an xterm")
    said = shown("dumb")
    t.true("1 s" not in said and "\x1b" not in said, said)

with t.case("record --collect without a name is wrong usage"):
    for nothing in ("", ",", ",,"):
        result = duet("record", "--collect", nothing, "-o", t.path("nothing.duet"), "--", "touch", t.path("nothing"))
        t.equal(result.status, 125, f"status of --collect '{nothing}'")
        t.true("--collect: the list is empty" in text(result.stderr), text(result.stderr))
        t.true(not os.path.exists(t.path("nothing")), "the program was not started")

t.end()

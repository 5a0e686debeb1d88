#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Our programs for the kernel in kernels that are not this machine's: `make check-vm`. TAP, one line per kernel and
program.

    tests/vm/check_vm.py BUILD [KERNEL...]

KERNEL: a series ("6.12": the newest of it), a version, or "all": the newest of each series that the mirror of this
machine has in any suite, and a table at the end: which takes and attaches which program, and by which way. A kernel
that the mirror lacks, or does not give, is skipped.
"""
import concurrent.futures
import glob
import os
import shutil
import sys
import tempfile
import time
import traceback

import guest
import kernels
import work

USUAL = ("6.1", "6.12")
MODULES = ("gpu_sched", "i915", "xe", "vgem")
# Objects that are of one driver alone.
DRIVERS = ("xe", "i915")
MADE_UP = "made_up_gpu"
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "cpio": "cpio", "busybox": "busybox-static", "apt-get": "apt"}
PROGRAMS = ("probe", "fences", "submit")
HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "record.sh")
READY = os.path.join(HERE, "ready.sh")
STALLS = os.path.join(HERE, "stalls.sh")
SUBMISSIONS = os.path.join(HERE, "submissions.sh")
OA = os.path.join(HERE, "oa.sh")
CHAIN = os.path.join(HERE, "chain.sh")
DEBUG = os.path.join(HERE, "debug.sh")
ZEBIN = os.path.join(HERE, "../golden/zebin/three_bmg.bin")
# In the machine: in the build.
CHAIN_FILES = {
    "vm/ze_work": "tests/vm/ze_work",
    "vm/libsim-level_zero.so": "sim/level_zero/libsim-level_zero.so",
    "vm/libduet-level_zero.so": "libduet-level_zero.so",
    # a link to the guest, as duet expects it beside itself
    "vm/level_zero/validation/libze_validation_layer.so.1": "level_zero/validation/libze_validation_layer.so.1",
}
MADE_UP_SOURCE = os.path.join(HERE, MADE_UP)
MOCK = os.path.join(HERE, "../../sim/mock_xe")
XE_ABI = [os.path.join(HERE, "../../src/abi", name) for name in ("xe.h", "xe_debug.h")]
SETPRIV = shutil.which("setpriv", path="/usr/bin:/bin") or "setpriv"

# Programs of which a kernel needs one: the event has had two names.
EITHER = [("on_job_queue", "on_old_job_queue"), ("on_job_run", "on_old_job_run"), ("on_job_done", "on_old_job_done")]


class Report:
    """Lines of TAP, and what the table at the end shows. A part of one is kept until it is added."""

    def __init__(self, is_part=False):
        self.is_part = is_part
        self.parts = []
        self.count = 0
        self.failures = 0
        self.cells = {}

    def add(self, part):
        for row in part.parts:
            self.put(*row)
        self.failures += part.failures

    def line(self, kernel, what, is_good, why="", cell="yes"):
        words = f": {why}" if why and not is_good else ""
        self.put(kernel, what, "ok" if is_good else "not ok", words, cell if is_good else "NO")
        self.failures += not is_good

    def skip(self, kernel, what, why):
        self.put(kernel, what, "ok", f" # SKIP {why}", "-")

    def put(self, kernel, what, verdict, words, cell):
        if self.is_part:
            self.parts.append((kernel, what, verdict, words, cell))
            return
        self.count += 1
        print(f"{verdict} {self.count} - {kernel}: {what}{words}", flush=True)
        self.cells.setdefault(what, {})[kernel] = cell

    def table(self, names):
        width = max((len(what) for what in self.cells), default=0)
        print("#", " " * width, *names)
        for what, row in self.cells.items():
            print("#", what.ljust(width), *(row.get(name, "").ljust(len(name)) for name in names))
        for (thing, way), row in self.ways(names).items():
            print("#", f"{thing} by {way}".ljust(width), *(f"{count} programs".ljust(len(name)) if count else "".ljust(len(name))
                                                           for name, count in zip(names, row)))

    def ways(self, names):
        """{(object, way): how many of its programs each kernel has taken and attached so}."""
        found = {}
        for what, row in self.cells.items():
            for column, name in enumerate(names):
                cell = row.get(name, "")
                if cell not in ("", "-", "yes", "NO"):
                    found.setdefault((what.split()[0], cell), [0] * len(names))[column] += 1
        return found


class Machines:
    """Machines at the same time: each is interpreted by one processor. What they report is added in the order of their
    starts."""
    MOST = 2

    def __init__(self, report):
        self.report = report
        self.started = []

    def __enter__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(min(self.MOST, len(os.sched_getaffinity(0))))
        return self

    def start(self, check):
        part = Report(is_part=True)
        self.started.append((part, self.pool.submit(check, part)))

    def __exit__(self, *_):
        for part, future in self.started:
            future.result()
            self.report.add(part)
        self.pool.shutdown()


def check_modules(report, kernel, result, log):
    for module in MODULES:
        if module in kernel.modules:
            report.line(kernel.version, f"module {module}", module in result.modules, f"see {log}")
        else:
            report.skip(kernel.version, f"module {module}", "this kernel has none")


def others(program):
    return {name for names in EITHER if program in names for name in names} - {program}


def check_programs(report, kernel, name, lines):
    """What the kernel said to each program of an object."""
    states = {}
    for program, state, *reason in work.words(lines, "program"):
        states[program] = (state, " ".join(reason))
    for program, (state, reason) in states.items():
        instead = [other for other in others(program) if states.get(other, ("",))[0] == "runs"]
        if state == "absent" and instead:
            report.skip(kernel.version, f"{name} {program}", f"this kernel has {instead[0]} instead")
        else:
            report.line(kernel.version, f"{name} {program}", state == "runs", f"{state} {reason}", reason or "yes")
    together = [" ".join(fields) for fields in work.words(lines, "together")]
    report.line(kernel.version, f"{name} all together", len(together) == 1 and together[0].endswith(" runs"),
                f"{together}")


def check_work(report, kernel, lines, why_no_gpu):
    failed = [line for line in lines if line.startswith("failed ")]
    complaints = failed or work.Fences(lines).complaints()
    report.line(kernel.version, "fences of vgem", not complaints, "; ".join(complaints))
    if why_no_gpu:
        report.skip(kernel.version, f"jobs of {MADE_UP}", why_no_gpu)
        return
    complaints = failed or work.Submissions(lines).complaints()
    report.line(kernel.version, f"jobs of {MADE_UP}", not complaints, "; ".join(complaints))


def check_recording(report, kernel, result, log):
    status, lines = result.tests.get("record", (None, []))
    failed = [line for line in lines if line.startswith(("failed ", "other failed "))]
    complaints = failed or work.Recording(lines).complaints()
    report.line(kernel.version, "jobs in a recording", status == 0 and not complaints,
                f"status {status}: {'; '.join(complaints)}, see {log}")


def check_batches(report, kernel, result, log):
    """What tests/unit/bpf/test_batch.c says: buffers parsed in this kernel."""
    status, lines = result.tests.get("batches", (None, []))
    failed = [line for line in lines if line.startswith("not ok")]
    count = sum(line.startswith("ok ") for line in lines)
    report.line(kernel.version, "batch buffers", status == 0 and count > 1 and not failed,
                f"status {status}, {count} ok: {'; '.join(failed)}, see {log}")


def build_mock(report, apt, kernel):
    """As build_made_up()."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "source")
        shutil.copytree(MOCK, source)
        for path in XE_ABI:
            shutil.copy(path, source)
        return build_made_up(report, apt, kernel, folder, source, "xe")


def check_mock(machines, apt, kernel, build):
    """GPUs under the name of the driver xe, in a machine that has not the real one: their stream as duet records it, and
    the whole way there from programs of Level Zero. Once more without the module's types, as in a kernel that has none, and
    without the names of its functions, where the way into all drivers is left."""
    module, why = build_mock(machines.report, apt, kernel)
    if why:
        machines.report.skip(kernel.version, "the mock of xe", why)
        return
    modules = kernel.closure(("gpu_sched", "drm_shmem_helper"))
    files = {f"vm/{name}": f"{build}/tests/vm/{name}" for name in ("xe_work", "xe_stalls", "xe_oa", "xe_submit",
                                                                   "xe_debug")}
    files.update({"vm/duet": f"{build}/duet", "vm/stalls.sh": STALLS,
                  "vm/submissions.sh": SUBMISSIONS, "vm/chain.sh": CHAIN, "vm/ready.sh": READY,
                  "vm/oa.sh": OA, "vm/debug.sh": DEBUG, "vm/setpriv": SETPRIV, "vm/three_bmg.bin": ZEBIN})
    if os.path.exists(f"{build}/sim/igdmd/libigdmd.so.1"):
        files["vm/libigdmd.so.1"] = f"{build}/sim/igdmd/libigdmd.so.1"
    has_chain = os.path.exists(f"{build}/tests/vm/ze_work")
    if has_chain:
        files.update({target: os.path.join(build, source) for target, source in CHAIN_FILES.items()})
    else:
        machines.report.skip(kernel.version, "the chain", "built without Level Zero (libze-dev)")

    def check(changed, variants, how):
        machines.start(lambda report: check_mock_machine(report, kernel, build, {**modules, "xe gpus=2": changed},
                                                         files, variants, how))

    check(module, ("plain", "alone", "hard", "losses", "late") if has_chain else (), "")
    for how, changed in ((" without types", kernels.without_types(module)),
                         (" without names", kernels.without_names(module, "xe_"))):
        if changed:
            check(changed, ("hard",) if has_chain and how == " without types" else (), how)
        else:
            machines.report.skip(kernel.version, f"the mock of xe{how}", "no pahole or objcopy: there are no types to go without")


def all_complaints(complaints_of, lines):
    """What complaints_of(lines) yields. Lines that cannot be read are a complaint: the machine may have ended between."""
    try:
        return list(complaints_of(lines))
    except (ValueError, LookupError) as error:
        return [f"unreadable: {error!r} at {traceback.extract_tb(error.__traceback__)[-1]}"]


def check_mock_machine(report, kernel, build, modules, files, variants, how):
    log = os.path.join(build, f"vm-{kernel.version}-mock{how.replace(' ', '-')}.log")
    stalls = {"": {"plain": ("/vm/xe_stalls 1 /vm/xe_work 1 2", work.Stalls),
                   "stalls": ("/vm/stalls.sh", work.RecordedStalls),
                   "submissions": ("/vm/submissions.sh", work.RecordedSubmissions)},
              " without names": {"submissions": ("/vm/submissions.sh", work.of_drm_ioctl)}}.get(how, {})
    tests = [(name, command) for name, (command, _) in stalls.items()]
    tests += [(f"chain_{variant}", f"/vm/chain.sh {variant}") for variant in variants]
    # the last: it takes away what the module can
    tests += [] if how else [("debug", "/vm/debug.sh"), ("oa", "/vm/oa.sh")]
    result = guest.run(kernel.image, modules, files, tests, log)

    # by the functions of the driver, whose types the module brings: where there is no pahole it has none
    way = "names" if how or b"\0.BTF\0" not in modules["xe gpus=2"] else "types"

    def line(name, what, complaints_of):
        status, lines = result.tests.get(name, (None, []))
        complaints = [line for line in lines if line.startswith("failed ")] or all_complaints(complaints_of, lines)
        report.line(kernel.version, what, status == 0 and not complaints,
                    f"status {status}: {'; '.join(complaints)[:4000]}, see {log}")

    for name, (_, check) in stalls.items():
        line(name, f"the mock of xe{how}, {name}", lambda lines, check=check: check(lines).complaints())
    if not how:
        line("debug", "the mock of xe, debugged", lambda lines: work.Debugged(lines, ZEBIN).complaints())
        line("oa", "counters of the OA unit of a mock of xe", lambda lines: work.RecordedOa(lines).complaints())
        line("oa", "a metric set of a mock of xe", lambda lines: work.RecordedSet(lines).complaints())
        if "vm/libigdmd.so.1" in files:
            line("oa", "a named metric set of a mock of xe", lambda lines: work.NamedSet(lines).complaints())
        line("oa", "what doctor says of a mock of xe", work.complaints_of_doctor)
    for variant in variants:
        def chain(lines, variant=variant):
            return work.Chain(lines, ZEBIN, variant, way)

        line(f"chain_{variant}", f"the chain{how}, {variant}", lambda lines, chain=chain: chain(lines).complaints())
        line(f"chain_{variant}", f"the chain{how}, {variant}: flame graph",
             lambda lines, chain=chain: chain(lines).flame_complaints())


def build_made_up(report, apt, kernel, folder, source=MADE_UP_SOURCE, name=MADE_UP):
    """(the module, b"" where there is none; why there is none)"""
    target = os.path.join(folder, name)
    try:
        why = kernels.build_module(kernels.fetch_headers(apt, kernel.version), source, target)
    except kernels.NotGiven as error:
        why = str(error)
    except OSError as error:
        why = "it could not be built"
        report.line(kernel.version, f"module {name}", False, str(error))
    if why:
        return b"", why
    with open(os.path.join(target, name + ".ko"), "rb") as file:
        return file.read(), ""


def check_kernel(report, apt, kernel, build):
    started = time.monotonic()
    objects = {os.path.basename(path).removesuffix(".bpf.o"): path for path in glob.glob(f"{build}/src/bpf/*.bpf.o")}
    del objects["preempt"]  # that a kernel refuses a program of it is the answer
    for name in DRIVERS:
        if name in objects and name not in kernel.modules:
            report.skip(kernel.version, f"{name} all together", "this kernel has no such driver")
            del objects[name]
    files = {f"vm/{name}": f"{build}/tests/vm/{name}" for name in PROGRAMS}
    files.update({f"vm/{name}.bpf.o": path for name, path in objects.items()})
    modules = kernel.closure(MODULES)
    with tempfile.TemporaryDirectory() as folder:
        made_up, why_no_gpu = build_made_up(report, apt, kernel, folder)
    if made_up:
        modules[MADE_UP] = made_up
    activity = {"drm": " /vm/fences" + (" /vm/submit" if made_up else "")}
    tests = [(name, f"/vm/probe /vm/{name}.bpf.o{activity.get(name, '')}") for name in sorted(objects)]
    batches = f"{build}/tests/unit/bpf/test_bpf_batch"
    if os.path.exists(batches):
        files["vm/test_bpf_batch"] = batches
        tests.append(("batches", "/vm/test_bpf_batch /vm/batch.bpf.o"))
    if made_up:
        files.update({"vm/duet": f"{build}/duet", "vm/record.sh": RECORD, "vm/ready.sh": READY})
        tests.append(("record", "/vm/record.sh"))

    def check_drivers(part):
        log = os.path.join(build, f"vm-{kernel.version}.log")
        result = guest.run(kernel.image, modules, files, tests, log)
        check_modules(part, kernel, result, log)
        for name in sorted(objects):
            status, lines = result.tests.get(name, (None, []))
            check_programs(part, kernel, name, lines)
            if name in activity:
                check_work(part, kernel, lines, why_no_gpu)
            part.line(kernel.version, f"{name} ends", status == 0, f"status {status}: {lines[-3:]}, see {log}")
        if os.path.exists(batches):
            check_batches(part, kernel, result, log)
        if made_up:
            check_recording(part, kernel, result, log)
        part.line(kernel.version, "the machine ends", result.is_finished, f"see {log}")

    with Machines(report) as machines:
        machines.start(check_drivers)
        # it is of the interfaces that the driver was written for
        if made_up and "xe" in kernel.modules:
            check_mock(machines, apt, kernel, build)
    print(f"# {kernel.version}: {time.monotonic() - started:.1f} s", flush=True)


def fetch_newest(apt, found, series):
    """(what gave it, the kernel; None: there is none)"""
    newest = kernels.newest(found, series)
    try:
        return apt, newest and kernels.fetch_kernel(apt, *newest)
    except kernels.NotGiven:
        # The machine's lists are old, and a mirror drops what is replaced.
        fresh = kernels.Apt(suites=())
        newest = kernels.newest(fresh.kernels(), series)
        return fresh, newest and kernels.fetch_kernel(fresh, *newest)


def check_all(report, wanted, build):
    """Checks what is wanted, and returns the kernels' names."""
    wants_all = wanted == ["all"]
    apt = kernels.Apt(kernels.MORE_SUITES if wants_all else None)
    found = apt.kernels()
    if not found:
        # A fresh machine knows of no packages.
        apt = kernels.Apt(suites=())
        found = apt.kernels()
    every = sorted({series for _, series, _ in found}, key=kernels.natural)
    names = []
    for series in every if wants_all else wanted or USUAL:
        try:
            source, kernel = fetch_newest(apt, found, series)
            if not kernel:
                report.skip(series, "kernel", "the mirror has none")
                continue
            names.append(kernel.version)
            check_kernel(report, source, kernel, build)
        except kernels.NotGiven as error:
            report.skip(series, "kernel", str(error))
        except OSError as error:
            report.line(series, "kernel", False, str(error))
    return names


def main(build, wanted):
    lacking = [package for program, package in NEEDED.items() if not shutil.which(program)]
    if lacking or not os.path.exists(f"{build}/tests/vm/probe"):
        print("1..0 # SKIP", f"not installed: {' '.join(lacking)}" if lacking else f"{build} was made without BPF")
        return 0
    report = Report()
    names = check_all(report, wanted, build)
    if len(names) > len(USUAL):
        report.table(names)
    print(f"1..{report.count}")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

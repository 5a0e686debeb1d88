#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The harm matrix: whatever happens to the program, the recorder or the machine, the program must not be affected.

Each row runs a program without and with duet and compares stdout, stderr, exit status, open descriptors, signal
dispositions and limits. Then it checks that the recorder ended with the right status and that its file is readable.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, Running, Skip, program, run, text

t = duet_test.Suite()

BASIC = {"POCL_DEVICES": "basic"}
# a parent as duet is one, that changes nothing of what it was given (dash unblocks signals)
WRAPPED = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]


def harm(*arguments):
    return [program("harm"), *arguments]


def limited(limit, command):
    return ["/bin/sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *command]


def check_row(command, readable=True, **more):
    """The program is unharmed and the file can be read; returns the document."""
    output = t.path("row.duet")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(output)
    plain, recorded = t.unharmed(command, output, **more)
    return t.readable(output) if readable and not t.problems else None


def launched(document, at_least):
    if document is not None:
        t.true(document["ledger"]["launched"] >= at_least,
               f"at least {at_least} launches were recorded: {document['ledger']}")


# ---- endings and statuses ----

for name, command, least in (
        ("a program that succeeds", ["work", "20"], 60),
        ("a program that fails", ["work", "20", "17"], 60),
        ("killed by SIGTERM", ["signal", "15"], 15),
        ("killed by SIGSEGV", ["signal", "11"], 15),
        ("killed by SIGKILL", ["signal", "9"], 15),
        ("abort", ["abort"], 15),
        ("stdin is left to the program", ["cat"], 6),
        ("seccomp without perf_event_open", ["seccomp-perf"], 0),
        ("seccomp that kills on socket()", ["seccomp-socket"], 0),
        ("seccomp closed after the first calls", ["seccomp-late"], 60),
        ("fork and exec after OpenCL was used", ["fork-exec"], 150),
        ("vfork", ["vfork"], 15),
        ("exec", ["exec"], 30),
        ("300 short forks", ["forks", "300"], 270),
        ("a child that outlives its parent", ["orphan"], 0),
        ("calls from a signal handler", ["nested"], 0),
        ("a program that closes every descriptor", ["close-all"], 15)):
    with t.case(name):
        launched(check_row(harm(*command), stdin=b"one\ntwo\nthree\n"), least)

with t.case("a program without OpenCL"):
    check_row(["/bin/sh", "-c", "echo out; echo err >&2; exit 9"])

with t.case("a program found by PATH"):
    check_row(["true"])

for name, command, status in (("no such program", ["/no/such/program"], 127),
                              ("no such program in PATH", ["no-such-program-anywhere"], 127),
                              ("a folder", ["/tmp"], 126),
                              ("not executable", ["/etc/passwd"], 126)):
    with t.case(f"status {status}: {name}"):
        result = t.record(command, t.path("none.duet"))
        t.equal(result.status, status, "status")
        t.true(command[0].encode() in result.stderr, f"the message names it: {result.stderr}")

with t.case("status 127: a search that is long enough for samples of the child"):
    result = run([DUET, "record", "-o", t.path("search.duet"), "--", "no-such-program-anywhere"],
                 env={"PATH": ":".join(["/x"] * 40000)})
    t.equal(result.status, 127, f"status: {text(result.stderr)[:400]}")

for name, arguments in (("wrong option", ["--no-such-option", "--", "true"]),
                        ("output not writable", ["-o", "/no/such/folder/f.duet", "--", "true"])):
    with t.case(f"status 125: {name}"):
        result = run([DUET, "record", *arguments])
        t.equal(result.status, 125, "status")
        t.true(result.stderr, "there is a message")

with t.case("a broken pipe is the program's"):
    script = 'P=("$@"); "${P[@]}" | head -1; exit ${PIPESTATUS[0]}'
    command = ["/usr/bin/seq", "1", "10000000"]
    plain = run(["bash", "-c", script, "sh", *command])
    recorded = run(["bash", "-c", script, "sh", DUET, "record", "-o", t.path("pipe.duet"), "--",
                    *command])
    t.equal((recorded.status, recorded.stdout), (plain.status, plain.stdout), "status and output")

# ---- what a program can see of itself ----

for device, environment in (("pthread", {}), ("basic", BASIC)):
    with t.case(f"descriptors, signals, limits, threads: {device}"):
        # each fact is printed four times; the plain run has a parent too
        plain = run([*WRAPPED, *harm("state")], env=environment)
        launched(check_row(harm("state"), env=environment, plain=plain), 150)

with t.case("started with descriptors closed"):
    closed = ["/bin/sh", "-c", '"$@" <&- ; exit $?', "sh"]
    plain = run([*closed, *harm("state")])
    recorded = run([*closed, DUET, "record", "-o", t.path("closed.duet"), "--", *harm("state")])
    t.equal(recorded.status, plain.status, "status")
    t.same_text(recorded.stdout, plain.stdout, "stdout")

with t.case("started with signals ignored and blocked"):
    def prepare():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
    plain = run([*WRAPPED, *harm("state")], preexec_fn=prepare)
    recorded = run([DUET, "record", "-o", t.path("signals.duet"), "--", *harm("state")],
                   preexec_fn=prepare)
    t.equal(recorded.status, plain.status, "status")
    t.same_text(recorded.stdout, plain.stdout, "stdout")

with t.case("an extra descriptor of the caller reaches the program"):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    result = t.record(["/bin/sh", "-c", f"echo through >&{writer}"], t.path("fd.duet"),
                      pass_fds=(writer,))
    os.close(writer)
    t.equal(os.read(reader, 100), b"through\n", "what came through")
    os.close(reader)

with t.case("the user's OPENCL_LAYERS is kept"):
    mine = "/no/such/layer.so"
    result = t.record(["/bin/sh", "-c", "echo $OPENCL_LAYERS"], t.path("layers.duet"),
                      env={"OPENCL_LAYERS": mine})
    t.true(mine in text(result.stdout).strip().split(":"), f"it is there: {text(result.stdout)}")

with t.case("the program's queue properties and errors are its own"):
    check_row([program("counts"), "--check-properties"])

# ---- failing calls, limits, sanitizers, rights ----

with t.case("failing enqueues"):
    launched(check_row([program("counts"), "--fail"]), 38)

# of the program, as a user or a batch system sets them; PoCL itself writes files of half a MiB
for limit in ("-f 2048", "-v 6000000", "-n 32", "-n 16", "-s 256", "-l 0", "-u 400"):
    with t.case(f"ulimit {limit}"):
        command = limited(limit, harm("work", "20", "3"))
        plain = run(command)
        if plain.status != 3:
            raise Skip(f"the program alone ends with {plain.status} under this limit")
        check_row(command, plain=plain)

# Files so small that PoCL, which writes its cache, does not survive them: over the simulated driver,
# which writes nothing. The limit is the program's, then also duet's own.
SIMULATED = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim")}
for limit, of_duet in (("-f 0", False), ("-f 1", False), ("-f 64", False), ("-f 8", True),
                       ("-f 2048", True), ("-v 300000", False)):
    with t.case(f"ulimit {limit} {'of duet and the program' if of_duet else 'of the program'}, "
                "simulated driver"):
        if not os.path.exists(os.path.join(SIMULATED["OCL_ICD_VENDORS"], "sim-opencl.icd")):
            raise Skip("the simulated driver was not built")
        command = [program("counts"), "--quiet"]
        output = t.path("limit.duet")
        record = [DUET, "record", "-o", output, "--"]
        plain = run(limited(limit, command), env=SIMULATED)
        recorded = run(limited(limit, [*record, *command]) if of_duet
                       else [*record, *limited(limit, command)], env=SIMULATED)
        t.equal(plain.status, 0, "status of the program alone")
        t.equal(recorded.status, 0, f"status ({text(recorded.stderr)})")
        t.same_text(recorded.stdout, plain.stdout, "stdout")
        t.same_text(duet_test.without_own_lines(recorded.stderr), plain.stderr, "stderr")
        document = t.readable(output)
        if not of_duet:
            t.equal(document["ledger"]["matched"], 38, "matched")

for compiler in ("gcc", "clang"):
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    with t.case(f"address sanitizer of {compiler}"):
        launched(check_row([program(f"asan-{compiler}")], env=environment), 30)
    with t.case(f"address sanitizer of {compiler} still finds an overflow"):
        command = [program(f"asan-{compiler}"), "overflow"]
        plain, recorded = t.unharmed(command, t.path("asan.duet"), env=environment, stderr=False)
        t.true(b"heap-buffer-overflow" in recorded.stderr, "the sanitizer's report is there")


def public_copy(folder, *names):
    """duet, its guest and test programs where everybody may run them, wherever the tree lies."""
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o777)
    copies = []
    for path in (DUET, duet_test.GUEST, *(program(name) for name in names)):
        copies.append(os.path.join(folder, os.path.basename(path)))
        shutil.copy(path, copies[-1])
        os.chmod(copies[-1], 0o755)
    return copies[0], *copies[2:]


with t.case("setuid root, not recorded"):
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    folder = t.path("setuid")
    duet, copy = public_copy(folder, "harm")
    os.chown(copy, 0, 0)
    os.chmod(copy, 0o4755)
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    environment = {"HOME": folder, "POCL_CACHE_DIR": os.path.join(folder, "cache")}
    run([copy, "identity"], env=environment)
    plain = run([*drop, copy, "identity"], env=environment, cwd=folder)
    recorded = run([*drop, duet, "record", "-o", os.path.join(folder, "f.duet"), "--", copy,
                    "identity"], env=environment, cwd=folder)
    t.equal(recorded.status, plain.status, f"status ({text(recorded.stderr)})")
    t.same_text(recorded.stdout, plain.stdout, "stdout")
    t.same_text(duet_test.without_own_lines(recorded.stderr), plain.stderr, "stderr")

with t.case("an ordinary user"):
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv to become one")
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    folder = t.path("user")
    duet, counts = public_copy(folder, "counts")
    environment = {"HOME": folder, "POCL_CACHE_DIR": os.path.join(folder, "cache")}
    plain = run([*drop, counts], env=environment, cwd=folder)
    output = os.path.join(folder, "f.duet")
    recorded = run([*drop, duet, "record", "-o", output, "--", counts], env=environment, cwd=folder)
    t.equal(recorded.status, plain.status, f"status ({text(recorded.stderr)})")
    t.same_text(recorded.stdout, plain.stdout, "stdout")
    t.equal(t.readable(output)["ledger"]["matched"], 38, "matched")

# ---- a full disk and a hostile program ----


@contextlib.contextmanager
def small_disk(size):
    folder = t.path("disk")
    os.makedirs(folder, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder],
                             capture_output=True)
    if mounted.returncode != 0:
        raise Skip("no rights to mount a small tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], capture_output=True)


with t.case("full disk"):
    with small_disk("256k") as folder:
        output = os.path.join(folder, "f.duet")
        plain, recorded = t.unharmed(harm("flood", "2"), output, status=125)
        t.true(recorded.stderr.startswith(b"duet") or b"\nduet" in recorded.stderr,
               "the recorder says that the disk is full")
        document = t.readable(output)
        t.equal(document.get("complete"), False, "the report calls itself incomplete")

with t.case("hostile ring bytes"):
    plain, recorded = t.unharmed(harm("scribble", "100"), t.path("hostile.duet"), stderr=False)
    hits = [line for line in text(recorded.stderr).splitlines() if line.startswith("scribbled over")]
    t.true(hits and hits[0] != "scribbled over 0 mappings", f"the program found the memory: {hits}")
    document = t.report(t.path("hostile.duet"))
    ledger = document["ledger"]
    t.equal(ledger["matched"] + ledger["not_executed"] + ledger["in_flight_at_exit"] + ledger["dropped"] + ledger["rejected"],
            ledger["launched"], "the ledger's sum")
    t.true(document.get("losses") or b"duet" in recorded.stderr,
           "the recorder or the report says that something was wrong")
    t.equal(document.get("complete"), False, "the report calls itself complete")
    t.true(all(row["count"] < 1 << 40 for row in document.get("losses", [])),
           f"no count is believed that cannot be: {document.get('losses')}")

# ---- a stopped and a killed recorder ----


def recording(name, *arguments, options=()):
    """duet record of harm, running; returns (Running, the file)."""
    t.wanted()
    output = t.path(name)
    running = Running([DUET, "record", *options, "-o", output, "--", *harm(*arguments)])
    running.wait_line("running")
    return running, output


def wait_ended(pid, timeout):
    """Seconds until the process is gone or a zombie."""
    begin = time.monotonic()
    while time.monotonic() < begin + timeout:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    break
        except OSError:
            break
        time.sleep(0.02)
    else:
        t.fail(f"the program did not end within {timeout} s")
    return time.monotonic() - begin


for mode in ("run", "flood"):
    with t.case(f"stopped recorder: {mode}"):
        running, output = recording("stopped.duet", mode, "3")
        pid = running.program_pid("harm")
        running.kill(signal.SIGSTOP)
        try:
            seconds = wait_ended(pid, 20)
        finally:
            running.kill(signal.SIGCONT)
        result = running.finish()
        # one that waits for the recorder does not end at all
        t.true(seconds < 15, f"the program ended in its time ({seconds:.1f} s of 3)")
        t.equal(result.status, 0, f"status ({text(result.stderr)})")
        t.equal(result.stdout, b"running\nended\n", "stdout")
        t.readable(output)

def wait_written(output, seconds=5):
    """Until a launch is in the file: it is there a second later, or when the recorder is given a processor."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        shown = run([DUET, "report", "--json", output])
        if shown.status in (0, 4) and json.loads(shown.stdout)["ledger"]["launched"]:
            return
        time.sleep(0.1)


for mode in ("run", "flood"):
    with t.case(f"killed recorder: {mode}"):
        running, output = recording("killed.duet", mode, "6")
        if mode == "run":
            wait_written(output)
        else:
            time.sleep(1.2)
        running.kill(signal.SIGKILL)
        result = running.finish()
        t.equal(result.stdout, b"running\nended\n", "stdout of the program that lived on")
        t.equal(result.stderr, b"", "stderr")
        t.true(result.seconds < 20, f"the program ended in its time ({result.seconds:.1f} s)")
        launched(t.readable(output), 1 if mode == "run" else 0)

with t.case("killed recorder: rows written before the flush interval"):
    running, output = recording("early.duet", "run", "30", options=["--flush-interval", "3600"])
    wait_written(output, 20)
    running.kill(signal.SIGKILL)
    running.kill_group(signal.SIGTERM)
    running.finish()
    launched(t.readable(output), 1)

# ---- signals ----

with t.case("Ctrl-C: a program that dies of it"):
    running, output = recording("int.duet", "run", "20")
    time.sleep(0.5)
    running.kill_group(signal.SIGINT)
    result = running.finish(15)
    t.equal(result.status, 130, f"status ({text(result.stderr)})")
    t.equal(result.stdout, b"running\n", "stdout")
    launched(t.readable(output), 1)

with t.case("Ctrl-C: a program that catches it"):
    running, output = recording("int.duet", "run", "20", "catch")
    time.sleep(0.5)
    running.kill_group(signal.SIGINT)
    result = running.finish(15)
    t.equal(result.status, 42, f"status ({text(result.stderr)})")
    t.equal(result.stdout, b"running\ncaught signal 2\nended\n", "stdout")
    launched(t.readable(output), 1)

with t.case("Ctrl-C twice"):
    running, output = recording("int.duet", "run", "20", "catch")
    time.sleep(0.5)
    running.kill_group(signal.SIGINT)
    time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        running.kill_group(signal.SIGINT)
    result = running.finish(15)
    t.equal(result.stdout, b"running\ncaught signal 2\nended\n", "stdout")
    launched(t.readable(output), 1)

for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
    with t.case(f"{name} to the recorder alone: the program runs on"):
        running, output = recording("alone.duet", "run", "3")
        time.sleep(0.5)
        running.kill(number)
        result = running.finish(20)
        t.equal(result.status, 0, f"status ({text(result.stderr)})")
        t.equal(result.stdout, b"running\nended\n", "stdout")
        t.true(result.seconds > 2.5, f"the recorder waited for it ({result.seconds:.1f} s)")
        launched(t.readable(output), 1)

    with t.case(f"{name} to the recorder alone, twice: it ends at once"):
        running, output = recording("alone.duet", "run", "12")
        time.sleep(0.5)
        begin = time.monotonic()
        running.kill(number)
        time.sleep(0.3)
        with contextlib.suppress(ProcessLookupError):
            running.kill(number)
        running.process.wait(timeout=20)
        t.true(time.monotonic() - begin < 10, "the recorder ended before the program")
        launched(t.readable(output), 1)
        result = running.finish(20)
        t.equal(result.stdout, b"running\nended\n", "stdout of the program that lived on")

with t.case("-d 3: the recording ends, the program runs on"):
    running, output = recording("short.duet", "run", "7", options=["-d", "3"])
    result = running.finish(20)
    t.equal(result.status, 0, f"status ({text(result.stderr)})")
    t.equal(result.stdout, b"running\nended\n", "stdout")
    t.true(result.seconds > 6.5, "the recorder waited for the program")
    document = t.readable(output)
    launched(document, 1)
    t.true(2.5e9 < document["wall_ns"] < 6.5e9, f"three seconds, not seven, were recorded: {document['wall_ns']} ns")

with t.case("-d longer than the program"):
    t.unharmed(harm("work", "5", "8"), t.path("long.duet"), options=["-d", "60"])

with t.case("the status is the program's when the recording ended early"):
    running, output = recording("early.duet", "run", "20", "catch", options=["-d", "0.3"])
    time.sleep(0.8)
    os.kill(running.program_pid("harm"), signal.SIGTERM)
    result = running.finish(20)
    t.equal(result.status, 42, f"status ({text(result.stderr)})")

for number, name in ((signal.SIGHUP, "SIGHUP"), (signal.SIGQUIT, "SIGQUIT")):
    with t.case(f"{name} to the group: the program's fate is its own"):
        t.wanted()
        alone = Running(harm("run", "3"))
        alone.wait_line("running")
        alone.kill_group(number)
        plain = alone.finish()
        running, output = recording("hup.duet", "run", "3")
        running.kill_group(number)
        result = running.finish()
        t.equal(result.stdout, plain.stdout, "stdout")
        t.readable(output)

t.end()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Messages of duet about missing parts are true and contain the remedy."""
import json
import os
import shutil
import signal
import subprocess

import duet_test
from duet_test import DUET, GUEST, Running, program, run, text

t = duet_test.Suite()
duet_test.leave_network()

DOCTOR = "duet doctor"


def recorded(*command, collect="opencl", options=(), **more):
    """What record says, and what the report does, of a program."""
    t.wanted()
    path = t.path("said.duet")
    result = run([DUET, "record", "--collect", collect, *options, "-o", path, "--", *command], **more)
    return text(result.stderr), text(run([DUET, "report", path]).stdout)


def attached(about, *options):
    """What record -p says of a process."""
    t.wanted()
    path = t.path("said.duet")
    result = run([DUET, "record", "--collect", "opencl", "-d", "0.3", *options, "-p", str(about.pid), "-o", path])
    t.equal(result.status, 0, "status")
    return text(result.stderr), text(run([DUET, "report", path]).stdout)


def same_in_both(said, report, sentence):
    t.true(sentence in said, f"record: {said}")
    t.true(sentence in report, f"report: {report[:600]}")
    t.true(DOCTOR not in said + report, f"no vague hint beside it: {said}{report[:600]}")


# ---- a process that runs ----

with t.case("-p: a loaded guest is not reported as missing"):
    if not os.path.exists(GUEST):
        raise duet_test.Skip("no guest")
    with open(t.path("idle.py"), "w", encoding="utf-8") as file:
        file.write("import ctypes, sys\n"
                   "cl = ctypes.CDLL('libOpenCL.so.1')\n"
                   "count = ctypes.c_uint()\n"
                   "cl.clGetPlatformIDs(0, None, ctypes.byref(count))\n"
                   "print('ready', flush=True)\nsys.stdin.read()\n")
    idle = Running(["python3", t.path("idle.py")], stdin=subprocess.PIPE, env={"OPENCL_LAYERS": GUEST})
    idle.wait_line("ready")
    same_in_both(*attached(idle), f"process {idle.pid} (python3) did not reach the recorder, although duet's guest is loaded in it: "
                 "it called no OpenCL meanwhile, or the recording ended too early")
    idle.kill(signal.SIGKILL)
    idle.finish()
    plain = Running(["python3", t.path("idle.py")], stdin=subprocess.PIPE)
    plain.wait_line("ready")
    same_in_both(*attached(plain), f"process {plain.pid} (python3) was started without duet's guest; start it with "
                 "duet record -- PROGRAM, or anew after duet install --system")
    plain.kill(signal.SIGKILL)
    plain.finish()
    other = Running(["sleep", "60"])
    same_in_both(*attached(other), f"process {other.pid} (sleep) has not loaded OpenCL (libOpenCL.so)")
    other.kill(signal.SIGKILL)
    other.finish()

# ---- a program that was started ----

with t.case("a daemon that outlives the program is named"):
    said, report = recorded("sh", "-c", "sleep 60 & until [ $(cat /proc/$!/comm) = sleep ]; do :; done; echo $!; exit 0")
    line = next(line for line in said.splitlines() if "still run: " in line)
    pid = int(line.split("sleep (")[1].split(")")[0])
    os.kill(pid, signal.SIGKILL)
    same_in_both(said, report, f"the recording ended with the program, but processes that it started still run: sleep ({pid}); "
                 f"duet record -p {pid} records them")

with t.case("... also where other calls were recorded, if it has the guest loaded"):
    with open(t.path("daemon.py"), "w", encoding="utf-8") as file:
        file.write("import ctypes, os, time\n"
                   "cl = ctypes.CDLL('libOpenCL.so.1')\n"
                   "count = ctypes.c_uint()\n"
                   "pipe = os.pipe()\n"
                   "if os.fork() == 0:\n"
                   "    cl.clGetPlatformIDs(0, None, ctypes.byref(count))\n"
                   "    os.write(pipe[1], b'x')\n"
                   "    for fd in 0, 1, 2: os.close(fd)\n"
                   "    time.sleep(60)\n"
                   "os.read(pipe[0], 1)\n")
    said, report = recorded("python3", t.path("daemon.py"), options=["-v"])
    t.true("! OpenCL: partial: the recording ended with the program, but processes that it started still run: python3 (" in report,
           report[:500])
    pid = int(report.split("still run: python3 (")[1].split(")")[0])
    os.kill(pid, signal.SIGKILL)
    t.true(f"python3 ({pid})" in said, f"-v: {said}")

with t.case("a program with a seccomp filter of its own"):
    said, report = recorded(program("harm"), "seccomp-socket")
    same_in_both(said, report, "has installed a seccomp filter of its own, which may kill it for opening the guest's socket. "
                 "So the guest stays idle; --collect cpu samples such a program")
    said, report = recorded(program("harm"), "seccomp-late")
    t.true("seccomp" not in said + report.replace("harm seccomp-late", ""), f"a filter that came later: {said}{report[:300]}")

with t.case("a program under oclgrind's wrapper"):
    with open("/proc/self/maps", encoding="utf-8") as file:
        library = next((line.split()[-1] for line in file if "/libm.so" in line), None)
    if not library:
        raise duet_test.Skip("python3 has no libm to stand in for oclgrind's library")
    shutil.copyfile(library, t.path("liboclgrind-rt.so"))
    said, report = recorded("env", f"LD_PRELOAD={t.path('liboclgrind-rt.so')}", "sleep", "1.5")
    same_in_both(said, report, "runs in oclgrind, whose wrapper replaces libOpenCL.so by a library that loads no layers. So its OpenCL "
                 "calls are not recorded; start the program without oclgrind")

with t.case("a program that becomes another user"):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise duet_test.Skip("needs root and setpriv")
    t.wanted()
    copy = t.path("counts")
    shutil.copy(program("counts"), copy)
    if run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-r", GUEST]).status:
        raise duet_test.Skip("another user cannot read the guest here")
    said, report = recorded("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "--quiet")
    same_in_both(said, report, "runs as user 65534, and this recording takes programs of user 0 only. As root, duet record "
                 "--user NAME starts the program as that user")

STATIC = """#include <unistd.h>
int main(int count, char **texts) { return count > 1 ? execv(texts[1], texts + 1) : 0; }
"""

with t.case("a static program, and one that becomes a dynamic one"):
    t.wanted()
    source = t.path("static.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(STATIC)
    if not shutil.which("cc") or run(["cc", "-static", "-o", t.path("static"), source]).status:
        raise duet_test.Skip("no static libc")
    said, report = recorded(t.path("static"))
    same_in_both(said, report, "itself are not recorded: it is linked statically, so that no library can be loaded beside it")
    said, report = recorded(t.path("static"), program("counts"), "--quiet")
    t.true("statically" not in said + report and "launched = " in report, f"{said}{report[:400]}")

with t.case("a set-user-ID program"):
    if os.geteuid() != 0:
        raise duet_test.Skip("needs root")
    t.wanted()
    copy = t.path("setuid")
    shutil.copy(shutil.which("true"), copy)
    os.chown(copy, 65534, 65534)
    os.chmod(copy, 0o4755)
    same_in_both(*recorded(copy), "itself are not recorded: it is set-user-ID, and no guest is loaded into such a program")

with t.case("-v of a recording without OpenCL does not say that no guest is loaded"):
    said, _ = recorded("true", collect="ranges", options=["-v"])
    t.true("no guest" not in said and "libduet-opencl" not in said, said)

# ---- readers ----

with t.case("an import has no OpenCL calls to miss"):
    t.wanted()
    for name, content in (("cuda.json", json.dumps({"traceEvents": [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 1, "dur": 2, "args": {}}]})),
                          ("stacks.folded", "main;work 3\n")):
        source = t.path(name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(content)
        made = run([DUET, "import", "-f", "chrome" if name.endswith("json") else "folded", "-o", t.path("in.duet"), source])
        t.equal(made.status, 0, text(made.stderr))
        report = text(run([DUET, "report", t.path("in.duet")]).stdout)
        t.true("OpenCL" not in report and DOCTOR not in report and "imported" in report, f"{name}: {report[:300]}")

with t.case("a recording of all processes is titled by one that has a queue"):
    path = t.described("all.duet", "process 2 100 loader command=%2flib%2floader", "process 1 200 heat command=heat", "clock 1 0",
                       "device 1 gpu", "thread 1 1", "queue 1 1 clock=1 process=1", "window 0 100000",
                       "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 40")
    report = text(run([DUET, "report", path]).stdout)
    t.true(report.startswith("heat"), report[:200])

with t.case("a recording of all processes without a call of a runtime is titled by their number"):
    path = t.described("none.duet", "process 2 100 loader command=%2flib%2floader", "process 1 200 heat command=heat", "clock 1 0",
                       "thread 1 1", "thread 2 2", "switch 1 10 blocked", "window 0 100000", "collector 1 cpu available")
    report = text(run([DUET, "report", path]).stdout)
    t.true(report.startswith("2 processes\n"), report[:200])
    t.true("no CPU samples; the collector cpu records them (duet record --collect cpu), but not with -a" in report and "-F HZ" not in report, report)

with t.case("a program that is too short to be sampled is not said to be recorded without samples"):
    t.wanted()
    path = t.path("short.duet")
    for _ in range(20):
        run([DUET, "record", "--collect", "cpu", "-F", "1", "-o", path, "--", "true"])
        if b'"cpu_sample"' not in run([DUET, "export", "-f", "jsonl", path]).stdout:
            break
    else:
        raise duet_test.Skip("each run had a sample")
    graph = run([DUET, "flame", "--view", "cpu", "-o", t.path("cpu.svg"), path])
    t.equal(graph.status, 1, "status")
    t.true("the collector cpu was on, but the run ended before the first sample was due (duet record -F HZ samples more often)"
           in text(graph.stderr), text(graph.stderr))

# ---- names ----

with t.case("--collect suggests similar options and guests"):
    t.wanted()
    for word, sentence in (("cuda", "no collector 'cuda'; did you mean nvidia:cuda?"),
                           ("host", "no collector 'host'; did you mean opencl:host or level_zero:host?"),
                           ("rocm", "no collector 'rocm'; did you mean amd?"),
                           ("opencll", "no collector 'opencll'; did you mean opencl?"),
                           ("nothing", "no collector 'nothing'; there are: opencl amd"),
                           ("opencl:cuda", "collector 'opencl' has no option 'cuda' (nvidia:cuda has); there are: opencl:host")):
        result = run([DUET, "record", "--collect", word, "--", "true"])
        t.equal(result.status, 125, f"{word}: status")
        t.true(sentence in text(result.stderr), f"{word}: {text(result.stderr)}")

with t.case("README and duet(1) are correct about threads and runtimes"):
    readme = os.path.join(duet_test.ROOT, "README.md")
    page = os.path.join(duet_test.ROOT, "docs", "man", "duet.1.md")
    if not os.path.exists(readme):
        raise duet_test.Skip("no sources here")
    with open(readme, encoding="utf-8") as file:
        t.true("except one helper where the vendor's runtime runs threads" in file.read(), "README")
    with open(page, encoding="utf-8") as file:
        t.true("only OpenCL is recorded" not in file.read(), "duet(1)")

t.end()

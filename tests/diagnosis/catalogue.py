# SPDX-License-Identifier: MIT
"""The programs of the benchmark and how they are started."""
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON_FOLDER = os.path.join(HERE, "programs", "python")
PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")

C = ["compute", "sort", "lock", "condition", "fsync", "write", "read", "fifo", "popen", "child", "socket", "sleep", "poll",
     "epoll", "page_fault", "major_fault", "preempted", "throttled", "build", "allocation", "free", "api_call",
     "tiny_launches", "dependency", "other_device"]
CPP = ["sort_names", "compress", "count_words", "mutex", "future", "sleep_for"]
MPI = ["late_barrier", "late_receive"]
PYTHON = ["parse_json", "parse_text", "hold_gil", "spin_gil", "hold_lock", "queue_wait", "write_fsync", "read_file", "fetch",
          "read_pipe", "run_child", "pause", "select_wait", "event_loop", "collect_garbage", "imports",
          "pool_map", "touch_memory", "busy_neighbour"]
PYOPENCL = ["preprocess", "build_program"]
C_PAIRS = ["compute-fsync", "lock-compute", "sleep-compute", "socket-compute", "page_fault-sleep", "condition-sleep",
           "read-compute", "poll-allocation", "build-lock", "child-compute", "fifo-socket"]
PYTHON_PAIRS = ["parse_json-write_fsync", "hold_gil-parse_json", "hold_lock-pause", "queue_wait-parse_text",
                "fetch-collect_garbage", "read_pipe-parse_json", "select_wait-touch_memory", "run_child-pause",
                "build_program-preprocess"]
SIMULATED = ["compute", "fsync", "lock", "page_fault", "sleep", "socket"]
# The newcomer's program: milliseconds per iteration.
FOUR = {"parse_json": 5, "hold_lock": 4, "write_fsync": 3, "busy_neighbour": 2}
# Quota and period in microseconds, of a control group in which duet and the program run. The thread is away for longer
# than it computes: with 60 % of a processor, it was the other way round in every third run.
THROTTLED = {"throttled": (20000, 100000)}
DEVICES = {"other_device": "pthread pthread"}
KERNEL_US = 2000
# duet does not look for simulated drivers by itself.
COLLECT = {"cuda": ["--collect", "nvidia:cuda,cpu"], "hip": ["--collect", "amd,cpu"]}
# Milliseconds per iteration of a pair's larger and smaller cause.
PAIR_MS = 6, 3


class Skip(Exception):
    """This program cannot run here; the text is the reason."""


class Program:
    def __init__(self, name, language, causes=None):
        self.name = name
        self.language = language
        self.causes = causes or [name]
        self.throttle = THROTTLED.get(name)
        self.record_options = COLLECT.get(language, [])

    def arguments(self, seed):
        """Amounts; which cause of a pair is the larger one depends on the seed."""
        if self.name == "four":
            return [f"{cause}={ms}" for cause, ms in FOUR.items()]
        if len(self.causes) < 2:
            return []
        amounts = PAIR_MS if seed % 2 == 0 else reversed(PAIR_MS)
        return [f"{cause}={ms}" for cause, ms in zip(self.causes, amounts)]

    def command(self, build, seed):
        arguments = self.arguments(seed)
        if self.language in ("python", "pyopencl"):
            python = self.interpreter(seed)
            script = self.name if len(self.causes) == 1 else "pair"
            return [python, os.path.join(PYTHON_FOLDER, script + ".py"), *arguments]
        path = os.path.join(build, "tests", "diagnosis", self.name)
        if not os.path.exists(path):
            raise Skip("not built")
        if self.language == "mpi":
            return ["mpirun", "--oversubscribe", "-np", "2", path]
        if self.language == "cuda":
            return ["env", f"LD_LIBRARY_PATH={os.path.join(build, 'sim', 'nvidia')}", f"SIM_NVIDIA=kernel_us={KERNEL_US}", path]
        if self.language == "hip":
            # duet itself has nothing of the simulated GPU: the library stands behind those that duet adds
            library = os.path.join(build, "sim", "amd", "libsim-kfd.so")
            return ["env", f"SIM_KFD=kernel_us={KERNEL_US}", "sh", "-c", f'LD_PRELOAD="{library}:$LD_PRELOAD" exec "$@"', "sh", path]
        return [path, *arguments]

    def interpreter(self, seed):
        if self.language == "pyopencl":
            if not has_pyopencl():
                raise Skip("no Python has PyOpenCL and numpy")
            return "/usr/bin/python3"
        found = list(pythons().values())
        return found[(sorted(ALL).index(self.name) + seed) % len(found)]

    def environment(self):
        return {"POCL_DEVICES": DEVICES.get(self.name, "pthread"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def has_pyopencl(found=[]):
    if not found:
        found.append(subprocess.run(["/usr/bin/python3", "-c", "import pyopencl, numpy"], capture_output=True,
                                    check=False).returncode == 0)
    return found[0]


def pythons(found={}):
    """{version: path}: pyenv's, then those in PATH, then the one that runs this."""
    for version in PYTHONS if not found else ():
        places = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")))
        path = places[-1] if places else shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin:/bin")
        if path:
            found[version] = path
    return found or {"%d.%d" % sys.version_info[:2]: sys.executable}


def programs(names, language, causes=lambda name: None):
    return {name: Program(name, language, causes(name)) for name in names}


SINGLE = {**programs(C, "c"), **programs(CPP, "cpp"), **programs(MPI, "mpi"), **programs(PYTHON, "python"),
          **programs(PYOPENCL, "pyopencl")}
GPUS = {**programs(["cuda-" + name for name in SIMULATED], "cuda"), **programs(["hip-" + name for name in SIMULATED], "hip")}
PAIRS = {**programs(["pair-" + name for name in C_PAIRS], "c", lambda name: name.split("-")[1:]),
         **programs(["pair-" + name for name in PYTHON_PAIRS], "python", lambda name: name.split("-")[1:])}
PAIRS["pair-build_program-preprocess"].language = "pyopencl"
FOURS = {"four": Program("four", "pyopencl", list(FOUR))}
ALL = {**SINGLE, **GPUS, **PAIRS, **FOURS}

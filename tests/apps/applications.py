# SPDX-License-Identifier: MIT
"""The applications of `make check-apps`: one row each, in APPLICATIONS.

An application that is not installed is skipped with the reason. Programs of our own are compiled from programs/ into
the work folder.
"""
import dataclasses
import glob
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
STARPU = "/usr/lib/*/starpu/examples"
PIGLIT = "/usr/lib/*/piglit/bin"
JNA = "/usr/share/java/jna.jar"
KOFFI = "koffi@2"


class Missing(Exception):
    """Raised where an application cannot run here; its text is the reason."""


@dataclasses.dataclass
class Application:
    name: str
    command: object  # function of the work folder that builds the program; returns the command, or a list of commands
    environment: dict = dataclasses.field(default_factory=dict)
    varying: tuple = ()  # expressions of what differs from run to run in stdout; each match is replaced with "#"
    is_counted: bool = True
    is_timed: bool = True
    is_cold: bool = True  # False: also its behaviour is compared with a warm cache, because compiling takes a minute


def needed(tool, package=None):
    path = shutil.which(tool)
    if not path:
        raise Missing(f"{tool} is not installed (package {package or tool})")
    return path


def needed_file(pattern, package):
    paths = sorted(glob.glob(pattern))
    if not paths:
        raise Missing(f"{pattern} was not found (package {package})")
    return paths[-1]


def compiled(work, output, sources, command):
    """Runs command where output is older than a source. Returns the path of the output."""
    path = os.path.join(work, output)
    if os.path.exists(path) and all(os.path.getmtime(s) <= os.path.getmtime(path) for s in sources):
        return path
    done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "rror" in line] or done.stdout.splitlines()[-1:]
        raise Missing(f"{output} was not built: {' '.join(lines[:1])}")
    return path


def source(name):
    return os.path.join(PROGRAMS, name)


def layer(work):
    file = os.path.join(HERE, "count_enqueues.c")
    return compiled(work, "count_enqueues.so", [file],
                    ["gcc", "-O2", "-shared", "-fPIC", file, "-o", "count_enqueues.so"])


def launches(work):
    file = source("launches.c")
    return compiled(work, "liblaunches.so", [file],
                    ["gcc", "-O2", "-g", "-shared", "-fPIC", file, "-o", "liblaunches.so", "-lOpenCL"])


def c_program(name, *libraries):
    def command(work):
        file = source(name)
        output = os.path.splitext(name)[0]
        compiler = needed("g++" if name.endswith(".cpp") else "gcc")
        return [compiled(work, output, [file], [compiler, "-O2", "-g", "-w", file, "-o", output, *libraries, "-lOpenCL"])]
    return command


def installed(tool, *arguments, package=None):
    return lambda work: [needed(tool, package), *arguments]


def opencv(work):
    if subprocess.run(["/usr/bin/python3", "-c", "import cv2"], capture_output=True, check=False).returncode:
        raise Missing("cv2 is not installed (package python3-opencv)")
    return ["/usr/bin/python3", source("opencv_filters.py")]


def ffmpeg(work):
    filters = "format=yuv420p,hwupload,avgblur_opencl=4,unsharp_opencl,hwdownload,format=yuv420p"
    return [needed("ffmpeg"), "-hide_banner", "-loglevel", "error", "-nostdin", "-init_hw_device", "opencl=ocl",
            "-filter_hw_device", "ocl", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25:duration=1",
            "-vf", filters, "-f", "md5", "-"]


def mpi(work):
    compiler = needed("mpicc", "libopenmpi-dev")
    folder = os.path.dirname(launches(work))
    program = compiled(work, "ranks", [source("ranks.c")],
                       [compiler, "-O2", "-g", source("ranks.c"), "-o", "ranks", "-L.", "-llaunches", f"-Wl,-rpath,{folder}"])
    return [needed("mpirun", "openmpi-bin"), "--oversubscribe", "-n", "4", program]


def go(work):
    compiler = needed("go", "golang-go")
    folder = os.path.dirname(launches(work))
    os.environ["CGO_CFLAGS"] = f"-I{PROGRAMS}"
    os.environ["CGO_LDFLAGS"] = f"-L{folder} -llaunches -Wl,-rpath,{folder}"
    return [compiled(work, "goroutines", [source("goroutines.go")],
                     [compiler, "build", "-o", "goroutines", source("goroutines.go")])]


def rust(work):
    compiler = needed("rustc")
    folder = os.path.dirname(launches(work))
    return [compiled(work, "threads", [source("threads.rs")],
                     [compiler, "-O", "-g", source("threads.rs"), "-o", "threads", f"-L{folder}", "-llaunches",
                      f"-Clink-arg=-Wl,-rpath,{folder}"])]


def java(work):
    needed_file(JNA, "libjna-java")
    compiled(work, "Threads.class", [source("Threads.java")],
             [needed("javac", "default-jdk-headless"), "-cp", JNA, "-d", ".", source("Threads.java")])
    return [needed("java", "default-jdk-headless"), "-cp", f"{JNA}:{work}", "Threads", launches(work)]


def node(work):
    program = needed("node", "nodejs")
    compiled(work, "node_modules/koffi/package.json", [],
             [needed("npm"), "install", "--no-audit", "--no-fund", "--no-save", "--prefix", ".", KOFFI])
    # Node looks for modules beside the program.
    script = compiled(work, "promises.cjs", [source("promises.cjs")], ["cp", source("promises.cjs"), "promises.cjs"])
    return [program, script, launches(work)]


def starpu(work):
    return [needed_file(f"{STARPU}/vector_scal", "starpu-examples")]


def piglit(work):
    needed_file(f"{PIGLIT}/cl-*", "piglit")
    return [[path] for path in sorted(glob.glob(f"{PIGLIT}/cl-*"))]


NUMBER = r"\d+(\.\d+)?"

APPLICATIONS = [
    Application("clpeak", installed("clpeak", "--kernel-latency"), varying=(NUMBER,)),
    Application("hashcat-benchmark", installed("hashcat", "-b", "-m", "0", "--force", "--runtime", "3"),
                varying=(r"(?m)^(Speed|Started|Stopped).*$", NUMBER), is_cold=False),
    Application("hashcat-mask",
                installed("hashcat", "-m", "0", "-a", "3", "--force", "--potfile-disable", "-O",
                          "900150983cd24fb0d6963f7d28e17f72", "?l?l?l"),
                varying=(r"(?m)^(Time\.|Speed|Started|Stopped|Restore|Candidates|Guess).*$", r" {2,}", r"(?m)^\[s\]tatus .*? =>",
                         r"\d+/\d+.*")),
    Application("opencv", opencv, environment={"OPENCV_OPENCL_DEVICE": ":CPU:"}),
    Application("ffmpeg", ffmpeg),
    Application("clblast", installed("clblast_test_xaxpy", package="clblast-tests"), varying=(NUMBER,)),
    Application("clfft", installed("clFFT-client", "-x", "1024", "-b", "16", "-p", "10", package="clfft-client"),
                varying=(NUMBER,)),
    Application("viennacl", c_program("viennacl_cg.cpp")),
    Application("static-program", c_program("static_program.cpp")),
    Application("at-exit-program", c_program("at_exit_program.c")),
    Application("boost-compute", c_program("boost_compute.cpp")),
    Application("starpu", starpu, environment={
        "STARPU_OPENCL_ON_CPUS": "1", "STARPU_NCPU": "0", "STARPU_SILENT": "1",
        "STARPU_OPENCL_PROGRAM_DIR": "/usr/share/starpu/opencl"}),
    Application("mpi", mpi, environment={
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
    Application("go", go),
    Application("rust", rust),
    Application("java", java),
    Application("node", node),
    Application("piglit", piglit, varying=(r"(?i)(.*free.*memory|.*CL_DEVICE_GLOBAL_MEM.*|0x[0-9a-f]+)",),
                is_counted=False, is_timed=False),
]


def normalised(text, application):
    for expression in application.varying:
        text = re.sub(expression, "#", text)
    return text

# SPDX-License-Identifier: MIT
"""Helpers of the end-to-end tests: find the program under test, run programs with and without it, compare, print TAP.

A test file does

    t = duet_test.Suite()
    with t.case("name"):
        t.equal(got, want, "what")
    t.end()

The program is DUET in the environment, or the first argument, or build/duet. The test programs are in
DUET_PROGRAMS, or in tests/programs beside it. If a requirement is missing, the case is skipped with the reason and
does not pass.
"""
import collections
import contextlib
import ctypes
import glob
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# --write replaces the expected files by the current output.
WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")

# Traces with at most this number of rows are checked at the end; 0: none.
CHECKED_ROWS = int(os.environ.get("DUET_CHECK_ACCOUNTS") or 0)

# Time limits below detect hangs. They are written for an idle machine and multiplied by this factor.
PATIENCE = 4

# seconds: by the clock; computed: of the processor time of all children meanwhile, which a busy machine does not change
Result = collections.namedtuple("Result", "status stdout stderr seconds computed", defaults=[None])


class Skip(Exception):
    """Raised in a case that cannot run here; its text is the reason."""


def _find_duet():
    named = os.environ.get("DUET") or (sys.argv[1] if len(sys.argv) > 1 else None)
    return os.path.abspath(named or os.path.join(ROOT, "build", "duet"))


DUET = _find_duet()
BUILD = os.path.dirname(DUET)
PROGRAMS = os.environ.get("DUET_PROGRAMS") or os.path.join(BUILD, "tests", "programs")
GUEST = os.environ.get("DUET_GUEST") or os.path.join(BUILD, "libduet-opencl.so")


def leave_network():
    """Moves this process and its children into a new network namespace; False if that fails. Recorders listen under
    names of the namespace, and the name of a recorder of all programs can be used only once. Needs root."""
    clone_newnet = 0x40000000
    return ctypes.CDLL(None).unshare(clone_newnet) == 0


def stolen_ns():
    """Steal time of all processors of this virtual machine so far."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = file.readline().split()
    return int(fields[8]) * 1000000000 // os.sysconf("SC_CLK_TCK")


def program(name):
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        raise Skip(f"{name} was not built")
    return path


def is_open(path):
    """Whether any user can read a file or folder. A folder above it may be closed, as home folders are on Debian 12."""
    mode = os.stat(path).st_mode
    if not mode & stat.S_IROTH or (os.path.isdir(path) and not mode & stat.S_IXOTH):
        return False
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


def let_others_read(path):
    """Gives others the owner's rights to read, execute and enter."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6)


def status_of(returncode):
    """Exit status as in a shell: 128 + n for a signal."""
    return 128 - returncode if returncode < 0 else returncode


def clean_environment(extra=None):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("DUET_") and k not in ("OPENCL_LAYERS", "DUET")}
    environment.setdefault("POCL_DEVICES", "pthread")
    environment["LC_ALL"] = "C"
    environment.update(extra or {})
    return environment


def default_signals():
    """Sets the signals of a new process as a terminal does, even if the test runner ignores some."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def run(command, env=None, stdin=b"", timeout=120, **options):
    """Runs a command to its end; status as in a shell. A run that hangs is killed and reported."""
    begin, computed = time.monotonic(), children_computed()
    options.setdefault("preexec_fn", default_signals)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=clean_environment(env),
                               start_new_session=True, **options)
    try:
        stdout, stderr = process.communicate(stdin, timeout=PATIENCE * timeout)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"no end after {PATIENCE * timeout} s: {' '.join(command)}\n"
                             f"{text(stdout)}{text(stderr)}") from None
    return Result(status_of(process.returncode), stdout, stderr, time.monotonic() - begin,
                  children_computed() - computed)


def children_computed():
    """Processor time in seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def text(data):
    return data.decode("utf-8", "replace")


def counted(stdout):
    """The facts that tests/programs/counts.c prints, of all its processes added up."""
    facts = {"launched": 0, "command": {}, "bytes": {}, "call": {}, "failed": {}, "extension": {}}
    for line in text(stdout).splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "launched":
            facts["launched"] += int(words[1])
        elif words[0] in ("command", "bytes", "call", "extension"):
            table = facts[words[0]]
            table[words[1]] = table.get(words[1], 0) + int(words[2])
            if words[0] == "call":
                facts["failed"][words[1]] = facts["failed"].get(words[1], 0) + int(words[3])
    return facts


def added_up(rows, key):
    """{name: (count, total_ns)} of the commands of a report that have times, of all devices."""
    sums = {}
    for row in rows:
        count, total = sums.get(row[key], (0, 0))
        sums[row[key]] = (count + row["timed"], total + row["total_ns"])
    return {name: row for name, row in sums.items() if row[0]}


def sums_of(document):
    """What a report and that of an import of its export have in common."""
    return {"calls": {row["name"]: (row["count"], row["total_ns"]) for row in document["api"]},
            "kernels": added_up(document["kernels"], "name"),
            "copies": added_up(document["copies"], "direction"),
            "others": added_up(document["other_commands"], "command"),
            "busy": sorted(row["busy_ns"] for row in document["devices"] if row["busy_ns"])}


class Suite:
    def __init__(self, needs_opencl=True):
        self.count = 0
        self.failures = 0
        self.problems = []
        self.folder = tempfile.mkdtemp(prefix="e2e.")
        os.chmod(self.folder, 0o755)
        self.only = os.environ.get("DUET_TEST_ONLY", "")
        self._check_ground(needs_opencl)

    def _check_ground(self, needs_opencl):
        reason = None
        if not os.access(DUET, os.X_OK):
            reason = f"{DUET} is not there"
        elif needs_opencl and not os.path.exists(os.path.join(PROGRAMS, "counts")):
            reason = "the test programs were not built: no OpenCL headers"
        elif needs_opencl and run([os.path.join(PROGRAMS, "counts"), "--quiet"]).status != 0:
            reason = "no OpenCL device works here"
        if reason:
            print(f"1..0 # SKIP {reason}")
            self._remove_folder()
            sys.exit(0)

    def path(self, name):
        return os.path.join(self.folder, name)

    def for_others(self, path):
        """The path by which any user reaches a file or folder of the build or the tree: its own, or that of a copy. The
        program is copied with its guests. Copies lie to each other as the originals do."""
        path = os.path.realpath(path)
        if is_open(path):
            return path
        copy = os.path.join(self.folder, "for_others") + path
        guests = glob.glob(os.path.join(BUILD, "libduet-*.so")) if path == os.path.realpath(DUET) else []
        for file in [path, *guests]:
            self._copy_for_others(file)
        return copy

    def _copy_for_others(self, path):
        copy = os.path.join(self.folder, "for_others") + path
        if os.path.exists(copy):
            return
        mask = os.umask(0o022)
        try:
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            if os.path.isdir(path):
                shutil.copytree(path, copy, symlinks=True)
                inside = glob.glob(os.path.join(glob.escape(copy), "**", "*"), recursive=True)
            else:
                shutil.copy(path, copy)
                inside = []
            for name in filter(os.path.exists, [copy, *inside]):
                let_others_read(name)
        finally:
            os.umask(mask)

    def simulated_opencl(self):
        """OCL_ICD_VENDORS with the simulated driver alone, for any user."""
        driver = os.path.join(BUILD, "sim", "libsim-opencl.so")
        if not os.path.exists(driver) or is_open(driver):
            return os.path.join(BUILD, "sim")
        folder = self.path("vendors")
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "sim-opencl.icd"), "w", encoding="utf-8") as file:
            file.write(self.for_others(driver) + "\n")
        return folder

    def described(self, name, *lines):
        """The path of a trace with these lines; tests/checker/description.h has the grammar."""
        self.wanted()
        maker = os.path.join(BUILD, "tests", "unit", "analyze", "make_trace")
        if not os.path.exists(maker):
            raise Skip("make_trace was not built")
        path = self.path(name)
        made = run([maker, "-", path], stdin="\n".join(lines).encode())
        self.equal(made.status, 0, f"make_trace: {text(made.stderr)}")
        return path

    def database(self, name, *parts):
        """The path of a new SQLite database; each part is a script, or a function that fills a connection."""
        path = self.path(name)
        if os.path.exists(path):
            os.unlink(path)
        connection = sqlite3.connect(path)
        for part in parts:
            if callable(part):
                part(connection)
            else:
                connection.executescript(part)
        connection.commit()
        connection.close()
        return path

    def generated(self, events, shape="mixed", seed=11):
        """The path of a trace that tests/generate makes up."""
        self.wanted()
        tool = os.path.join(BUILD, "tests", "generate", "generate_trace")
        if not os.path.exists(tool):
            raise Skip("generate_trace was not built")
        path = self.path(f"{shape}.duet")
        made = run([tool, "--events", str(events), "--seed", str(seed), "--shape", shape, "--out",
                    path, "--answers", self.path("answers.json")])
        self.equal(made.status, 0, f"generate_trace: {text(made.stderr)}")
        return path

    # -- cases --

    @contextlib.contextmanager
    def case(self, name):
        self.count += 1
        self.problems = []
        skipped = None
        if self.only and not re.search(self.only, name):
            skipped = "not asked for"
        try:
            if skipped:
                # the body still runs in a with statement, so it is told to stop at its first check
                self.problems = None
            yield
        except Skip as why:
            skipped = skipped or str(why)
        except Exception as error:  # a broken case must not end the others
            if not skipped:
                self.problems.append(f"{type(error).__name__}: {error}")
        if skipped:
            self.problems = []
        for problem in self.problems:
            for line in problem.splitlines():
                print(f"# {line}")
        self.failures += bool(self.problems)
        print(f"{'not ' if self.problems else ''}ok {self.count} - {name}"
              + (f" # SKIP {skipped}" if skipped and not self.problems else ""), flush=True)

    def end(self):
        if CHECKED_ROWS:
            self._check_accounts()
        print(f"1..{self.count}")
        self._remove_folder()
        sys.exit(1 if self.failures else 0)

    def _check_accounts(self):
        """Compares the report of every trace of this file with the slow checker's result."""
        sys.path.insert(0, os.path.join(ROOT, "tests", "checker"))
        import check_account  # noqa: E402
        with self.case("the account of every trace made here, by brute force"):
            checked = large = damaged = 0
            for path in sorted(glob.glob(os.path.join(self.folder, "**", "*.duet"), recursive=True)):
                rows = run([DUET, "export", "--format", "jsonl", "-o", "/dev/stdout", path])
                if rows.status:
                    continue
                if rows.stdout.count(b"\n") > CHECKED_ROWS:
                    large += 1
                    continue
                about = json.loads(run([DUET, "info", "--json", path]).stdout)
                if about["damage"]["damaged"]:  # the rows do not say what is missing
                    damaged += 1
                    continue
                checked += 1
                for difference in check_account.check(DUET, path, None):
                    self.fail(difference)
            print(f"# {checked} traces checked, {large} of more than {CHECKED_ROWS} rows and {damaged} damaged ones not")

    def _remove_folder(self):
        if os.environ.get("DUET_TEST_KEEP"):
            print(f"# files are in {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    # -- checks: they note and go on --

    def fail(self, problem):
        if self.problems is None:
            raise Skip("not asked for")
        self.problems.append(problem)

    def true(self, condition, what):
        if not condition or self.problems is None:
            self.fail(f"not true: {what}")
        return condition

    def equal(self, got, want, what):
        if got != want or self.problems is None:
            self.fail(f"{what}: got {got!r}, want {want!r}")

    def same_text(self, got, want, what):
        got, want = text(got), text(want)
        if got == want:
            return
        lines, others = got.splitlines(), want.splitlines()
        extra = [line for line in lines if line not in others][:6]
        missing = [line for line in others if line not in lines][:6]
        self.fail(f"{what} differs: with duet {extra!r}, without {missing!r}")

    def same_as_file(self, got, path, what):
        """Compares with the file; --write writes the file first."""
        if WRITE:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(got)
        with open(path, encoding="utf-8") as file:
            self.same_text(got.encode(), file.read().encode(), what)

    def check_export_memory(self, name, output):
        """An export of ten times as many events takes no more memory. output: a path; a folder there is removed."""
        peaks = []
        for events in (40000, 400000):
            path = self.generated(events, "single")
            process = subprocess.Popen([DUET, "export", path, "-f", name, "-o", output])
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            self.equal(status, 0, "status")
            if os.path.isdir(output):
                shutil.rmtree(output)
            peaks.append(usage.ru_maxrss)
        self.true(peaks[1] < 1.5 * peaks[0], f"peaks in KiB: {peaks}")

    def check_export_ends(self, name):
        """A full disk is a reported failure; a closed pipe is not."""
        path = self.generated(20000)
        result = run([DUET, "export", path, "-f", name, "-o", "/dev/full"])
        self.equal(result.status, 1, "status on a full disk")
        self.true("No space left" in text(result.stderr), text(result.stderr))
        piped = run(["sh", "-c", f"{DUET} export {path} -f {name} | head -c 1000 | wc -c"])
        self.equal((text(piped.stdout).strip(), text(piped.stderr)), ("1000", ""), "a reader that goes away")

    def recorded_example(self):
        """A trace of examples/render."""
        self.wanted()
        example = os.path.join(BUILD, "examples", "render")
        if not os.path.exists(example):
            raise Skip("examples/render was not built")
        path = self.path("render.duet")
        recorded = self.record([example, "--iterations", "11"], path)
        if recorded.status != 0 and "no OpenCL" in text(recorded.stderr) + text(recorded.stdout):
            raise Skip("no OpenCL device works here")
        self.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
        return path

    # -- duet --

    def wanted(self):
        """Skips a case that DUET_TEST_ONLY does not name."""
        if self.problems is None:
            raise Skip("not asked for")

    def record(self, command, output, options=(), env=None, **more):
        self.wanted()
        return run([DUET, "record", *options, "-o", output, "--", *command], env=env, **more)

    def report(self, output, *options):
        """The document of duet report --json."""
        result = run([DUET, "report", output, "--json", *options])
        if result.status not in (0, 4):
            raise AssertionError(f"duet report: status {result.status}: {text(result.stderr)}")
        document = json.loads(result.stdout)
        sums = document["ledger"]
        is_incomplete = sums["matched"] * 100 < (sums["launched"] - sums["not_executed"] - sums["left_out"]) * 95 or sums["contradictions"] > 0
        self.equal(result.status, 4 if is_incomplete else 0, f"status of the report with {sums}")
        self.true(document["complete"] is False or not is_incomplete, "an incomplete report says so")
        self.equal(next(iter(document)), "schema", "the first key of the report")
        return document

    def folded(self, output, view):
        """[([frame, …], value)] of duet flame --folded, root first, with the frames' suffixes."""
        result = run([DUET, "flame", "--view", view, "--folded", output])
        self.equal(result.status, 0, f"flame: {text(result.stderr)}")
        rows = [line.rsplit(" ", 1) for line in text(result.stdout).splitlines()]
        return [(frames.split(";"), int(value)) for frames, value in rows]

    def readable(self, output):
        """The report of a file that may be cut short; its ledger is checked."""
        document = self.report(output)
        self.ledger(document)
        return document

    def ledger(self, document):
        """Checks the invariants of a ledger; returns it."""
        ledger = document.get("ledger", {})
        for key in ("launched", "executed", "matched", "dropped", "rejected", "not_executed", "in_flight_at_exit",
                    "left_out"):
            if not isinstance(ledger.get(key), int):
                self.fail(f"ledger has no {key}: {ledger}")
                return collections.Counter(ledger)
        self.equal(ledger["matched"] + ledger["not_executed"] + ledger["in_flight_at_exit"] + ledger["dropped"]
                   + ledger["rejected"] + ledger["left_out"], ledger["launched"],
                   f"matched + not executed + in flight + dropped + rejected + left out of {ledger}")
        for clock in document.get("clocks", []):
            self.equal(clock.get("violations") or 0, 0, f"violations of clock {clock.get('domain')}")
        return ledger

    def unharmed(self, command, output=None, options=(), env=None, stderr=True, stdin=b"", plain=None,
                 status=None, **more):
        """Runs the command without and with duet and compares what a caller can see of both. status: the
        recorder's, where that is not the program's. Returns (plain, recorded)."""
        self.wanted()
        output = output or self.path("unharmed.duet")
        plain = plain or run(command, env=env, stdin=stdin, **more)
        recorded = self.record(command, output, options, env=env, stdin=stdin, **more)
        for _ in range(3):
            # PoCL 3.1 itself crashes now and then when a process ends; what is compared with is a
            # run of the program without duet that did not.
            if plain.status not in (-11, 139) or recorded.status == plain.status:
                break
            print("# the program crashed without duet; it is run again")
            plain = run(command, env=env, stdin=stdin, **more)
        wanted = plain.status if status is None else status
        self.equal(recorded.status, wanted, "exit status"
                   + (f" (stderr: {text(recorded.stderr)[:400]})" if recorded.status != wanted else ""))
        self.same_text(recorded.stdout, plain.stdout, "stdout")
        if stderr:
            self.same_text(without_own_lines(recorded.stderr), plain.stderr, "stderr")
        return plain, recorded


def without_own_lines(stderr):
    """stderr without the lines of duet, which all begin with its name."""
    return b"".join(line for line in stderr.splitlines(keepends=True)
                    if not line.startswith(b"duet"))


class Running:
    """A process with pipes for input and output while it runs, in its own process group."""

    def __init__(self, command, env=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=clean_environment(env),
                                        start_new_session=True, preexec_fn=default_signals,
                                        **options)
        self.begin = time.monotonic()
        self.head = b""

    @property
    def pid(self):
        return self.process.pid

    def wait_line(self, word, timeout=60):
        """Reads stdout up to the line with the word."""
        os.set_blocking(self.process.stdout.fileno(), False)
        end = time.monotonic() + PATIENCE * timeout
        while word.encode() not in self.head:
            piece = self.process.stdout.read() if self.process.stdout else b""
            if piece:
                self.head += piece
            elif time.monotonic() > end or self.process.poll() is not None and not piece:
                raise AssertionError(f"no line '{word}' on stdout; status {self.process.poll()}, "
                                     f"{text(self.head)}")
            else:
                time.sleep(0.01)
        os.set_blocking(self.process.stdout.fileno(), True)

    def say(self, line):
        """Writes a line to its stdin, which must be a pipe."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def children(self):
        """Pids of its descendants, nearest first."""
        found, queue = [], [self.pid]
        while queue:
            parent = queue.pop(0)
            for task in _listed(f"/proc/{parent}/task"):
                with contextlib.suppress(OSError), \
                        open(f"/proc/{parent}/task/{task}/children") as file:
                    below = [int(pid) for pid in file.read().split()]
                    found += below
                    queue += below
        return found

    def program_pid(self, name, timeout=20):
        """The child that runs the program of that name."""
        end = time.monotonic() + PATIENCE * timeout
        while time.monotonic() < end:
            for pid in self.children():
                with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
                    if file.read().strip() == name[:15]:
                        return pid
            time.sleep(0.02)
        raise AssertionError(f"no child called {name}")

    def kill(self, number):
        os.kill(self.pid, number)

    def kill_group(self, number):
        os.killpg(self.pid, number)

    def finish(self, timeout=60):
        try:
            stdout, stderr = self.process.communicate(timeout=PATIENCE * timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.process.communicate()
            raise AssertionError(f"no end after {PATIENCE * timeout} s") from None
        return Result(status_of(self.process.returncode), self.head + stdout, stderr,
                      time.monotonic() - self.begin)


def _listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record -p of processes that execute a set-user-ID program, or do not respond, while a guest is injected: the new
program runs no code that the old one chose, is not harmed, and the recorder ends.

DUET_STEER_ROUNDS: number of attachments to each process.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import time

import duet_test
from duet_test import DUET, PATIENCE, Skip, program, run, text

if os.uname().machine != "x86_64":
    print("1..0 # SKIP guests are brought into processes of x86-64 alone")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)
duet_test.leave_network()  # a recorder of running processes has a name that only one has in a network
ROUNDS = int(os.environ.get("DUET_STEER_ROUNDS") or 20)
UNHARMED = 42
NEW_PROGRAM = "it became another program"
ANSWERS = ("nothing of CUDA", "was running when it was attached")
OTHER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


def until(what, condition, timeout=20):
    end = time.monotonic() + timeout * PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout * PATIENCE} s: {what() if callable(what) else what}")
        time.sleep(0.005)


def needs_root():
    t.wanted()
    if os.geteuid() != 0:
        raise Skip("needs root to be another user")


def folder(name):
    """One that every user may write to, with what looks like CUDA, and the program as it is and as one of root's."""
    path = t.path(name)
    os.makedirs(path)
    os.chmod(path, 0o777)
    if os.statvfs(path).f_flag & os.ST_NOSUID:
        raise Skip("no set-user-ID programs in the temporary folder (nosuid)")
    for library in ("libcuda.so.1", "libcupti.so.12"):
        with open(os.path.join(path, library), "wb") as file:
            file.write(bytes(4096))
    for copy, mode in (("steer", 0o755), ("steer.suid", 0o4755)):
        shutil.copy(program("steer"), os.path.join(path, copy))
        os.chmod(os.path.join(path, copy), mode)
    return path


@contextlib.contextmanager
def started(place, *arguments, user=(), suid=False, env=None):
    process = subprocess.Popen([*user, os.path.join(place, "steer.suid" if suid else "steer"), *arguments], cwd=place,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=duet_test.clean_environment(env),
                               preexec_fn=duet_test.default_signals)
    try:
        if process.stdout.readline() != b"ready\n":
            errors = text(process.stderr.read())
            raise Skip(errors.strip()) if process.wait() == 77 else AssertionError(errors)
        yield process
    finally:
        process.kill()
        process.communicate()


class Recorder:
    def __init__(self, pid, trace, duet=DUET, user=()):
        self.errors = open(t.path("recorder.stderr"), "w+b")
        self.process = subprocess.Popen([*user, duet, "record", "-v", "-p", str(pid), "--collect", "nvidia:cuda", "-o", trace],
                                        stderr=self.errors, env=duet_test.clean_environment(),
                                        preexec_fn=duet_test.default_signals)

    def said(self):
        with open(self.errors.name, encoding="utf-8") as file:
            return " ".join(file.read().split())

    def end(self):
        """It ends within 5 s of SIGINT, as a machine with nothing else to do counts."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(5 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the recorder did not end after SIGINT") from None
        finally:
            self.errors.close()


def end_unharmed(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        t.true("TracerPid:\t0" in file.read(), "it is not traced any more")
    process.terminate()
    t.equal(process.wait(20 * PATIENCE), UNHARMED, "the new program's status")


ATTEMPTS = 20


def attach(process, place, steered):
    """The process may miss that it is traced, which it is for a moment. Then it is attached to again."""
    for _ in range(ATTEMPTS):
        recorder = Recorder(process.pid, t.path("steer.duet"))
        until(lambda: f"an answer: {recorder.said()}",
              lambda: any(words in recorder.said() for words in ANSWERS) or os.path.exists(steered))
        if NEW_PROGRAM in recorder.said() or os.path.exists(steered):
            return recorder
        t.equal(recorder.end(), 0, "status")
        if is_other(process, place):
            return None  # after the attempt
    raise AssertionError(f"it did not notice in {ATTEMPTS} attempts that it was traced")


def is_other(process, place):
    return os.readlink(f"/proc/{process.pid}/exe") != os.path.join(place, "steer")


def is_new(process, place):
    """It runs the other program, whose handler comes a moment after its begin."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return is_other(process, place) and f"SigCgt:\t{1 << 14:016x}" in file.read()


def attach_while_executing(place, *arguments, user=OTHER):
    """Whether the program was executed during the attempt, and not just after it."""
    steered = os.path.join(place, "steered")
    with started(place, *arguments, user=user) as process:
        recorder = attach(process, place, steered)
        if t.true(not os.path.exists(steered), "the set-user-ID program was not steered"):
            until("exec", lambda: is_new(process, place))
        if recorder:
            said = recorder.said()
            t.equal(recorder.end(), 0, said)
            t.true(NEW_PROGRAM in said, said)
        if not os.path.exists(steered):
            end_unharmed(process)
        return recorder is not None


def attach_often(place, *arguments, user=OTHER):
    met = turns = 0
    while met < ROUNDS and turns < 3 * ROUNDS and t.problems == []:
        met += attach_while_executing(place, *arguments, user=user)
        turns += 1
    print(f"# {arguments[0]}: {met} of {turns} programs were executed during an attempt")
    t.true(met, "at least one was executed during an attempt")


with t.case("a process that executes a set-user-ID program while it is attached to"):
    needs_root()
    place = folder("hostile")
    address = text(run([os.path.join(place, "steer"), "where"]).stdout).strip()
    attach_often(place, "hostile", address, os.path.join(place, "steer.suid"))

with t.case("… from a thread that is not the first one"):
    needs_root()
    place = folder("renamed")
    attach_often(place, "renamed", os.path.join(place, "steer.suid"))

with t.case("… while its first thread is borrowed"):
    needs_root()
    place = folder("sibling")
    attach_often(place, "sibling", os.path.join(place, "steer.suid"))

with t.case("a launcher that executes another program while it is attached to"):
    t.wanted()
    place = folder("launcher")
    shutil.copy(os.path.join(place, "steer"), os.path.join(place, "other"))
    attach_often(place, "launcher", os.path.join(place, "other"), user=())

with t.case("a set-user-ID program is not entered"):
    needs_root()
    place = folder("suid")
    with started(place, "mapped", user=OTHER, suid=True) as process:
        recorder = Recorder(process.pid, t.path("suid.duet"))
        until("a refusal", lambda: "nothing of CUDA" in recorder.said())
        said = recorder.said()
        t.equal(recorder.end(), 0, said)
        t.true("runs with the rights of several users" in said and "real 65534, effective 0" in said, said)
        end_unharmed(process)


def replace(place, path, kind):
    os.unlink(path)
    os.mkfifo(os.path.join(place, "pipe"))
    if kind == "pipe":
        os.rename(os.path.join(place, "pipe"), path)
    else:
        os.symlink(os.path.join(place, "pipe") if kind == "link" else "/dev/zero", path)


for kind in ("pipe", "link", "device"):
    for user in ((), OTHER):
        with t.case(f"a C library whose path leads to another kind of file: {kind}, {'another user' if user else 'the same user'}"):
            t.wanted()
            if user:
                needs_root()
            place = folder(f"{kind}{len(user)}")
            libc = os.path.join(place, "libc.so.6")
            shutil.copy(LIBC, libc)
            duet = os.path.join(place, "duet")
            for name in ("duet", "libduet-nvidia.so"):
                shutil.copy(os.path.join(duet_test.BUILD, name), place)
            with started(place, "mapped", user=user, env={"LD_LIBRARY_PATH": place}) as process:
                replace(place, libc, kind)
                recorder = Recorder(process.pid, os.path.join(place, "trace.duet"), duet, user)
                until("an answer", lambda: "nothing of CUDA" in recorder.said())
                said = recorder.said()
                t.equal(recorder.end(), 0, said)
                # without the right to map_files the library is out of reach
                t.true(not user or "cannot be read" in said, said)
                end_unharmed(process)

def spins(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        status = file.read()
    return "State:\tR" in status and "TracerPid:\t0" not in status


with t.case("a process whose borrowed thread never comes to its end"):
    t.wanted()
    place = folder("spins")
    with started(place, "spins") as process:
        recorder = Recorder(process.pid, t.path("spins.duet"))
        until("a borrowed thread", lambda: spins(process.pid))
        t.equal(recorder.end(), 0, "status")
        end_unharmed(process)

with t.case("a process whose memory does not answer"):
    needs_root()
    place = folder("silent")
    with contextlib.ExitStack() as ends:
        shared = f"/dev/shm/duet-steer.{os.getpid()}"
        with open(shared, "wb") as file:
            file.truncate(4096)
        ends.callback(os.unlink, shared)
        process = ends.enter_context(started(place, "silent", shared))
        recorder = Recorder(process.pid, t.path("silent.duet"))
        until("an attempt", lambda: len(os.listdir(f"/proc/{recorder.process.pid}/task")) > 1)
        time.sleep(0.3)
        t.equal(recorder.end(), 0, "status")
        with open(t.path("recorder.stderr"), encoding="utf-8") as file:
            said = " ".join(file.read().split())
        t.true("did not end within 2 s" in said, said)
        end_unharmed(process)

t.end()

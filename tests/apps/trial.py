# SPDX-License-Identifier: MIT
"""Runs one application plain and under `duet record`, and compares."""
import contextlib
import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import time

import applications

PATIENCE_S = 600
LIMIT_FACTOR = 1.1
LIMIT_MS = 20


class Ground:
    """The program under test, and the folders of one application."""

    def __init__(self, duet, work, application):
        self.duet = duet
        self.application = application
        self.folder = os.path.join(work, application.name)
        self.layer = applications.layer(work)
        self.warm = os.path.join(self.folder, "warm")
        os.makedirs(self.warm, exist_ok=True)

    @contextlib.contextmanager
    def caches(self, is_cold):
        """A home with all caches in it: a new one, or the one that earlier runs filled."""
        if not is_cold:
            yield self.warm
            return
        path = tempfile.mkdtemp(prefix="cold.", dir=self.folder)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def environment(self, caches, count_file):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DUET") and k != "OPENCL_LAYERS"}
        pocl = os.path.join(caches, "pocl")
        os.makedirs(pocl, exist_ok=True)
        environment.update({"LC_ALL": "C.UTF-8", "POCL_DEVICES": "pthread", "POCL_CACHE_DIR": pocl, "HOME": caches,
                            "XDG_CACHE_HOME": caches, "XDG_CONFIG_HOME": caches, "XDG_DATA_HOME": caches})
        environment.update(self.application.environment)
        if count_file:
            environment.update({"OPENCL_LAYERS": self.layer, "COUNT_ENQUEUES": count_file})
        return environment

    def trace(self):
        return os.path.join(self.folder, "trace.duet")

    def wrapped(self, command, is_recorded):
        return [self.duet, "record", "-o", self.trace(), "--", *command] if is_recorded else command


class Run:
    def __init__(self, status, stdout, stderr, milliseconds, enqueues=None):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.milliseconds = milliseconds
        self.enqueues = enqueues


def run(ground, command, is_recorded, is_cold, is_counted=False):
    """One run in a folder of its own. A run that does not end is killed; its status is then "no end"."""
    count_file = os.path.join(ground.folder, "enqueues") if is_counted else None
    if is_counted:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(count_file)
    with ground.caches(is_cold) as caches:
        environment = ground.environment(caches, count_file)
        begin = time.monotonic()
        process = subprocess.Popen(ground.wrapped(command, is_recorded), env=environment, cwd=caches,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE_S)
            status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            status = "no end"
        elapsed = (time.monotonic() - begin) * 1000
    return Run(status, stdout, stderr, elapsed, enqueues_in(count_file))


def enqueues_in(count_file):
    """The number of successful enqueues. A program that opened no OpenCL made none."""
    if not count_file or not os.path.exists(count_file):
        return 0
    with open(count_file, "rb") as file:
        data = file.read()
    return struct.unpack("<QQ", data)[0] if len(data) == 16 else 0


def ledger(ground):
    """The number of launched commands in the trace, or a text that says why there is none."""
    done = subprocess.run([ground.duet, "report", "--json", ground.trace()], capture_output=True, check=False)
    if done.returncode:
        return f"duet report: status {done.returncode}"
    return json.loads(done.stdout)["ledger"]["launched"]


def keep_outputs(ground, name, plain, recorded):
    """Both runs' output, for whoever looks at a difference."""
    for kind, result in (("plain", plain), ("recorded", recorded)):
        for stream in ("stdout", "stderr"):
            with open(os.path.join(ground.folder, f"{name}.{kind}.{stream}"), "wb") as file:
                file.write(getattr(result, stream))


class Behaviour:
    """What was compared. problems: one line for each difference."""

    def __init__(self):
        self.status_ok = self.output_ok = self.count_ok = True
        self.plain_enqueues = self.enqueues = self.launched = None
        self.problems = []


def compare(ground, command, behaviour):
    application = ground.application
    name = os.path.basename(command[0])
    runs = [run(ground, command, is_recorded, application.is_cold, application.is_counted) for is_recorded in (False, True)]
    plain, recorded = runs
    outputs = [applications.normalised(r.stdout.decode("utf-8", "replace"), application) for r in runs]
    keep_outputs(ground, name, plain, recorded)
    if plain.status != recorded.status:
        behaviour.status_ok = False
        behaviour.problems.append(f"{name}: status {plain.status} plain, {recorded.status} recorded")
    if outputs[0] != outputs[1]:
        behaviour.output_ok = False
        behaviour.problems.append(f"{name}: stdout differs: {ground.folder}/{name}.*.stdout")
    if not application.is_counted:
        return
    behaviour.plain_enqueues, behaviour.enqueues, behaviour.launched = plain.enqueues, recorded.enqueues, ledger(ground)
    if behaviour.enqueues != behaviour.launched:
        behaviour.count_ok = False
        behaviour.problems.append(f"{name}: the layer counted {behaviour.enqueues}, the ledger has {behaviour.launched}")


def behave(ground, commands):
    behaviour = Behaviour()
    if not ground.application.is_cold:
        run(ground, commands[0], is_recorded=False, is_cold=False)
    for command in commands:
        compare(ground, command, behaviour)
    return behaviour


class Timing:
    def __init__(self, plain, recorded):
        self.pairs = len(plain)
        self.plain_ms = statistics.median(plain)
        self.recorded_ms = statistics.median(recorded)
        self.limit_ms = LIMIT_FACTOR * self.plain_ms + LIMIT_MS
        self.is_within = self.recorded_ms <= self.limit_ms


def measure(ground, command, is_cold, pairs, budget_s):
    """Interleaved pairs without the layer; after budget_s no further pair starts. A pair's first run changes from pair to
    pair, so that what runs second has no advantage."""
    times = {False: [], True: []}
    end = time.monotonic() + budget_s
    if not is_cold:
        run(ground, command, is_recorded=False, is_cold=False)
        run(ground, command, is_recorded=True, is_cold=False)
    for pair in range(pairs):
        if pair and time.monotonic() > end:
            break
        for is_recorded in (pair % 2 == 1, pair % 2 == 0):
            times[is_recorded].append(run(ground, command, is_recorded, is_cold).milliseconds)
    return Timing(times[False], times[True])

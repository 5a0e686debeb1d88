# SPDX-License-Identifier: MIT
"""The agent's endpoints: what they serve and push equals the report, and receivers that fail cost counted drops.

tests/programs/endpoints.c runs them without an agent."""
import collections
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import duet_test
import export_readers
import receiver

t = duet_test.Suite()
ENDPOINTS = duet_test.program("endpoints")
SAMPLE = re.compile(r'^(\w+?)(?:\{(.*)\})? ([-+.\w]+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
with open(os.path.join(duet_test.ROOT, "docs", "man", "duet-endpoints.7.md"), encoding="utf-8") as page:
    MANUAL = page.read().replace("\\", "")
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class Endpoints(contextlib.AbstractContextManager):
    """A process that follows a recording."""

    def __init__(self, name, recording, config, begin_ns=0, recorder=0, further=()):
        path = t.path(f"{name}.textproto")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        self.process = subprocess.Popen([ENDPOINTS, path, recording, str(recorder), str(begin_ns), *further], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, encoding="utf-8")
        self.port, self.output = None, []
        if 'listen: "' in config:
            line = self.process.stdout.readline()
            self.port = int(line.split()[1]) if line.startswith("port ") else None

    def get(self, path="/metrics", accept="", method="GET"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method,
                                         headers={"Accept": accept} if accept else {})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.headers["Content-Type"], answer.read().decode()

    def finish(self, timeout=60):
        try:
            stdout, self.stderr = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.messages = [line[8:] for line in stdout.splitlines() if line.startswith("message ")]
        return self.process.returncode

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def samples_of(text):
    """{name: {labels: value}}; times as whole ns."""
    found = collections.defaultdict(dict)
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = tuple(sorted((one, text) for one, text in LABEL.findall(labels or "")))
        t.true(key not in found[name], f"one sample for {name} {key}")
        found[name][key] = value
    return found


def ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 10**9 + int((part + "0" * 9)[:9])


def refused(call):
    try:
        call()
    except urllib.error.HTTPError as error:
        return error.code
    return 0


def wait_for(condition, seconds=40):
    end = time.monotonic() + seconds * duet_test.PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def metrics_of(request):
    path = t.path("pushed.metrics")
    with open(path, "wb") as file:
        file.write(request.body)
    return export_readers.OtlpMetrics(path).metrics


def by(points, *keys):
    """{values of the attributes: sum}"""
    sums = collections.Counter()
    for attributes, value in points:
        sums[tuple(attributes.get(key, "") for key in keys)] += value
    return dict(sums)


@contextlib.contextmanager
def recording(name, kernels):
    """A recording that is being written by programs of about kernels * 10 ms: its file, the start of its time, the
    recorder."""
    path = t.path(f"{name}.duet")
    begin_ns = time.monotonic_ns()
    counts, work = duet_test.program("counts"), duet_test.program("gate_work")
    command = f"{counts} --quiet; {work} {kernels} 10000; {counts} --quiet"
    process = subprocess.Popen([duet_test.DUET, "record", "-o", path, "--flush-interval", "0.1", "--", "sh", "-c", command],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        t.true(wait_for(lambda: os.path.exists(path)), "the recording begins")
        yield path, begin_ns, process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def stream_of(endpoints, stream):
    """Counts of a stream's pushes, and all samples."""
    found = samples_of(endpoints.get()[1])
    counts = {dict(key)["result"]: int(value) for key, value in found["duet_pushes_total"].items() if dict(key)["stream"] == stream}
    counts["retries"] = int(found["duet_push_retries_total"][(("stream", stream),)])
    counts["is_on"] = int(found["duet_push_enabled"][(("stream", stream),)])
    return counts, found


def check_report(metrics, document, what):
    """Counts are those of the report. Times differ where an interval ends inside of a command."""
    kernels = {(row["name"],): row["count"] for row in document["kernels"]}
    t.equal(by(metrics["duet.kernel.executions"][1], "duet.kernel"), kernels, f"{what}: executions of kernels")
    copies = collections.Counter()
    for row in document["copies"]:
        copies[(row["direction"],)] += row["bytes"]
    t.equal(by(metrics["duet.copy.transferred"][1], "duet.direction"), dict(copies), f"{what}: bytes of copies")
    [device] = document["devices"]
    for key in ("launches", "executions"):
        t.equal(by(metrics[f"duet.device.{key}"][1]), {(): device[key]}, f"{what}: {key}")
    t.equal(by(metrics["duet.lost.rows"][1]), {(): 0}, f"{what}: no losses")
    busy = sum(value for _, value in metrics["duet.device.busy"][1])
    t.true(abs(busy - device["busy_ns"]) <= device["busy_ns"] / 100, f"{what}: busy {busy} of {device['busy_ns']} ns")
    parts = sum(sum(value for _, value in metrics[name][1])
                for name in ("duet.device.busy", "duet.device.idle", "duet.device.unmeasured"))
    analysed = by(metrics["duet.recording"][1], "state")[("analysed",)]
    t.true(parts <= analysed, f"{what}: busy and idle {parts} are in the analysed time {analysed}")
    t.true(parts >= document["wall_ns"] * 0.8, f"{what}: busy and idle {parts} cover the wall {document['wall_ns']}")
    t.equal(by(metrics["duet.recording"][1], "state")[("skipped",)], 0, f"{what}: nothing is skipped")
    t.equal(sum(value for _, value in metrics["duet.kernel.busy"][1]),
            sum(value for _, value in metrics["duet.device.kernel"][1]), f"{what}: kernels are the device's kernel time")
    t.equal(sum(value for _, value in metrics["duet.process.busy"][1]), busy, f"{what}: processes are the busy time")


with t.case("what is served while a program runs, and what is pushed, is what the report says"):
    server = receiver.Receiver()
    config = (f'prometheus {{ listen: "127.0.0.1:0" }}\notlp {{ endpoint: "{server.url}" header: "X-Key: a b" interval_s: 1 }}\n'
              f'pprof {{ url: "{server.url}/base/" name: "my app" }}\n')
    with recording("served", 300) as (path, begin_ns, recorder):
        with Endpoints("served", path, config, begin_ns, recorder.pid) as endpoints:
            t.true(wait_for(lambda: samples_of(endpoints.get()[1])["duet_kernel_executions_total"]), "kernels appear")
            before = samples_of(endpoints.get()[1])
            time.sleep(1.5)
            kind, text = endpoints.get()
            t.equal(kind, "text/plain; version=0.0.4; charset=utf-8", "type of the text")
            after = samples_of(text)
            for name, rows in before.items():
                if name.endswith("_total"):
                    for key, value in rows.items():
                        t.true(ns(after[name][key]) >= ns(value), f"{name} {key} only grows")
            t.true("duet_own_cpu_seconds_total" in after and len(after["duet_own_cpu_seconds_total"]) == 2, "two own processes")
            for name in after:
                t.true(f"**{name}**" in MANUAL or name.startswith("duet_metric_"), f"{name} is in the manual page")
            t.equal(after["duet_spool_files_dropped_total"], {(): "4"}, "the spool")
            t.equal(after["duet_spool_skipped_seconds_total"], {(): "1.5"}, "time of the spool")
            kind, text = endpoints.get(accept=OPENMETRICS)
            t.equal(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8", "type of OpenMetrics")
            t.true(text.endswith("\n# EOF\n"), "OpenMetrics ends")
            t.true("# UNIT duet_device_busy_seconds seconds\n" in text, "a unit")
            t.true(endpoints.get("/healthz")[1].startswith("ok\n"), "healthy")
            t.equal(refused(lambda: endpoints.get("/other")), 404, "another path")
            t.equal(refused(lambda: endpoints.get(method="POST")), 405, "another method")
            t.equal(endpoints.get(method="HEAD")[1], "", "no body for HEAD")
            recorder.wait(60 * duet_test.PATIENCE)
            t.equal(endpoints.finish(), 0, "it ends with the recording")
            t.equal(endpoints.messages, [], "no messages")
    pushes = server.at("/v1/metrics")
    document = t.report(path)
    check_report(metrics_of(pushes[-1]), document, "metrics")
    for push in pushes:
        t.equal(push.headers["content-type"], "application/x-protobuf", "type of a push")
        t.equal(push.headers["x-key"], "a b", "the configured header")
        t.true(push.wire_size < len(push.body) / 2, "a push is compressed")
    [profiles] = server.at("/v1development/profiles")
    with open(t.path("pushed.profiles"), "wb") as file:
        file.write(profiles.body)
    busy = document["devices"][0]["busy_ns"]
    for name, _, samples, _ in export_readers.Otlp(t.path("pushed.profiles")).profiles:
        if name == "gpu_time":
            total = sum(value for value, _, _ in samples)
            t.true(abs(total - busy) <= busy / 100, f"profile: {total} of {busy} ns")
    [pprof] = server.at("/base/ingest")
    query = urllib.parse.parse_qs(pprof.query)
    t.equal(query["name"], [f"my app{{host={os.uname().nodename}}}"], "name of the profile")
    t.equal(query["format"], ["pprof"], "format of the profile")
    t.true(0 < int(query["until"][0]) - int(query["from"][0]) < 1000, "times of the profile")
    t.equal(pprof.body[:2], b"\x1f\x8b", "a gzip member")
    server.close()

with t.case("the counters go on when a new recording replaces one that ended"):
    path, work = t.path("replaced.duet"), duet_test.program("gate_work")
    with Endpoints("replaced", path, 'prometheus { listen: "127.0.0.1:0" }', time.monotonic_ns(), 0, ["stay"]) as endpoints:
        def executions():
            return sum(int(value) for value in samples_of(endpoints.get()[1])["duet_kernel_executions_total"].values())

        t.equal(executions(), 0, "no file, no kernels")
        for number, kernels in enumerate((101, 53)):
            record = subprocess.Popen([duet_test.DUET, "record", "-o", path, "--flush-interval", "0.1", "--", work, str(kernels), "1000"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            t.equal(record.wait(60 * duet_test.PATIENCE), 0, "a recording")
            t.true(wait_for(lambda: executions() == (101, 154)[number]), f"{executions()} kernels after recording {number}")
            os.rename(path, f"{path}.{number}")
        found = samples_of(endpoints.get()[1])["duet_recording_seconds_total"]
        t.true(ns(found[(("state", "empty"),)]) > 0, "time without a recording")
        endpoints.process.terminate()
        t.equal(endpoints.finish(), 0, "it ends after SIGTERM")

with t.case("a clock that is set back: times of points go on, starts are those of the counters, the page is the same"):
    server = receiver.Receiver()
    clock = t.path("clock")

    def set_clock(step_s):
        with open(f"{clock}.new", "w", encoding="ascii") as file:
            file.write(str(step_s * 10**9))
        os.rename(f"{clock}.new", clock)

    set_clock(0)
    os.environ["ENDPOINTS_CLOCK"] = clock
    with recording("clock", 2000) as (path, begin_ns, recorder):
        with Endpoints("clock", path, f'prometheus {{ listen: "127.0.0.1:0" }}\notlp {{ endpoint: "{server.url}" interval_s: 1 profiles: false }}\n',
                       begin_ns, recorder.pid, ["stay"]) as endpoints:
            del os.environ["ENDPOINTS_CLOCK"]
            for step_s in (0, -3600, -7200, 7200):
                set_clock(step_s)
                before, pushed = samples_of(endpoints.get()[1]), len(server.at("/v1/metrics"))
                t.true(wait_for(lambda pushed=pushed: len(server.at("/v1/metrics")) >= pushed + 2), "pushes go on")
                after = samples_of(endpoints.get()[1])
                for name, rows in before.items():
                    if name.endswith("_total"):
                        for key, value in rows.items():
                            t.true(key in after[name] and ns(after[name][key]) >= ns(value), f"{step_s} s: {name} {key} only grows")
            recorder_started = int(open(f"/proc/{recorder.pid}/stat", encoding="ascii").read().rpartition(")")[2].split()[19])
            endpoints.process.terminate()
            t.equal(endpoints.finish(), 0, "it ends")
            t.true(1 <= len([line for line in endpoints.messages if "was set back" in line]) <= 2, f"{endpoints.messages}")
    last, starts = {}, {}
    for push in server.at("/v1/metrics"):
        metrics_of(push)
        for series, start, at in export_readers.OtlpMetrics(t.path("pushed.metrics")).times:
            t.true(at >= last.get(series, 0), f"{series}: {at} after {last.get(series)}")
            t.true(start is None or start <= at, f"{series}: {start} is before {at}")
            t.equal(start, starts.setdefault(series, start), f"start of {series}")
            last[series] = at
    t.true(abs(max(last.values()) / 1e9 - time.time() - 7200) < 20, "it follows a clock that is set forwards")
    [start] = [value for (name, _), value in starts.items() if name == "duet.spool.files.added"]
    t.equal(start, 1500000000 * 10**9, "the spool's counts start with the spool")
    [start] = [value for (name, labels), value in starts.items() if name == "duet.own.cpu" and "recorder" in labels]
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME) - recorder_started / os.sysconf("SC_CLK_TCK")
    t.true(abs(time.time() - uptime - start / 1e9) < 1, f"the recorder's time starts with the recorder: {start}")
    server.close()

with t.case("a client that sends its request slowly is cut off, and others are served"):
    with Endpoints("slow", "/nonexistent", 'prometheus { listen: "127.0.0.1:0" }', 0, 0, ["stay"]) as endpoints:
        slow = [socket.create_connection(("127.0.0.1", endpoints.port)) for _ in range(15)]
        ended, begin = {}, time.monotonic()
        for client in slow:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        while len(ended) < len(slow) and time.monotonic() < begin + 40:
            for client in set(slow) - set(ended):
                with contextlib.suppress(BlockingIOError):
                    try:
                        client.sendall(b"x")
                        if client.recv(1, socket.MSG_DONTWAIT) == b"":
                            ended[client] = time.monotonic() - begin
                    except ConnectionError:
                        ended[client] = time.monotonic() - begin
            t.true("duet_build_info" in endpoints.get()[1], "another client is served")
            time.sleep(1)
        t.equal(len(ended), len(slow), "all slow clients are cut off")
        t.true(all(14 <= seconds <= 30 for seconds in ended.values()), f"{sorted(ended.values())}")
        for client in slow:
            client.close()
        with socket.create_connection(("127.0.0.1", endpoints.port)) as client:  # a connection that is used again and again stays
            for _ in range(10):
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                t.true(client.recv(4096).startswith(b"HTTP/1.1 "), "an answer")
                time.sleep(2)
        endpoints.process.terminate()
        endpoints.finish()

with t.case("idle clients and half of a request give way: others are served at once"):
    with Endpoints("idle", "/nonexistent", 'prometheus { listen: "127.0.0.1:0" }', 0, 0, ["stay"]) as endpoints:
        waits = []
        for clients, part in ((30, b""), (130, b""), (400, b""), (400, b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")):
            with contextlib.ExitStack() as stack:
                for number in range(clients):
                    client = stack.enter_context(socket.create_connection(("127.0.0.1", endpoints.port)))
                    with contextlib.suppress(ConnectionError):  # the oldest are cut off meanwhile
                        client.sendall(part)
                    if number % 20 == 19 or number == clients - 1:
                        begin = time.monotonic()
                        t.true("behind_seconds" in endpoints.get("/healthz")[1], f"/healthz beside {number + 1} clients")
                        t.true("duet_build_info" in endpoints.get()[1], f"/metrics beside {number + 1} clients")
                        waits.append(time.monotonic() - begin)
        page = endpoints.get()[1]
        t.true("duet_process_launches" in page, "families of processes")
        t.true("duet_process_cpu_seconds" not in page and "duet_process_blocked" not in page, "no processor time without the collector cpu")
        t.true(max(waits) < 2 * duet_test.PATIENCE, f"the longest wait: {max(waits):.3f} s")
        endpoints.process.terminate()
        t.equal(endpoints.finish(), 0, "status")

with t.case("profiles that take too long to make have a reason of their own"):
    with contextlib.closing(receiver.Receiver()) as plain, recording("too_slow", 300) as (path, begin_ns, recorder):
        config = f'prometheus {{ listen: "127.0.0.1:0" }} pprof {{ url: "{plain.url}/p" receiver: plain interval_s: 1 }}'
        os.environ["ENDPOINTS_PROFILE_NS"] = "1"
        with Endpoints("too_slow", path, config, begin_ns, recorder.pid, ["stay"]) as endpoints:
            del os.environ["ENDPOINTS_PROFILE_NS"]

            def pushes():
                return {dict(key)["result"]: int(value) for key, value in samples_of(endpoints.get()[1])["duet_pushes_total"].items()}
            t.true(wait_for(lambda: pushes()["dropped_slow"] >= 2), f"drops: {pushes()}")
            t.equal(pushes()["dropped_full"], 0, "the queue was never full")
            endpoints.process.terminate()
            endpoints.finish()
            slow = [line for line in endpoints.messages if "pprof: making a profile took longer than" in line]
            t.true(slow, f"a message: {endpoints.messages}")  # one more after each profile that was ready in time

with t.case("promtool finds no fault in the names"):
    if not shutil.which("promtool"):
        raise duet_test.Skip("no promtool (package prometheus)")
    with recording("linted", 200) as (path, begin_ns, recorder):
        with Endpoints("linted", path, 'prometheus { listen: "127.0.0.1:0" }', begin_ns, recorder.pid) as endpoints:
            t.true(wait_for(lambda: samples_of(endpoints.get()[1])["duet_kernel_executions_total"]), "kernels appear")
            linted = subprocess.run(["promtool", "check", "metrics"], input=endpoints.get()[1], capture_output=True,
                                    encoding="utf-8", check=False)
            t.equal((linted.returncode, linted.stdout, linted.stderr), (0, "", ""), "promtool")

with t.case("receivers that are dead, hang, are busy, close or refuse cost counted drops only"):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
        servers = {
            "hangs": receiver.Receiver(lambda request: "hang"),
            "busy": receiver.Receiver(lambda request: (503, {"Retry-After": "3"})),
            "closes": receiver.Receiver(lambda request: None),
            "refuses": receiver.Receiver(lambda request: (400, {})),
            "drips": receiver.Receiver(lambda request: "drip"),
            "metrics only": receiver.Receiver(lambda request: (200, {}) if "metrics" in request.path else (404, {}))}
        urls = {"dead": dead} | {name: server.url for name, server in servers.items()}
        with recording("failing", 60000) as (path, begin_ns, recorder), contextlib.ExitStack() as stack:
            running = {name: stack.enter_context(Endpoints(
                "fails", path, f'prometheus {{ listen: "127.0.0.1:0" }}\n'
                f'otlp {{ endpoint: "{url}" interval_s: 1 timeout_s: 2 profiles_interval_s: 3'
                f' profiles: {"true" if name == "metrics only" else "false"} }}\n', begin_ns))
                for name, url in urls.items()}
            expected = {
                "refuses": lambda counts: counts["dropped_refused"] >= 4,
                "metrics only": lambda counts: counts["sent"] >= 4}
            for name, endpoints in running.items():
                is_met = expected.get(name, lambda counts: counts["retries"] >= 1 and counts["dropped_full"] >= 1)
                t.true(wait_for(lambda: is_met(stream_of(endpoints, "otlp_metrics")[0])),
                       f"{name}: {stream_of(endpoints, 'otlp_metrics')[0]}")
                counts, found = stream_of(endpoints, "otlp_metrics")
                t.equal(counts["sent"] > 0, name == "metrics only", f"{name}: what is sent")
                t.equal(found["duet_recording_seconds_total"][(("state", "skipped"),)], "0", f"{name}: all seconds are counted")
            t.true(wait_for(lambda: not stream_of(running["metrics only"], "otlp_profiles")[0]["is_on"]), "profiles are off")
            os.killpg(recorder.pid, signal.SIGKILL)
            for name, endpoints in running.items():
                t.equal(endpoints.finish(120 * duet_test.PATIENCE), 0, f"{name}: it ends")
                t.equal(len([line for line in endpoints.messages if line.startswith("otlp_metrics: ")]), name != "metrics only",
                        f"{name}: one message: {endpoints.messages}")
        times = [request.time for request in servers["busy"].at("/v1/metrics")]
        t.true(len(times) >= 2 and all(after - before >= 2.9 for before, after in zip(times, times[1:])),
               f"Retry-After is kept: {times}")
        t.equal(len(servers["metrics only"].at("/v1development/profiles")), 1, "a receiver without profiles gets one")
        for server in servers.values():
            server.close()

with t.case("mistakes in the configuration have a place, and a port in use is reported"):
    for config, words in (
            ('prometheus { listen: "example.com:9464" }', ":1:22: 'prometheus.listen' takes an address and a port"),
            ('prometheus { max_kernels: 3 }', ":1:12: 'prometheus' lacks 'listen'"),
            ('otlp { endpoint: "localhost:4318" }', ":1:18: 'otlp.endpoint' takes a URL"),
            ('otlp { endpoint: "http://x" header: "none" }', "'otlp.header' takes a header"),
            ('pprof { url: "http://x" interval_s: 0 }', "'pprof.interval_s' takes a number of seconds")):
        with Endpoints("wrong", "/nonexistent", config) as endpoints:
            t.equal(endpoints.finish(), 1, config)
            t.true(words in endpoints.stderr, f"{config}: {endpoints.stderr}")
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        with Endpoints("used", "/nonexistent", f'prometheus {{ listen: "127.0.0.1:{used.getsockname()[1]}" }}') as endpoints:
            t.equal(endpoints.finish(), 1, "a port in use")
            t.true("listen on 127.0.0.1: Address already in use" in endpoints.stderr, endpoints.stderr)

t.end()

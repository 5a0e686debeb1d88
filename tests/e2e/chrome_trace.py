# SPDX-License-Identifier: MIT
"""Reads Chrome's Trace Event Format for the tests, by the rules of viewers: events are sorted by ts, ties keep the order
of the file; slices of one thread must nest; an arrow starts and ends in the slice that is open there.

    python3 tests/e2e/chrome_trace.py FILE    # prints the trace, one event per line
"""
import decimal
import json
import sys


CALLS = {"api", "launch", "cuda_runtime", "cuda_driver", "cpu_op", "python_function", "os"}
COMMANDS = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_command"}
TORCH_COMMANDS = {"Memcpy HtoD": "write", "Memcpy DtoH": "read", "Memcpy DtoD": "copy", "Memset": "fill"}


class Broken(Exception):
    """The trace breaks a rule; the text says which."""


def require(condition, rule):
    if not condition:
        raise Broken(rule)


def ns(number):
    """Microseconds as nanoseconds; no rounding, or the number is refused."""
    value = decimal.Decimal(number) * 1000
    require(value == int(value), f"{number} us is no whole number of ns")
    return int(value)


class Slice:
    def __init__(self, event):
        self.event = event
        self.time = ns(event["ts"])
        self.end = self.time + ns(event["dur"])
        require(self.end >= self.time, "dur is not negative")
        self.name = event["name"]
        self.categories = event["cat"].split(",")
        self.row = (event["pid"], event["tid"])
        self.arguments = event["args"]
        self.stack = event.get("sf", 0)


class Trace:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file, parse_float=str, parse_constant=self.refuse)
        self.about = document["otherData"]
        self.frames = document["stackFrames"]
        self.samples = document["samples"]
        self.events = document["traceEvents"]
        self.processes, self.rows, self.order = {}, {}, {}
        self.slices, self.counters, self.instants = [], {}, []
        self.flow_begins, self.flow_ends = {}, {}
        self.readings = {}  # of counters that were recorded: (pid, name, unit) -> [(time, value)]
        self.open = {}  # by tid: viewers know no more
        for event in self.events:
            require(event["ph"] in "XMsfCi", f"ph {event['ph']}")
            require(isinstance(event["pid"], int) and isinstance(event["tid"], int), "numbers")
            if event["ph"] == "M":
                self.on_meta(event)
        timed = [event for event in self.events if event["ph"] != "M"]
        for event in sorted(timed, key=lambda event: ns(event["ts"])):
            self.on_event(event)
        require(self.flow_begins.keys() == self.flow_ends.keys(), "arrows have two ends")
        self.check_stacks()
        self.check_torch(document)

    @staticmethod
    def refuse(word):
        raise Broken(f"{word} is no number")

    def on_meta(self, event):
        table, key = {"process_name": (self.processes, event["pid"]),
                      "thread_name": (self.rows, event["tid"]),
                      "thread_sort_index": (self.order, event["tid"])}[event["name"]]
        require(key not in table, f"{event['name']} of {key} is told once")
        value = event["args"]["sort_index" if table is self.order else "name"]
        table[key] = value if table is not self.rows else (event["pid"], value)

    def on_event(self, event):
        time = ns(event["ts"])
        require(time >= 0, "nothing is before 0")
        require(event["pid"] in self.processes, f"process {event['pid']} has a name")
        if event["ph"] == "i":
            self.instants.append(event)
            return
        if event["ph"] == "C" and "commands" not in event["args"]:
            require(event["tid"] == 0 and len(event["args"]) == 1, "a counter is a process's, and has one value")
            (unit, value), = event["args"].items()
            self.readings.setdefault((event["pid"], event["name"], unit), []).append((time, float(value)))
            return
        require(self.rows.get(event["tid"], [None])[0] == event["pid"],
                f"thread {event['tid']} of {event['pid']} has a name")
        if event["ph"] == "C":
            self.counters[event["pid"], event["name"]] = event["args"]["commands"]
            require(event["args"]["commands"] >= 0, "no fewer than none")
            return
        stack = self.open.setdefault(event["tid"], [])
        while stack and stack[-1].end <= time and (stack[-1].time < time or event["ph"] == "X"):
            stack.pop()
        if event["ph"] == "X":
            one = Slice(event)
            require(not stack or one.end <= stack[-1].end, f"{one.name} at {one.time} nests")
            stack.append(one)
            self.slices.append(one)
        else:
            self.on_flow(event, stack)

    def on_flow(self, event, stack):
        table = self.flow_begins if event["ph"] == "s" else self.flow_ends
        require(stack, f"arrow {event['id']} has a slice")
        require(event["id"] not in table, "an arrow is drawn once")
        if event["ph"] == "f":
            require(event["bp"] == "e", "it ends in the slice that is open, not in the next")
            require(event["id"] in self.flow_begins, "an arrow begins before it ends")
        table[event["id"]] = stack[-1]

    def check_torch(self, document):
        """What HolisticTraceAnalysis and TraceLens need."""
        devices = {device["id"] for device in document["deviceProperties"]}
        for one in self.slices:
            require("," not in one.event["cat"], "a category is one word: readers compare the whole text")
            if one.event["cat"] not in COMMANDS:
                require("stream" not in one.arguments or "rejected" in one.categories, "only commands have a stream")
                continue
            for key in ("device", "stream", "correlation", "External id"):
                require(isinstance(one.arguments.get(key), int), f"{key} of {one.name} at {one.time} is a number")
            require(one.arguments["device"] in devices or self.processes[one.row[0]] == "[unknown device]",
                    "its device is described")
        for number, begin in self.flow_begins.items():
            end = self.flow_ends[number]
            require(begin.arguments["correlation"] == end.arguments["correlation"] == number,
                    f"arrow {number} has the number of its call and command")
            require(begin.event["cat"] in ("cuda_runtime", "cuda_driver", "launch"), f"the call of {number} is of a runtime")

    def check_stacks(self):
        for number, frame in self.frames.items():
            parent = frame.get("parent")
            require(parent is None or parent in self.frames, f"caller of {number} is there")
        for stack in [one.stack for one in self.slices] + [one.get("sf", 0) for one in self.samples]:
            require(not stack or self.stack(stack), f"stack {stack} is there")

    def stack(self, number):
        """The names of its frames, root first."""
        names, key = [], str(number)
        while key is not None:
            names.append(self.frames[key]["name"])
            require(len(names) <= len(self.frames), "stacks end")
            key = self.frames[key].get("parent")
        return names[::-1]

    def is_call(self, one):
        return bool(set(one.categories) & CALLS) and "further" not in one.arguments

    def is_launch(self, one):
        return "command" in one.arguments

    def calls(self):
        """{name: (count, total_ns)} of calls on threads"""
        return self.sums(one for one in self.slices if self.is_call(one))

    def commands(self, *categories):
        return self.sums(one for one in self.slices if set(one.categories) & set(categories))

    @staticmethod
    def sums(slices):
        sums = {}
        for one in slices:
            count, total = sums.get(one.name, (0, 0))
            sums[one.name] = (count + 1, total + one.end - one.time)
        return sums

    def lines(self):
        """For people: rows first, then slices, arrows, counters, stacks."""
        for key, value in self.about.items():
            yield f"{key}: {json.dumps(value, ensure_ascii=True)}"
        for pid, name in self.processes.items():
            yield f"process {pid}: {json.dumps(name)}"
            for tid, (owner, row) in self.rows.items():
                if owner == pid:
                    yield f"  {tid} (sorted by {self.order[tid]}): {json.dumps(row)}"
        for event in self.events:
            if event["ph"] != "M":
                yield self.line(event)
        for one in self.samples:
            yield (f"{ns(one['ts'])} sample of {one['tid']} on cpu {one['cpu']}: {json.dumps(one['name'])} "
                   f"{one['weight']} sf={one.get('sf', 0)}")
        for number, frame in self.frames.items():
            yield f"frame {number}: {json.dumps(frame)}"

    @staticmethod
    def line(event):
        words = [str(ns(event["ts"])), event["ph"], event["cat"], json.dumps(event["name"]),
                 f"{event['pid']}/{event['tid']}"]
        if "dur" in event:
            words.append(f"for {ns(event['dur'])}")
        for key in ("id", "bp", "s", "sf"):
            if key in event:
                words.append(f"{key}={event[key]}")
        if event.get("args"):
            words.append(json.dumps(event["args"]))
        return " ".join(words)


if __name__ == "__main__":
    print("\n".join(Trace(sys.argv[1]).lines()))

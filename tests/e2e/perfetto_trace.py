# SPDX-License-Identifier: MIT
"""Reads Perfetto traces for the tests, from the protobuf encoding on and independent of duet's writer. It prints the
content as a viewer shows it, and checks the rules that every trace must follow.

    python3 tests/e2e/perfetto_trace.py FILE    # prints the trace, one packet per line
"""
import collections
import struct
import sys

VARINT, FIXED64, BYTES = 0, 1, 2

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
TYPES = {BEGIN: "begin", END: "end", INSTANT: "instant", COUNTER: "counter"}
CLOCKS = {1: "REALTIME", 3: "MONOTONIC", 5: "MONOTONIC_RAW", 6: "BOOTTIME"}


class Broken(Exception):
    """The trace breaks a rule; the text says which."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields (number, wire type, value) of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == FIXED64:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise Broken("a message is cut off")
        else:
            raise Broken(f"wire type {wire}")
        yield number, wire, value


def message(data):
    """{number: [values]}"""
    found = {}
    for number, _, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def first(found, number, otherwise=None):
    return found.get(number, [otherwise])[0]


def string(data):
    return data.decode("utf-8")  # strict: a string that is not UTF-8 is an error


class Track:
    def __init__(self, found):
        self.uuid = first(found, 1)
        self.name = string(first(found, 2, b""))
        self.parent = first(found, 5, 0)
        self.process = message(first(found, 3)) if 3 in found else None
        self.thread = message(first(found, 4)) if 4 in found else None
        self.counter = message(first(found, 8)) if 8 in found else None
        self.rank = first(found, 12)
        self.description = string(first(found, 14, b""))
        self.is_recorded = self.counter is not None and self.rank == 50
        self.open, self.values = [], []
        self.value = None

    def line(self):
        words = [f"track {self.uuid}"]
        if self.process:
            words.append(f"process {first(self.process, 1)}"
                         f" {string(first(self.process, 6, b''))!r}")
            words += [f"cmdline={string(text)!r}" for text in self.process.get(2, [])]
            words += [f"label={string(text)!r}" for text in self.process.get(8, [])]
        if self.thread:
            words.append(f"thread {first(self.thread, 1)}/{first(self.thread, 2)}")
            words += [f"{string(text)!r}" for text in self.thread.get(5, [])]
        if self.counter is not None:
            unit = string(first(self.counter, 6, b"")) or f"unit {first(self.counter, 3)}"
            words.append(f"counter in {unit}:")
        if self.name:
            words.append(repr(self.name))
        if self.parent:
            words.append(f"in {self.parent}")
        if self.rank is not None:
            words.append(f"rank={self.rank}")
        if self.description:
            words.append(f"({self.description})")
        return " ".join(words)


class Event:
    def __init__(self, trace, time, data):
        found = message(data)
        self.time = time
        self.type = first(found, 9)
        self.track = first(found, 11)
        self.name = trace.text("names", found[10][0]) if 10 in found else ""
        self.categories = [trace.text("categories", iid) for iid in found.get(3, [])]
        self.arguments = dict(trace.argument(message(data)) for data in found.get(4, []))
        self.flows, self.ended_flows = found.get(47, []), found.get(48, [])
        values = [signed(value) for value in found.get(12, [])]
        self.counters = list(zip(found.get(31, []), values))
        if len(found.get(31, [])) != len(values):
            raise Broken("counters and values differ in number")
        if self.type == COUNTER:
            self.counters = [(self.track, signed(first(found, 30)) if 30 in found else double(first(found, 44)))]
        self.end = None
        self.depth = 0

    def line(self):
        words = [f"{self.time} {TYPES[self.type]} {self.track}"]
        if self.name:
            words.append(f"{self.name!r}")
        if self.categories:
            words.append(f"[{','.join(self.categories)}]")
        words += [f"flow>{flow}" for flow in self.flows]
        words += [f">flow{flow}" for flow in self.ended_flows]
        words += [f"{key}={value!r}" for key, value in self.arguments.items()]
        words += [f"#{track}={value}" for track, value in self.counters]
        return " ".join(words)


class Sequence:
    """Packets of one writer, which numbers its texts, frames and stacks."""

    TEXTS = {1: "categories", 2: "names", 3: "keys", 5: "functions", 17: "paths", 18: "sources",
             29: "values"}
    KINDS = {0: "other", 1: "native", 2: "kernel", 3: "python", 4: "jit"}

    def __init__(self, number, defaults):
        self.number, self.told, self.counts = number, {}, {}
        if first(defaults, 58) != 3:
            raise Broken("the default clock is not CLOCK_MONOTONIC")
        self.timebase = self.counter = None
        if 12 in defaults:
            timebase = message(message(defaults[12][0])[1][0])
            self.timebase, self.counter = string(timebase[10][0]), first(timebase, 4, 0)

    def text(self, kind, iid):
        if iid not in self.told.get(kind, {}):
            raise Broken(f"{kind} {iid} is used before it is told in sequence {self.number}")
        return self.told[kind][iid]

    def tell(self, kind, iid, what):
        known = self.told.setdefault(kind, {})
        if iid in known or not iid:
            raise Broken(f"{kind} {iid} is told twice")
        known[iid] = what

    def intern(self, data):
        for number, _, entry in fields(data):
            found = message(entry)
            if number in self.TEXTS:
                self.tell(self.TEXTS[number], found[1][0], string(found[2][0]))
            elif number == 16:
                self.tell("build ids", found[1][0], found[2][0].hex())
            elif number == 19:
                self.tell("mappings", found[1][0], self.mapping(found))
            elif number == 6:
                self.tell("frames", found[1][0], self.frame(found))
            elif number == 7:
                self.tell("stacks", found[1][0],
                          [self.text("frames", frame) for frame in found[2]])
            else:
                raise Broken(f"interned data {number}")

    def mapping(self, found):
        path = "/".join(self.text("paths", part) for part in found[7])
        return f"{path} ({self.text('build ids', found[2][0])})" if 2 in found else path

    def frame(self, found):
        """(function, what is known of it)"""
        words = [self.KINDS[first(found, 7, 0)]]
        if 5 in found:
            words.append(f"{self.text('sources', found[5][0])}:{first(found, 6, '?')}")
        words.append(f"in {self.text('mappings', found[3][0])}+{first(found, 4)}")
        return self.text("functions", found[2][0]) if 2 in found else "", " ".join(words)


class Sample:
    """A thread was found running."""

    MODES = {0: "mode?", 1: "kernel", 2: "user", 3: "hypervisor"}

    def __init__(self, sequence, time, data):
        found = message(data)
        self.time, self.source, self.counter = time, sequence.timebase, sequence.counter
        self.cpu, self.pid, self.tid = (first(found, number) for number in (1, 2, 3))
        self.stack = sequence.text("stacks", found[4][0]) if 4 in found else None
        self.mode = self.MODES[first(found, 5, 0)]
        before = sequence.counts.get(self.cpu, 0)
        sequence.counts[self.cpu] = first(found, 6)
        self.weight = sequence.counts[self.cpu] - before

    def line(self):
        words = [f"{self.time} sample of {self.source} ({self.counter}) +{self.weight}",
                 f"cpu {self.cpu} thread {self.pid}/{self.tid}", self.mode]
        words += ["no stack"] if self.stack is None else [
            f"/ {name!r} {place}" for name, place in self.stack]
        return " ".join(words)


Switch = collections.namedtuple("Switch", "time cpu previous state next previous_name next_name")


class Trace:
    """Everything in a file; raises Broken where a rule is broken."""

    def __init__(self, data):
        self.sequences, self.samples = {}, []
        self.tracks, self.slices, self.instants, self.lines = {}, [], [], []
        self.snapshots = []
        self.switches, self.running, self.ftrace_offset = [], {}, None
        self.flow_begins, self.flow_ends = {}, {}
        self.last = 0
        for number, wire, packet in fields(data):
            if (number, wire) != (1, BYTES):
                raise Broken(f"field {number} outside of a packet")
            self.packet(packet)
        self.check_end()

    def text(self, kind, iid):
        return self.sequences[1].text(kind, iid)

    def argument(self, found):
        key = self.text("keys", found[1][0])
        if 11 in found:
            return key, dict(self.argument(message(data)) for data in found[11])
        if 17 in found:
            return key, self.text("values", found[17][0])
        if 6 in found:
            return key, string(found[6][0])
        if 4 in found:
            return key, signed(found[4][0])
        if 2 in found:
            return key, bool(found[2][0])
        return key, found[3][0]

    def sequence(self, found):
        number = first(found, 10)
        is_first = number not in self.sequences
        if is_first:
            if first(found, 87) != 1:
                raise Broken(f"sequence {number} does not begin where it should")
            self.sequences[number] = Sequence(number, message(found[59][0]))
        if first(found, 13) != (1 if is_first else 2):
            raise Broken(f"sequence flags {first(found, 13)} in sequence {number}")
        return self.sequences[number]

    def packet(self, data):
        found = message(data)
        sequence = self.sequence(found)
        if 12 in found:
            sequence.intern(found[12][0])
        if 1 in found:
            self.ftrace(message(found[1][0]))
        if 66 in found:
            self.sample(Sample(sequence, found[8][0], found[66][0]))
        elif sequence.number != 1:
            raise Broken(f"something that is no sample in sequence {sequence.number}")
        if 6 in found:
            self.snapshot(message(found[6][0]))
        if 60 in found:
            self.describe(Track(message(found[60][0])))
        if 11 in found:
            self.event(Event(self, found[8][0], found[11][0]))

    def ftrace(self, found):
        """A bundle of one sched_switch. Its clock has an offset to BOOTTIME, which has one to MONOTONIC."""
        if first(found, 5) != 2 or len(found[2]) != 1:
            raise Broken("a bundle of other than one event in FTRACE_CLOCK_GLOBAL")
        clocks = self.snapshots[0]
        if 6 in found:
            self.ftrace_offset = found[7][0] - found[6][0] - (clocks[6] - clocks[3])
        if self.ftrace_offset != 0:
            raise Broken(f"the clock of switches is {self.ftrace_offset} ns off")
        event = message(found[2][0])
        switch, cpu = message(event[4][0]), first(found, 1)
        row = Switch(first(event, 1), cpu, *(first(switch, number) for number in (2, 4, 6)),
                     *(string(first(switch, number, b"")) for number in (1, 5)))
        if self.running.get(cpu, row.previous) != row.previous:
            raise Broken(f"{row.previous} leaves processor {cpu}, but {self.running[cpu]} runs there")
        if row.previous == 0 and row.state:
            raise Broken("idle is blocked")
        self.running[cpu] = row.next
        self.go_on(row.time)
        self.switches.append(row)
        self.lines.append(f"{row.time} switch on cpu {cpu}: {row.previous} {row.previous_name!r} state {row.state}"
                          f" -> {row.next} {row.next_name!r}")

    def snapshot(self, found):
        clocks = {first(message(data), 1): first(message(data), 2)
                  for data in found.get(1, [])}
        if first(found, 2) != 3 or (clocks and 3 not in clocks):
            raise Broken("a snapshot without CLOCK_MONOTONIC as its primary clock")
        self.snapshots.append(clocks)
        self.lines.append("clocks" + "".join(f" {CLOCKS[number]}={time}"
                                             for number, time in clocks.items()))

    def describe(self, track):
        if track.uuid in self.tracks or not track.uuid:
            raise Broken(f"track {track.uuid} is described twice")
        if track.parent and track.parent not in self.tracks:
            raise Broken(f"track {track.uuid} is in a track that is not described")
        self.tracks[track.uuid] = track
        self.lines.append(track.line())

    def go_on(self, time):
        if time < self.last:
            raise Broken(f"time goes back from {self.last} to {time}")
        self.last = time

    def sample(self, sample):
        self.lines.append(sample.line())
        self.go_on(sample.time)
        self.samples.append(sample)

    def event(self, event):
        self.lines.append(event.line())
        self.go_on(event.time)
        if event.track not in self.tracks:
            raise Broken(f"an event on track {event.track}, which is not described")
        track = self.tracks[event.track]
        if event.type == BEGIN:
            event.depth = len(track.open)
            track.open.append(event)
        elif event.type == END:
            if not track.open:
                raise Broken(f"an end without a begin on track {track.uuid}")
            begun = track.open.pop()
            begun.end = event.time
            self.slices.append(begun)
        elif event.type == INSTANT:
            self.instants.append(event)
        for uuid, value in event.counters:
            if self.tracks[uuid].counter is None:
                raise Broken(f"track {uuid} is no counter")
            # what we count ourselves is never less than nothing; a temperature may be
            if value < 0 and not self.tracks[uuid].is_recorded:
                raise Broken(f"counter {uuid} is {value}")
            self.tracks[uuid].value = value
            self.tracks[uuid].values.append((event.time, value))
        for flow in event.flows:
            if flow in self.flow_begins:
                raise Broken(f"flow {flow} begins twice")
            self.flow_begins[flow] = event
        for flow in event.ended_flows:
            if flow not in self.flow_begins or flow in self.flow_ends:
                raise Broken(f"flow {flow} ends without a begin, or twice")
            self.flow_ends[flow] = event

    def check_end(self):
        for track in self.tracks.values():
            if track.open:
                raise Broken(f"{len(track.open)} slices of track {track.uuid} do not end")
        if set(self.flow_begins) != set(self.flow_ends):
            raise Broken("flows without an end")
        for event in self.slices:
            if event.depth and self.is_lane(event):
                raise Broken(f"commands nest on track {event.track}")

    # -- what it says --

    def is_lane(self, event):
        return "correlation" in event.arguments and not self.is_call(event)

    @staticmethod
    def is_call(event):
        return bool({"api", "wait", "launch"} & set(event.categories))

    def calls(self):
        """{name: (count, total_ns)} of calls on threads"""
        return self.sums(event for event in self.slices if self.is_call(event))

    def commands(self, *categories):
        return self.sums(event for event in self.slices
                         if not self.is_call(event) and set(event.categories) & set(categories))

    @staticmethod
    def sums(events):
        sums = {}
        for event in events:
            count, total = sums.get(event.name, (0, 0))
            sums[event.name] = (count + 1, total + event.end - event.time)
        return sums

    def counters(self, name):
        """The last value of each counter of that name."""
        return [track.value for track in self.tracks.values()
                if track.counter is not None and track.name == name]


def load(path):
    with open(path, "rb") as file:
        return Trace(file.read())


if __name__ == "__main__":
    print("\n".join(load(sys.argv[1]).lines))

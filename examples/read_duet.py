#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what was counted from a trace of duet, with nothing of duet but its two schemas: an example of a reader.

    read_duet.py FILE.duet      # docs/design/trace-format.md, proto/duet_trace.proto
    read_duet.py FOLDER         # of duet export -f duet-pb: proto/duet_pb.proto

Prints JSON: of each series how many readings there are, how much time they cover, and their sums; and how often and how
long the program was in each of its ranges. protoc makes the classes when it is run. Debian: python3-protobuf,
protobuf-compiler, libzstd1.

Of a reading that began before the recording did, or ended after it, the part within counts, as in duet report.

    level   weighted_sum   of value x ns            mean: by covered_ns
    amount  value_sum      of what came             by covered_ns: what came in a nanosecond
    ratio   value_sum, of_sum                       one by the other: the share

A folder has rates and shares instead of what came: their sums are weighted_sum, by covered_ns, and of shares by of_sum.
"""
import collections
import ctypes
import ctypes.util
import importlib
import json
import os
import subprocess
import sys
import tempfile

PROTO = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "proto")
SYNC = 0xa70a0d74657564d5
HOST, PROCESS, DEVICE, SERIES, COUNTER, RANGE, SEGMENT, STRINGS = 1, 2, 5, 11, 24, 25, 64, 65
MONOTONIC = 1
TYPES = ("level", "amount", "ratio")
UNBEGUN = 2  # of a range: it was not seen to begin, and has no name
ALL_ONES = (1 << 64) - 1


class Broken(Exception):
    """The file is not what it should be; the text says what."""


def make_classes(name):
    """The module of proto/NAME.proto."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", f"--python_out={folder}", "-I", PROTO, f"{name}.proto"], check=True)
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True
        try:
            return importlib.import_module(f"{name}_pb2")
        finally:
            sys.path.remove(folder)


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Broken(f"a length at {at} does not end")
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def messages(data):
    """The bytes of each message of a file; one that was cut off, as the last may be, is not there."""
    at = 0
    while at < len(data):
        try:
            size, start = varint(data, at)
        except Broken:
            return
        if start + size > len(data):
            return
        if size:
            yield data[start:start + size]
        at = start + size


class Sums:
    """Of one series, in a window of time."""

    def __init__(self, about, window):
        self.about, self.window = about, window
        self.readings = self.covered_ns = self.value = self.of = self.weighted = 0

    def add(self, begin, end, value, of=0, is_share=False):
        inside = min(end, self.window[1]) - max(begin, self.window[0])
        if inside < 0 or inside == 0 and begin < end:
            return
        part = inside / (end - begin) if inside < end - begin else 1
        self.readings += 1
        self.covered_ns += inside
        self.value += value * part
        self.of += of * part
        self.weighted += value * (of * part if is_share else inside)

    def shown(self):
        return {**{key: value for key, value in self.about.items() if value is not None}, "readings": self.readings,
                "covered_ns": self.covered_ns, "value_sum": self.value, "of_sum": self.of, "weighted_sum": self.weighted}


# ---- .duet ----

class DuetFile:
    """Chunks of columns: columns of things and counters are what is wanted here, all else is skipped."""

    def __init__(self, data):
        self.schema = make_classes("duet_trace")
        self.rows = collections.defaultdict(list)
        self.texts = {}
        self.left_out = 0
        chunks = [self.schema.Chunk.FromString(message) for message in messages(data)]
        if not chunks or any(chunk.sync != SYNC for chunk in chunks):
            raise Broken("not a trace of duet, or a damaged one")
        self.first_segment = max((self.schema.SegmentHead.FromString(self.payload(chunk)).first_segment
                                  for chunk in chunks if chunk.kind == SEGMENT), default=0)
        # of two descriptions of a thing the larger sequence is the newer
        for chunk in sorted(chunks, key=lambda chunk: (chunk.kind != STRINGS, chunk.sequence)):
            if chunk.segment >= self.first_segment:
                self.read(chunk)

    @staticmethod
    def payload(chunk):
        if not chunk.raw_bytes:
            return chunk.payload
        unpack = ctypes.CDLL(ctypes.util.find_library("zstd")).ZSTD_decompress
        unpack.restype = ctypes.c_size_t
        unpack.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        room = ctypes.create_string_buffer(chunk.raw_bytes)
        if unpack(room, chunk.raw_bytes, chunk.payload, len(chunk.payload)) != chunk.raw_bytes:
            raise Broken("a chunk does not decompress")
        return room.raw

    def read(self, chunk):
        kinds = {HOST: "HostRows", PROCESS: "ProcessRows", DEVICE: "DeviceRows", SERIES: "SeriesRows", COUNTER: "CounterRows", RANGE: "RangeRows"}
        if chunk.kind == STRINGS:
            self.read_strings(chunk)
        if chunk.kind not in kinds:
            return
        if chunk.kind in (COUNTER, RANGE) and chunk.clock != MONOTONIC:
            self.left_out += chunk.rows
            return
        columns = Columns(getattr(self.schema, kinds[chunk.kind]).FromString(self.payload(chunk)), chunk.rows)
        self.rows[chunk.kind] += READERS[chunk.kind](columns, lambda ids: [self.texts.get((chunk.segment, id_), "") for id_ in ids])

    def window(self):
        hosts = {row["id"]: row for row in self.rows[HOST]}
        return (min((row["begin_ns"] for row in hosts.values()), default=0),
                max((row["end_ns"] or ALL_ONES for row in hosts.values()), default=ALL_ONES))

    def read_strings(self, chunk):
        strings, at = self.schema.Strings.FromString(self.payload(chunk)), 0
        for number, length in enumerate(Columns(strings, chunk.rows).plain("length")):
            text = strings.text[at:at + length].decode("utf-8", "replace")
            self.texts[chunk.segment, strings.first_id + number] = text
            at += length

    def sums(self):
        processes = {row["id"]: row["pid"] for row in self.rows[PROCESS]}
        devices = {row["id"]: row["key"] for row in self.rows[DEVICE]}
        series = {row["id"]: row for row in self.rows[SERIES]}
        sums = {id_: Sums({"name": row["metric"], "type": TYPES[row["type"]], "unit": row["unit"], "pid": processes.get(row["process"]),
                           "device": devices.get(row["device"]), "cpu": row["cpu"] - 1 if row["cpu"] else None,
                           "instance": row["instance"] or None}, self.window()) for id_, row in series.items()}
        for begin, end, id_, value, of in self.rows[COUNTER]:
            if id_ in sums:
                sums[id_].add(begin, end, value, of)
        return [one.shown() for one in sums.values() if one.readings]

    def ranges(self):
        return count_ranges((name, end - begin) for begin, end, name, flags in self.rows[RANGE] if not flags & UNBEGUN)


class Columns:
    """A message of columns: one that is shorter than there are rows goes on with its last value."""

    def __init__(self, message, rows):
        self.message, self.count = message, rows

    def plain(self, name):
        stored = list(getattr(self.message, name))
        if len(stored) > self.count:
            raise Broken(f"column {name} has more values than there are rows")
        return stored + [stored[-1] if stored else 0] * (self.count - len(stored))

    def summed(self, name):
        """Of differences to the row before."""
        total, values = 0, []
        for difference in self.plain(name):
            total = (total + difference) & ALL_ONES
            values.append(total)
        return values

    def after(self, name, base):
        return [(value + other) & ALL_ONES for value, other in zip(self.plain(name), base)]


def read_things(*columns):
    def read(rows, texts):
        ids = [value & 0xffffffff for value in rows.summed("id")]
        values = {name: texts(rows.plain(name)) if kind == "text" else rows.plain(name) if kind == "number" else
                  [value & (ALL_ONES if kind == "time" else 0xffffffff) for value in rows.summed(name)]
                  for name, kind in columns}
        return [{"id": id_, **{name: values[name][i] for name, _ in columns}} for i, id_ in enumerate(ids)]
    return read


def read_counters(rows, _):
    begin = rows.summed("begin")
    series = [value & 0xffffffff for value in rows.summed("series")]
    return list(zip(begin, rows.after("end", begin), series, rows.plain("value"), rows.plain("of")))


def read_ranges(rows, texts):
    begin = rows.summed("begin")
    return list(zip(begin, rows.after("end", begin), texts(rows.plain("name")), rows.plain("flags")))


READERS = {HOST: read_things(("begin_ns", "time"), ("end_ns", "time")), PROCESS: read_things(("pid", "difference")), DEVICE: read_things(("key", "text")),
           SERIES: read_things(("metric", "text"), ("unit", "text"), ("type", "number"), ("process", "difference"),
                               ("device", "number"), ("cpu", "difference"), ("instance", "text")),
           COUNTER: read_counters, RANGE: read_ranges}


# ---- duet-pb ----

class Folder:
    """Three files; in each the samples of all messages, one after the other, and regions in the last ones."""

    TRACES = {"gpu_metrics.pb": "GpuMetricsTrace", "system_metrics.pb": "SystemMetricsTrace", "disk_metrics.pb": "DiskMetricsTrace"}

    def __init__(self, path):
        self.schema = make_classes("duet_pb")
        self.by_key, self.recordings, self.left_out = {}, {}, 0
        for name, trace in self.TRACES.items():
            with open(os.path.join(path, name), "rb") as file:
                parts = [getattr(self.schema, trace).FromString(message) for message in messages(file.read())]
            if not parts:
                raise Broken(f"{name} has no message")
            if any(part.recording != parts[0].recording for part in parts):
                raise Broken(f"{name} is of several recordings")
            self.recordings[name] = parts[0].recording
            self.regions = [region for part in parts for region in part.regions]
            end_ns = parts[0].recording.end_ns if parts[0].recording.HasField("end_ns") else ALL_ONES
            self.window = (parts[0].recording.begin_ns, end_ns)
            for part in parts:
                for sample in part.samples:
                    self.add(sample)

    def add(self, sample):
        for field, value in sample.ListFields():
            if field.message_type is None:
                continue
            for part in value if field.label == field.LABEL_REPEATED else [value]:
                self.add_part(sample.timestamp_ns - sample.interval_ns, sample.timestamp_ns, part)

    def add_part(self, begin, end, part):
        of = {"pid": getattr(part, "pid", None), "device": getattr(part, "device", None)}
        kind = type(part).__name__
        if kind == "GpuDeviceMetrics":
            for metric in part.metrics:
                self.sum_of(kind, metric.name, of).add(begin, end, metric.value)
            return
        counted = part.counted_ns if kind == "CpuMetrics" else 0
        for field, value in part.ListFields():
            if field.name not in ("pid", "device", "counted_ns"):
                self.sum_of(kind, field.name, of).add(begin, end, value, counted, counted > 0)

    def sum_of(self, kind, name, of):
        key = (kind, name, of["pid"], of["device"])
        if key not in self.by_key:
            self.by_key[key] = Sums({"of": kind, "name": name, **of}, self.window)
        return self.by_key[key]

    def sums(self):
        return [one.shown() for one in self.by_key.values() if one.readings]

    def ranges(self):
        return count_ranges((region.name, region.end_ns - region.start_ns) for region in self.regions)


def count_ranges(rows):
    found = {}
    for name, length in rows:
        count, total = found.get(name, (0, 0))
        found[name] = (count + 1, total + length)
    return [{"name": name, "count": count, "total_ns": total} for name, (count, total) in sorted(found.items())]


def read(path):
    """A DuetFile or a Folder."""
    if os.path.isdir(path):
        return Folder(path)
    with open(path, "rb") as file:
        return DuetFile(file.read())


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        found = read(sys.argv[1])
    except (OSError, Broken) as error:
        print(f"read_duet.py: {sys.argv[1]}: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"metrics": found.sums(), "ranges": found.ranges(), "left_out": found.left_out}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Reads the page of `duet view` by docs/design/view.md, without any code of duet."""
import base64
import bisect
import json
import re
import zlib

SLICES = ("calls", "off", "device", "context", "queue", "transfers", "processor", "iterations", "ranges", "rejected", "waiting")
FIRST_PATH = 16


def varint(bytes_, at):
    value = shift = 0
    while True:
        byte = bytes_[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


class Chunk:
    """Rows of one chunk of one level, as the file has them."""

    def __init__(self, head, bytes_, columns, signed):
        self.begin_ns, self.end_ns, _, _, _, self.items = head
        self.columns = []
        same, at = varint(bytes_, 0)
        for index in range(columns):
            values = []
            for _ in range(1 if same >> index & 1 else self.items):
                value, at = varint(bytes_, at)
                values.append(zigzag(value) if index in signed else value)
            self.columns.append(values * (self.items if same >> index & 1 else 1))
        assert at == len(bytes_), "bytes behind the last column"


def zigzag(value):
    return value >> 1 ^ -(value & 1)


def links(values):
    last, result = None, []
    for value in values:
        if value:
            last = (0 if last is None else last + 1) + zigzag(value - 1)
            result.append(last + 1)
        else:
            result.append(0)
    return result


def running(values, first):
    result = []
    for value in values:
        first += value
        result.append(first)
    return result


class Track:
    def __init__(self, view, head):
        self.view, self.head = view, head
        self.id, self.kind, self.name = head["id"], head["kind"], head["name"]
        self.levels = head.get("levels", [])

    def chunks(self, level, columns, signed):
        for row in level["chunks"]:
            section = self.view.section(f"s{row[2]}")
            yield Chunk(row, section[row[3]:row[3] + row[4]], columns, signed)

    def items(self):
        """Items as dicts, in the order of the file; only where the finest level is there."""
        if not self.levels or self.levels[0]["bin_ns"]:
            return []
        read = {"samples": self.read_samples, "metric": self.read_values,
                "clock": self.read_values, "counter": self.read_readings}.get(self.kind, self.read_slices)
        return list(read(self.levels[0]))

    def read_slices(self, level):
        signed = [0, 6] if self.kind in ("calls", "rejected") else [0]
        for chunk in self.chunks(level, 8 if self.kind == "calls" else 7, signed):
            chunk.columns[5] = links(chunk.columns[5])
            at = chunk.begin_ns
            for delta, *rest in zip(*chunk.columns):
                begin = at + delta
                if self.kind == "waiting":
                    item = dict(zip(("host_ns", "lane", "device_ns", "path", "link", "extra"), rest))
                    item["duration"] = item["host_ns"] + item["device_ns"]
                    item["what"] = item["path"]
                else:
                    item = dict(zip(("duration", "lane", "what", "stack", "link", "extra", "argument"), rest))
                item["begin"], item["end"] = begin, begin + item["duration"]
                at = begin if self.kind == "waiting" else item["end"]
                self.check_chunk(chunk, begin, item["end"])
                yield item

    def read_samples(self, level):
        for chunk in self.chunks(level, 4, [0]):
            begins = running(chunk.columns[0], chunk.begin_ns)
            for begin, weight, stack, mode in zip(begins, *chunk.columns[1:]):
                self.check_chunk(chunk, begin, begin)
                yield {"begin": begin, "weight": weight, "stack": stack, "mode": mode}

    def read_values(self, level):
        for chunk in self.chunks(level, 2, [0, 1]):
            begins = running(chunk.columns[0], chunk.begin_ns)
            for begin, value in zip(begins, chunk.columns[1]):
                self.check_chunk(chunk, begin, begin)
                yield {"begin": begin, "value": value}

    def read_readings(self, level):
        for chunk in self.chunks(level, 4, [0, 2]):
            at = chunk.begin_ns
            for delta, duration, value, of in zip(*chunk.columns):
                item = {"begin": at + delta, "end": at + delta + duration, "value": value, "of": of}
                self.check_chunk(chunk, item["begin"], item["end"])
                at = item["end"]
                yield item

    def shown(self, item):
        """What a reading of a counter shows, in the unit of its track."""
        length = item["end"] - item["begin"]
        by = {"level": 1, "amount": length / 1e9, "ratio": item["of"]}[self.head["type"]]
        return item["value"] / by * self.head["factor"] if by else None

    def check_chunk(self, chunk, begin, end):
        assert chunk.begin_ns <= begin and end <= chunk.end_ns, (self.kind, chunk.begin_ns, begin)

    def bins(self, level):
        """{bin: [begun, covered, {what: how much is said to be}]}, rows of one bin added up; values:
        {bin: (new values, last, least, largest)}; counters: {bin: (begun, covered, mean, least, largest)}."""
        is_values = self.kind in ("metric", "clock", "counter")
        columns, signed = (6, [0, 3, 4, 5]) if self.kind == "counter" else (5, [0, 2, 3, 4] if is_values else [0])
        result = {}
        for chunk in self.chunks(level, columns, signed):
            for number, *row in zip(running(chunk.columns[0], 0), *chunk.columns[1:]):
                self.check_chunk(chunk, number * level["bin_ns"], (number + 1) * level["bin_ns"])
                if is_values:
                    assert number not in result
                    result[number] = tuple(row)
                    continue
                begun, covered, what, part = row
                bin_ = result.setdefault(number, [0, 0, []])
                bin_[0] += begun
                bin_[1] += covered
                bin_[2].append((what, part))
        return result


class View:
    def __init__(self, text):
        self.text = text
        self.elements = dict(re.findall(
            r'<script type="text/plain" id="(\w+)">([A-Za-z0-9+/=]*)</script>', text))
        self.inflated = {}
        self.head = json.loads(self.section("head"))
        self.report = self.head["report"]
        code = json.loads(self.section(self.head["texts"])) if "texts" in self.head else self.head
        self.names, self.own, frames, stacks = code["names"], code["own"], code["frames"], code["stacks"]
        self.frames = [tuple(frames[i:i + 4]) for i in range(0, len(frames), 4)]
        self.stacks = [tuple(stacks[i:i + 2]) for i in range(0, len(stacks), 2)]
        paths = self.head["paths"]
        self.paths = [dict(zip(("device", "class", "name", "function", "stack"), paths[i:i + 5]))
                      for i in range(0, len(paths), 5)]
        self.tracks = [Track(self, head) for head in self.head["tracks"]]

    def section(self, name):
        if name not in self.inflated:
            self.inflated[name] = zlib.decompress(base64.b64decode(self.elements[name],
                                                                   validate=True), -15)
        return self.inflated[name]

    def of_kind(self, *kinds):
        return [track for track in self.tracks if track.kind in kinds]

    def stack(self, number):
        """Names of functions, the outermost first."""
        result = []
        while number:
            caller, frame = self.stacks[number]
            assert caller < number
            result.append(self.names[self.frames[frame][0]])
            number = caller
        return result[::-1]

    def markup(self):
        """The page without the contents of sections."""
        return re.sub(r'(<script type="text/plain" id="\w+">)[A-Za-z0-9+/=]*', r"\1", self.text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return View(file.read())


# ---- what must be true of any page ----

def add_up(track, items, bin_ns, from_ns, to_ns):
    """What bins must say: {bin: [begun, covered, {what: amount}]}."""
    result = {}

    def bin_at(number):
        return result.setdefault(number, [0, 0, {}])

    def add(number, what, amount, is_covering):
        bin_ = bin_at(number)
        bin_[1] += amount if is_covering else 0
        bin_[2][what] = bin_[2].get(what, 0) + amount

    for item in items:
        begin = min(max(item["begin"], from_ns), to_ns - 1)
        bin_at(begin // bin_ns)[0] += 1
        if track.kind == "samples":
            add(begin // bin_ns, item["stack"], item["weight"], True)
            continue
        end = min(max(item["end"], begin), to_ns)
        is_covering = track.kind != "device" or item["what"] >= FIRST_PATH
        while begin < end:
            until = min(end, (begin // bin_ns + 1) * bin_ns)
            add(begin // bin_ns, item["what"], until - begin, is_covering)
            begin = until
    return result


def value_bins(items, bin_ns, from_ns, to_ns):
    result, standing = {}, None
    for item in items:
        number = min(max(item["begin"], from_ns), to_ns - 1) // bin_ns
        value = item["value"]
        old = result.get(number)
        if old is None:
            first = value if standing is None else standing
            old = (0, value, first, first)
        result[number] = (old[0] + 1, value, min(old[2], value), max(old[3], value))
        standing = value
    return result


def counter_bins(track, items, bin_ns, from_ns, to_ns):
    """{bin: [begun, covered, area, least, largest]}, in thousandths of the unit."""
    result = {}
    for item in items:
        begin = min(max(item["begin"], from_ns), to_ns - 1)
        end = min(max(item["end"], begin), to_ns)
        shown = track.shown(item)
        value, begun = round(shown * 1000) if shown is not None else 0, 1
        while True:
            number = begin // bin_ns
            until = min(end, (number + 1) * bin_ns)
            bin_ = result.setdefault(number, [0, 0, 0, value, value])
            bin_[:3] = bin_[0] + begun, bin_[1] + until - begin, bin_[2] + value * (until - begin)
            bin_[3:] = min(bin_[3], value), max(bin_[4], value)
            begin, begun = until, 0
            if begin >= end:
                break
    return result


def counter_problem(track, level, items, from_ns, to_ns):
    found, wanted = track.bins(level), counter_bins(track, items, level["bin_ns"], from_ns, to_ns)
    if set(found) != set(wanted):
        return f"bins {sorted(set(found) ^ set(wanted))[:5]}"
    for number, (begun, covered, mean, *ends) in found.items():
        sums = wanted[number]
        if [begun, covered] != sums[:2] or any(abs(a - b) > 1 for a, b in zip(ends, sums[3:])):
            return f"bin {number}: {found[number]}, not {sums}"
        if covered and abs(mean - sums[2] / covered) > 1.5:
            return f"bin {number}: mean {mean}, not {sums[2] / covered}"
    return None


def bin_problem(track, level, expected):
    """None, or how the bins of a level differ from what the items say."""
    found = track.bins(level)
    if track.kind in ("metric", "clock"):
        return None if found == expected else f"{found} is not {expected}"
    if set(found) != set(expected):
        return f"bins {sorted(set(found) ^ set(expected))[:5]}"
    for number, (begun, covered, rows) in found.items():
        wanted = expected[number]
        if [begun, covered] != wanted[:2]:
            return f"bin {number}: {begun}, {covered}, not {wanted[:2]}"
        for what, part in rows:
            if part > wanted[2].get(what, 0):
                return f"bin {number}: {what} has {part}, not {wanted[2].get(what, 0)}"
        if len(rows) == 1 and wanted[2] and rows[0][1] != max(wanted[2].values()):
            return f"bin {number}: {rows[0]} is not the most of {wanted[2]}"
    return None


def lane_problem(items):
    lanes = {}
    for item in sorted(items, key=lambda item: (item["begin"], item["end"])):
        if item["begin"] < lanes.get(item["lane"], item["begin"]):
            return f"lane {item['lane']} at {item['begin']}"
        lanes[item["lane"]] = max(item["end"], lanes.get(item["lane"], item["end"]))
    return None


def state_problem(view, track):
    """The state of a device: every nanosecond once, and its sums are the report's."""
    items, device = track.items(), view.report["devices"][track.head["device"]]
    at = view.head.get("from_ns", 0)
    for item in items:
        if item["begin"] != at or not item["duration"]:
            return f"{item} does not begin at {at}"
        at = item["end"]
    if at != view.head.get("to_ns", view.head["wall_ns"]):
        return f"it ends at {at}"
    sums, classes = {}, [0, 0, 0]
    for item in items:
        if item["what"] < FIRST_PATH:
            cause = view.head["causes"][item["what"]]
            sums[cause] = sums.get(cause, 0) + item["duration"]
        else:
            path = view.paths[item["what"] - FIRST_PATH]
            if path["device"] != track.head["device"]:
                return f"{item} is another device's"
            classes[path["class"]] += item["duration"]
    wanted = {cause: ns for cause, ns in device["idle_causes"].items() if ns}
    if sums != wanted:
        return f"{sums} is not {wanted}"
    if classes != [device["kernels_ns"], device["copies_ns"], device["other_ns"]]:
        return f"busy: {classes}"
    return None


def problems(view, may_be_cut=False):
    """All that is wrong with a page."""
    found = []
    from_ns = view.head.get("from_ns", 0)
    to_ns = view.head.get("to_ns", 1 << 53)
    if "end" not in view.elements:
        found.append("no end")
    used = bytearray(len(view.tracks))
    for index, track in enumerate(view.tracks):
        where = f"track {index} ({track.kind} {track.name[:40]!r})"
        used[index] = 1
        if track.id != index or not (track.head.get("parent") is None
                                     or used[track.head["parent"]]):
            found.append(f"{where}: id or parent")
        items = track.items()
        if track.levels and track.levels[0]["bin_ns"]:
            if not may_be_cut:
                found.append(f"{where}: its items are left out")
            continue
        if len(items) != track.head.get("items", 0):
            found.append(f"{where}: {len(items)} items, not {track.head.get('items')}")
        if track.kind in SLICES:
            problem = lane_problem(items)
            if problem:
                found.append(f"{where}: {problem}")
            if any(item["lane"] >= track.head["lanes"] for item in items):
                found.append(f"{where}: more lanes than it says")
        for level in track.levels[1:]:
            if track.kind == "counter":
                problem = counter_problem(track, level, items, from_ns, to_ns)
                if problem:
                    found.append(f"{where}: level of {level['bin_ns']} ns: {problem}")
                continue
            if track.kind in ("metric", "clock"):
                expected = value_bins(items, level["bin_ns"], from_ns, to_ns)
            else:
                expected = add_up(track, items, level["bin_ns"], from_ns, to_ns)
            problem = bin_problem(track, level, expected)
            if problem:
                found.append(f"{where}: level of {level['bin_ns']} ns: {problem}")
        if track.kind == "device":
            problem = state_problem(view, track)
            if problem:
                found.append(f"{where}: {problem}")
    return found

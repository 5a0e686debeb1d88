#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads capture files (capture.h): what is in them, as text, and checks that it holds together.

    read_capture.py FILE…             a summary of each
    read_capture.py --rows TYPE FILE  the rows of one kind of chunk: facts, activity, callbacks, cubins,
                                      stalls, pcs, clocks, metrics, pms, series
    read_capture.py --cubins FOLDER FILE   writes each cubin into the folder

Status 1 where a file is damaged; what comes before the damage is read. An activity buffer ends at the first record
that is not what it should be, which is said, and the next one is read.
"""
import collections
import math
import os
import struct
import sys

HEADER = struct.Struct("<8sIIIIQQ64s")
CHUNK = struct.Struct("<IIQQ")
NAME = struct.Struct("<QII")
CALLBACK = struct.Struct("<QIIIIIIQQ24s")
CUBIN = struct.Struct("<QIIQ")
STALL = struct.Struct("<I124s")
PC_BLOCK = struct.Struct("<QQQQQQIIII")
PC = struct.Struct("<QQIIII")
CLOCKS = struct.Struct("<QQQQQQ")
PM_BLOCK = struct.Struct("<IIII")
FACTS, ACTIVITY, NAMES, CALLBACKS, CUBINS, STALLS, PCS, CLOCK, IMAGE, METRICS, PMS, KEYS, SERIES = \
    range(1, 14)

# Bytes of an activity record by kind, CUPTI 13.0; and where older versions differ, from which version on.
STRIDES = {1: 96, 2: 88, 4: 40, 5: 40, 8: 184, 9: 32, 10: 216, 3: 216, 11: 32, 12: 56, 13: 40, 17: 56,
           20: 40, 22: 96, 24: 0, 26: 32, 27: 24, 36: 56, 37: 24, 38: 56, 39: 24, 49: 128, 51: 56, 52: 72,
           56: 56}
KERNEL_STRIDES = ((130000, 216), (19, 208), (18, 200), (17, 176), (15, 168), (13, 160), (0, 144))
OLDER_STRIDES = {1: ((26, 96), (17, 88), (14, 80), (0, 72)), 2: ((17, 88), (14, 80), (0, 72)),
                 3: KERNEL_STRIDES, 10: KERNEL_STRIDES, 22: ((17, 96), (14, 88), (0, 80)),
                 36: ((26, 56), (0, 24)), 38: ((26, 56), (0, 40))}
KINDS = {1: "memcpy", 2: "memset", 3: "kernel", 4: "driver", 5: "runtime", 8: "device", 9: "context",
         10: "kernel", 12: "marker", 17: "overhead", 22: "memcpy2", 36: "event", 37: "stream",
         38: "synchronization", 39: "external", 49: "memory", 51: "graph", 52: "jit"}

Activity = collections.namedtuple("Activity", "kind start_ns end_ns correlation name raw")


class Damaged(Exception):
    pass


def text(data):
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def unpack(layout, data, at=0):
    try:
        return layout.unpack_from(data, at)
    except struct.error:
        raise Damaged(f"ends inside of {layout.size} bytes at {at}") from None


class Capture:
    """what, pid, cupti_version, driver_version; chunks: (type, number, monotonic_ns, contents);
    damage: None, or what is wrong behind the last chunk; odd: what was wrong inside of activity buffers, once they
    were read."""

    def __init__(self, data):
        self.damage, self._strides, self._stalls, self.odd = None, None, None, []
        if len(data) < HEADER.size or data[:8] != b"DUETCAP1":
            raise Damaged("this is no capture file")
        (_, size, self.pid, self.cupti_version, self.driver_version, self.monotonic_ns, self.realtime_ns,
         what) = HEADER.unpack_from(data)
        self.what = text(what)
        self.chunks = []
        at = size
        if not HEADER.size <= size <= len(data):
            raise Damaged(f"a header of {size} bytes")
        while at < len(data):
            if at + CHUNK.size > len(data):
                self.damage = f"byte {at}: the file ends inside of a chunk's head"
                return
            kind, number, count, time = CHUNK.unpack_from(data, at)
            if count > len(data) - at - CHUNK.size:
                self.damage = f"byte {at}: a chunk of {count} bytes, {len(data) - at - CHUNK.size} are there"
                return
            begin = at + CHUNK.size
            self.chunks.append((kind, number, time, data[begin:begin + count]))
            at = begin + (count + 7) // 8 * 8

    def of(self, wanted):
        return [data for kind, _, _, data in self.chunks if kind == wanted]

    def facts(self):
        found = {}
        for data in self.of(FACTS):
            for line in data.decode("utf-8", "replace").splitlines():
                key, _, value = line.partition("=")
                found[key] = value
        return found

    def stride(self, kind):
        """Bytes of a record; 0: not known. What the library itself said is a fact, where the program got to its end."""
        if kind in OLDER_STRIDES:
            return next(size for version, size in OLDER_STRIDES[kind] if self.cupti_version >= version)
        if self._strides is None:
            self._strides = {key[7:]: int(value) for key, value in self.facts().items()
                             if key.startswith("stride.") and value.isdecimal()}
        return STRIDES.get(kind) or self._strides.get(str(kind), 0)

    def activity(self):
        """Records of all buffers, in order."""
        number, self.odd = 0, []
        for kind, _, _, data in self.chunks:
            if kind == ACTIVITY:
                number += 1
                yield from self._records(data, self._names_behind(number), number)

    def _names_behind(self, number):
        """The texts that belong to the number-th activity buffer."""
        seen = 0
        for kind, _, _, data in self.chunks:
            seen += kind == ACTIVITY
            if kind == NAMES and seen == number:
                names = {}
                try:
                    names.update(rows_of_names(data))
                except Damaged as problem:
                    self.odd.append(f"the names of activity buffer {number}: {problem}")
                return names
        return {}

    def _records(self, data, names, number):
        at = 0
        while at + 8 <= len(data):
            kind = struct.unpack_from("<I", data, at)[0]
            size = self.stride(kind)
            problem = None if size else f"a record of kind {kind}, which is not known"
            if at + size > len(data):
                problem = f"it ends inside of a record of kind {kind}"
            try:
                row = None if problem else record(kind, data[at:at + size], names)
            except struct.error:
                problem = f"a record of kind {kind} and {size} bytes"
            if problem:
                self.odd.append(f"activity buffer {number}, byte {at} of {len(data)}: {problem}")
                return
            yield row
            at += size

    def callbacks(self):
        for data in self.of(CALLBACKS):
            for at in range(0, len(data) - CALLBACK.size + 1, CALLBACK.size):
                *row, name = CALLBACK.unpack_from(data, at)
                yield (*row, text(name))

    def cubins(self):
        """(crc, module, bytes)"""
        for data in self.of(CUBINS):
            crc, module, _, size = unpack(CUBIN, data)
            if CUBIN.size + size > len(data):
                raise Damaged(f"a cubin of {size} bytes in a chunk of {len(data)}")
            yield crc, module, data[CUBIN.size:CUBIN.size + size]

    def stalls(self):
        """{index: name}"""
        if self._stalls is None:
            self._stalls = self._read_stalls()
        return self._stalls

    def _read_stalls(self):
        return {index: text(name) for data in self.of(STALLS)
                for index, name in STALL.iter_unpack(data[:len(data) // STALL.size * STALL.size])}

    def issue_stalls(self, pairs):
        """{name: samples} of a PC. Those of _not_issued are among the others of their name, so they are left out."""
        names = self.stalls()
        found = {names.get(reason, str(reason)): count for reason, count in pairs.items()}
        return {name: count for name, count in found.items() if not name.endswith("_not_issued")}

    def pcs(self):
        """(block, [(crc, offset, function index, correlation, {reason: samples}, function)])"""
        for data in self.of(PCS):
            block, at, rows = unpack(PC_BLOCK, data), PC_BLOCK.size, []
            for _ in range(block[1]):
                crc, offset, index, correlation, reasons, length = unpack(PC, data, at)
                at += PC.size
                if at + 8 * reasons + length > len(data):
                    raise Damaged("samples end inside of a function's name")
                pairs = dict(struct.iter_unpack("<II", data[at:at + 8 * reasons]))
                at += 8 * reasons
                name = data[at:at + length].decode("utf-8", "replace")
                rows.append((crc, offset, index, correlation, pairs, name))
                at += (length + 7) // 8 * 8
            yield block, rows

    def clocks(self):
        return [row for data in self.of(CLOCK) for row in CLOCKS.iter_unpack(data[:len(data) // 48 * 48])]

    def metrics(self):
        return [line for data in self.of(METRICS) for line in text(data).splitlines()]

    def pms(self):
        """(overflow, stop reason, [(start, end, values)])"""
        for data in self.of(PMS):
            count, values, overflow, reason = unpack(PM_BLOCK, data)
            row = struct.Struct(f"<QQ{values}d")
            if PM_BLOCK.size + count * row.size > len(data):
                raise Damaged(f"{count} samples in a chunk of {len(data)} bytes")
            yield overflow, reason, [(start, end, rest) for start, end, *rest in
                                     (row.unpack_from(data, PM_BLOCK.size + i * row.size)
                                      for i in range(count))]

    def series(self):
        """keys, rows of (seconds, values)"""
        keys = [line for data in self.of(KEYS) for line in text(data).splitlines()]
        row = struct.Struct(f"<{len(keys) + 1}d")
        rows = [values for data in self.of(SERIES) for values in
                row.iter_unpack(data[:len(data) // row.size * row.size])]
        return keys, rows


def rows_of_names(data):
    at = 0
    while at + NAME.size <= len(data):
        pointer, length, _ = NAME.unpack_from(data, at)
        at += NAME.size
        if at + length > len(data):
            raise Damaged("names end inside of a text")
        yield pointer, data[at:at + length].decode("utf-8", "replace")
        at += (length + 7) // 8 * 8


# where a kind keeps (start and end), its correlation, the pointer to its name; None: nowhere
PLACES = {1: (16, 44, None), 2: (16, 44, None), 3: (16, 92, 104), 10: (16, 92, 104), 4: (8, 32, None),
          5: (8, 32, None), 17: (16, None, None), 22: (16, 52, None), 38: (8, 24, None),
          51: (8, 4, None)}


def record(kind, raw, names):
    times, correlation, name = PLACES.get(kind, (None, None, None))
    start, end = struct.unpack_from("<QQ", raw, times) if times is not None else (0, 0)
    number = struct.unpack_from("<I", raw, correlation)[0] if correlation is not None else 0
    pointer = struct.unpack_from("<Q", raw, name)[0] if name is not None else 0
    return Activity(kind, start, end, number, names.get(pointer, ""), raw)


def summary(capture):
    print(f"{capture.what}: pid {capture.pid}, CUPTI {capture.cupti_version}, driver {capture.driver_version}")
    for key, value in capture.facts().items():
        print(f"  {key}={value}")
    kinds = collections.Counter(KINDS.get(row.kind, str(row.kind)) for row in capture.activity())
    for kind, count in sorted(kinds.items()):
        print(f"  activity {kind}: {count}")
    calls = collections.Counter((row[1], row[9]) for row in capture.callbacks() if row[3] != 1)
    for (domain, name), count in sorted(calls.items()):
        print(f"  callback {domain} {name}: {count}")
    if capture.of(CUBINS):
        print(f"  cubins: {sum(1 for _ in capture.cubins())}")
    blocks = list(capture.pcs())
    if blocks:
        samples = sum(sum(capture.issue_stalls(row[4]).values()) for _, rows in blocks for row in rows)
        print(f"  pc samples: {samples} in {len(blocks)} blocks, {len(capture.stalls())} stall reasons")
    if capture.clocks():
        print(f"  clock readings: {len(capture.clocks())}, narrowest "
              f"{min(row[2] - row[0] for row in capture.clocks())} ns")
    pms = list(capture.pms())
    if pms:
        print(f"  pm samples: {sum(len(rows) for _, _, rows in pms)} of {len(capture.metrics())} metrics in "
              f"{len(pms)} blocks, {sum(overflow for overflow, _, _ in pms)} after an overflow")
    keys, rows = capture.series()
    if keys:
        print(f"  series: {len(rows)} rows of {len(keys)} keys")
    for odd in capture.odd:
        print(f"  ODD {odd}")
    if capture.damage:
        print(f"  DAMAGED {capture.damage}")


def rows(capture, kind):
    names = capture.stalls()
    table = {
        "facts": lambda: capture.facts().items(),
        "activity": lambda: ((KINDS.get(row.kind, row.kind), row.start_ns, row.end_ns, row.correlation,
                              row.name) for row in capture.activity()),
        "callbacks": capture.callbacks,
        "cubins": lambda: ((f"{crc:#x}", module, len(data)) for crc, module, data in capture.cubins()),
        "stalls": names.items,
        "pcs": lambda: ((name, f"{offset:#x}", correlation,
                         " ".join(f"{names.get(reason, reason)}:{count}" for reason, count in pairs.items()))
                        for _, found in capture.pcs() for _, offset, _, correlation, pairs, name in found),
        "clocks": capture.clocks,
        "metrics": lambda: ((metric,) for metric in capture.metrics()),
        "pms": lambda: ((start, end, *values) for _, _, found in capture.pms() for start, end, values in found),
        "series": lambda: (["" if isinstance(value, float) and math.isnan(value) else value for value in row]
                           for row in capture.series()[1]),
    }
    if kind not in table:
        sys.exit(f"read_capture: no kind of rows '{kind}': {' '.join(table)}")
    for row in table[kind]():
        print(*row, sep="\t")
    for odd in capture.odd:
        print(f"read_capture: {odd}", file=sys.stderr)


def load(path):
    with open(path, "rb") as file:
        return Capture(file.read())


def main():
    arguments, action = sys.argv[1:], summary
    if arguments[:1] == ["--rows"] and len(arguments) > 2:
        action = lambda capture, kind=arguments[1]: rows(capture, kind)
        arguments = arguments[2:]
    elif arguments[:1] == ["--cubins"] and len(arguments) > 2:
        folder, arguments = arguments[1], arguments[2:]
        os.makedirs(folder, exist_ok=True)

        def action(capture):
            for crc, module, data in capture.cubins():
                with open(os.path.join(folder, f"{module}-{crc:x}.cubin"), "wb") as file:
                    file.write(data)
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    status = 0
    for path in arguments:
        try:
            capture = load(path)
            action(capture)
            status |= capture.damage is not None or bool(capture.odd)
        except (OSError, Damaged) as problem:
            print(f"read_capture: {path}: {problem}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

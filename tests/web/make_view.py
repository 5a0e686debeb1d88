# SPDX-License-Identifier: MIT
"""Writes view files from docs/design/view.md alone, to test the viewer without the writer in C.

    make_view.py scene|small|empty|hostile|cut|large|threads|deep|twins|counters OUT.html [--expect OUT.json]

numpy packs the columns, so that a file with 10^7 events is made in seconds.
"""
import argparse
import base64
import hashlib
import json
import os
import re
import zlib

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(os.path.dirname(os.path.dirname(HERE)), "web")
CHUNK = 16384
SECTION_BYTES = 1 << 20
CAUSES = ["api_wait", "api_call", "on_cpu", "preempted", "blocked", "host", "runtime", "submission",
          "dependency", "latency", "nothing_to_do", "unknown", "duet_itself", "profiler_overhead"]
PATH = 16


def varints(values):
    """LEB128 of an array of unsigned numbers."""
    values = numpy.asarray(values, dtype=numpy.uint64)
    sizes = numpy.ones(len(values), dtype=numpy.int64)
    for byte in range(1, 10):
        sizes += values >= numpy.uint64(1) << numpy.uint64(7 * byte)
    ends = numpy.cumsum(sizes)
    out = numpy.zeros(int(ends[-1]) if len(ends) else 0, dtype=numpy.uint8)
    for byte in range(10):
        there = sizes > byte
        more = (sizes[there] > byte + 1).astype(numpy.uint8) << 7
        part = (values[there] >> numpy.uint64(7 * byte)) & numpy.uint64(127)
        out[(ends - sizes)[there] + byte] = part.astype(numpy.uint8) | more
    return out.tobytes()


def zigzag(values):
    values = numpy.asarray(values, dtype=numpy.int64)
    return ((values << 1) ^ (values >> 63)).astype(numpy.uint64)


def deltas(values, first):
    values = numpy.asarray(values, dtype=numpy.int64)
    return numpy.diff(values, prepend=numpy.int64(first))


def bundle(folder=WEB):
    """The modules as one classic script, as view.md says."""
    done, parts = set(), []

    def take(name):
        if name in done:
            return
        done.add(name)
        with open(os.path.join(folder, name), encoding="ascii") as file:
            text = file.read()
        for line in text.splitlines():
            found = re.match(r'import \{.*\} from "\./(.*)";$', line)
            if found:
                take(found.group(1))
        parts.append(re.sub(r"^export ", "", re.sub(r'^import \{.*\} from ".*";\n', "", text, flags=re.M),
                            flags=re.M))

    take("main.js")
    return '(function () {\n"use strict";\n' + "".join(parts) + "})();\n"


class File:
    """Collects sections, chunk by chunk."""

    def __init__(self):
        self.sections, self.current = [], b""

    def add(self, data):
        """Where the bytes are: section, offset."""
        if self.current and len(self.current) + len(data) > SECTION_BYTES:
            self.close_section()
        place = (len(self.sections) + 1, len(self.current))
        self.current += data
        return place

    def close_section(self):
        if self.current:
            self.sections.append(self.current)
        self.current = b""


def packed(data):
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(data) + deflate.flush()).decode()


def value_bins(begin, value, bin_ns):
    number = begin // bin_ns
    bins, starts, counts = numpy.unique(number, return_index=True, return_counts=True)
    before = numpy.concatenate([value[:1], value])[starts]
    least = numpy.minimum(numpy.minimum.reduceat(value, starts), before)
    most = numpy.maximum(numpy.maximum.reduceat(value, starts), before)
    return [bins, counts, value[starts + counts - 1], least, most]


def reading_bins(begin, duration, value, bin_ns):
    """Of levels, whose values are what is shown."""
    first, last = begin // bin_ns, numpy.maximum(begin, begin + duration - 1) // bin_ns
    width = last - first + 1
    which = numpy.repeat(numpy.arange(len(begin)), width)
    where = first[which] + numpy.arange(len(which)) - numpy.repeat(numpy.cumsum(width) - width, width)
    ns = numpy.minimum((begin + duration)[which], (where + 1) * bin_ns) - numpy.maximum(begin[which], where * bin_ns)
    bins, starts = numpy.unique(where, return_index=True)
    place = numpy.searchsorted(bins, where)
    covered = numpy.bincount(place, ns, len(bins)).astype(numpy.int64)
    area = numpy.bincount(place, ns * value[which].astype(float), len(bins))
    mean = numpy.where(covered > 0, area / numpy.maximum(covered, 1) * 1000, value[which][starts] * 1000)
    count = numpy.bincount(numpy.searchsorted(bins, first), minlength=len(bins))
    return [bins, count, covered, numpy.rint(mean).astype(numpy.int64),
            numpy.minimum.reduceat(value[which], starts) * 1000, numpy.maximum.reduceat(value[which], starts) * 1000]


def bins_of(kind, columns, bin_ns):
    """Columns of the bins that are not empty."""
    begin = columns[0]
    if kind == "counter":
        return reading_bins(*columns[:3], bin_ns)
    if kind in ("metric", "clock"):
        return value_bins(begin, columns[1], bin_ns)
    if kind == "samples":
        where, ns, what = begin // bin_ns, columns[1], columns[2]
        items = where
    else:
        duration = columns[1] + columns[3] if kind == "waiting" else columns[1]
        what = columns[4] if kind == "waiting" else columns[3]
        items = begin // bin_ns
        last = numpy.maximum(items, (begin + duration - 1) // bin_ns)
        width = last - items + 1
        which = numpy.repeat(numpy.arange(len(begin)), width)
        where = items[which] + numpy.arange(len(which)) - numpy.repeat(numpy.cumsum(width) - width, width)
        ns = (numpy.minimum(begin[which] + duration[which], (where + 1) * bin_ns)
              - numpy.maximum(begin[which], where * bin_ns))
        what = what[which]
    bins, first = numpy.unique(where), None
    place = numpy.searchsorted(bins, where)
    busy = ns if kind != "device" else numpy.where(what >= PATH, ns, 0)
    covered = numpy.bincount(place, busy, len(bins)).astype(numpy.int64)
    count = numpy.bincount(numpy.searchsorted(bins, items), minlength=len(bins))
    pairs, pair = numpy.unique(where * (1 << 20) + what, return_inverse=True)
    sums = numpy.bincount(pair, ns).astype(numpy.int64)
    order = numpy.lexsort((-sums, pairs >> 20))
    first = order[numpy.unique((pairs >> 20)[order], return_index=True)[1]]
    return [bins, count, covered, pairs[first] & ((1 << 20) - 1), sums[first]]


SIGNED = {"counter": {2}, "metric": {1}, "clock": {1}, "calls": {6}, "rejected": {6}}
LINKED = {"calls", "off", "device", "context", "queue", "rejected", "ranges", "waiting"}


def link_codes(links):
    """0: none; else 1 + how it differs from the link before it, and one more."""
    links = numpy.asarray(links, dtype=numpy.int64)
    there = links > 0
    known = links[there] - 1
    out = numpy.zeros(len(links), dtype=numpy.uint64)
    expected = numpy.concatenate([[0], known[:-1] + 1]) if len(known) else known
    out[there] = zigzag(known - expected) + numpy.uint64(1)
    return out


def chunk_bytes(columns):
    """A mask of the columns in which one value stands for all, and the columns."""
    mask, data = 0, b""
    for index, column in enumerate(columns):
        is_same = bool((column == column[0]).all())
        mask |= is_same << index
        data += varints(column[:1] if is_same else column)
    return varints([mask]) + data


def pack_chunks(file, kind, columns, bin_ns):
    chunks, total = [], len(columns[0])
    is_moment = kind in ("samples", "metric", "clock")
    for start in range(0, total, CHUNK):
        part = [column[start:start + CHUNK] for column in columns]
        begin = part[0]
        if bin_ns:
            begin_ns, end_ns = int(begin[0]) * bin_ns, (int(begin[-1]) + 1) * bin_ns
            first = zigzag(deltas(begin, 0))
            signed = {2, 3, 4} if kind in ("metric", "clock") else {3, 4, 5} if kind == "counter" else set()
        else:
            begin_ns = int(begin[0])
            end = begin if is_moment else begin + part[1]
            end_ns = int((end + (part[3] if kind == "waiting" else 0)).max())
            if kind == "waiting" or is_moment:
                end = begin
            first = zigzag(begin - numpy.concatenate([[begin_ns], end[:-1]]))
            signed = SIGNED.get(kind, set())
        packed_part = [first, *(zigzag(column) if index in signed else column.astype(numpy.uint64)
                                for index, column in enumerate(part[1:], 1))]
        if not bin_ns and kind in LINKED:
            packed_part[5] = link_codes(part[5])
        data = chunk_bytes(packed_part)
        section, offset = file.add(data)
        chunks.append([begin_ns, end_ns, section, offset, len(data), len(begin)])
    return chunks


def add_levels(file, tracks, wall_ns, keep_from_ns):
    """Levels of all tracks; the coarsest of all come first, so that they are the overview."""
    plans = []
    for track in tracks:
        columns = track.pop("columns", None)
        track["levels"] = []
        if columns is None or len(columns[0]) == 0:
            continue
        columns = [numpy.asarray(column, dtype=numpy.int64) for column in columns]
        widths = [max(8, -(-wall_ns // 2048))]
        while widths[0] > 64 and wall_ns // widths[0] * 2 < len(columns[0]):
            widths.insert(0, -(-widths[0] // 8))
            widths = [widths[0]] + [widths[0] * 8 ** (i + 1) for i in range(len(widths) - 1)]
        while wall_ns // widths[-1] >= 2048:
            widths.append(widths[-1] * 8)
        # bins of what is shown are made of levels alone here
        for rank, bin_ns in enumerate([0] if track.pop("only_items", False) else [0, *widths]):
            if bin_ns >= keep_from_ns:
                plans.append((len(widths) - rank, track, bin_ns, columns))
    for _, track, bin_ns, columns in sorted(plans, key=lambda plan: plan[0]):
        kind = track["kind"]
        chunks = pack_chunks(file, kind, bins_of(kind, columns, bin_ns) if bin_ns else columns, bin_ns)
        track["levels"].insert(0, {"bin_ns": bin_ns, "chunks": chunks})


def write(path, head, tracks, texts_apart=False, keep_from_ns=0, cut_off=0):
    """Writes the file; cut_off: so many sections at the end are missing, as in a copy that broke off."""
    file = File()
    for index, track in enumerate(tracks):
        columns = track.get("columns")
        track.update(id=index, items=len(columns[0]) if columns else 0)
    head.setdefault("causes", CAUSES)
    tracks = [dict(track) for track in tracks]
    add_levels(file, tracks, head["wall_ns"], keep_from_ns)
    file.close_section()
    head.update(schema="duet.view/1", duet="0.2.0", tracks=tracks, sections=len(file.sections))
    extra = []
    if texts_apart:
        texts = {key: head.pop(key) for key in ("frames", "own", "stacks") if key in head}
        texts["names"] = head["names"]
        extra = [("texts", json.dumps(texts).encode())]
        head["texts"] = "texts"
    with open(os.path.join(WEB, "view.html"), encoding="ascii") as template:
        frame = template.read()
    with open(os.path.join(WEB, "view.css"), encoding="ascii") as sheet:
        style = sheet.read()
    script = bundle()

    def element(name, data):
        return f'<script type="text/plain" id="{name}">{packed(data)}</script>\n'

    def digest(text):
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    sections = [(f"s{number}", data) for number, data in enumerate(file.sections, 1)]
    first = element("head", json.dumps(head).encode()) + "".join(element(*s) for s in sections[:1])
    rest = [*sections[1:], *extra, ("end", b"")]
    rest = rest[:len(rest) - cut_off]
    policy = (f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
              "img-src data: blob:")
    parts = {"policy": f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
             "style": f"<style>{style}</style>\n", "first": first,
             "script": f"<script>{script}</script>\n", "rest": "".join(element(*s) for s in rest)}
    whole = re.sub(r"^@(\w+)@\n", lambda found: parts[found.group(1)], frame, flags=re.M)
    if cut_off:
        whole = whole[:whole.rindex("</script>") - 20]
    with open(path, "w", encoding="ascii") as out:
        out.write(whole)


def expectations(head, tracks, ranges):
    """By brute force, what the viewer's sums must give."""
    items = []
    for track in tracks:
        if track.get("columns"):
            items.append({"name": track["name"], "kind": track["kind"],
                          "columns": [column.tolist() for column in track["columns"]]})
    accounts = []
    for low, high in ranges:
        state = next((t for t in tracks if t["kind"] == "device" and t.get("columns")), None)
        if state is None:
            break
        begin, length, _, what, owner = (column.tolist() for column in state["columns"][:5])
        causes, paths = {}, {}
        for b, n, w, _ in zip(begin, length, what, owner):
            ns = max(0, min(b + n, high) - max(b, low))
            if ns:
                key, table = (w - PATH, paths) if w >= PATH else (w, causes)
                table[key] = table.get(key, 0) + ns
        accounts.append({"from": low, "to": high, "causes": causes, "paths": paths})
    return {"names": head["names"], "items": items, "accounts": accounts}


def make(kind, path, expect=None):
    import scenes
    options = {}
    if kind == "empty":
        head, tracks = scenes.empty()
    elif kind == "large":
        head, tracks = scenes.large()
    elif kind == "counters":
        head, tracks = scenes.counters()
    elif kind == "deep":
        head, tracks = scenes.deep()
    else:
        more = {"small": {"count": 5, "wall_ns": 1_000_000}, "threads": {"threads": 70},
                "hostile": {"names": scenes.HOSTILE}, "many": {"count": 60_000, "wall_ns": 3_000_000_000}}
        more["cut"] = more["many"]
        head, tracks, _ = scenes.scene(**more.get(kind, {}))
        if kind == "hostile":
            head["title"] = scenes.HOSTILE[0]
            for track, name in zip(tracks, scenes.HOSTILE * 9):
                track.update(name=name, detail=name)
    if kind == "twins":
        first, second = (track for track in tracks if track["kind"] == "queue")
        second.update(columns=first["columns"], lanes=first["lanes"])
    if kind == "cut":
        options = {"cut_off": 2}
    if kind == "texts":
        options = {"texts_apart": True}
    if kind == "levels":
        options = {"keep_from_ns": 1}
        head["cut"] = {"tracks": 3, "reason": "the file would be above its limit"}
        head["incomplete"] = "7 launches were dropped"
    if expect:
        wall = head["wall_ns"]
        ranges = [(0, wall), (wall // 3, wall // 2), (wall // 3, wall // 3 + 1), (0, wall // 50)]
        with open(expect, "w", encoding="ascii") as out:
            json.dump(expectations(head, tracks, ranges), out)
    write(path, head, tracks, **options)


def main():
    parser = argparse.ArgumentParser(description="write a view file")
    parser.add_argument("kind")
    parser.add_argument("path")
    parser.add_argument("--expect")
    options = parser.parse_args()
    make(options.kind, options.path, options.expect)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Perfetto traces of rocprofv3: slices of tracks with interned names and annotations. Only the fields needed here."""
import collections

from rows import DIRECTIONS, Call, Command, Recording, kernel_name

# numbers of fields: TracePacket, TrackEvent, DebugAnnotation, InternedData, TrackDescriptor
PACKET, TIMESTAMP, SEQUENCE, EVENT, INTERNED, DESCRIPTOR = 1, 8, 10, 11, 12, 60
ANNOTATION, CATEGORY_IDS, TYPE, NAME_ID, TRACK, CATEGORIES, NAME = 4, 3, 9, 10, 11, 22, 23
SLICE_BEGIN, SLICE_END, COUNTER = 1, 2, 4


def varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def fields(data):
    """Numbers and values of a message: whole numbers and bytes."""
    position, end = 0, len(data)
    while position < end:
        key, position = varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = varint(data, position)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if length is None:
                length, position = varint(data, position)
            value = data[position:position + length]
            position += length
        yield key >> 3, value


def text(value):
    return value.decode("utf-8", "replace")


class Sequence:
    """What a sequence of packets has interned, and its open slices."""

    def __init__(self):
        self.interned = collections.defaultdict(dict)

    def add(self, data):
        for table, entry in fields(data):
            pair = dict(fields(entry))
            if 2 in pair and isinstance(pair[2], bytes):
                self.interned[table][pair[1]] = text(pair[2])

    def annotations(self, data):
        """Names and values of one annotation."""
        values = dict(fields(data))
        name = self.interned[3].get(values.get(1), "") if 1 in values else text(values.get(10, b""))
        for number in (2, 3, 4):
            if number in values:
                return name, values[number]
        return name, text(values[6]) if 6 in values else None


def slices_of(data):
    """Slices as (start, end, track, category, name, annotations), and the number of counter values."""
    sequences = collections.defaultdict(Sequence)
    open_slices = collections.defaultdict(list)
    done, counters, tracks = [], 0, {}
    for number, packet in fields(data):
        if number != PACKET:
            continue
        values = dict(fields(packet))
        sequence = sequences[values.get(SEQUENCE, 0)]
        if INTERNED in values:
            sequence.add(values[INTERNED])
        if DESCRIPTOR in values:
            descriptor = dict(fields(values[DESCRIPTOR]))
            if 2 in descriptor:
                tracks[descriptor[1]] = text(descriptor[2])
            elif 4 in descriptor:
                tracks[descriptor[1]] = dict(fields(descriptor[4])).get(2)
        if EVENT not in values:
            continue
        event, notes, names = {}, {}, []
        for field, value in fields(values[EVENT]):
            if field == ANNOTATION:
                name, note = sequence.annotations(value)
                notes[name] = note
            elif field in (CATEGORY_IDS, CATEGORIES):
                names.append(sequence.interned[1].get(value, "") if field == CATEGORY_IDS else text(value))
            else:
                event[field] = value
        kind = event.get(TYPE)
        counters += kind == COUNTER
        if kind == SLICE_BEGIN:
            name = text(event[NAME]) if NAME in event else sequence.interned[2].get(event.get(NAME_ID), "")
            open_slices[event.get(TRACK)].append((values[TIMESTAMP], event.get(TRACK), names[0], name, notes))
        elif kind == SLICE_END and open_slices[event.get(TRACK)]:
            start, track, category, name, notes = open_slices[event[TRACK]].pop()
            done.append((start, values[TIMESTAMP], track, category, name, notes))
    return done, counters, tracks


def read(data):
    """Kernels name their agent and stream; a call and its kernels have one correlation id. The times are those of the
    annotations, because slices of one track that cross each other end in the wrong order."""
    recording = Recording("perfetto")
    slices, counters, tracks = slices_of(data)
    launches, process = {}, min((name for name in tracks.values() if isinstance(name, int)), default=0)
    pending, crossed = [], 0
    for start, end, _, category, name, notes in slices:
        crossed += (start, end) != (notes["begin_ns"], notes["end_ns"])
        if category == "kernel_dispatch":
            pending.append((name, notes))
            continue
        if category == "hip_api":
            launches[notes["corr_id"]] = len(recording.calls)
        recording.calls.append(Call(notes["begin_ns"], notes["end_ns"], process, notes["tid"],
                                    "runtime" if category == "hip_api" else "driver", name))
    for name, notes in pending:
        copy = DIRECTIONS.get(name.replace("MEMORY_COPY_", ""))
        recording.commands.append(Command(notes["begin_ns"], notes["end_ns"], notes["agent"],
                                          (notes["agent"], notes["stream_ID"]), "copy" if copy else "kernel", copy,
                                          kernel_name(name), launches.get(notes["corr_id"])))
    if counters:
        recording.more["counter_values"] = counters
    if crossed:
        recording.more["crossed"] = crossed
    return recording

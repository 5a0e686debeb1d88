# SPDX-License-Identifier: MIT
"""Reads the output of duet export, each format with another project's reader, and prints it as lines that can be compared.
test_export.py uses it.

    python3 tests/e2e/export_readers.py FORMAT FILE
"""
import collections
import csv
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree

import jsonschema

import duet_test

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Broken(Exception):
    """The file breaks a rule of its format; the text says which."""


def require(condition, rule):
    if not condition:
        raise Broken(rule)


def shown(text):
    """One line, whatever is in it."""
    return text.encode("unicode_escape").decode().replace("\\\\", "\\")


# ---- protobuf, by protoc -------------------------------------------------------------------------

ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)")
NAMED = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def unescape(text):
    def one(match):
        found = match.group(1)
        return bytes([int(found, 8)]) if found.isdigit() else NAMED.get(found, found)
    return ESCAPE.sub(one, text).decode("utf-8")


def value_of(text):
    if text.startswith(b'"'):
        return unescape(text[1:-1])
    if text in (b"true", b"false"):
        return text == b"true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text.decode()


def decoded(schema, message, data):
    """{field: [values]}, messages in it alike, as protoc prints them."""
    if not shutil.which("protoc"):
        raise duet_test.Skip("protoc is missing (Debian package protobuf-compiler)")
    folder = os.path.join(ROOT, "proto")
    result = subprocess.run(["protoc", f"--decode={message}", "-I", folder, schema],
                            input=data, capture_output=True, timeout=120, check=False)
    require(result.returncode == 0, f"protoc: {result.stderr.decode()}")
    stack = [{}]
    for line in result.stdout.splitlines():
        line = line.strip()
        if line == b"}":
            stack.pop()
            continue
        name, _, rest = line.partition(b" ")
        name = name.rstrip(b":").decode()
        require(not name.isdigit(), f"field {name} is not in the schema")
        if rest == b"{":
            made = {}
            stack[-1].setdefault(name, []).append(made)
            stack.append(made)
        else:
            stack[-1].setdefault(name, []).append(value_of(rest))
    return stack[0]


def first(message, field, otherwise=0):
    return message.get(field, [otherwise])[0]


# ---- pprof ---------------------------------------------------------------------------------------

class Pprof:
    """A profile with its ids resolved and its rules checked."""

    def __init__(self, path):
        with gzip.open(path) as file:
            profile = decoded("pprof_profile.proto", "perftools.profiles.Profile", file.read())
        self.profile = profile
        self.strings = profile.get("string_table", [])
        require(self.strings[:1] == [""], "string_table[0] is empty")
        require(len(set(self.strings)) == len(self.strings) or "\ufffd" in "".join(self.strings),
                "texts are interned")
        self.types = [(self.text(one, "type"), self.text(one, "unit"))
                      for one in profile.get("sample_type", [])]
        require(self.types and self.types[0][1] == "count", "the first type is a count")
        self.default = self.text(profile, "default_sample_type")
        require(self.default == self.types[-1][0], "the last type is the default")
        self.functions = self.by_id("function")
        self.mappings = self.by_id("mapping")
        self.locations = self.by_id("location")
        self.samples = [self.sample(one) for one in profile.get("sample", [])]

    def text(self, message, field):
        return self.strings[first(message, field)]

    def by_id(self, field):
        found = {first(one, "id"): one for one in self.profile.get(field, [])}
        require(0 not in found, f"ids of {field} are not 0")
        require(len(found) == len(self.profile.get(field, [])), f"ids of {field} are unique")
        return found

    def sample(self, sample):
        values = sample.get("value", [])
        require(len(values) == len(self.types), "a value for each type")
        labels = {}
        for label in sample.get("label", []):
            number = first(label, "num")
            require(("str" in label) != ("num" in label), "a label is a text or a number")
            require(not number or self.text(label, "num_unit"), "numbers have units")
            labels[self.text(label, "key")] = number or self.text(label, "str")
        frames = [self.location(self.locations[one]) for one in sample.get("location_id", [])]
        require(frames, "a sample has a stack")
        return dict(zip((name for name, _ in self.types), values)), labels, frames[::-1]

    def location(self, location):
        mapping = self.mappings.get(first(location, "mapping_id"))
        require(mapping or not first(location, "mapping_id"), "mappings are there")
        if mapping:
            require(first(location, "address") < first(mapping, "memory_limit"), "inside its mapping")
        names = []
        for line in reversed(location.get("line", [])):
            function = self.functions[first(line, "function_id")]
            place = self.text(function, "filename")
            if place:
                place = f" ({place}:{first(line, 'line')})"
            names.append(self.text(function, "name") + place)
        return ">".join(names)

    def lines(self):
        yield "types: " + " ".join("/".join(one) for one in self.types) + f"; first {self.default}"
        for field in ("time_nanos", "duration_nanos", "period"):
            if field in self.profile:
                yield f"{field}: {first(self.profile, field)}"
        for comment in self.profile.get("comment", []):
            yield f"comment: {self.strings[comment]}"
        for number, mapping in self.mappings.items():
            flags = [flag for flag in mapping if flag.startswith("has_")]
            yield (f"mapping {number}: {self.text(mapping, 'filename')} {self.text(mapping, 'build_id')} "
                   f"below {first(mapping, 'memory_limit'):#x} {' '.join(flags)}")
        for values, labels, frames in self.samples:
            yield (" ".join(f"{name}={value}" for name, value in values.items() if value)
                   + " | " + " ".join(f"{name}={value}" for name, value in labels.items()))
            for depth, frame in enumerate(frames):
                yield "  " * (depth + 1) + frame


# ---- svg -----------------------------------------------------------------------------------------

class Svg:
    """The texts of a picture, and its boxes with their values."""

    def __init__(self, path):
        self.root = xml.etree.ElementTree.parse(path).getroot()
        require(self.root.tag.endswith("}svg"), "it is an SVG")

    def lines(self):
        for element in self.root.iter():
            tag = element.tag.rsplit("}", 1)[-1]
            if tag == "text" and element.get("class") in ("title", "dim", "warning"):
                yield f"{element.get('class')}: {''.join(element.itertext())}"
            if tag == "g" and element.get("data-v"):
                title = [child for child in element if child.tag.endswith("}title")]
                yield f"{element.get('data-v')} {''.join(title[0].itertext())}"


# ---- speedscope ----------------------------------------------------------------------------------

class Speedscope:
    """A file with the rules checked that make speedscope refuse one, or show something else."""

    UNITS = ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.document = json.loads(self.text)
        self.frames = [frame["name"] for frame in self.document["shared"]["frames"]]
        require(self.document["profiles"], "a file has profiles")
        require(re.fullmatch(r"\S+@\S+", self.document["exporter"]), "exporter is name@version")
        for profile in self.document["profiles"]:
            require(profile["unit"] in self.UNITS, "a unit that speedscope knows")
            require(profile["startValue"] <= profile["endValue"], "it ends after it starts")
            {"sampled": self.check_sampled, "evented": self.check_evented}[profile["type"]](profile)

    def check_sampled(self, profile):
        require(len(profile["samples"]) == len(profile["weights"]), "a weight for each sample")
        for stack in profile["samples"]:
            require(stack and all(0 <= one < len(self.frames) for one in stack), "frames are there")

    def check_evented(self, profile):
        at, stack = profile["startValue"], []
        for event in profile["events"]:
            require(event["at"] >= at, "at does not go back")
            at = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                require(stack and stack.pop() == event["frame"], "what closes was opened last")
        require(not stack, "all is closed")
        require(at <= profile["endValue"], "events are inside")

    def sampled(self):
        """{name: {leaf frame: weight}} of the sampled profiles."""
        sums = {}
        for profile in self.document["profiles"]:
            if profile["type"] == "sampled":
                of = sums.setdefault(profile["name"], collections.Counter())
                for stack, weight in zip(profile["samples"], profile["weights"]):
                    of[self.frames[stack[-1]]] += weight
        return sums

    def evented(self):
        """{frame: [count, total]} of the evented profiles, added up."""
        sums = {}
        for profile in self.document["profiles"]:
            opened = []
            for event in profile.get("events", []):
                if event["type"] == "O":
                    opened.append(event["at"])
                else:
                    of = sums.setdefault(self.frames[event["frame"]], [0, 0])
                    of[0] += 1
                    of[1] += event["at"] - opened.pop()
        return sums

    def lines(self):
        return self.text.splitlines()


# ---- perf script ---------------------------------------------------------------------------------

class PerfScript:
    """Collapses stacks as the scripts do that read perf's output: by the shape of the lines alone."""

    HEAD = re.compile(r"^(\S.*?)\s+(\d+)/(\d+)\s+(?:\[(\d+)\]\s+)?(-?\d+\.\d+):\s+(\d+)\s+(\S+):\s*$")
    FRAME = re.compile(r"^\s+([0-9a-f]+) (.+) \((.*)\)$")

    def __init__(self, path):
        with open(path, encoding="utf-8", newline="\n") as file:
            self.text = file.read()
        self.events = []
        head, frames = None, []
        for line in self.text.split("\n"):
            if line.startswith("#"):
                continue
            if not line:
                if head:
                    require(frames, "an event has a stack")
                    self.events.append((head, frames[::-1]))
                head, frames = None, []
            elif not head:
                match = self.HEAD.match(line)
                require(match, f"a head: {line!r}")
                head = match.groups()
            else:
                match = self.FRAME.match(line)
                require(match, f"a frame: {line!r}")
                frames.append(match.group(2))
        require(not head, "the last event ends with an empty line")

    def collapsed(self, event):
        """{"comm;root;…;leaf": sum of periods}"""
        sums = collections.Counter()
        for head, frames in self.events:
            if head[6] == event:
                sums[";".join([head[0], *(frame.replace(";", ":") for frame in frames)])] += int(head[5])
        return sums

    def leaves(self, event):
        """{leaf: [count, sum of periods]}"""
        sums = {}
        for head, frames in self.events:
            if head[6] == event:
                of = sums.setdefault(frames[-1], [0, 0])
                of[0] += 1
                of[1] += int(head[5])
        return sums

    def lines(self):
        return self.text.splitlines()


# ---- csv -----------------------------------------------------------------------------------------

class Csv:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        require(data.replace(b"\r\n", b"").count(b"\r") == 0, "lines end with CR LF")
        self.text = data.decode("utf-8")
        rows = list(csv.reader(io.StringIO(self.text, newline=""), strict=True))
        require(rows, "a line of names")
        require(all(len(row) == len(rows[0]) for row in rows), "as many cells in each line")
        self.rows = [dict(zip(rows[0], row)) for row in rows[1:]]

    def lines(self):
        return self.text.replace("\r\n", "\n").splitlines()


# ---- json ----------------------------------------------------------------------------------------

def closed(schema):
    """The schema, but without keys that it does not name."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if made.get("type") == "object" and "properties" in made:
        made["additionalProperties"] = made.get("additionalProperties", False)
    return made


class Json:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.document = json.loads(self.text)
        require(next(iter(self.document)) == "schema", "the first key is the schema")
        self.check_schema()
        ids = {stack["id"] for stack in self.document["stacks"]} | {0}
        frames = {frame["id"] for frame in self.document["frames"]}
        for stack in self.document["stacks"]:
            require(stack["caller"] in ids and stack["caller"] < stack["id"], "callers are there")
            require(stack["frame"] in frames, "frames are there")
        for key in ("calls", "launches", "cpu_samples", "switches"):
            for row in self.document.get(key, []):
                require(row["stack"] in ids, f"stacks of {key} are there")

    def check_schema(self):
        with open(os.path.join(ROOT, "docs", "export.schema.json"), encoding="utf-8") as file:
            jsonschema.validate(self.document, closed(json.load(file)))

    def lines(self):
        return self.text.splitlines()


# ---- sqlite --------------------------------------------------------------------------------------

class Sqlite:
    def __init__(self, path):
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.database.row_factory = sqlite3.Row
        require(self.rows("PRAGMA integrity_check")[0][0] == "ok", "integrity")

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def names(self, kind):
        return [row[0] for row in self.rows(
            f"SELECT name FROM sqlite_master WHERE type = '{kind}' AND name NOT LIKE 'sqlite_%'")]

    def lines(self):
        for kind in ("table", "view"):
            for name in self.names(kind):
                for row in self.rows(f"SELECT * FROM {name}"):
                    cells = (f"{key}={row[key]}" for key in row.keys() if row[key] is not None)
                    yield f"{name}: {' '.join(cells)}"


class Rocpd(Sqlite):
    """rocprofv3's schema 3: tables with the file's uuid, and a view of each without it."""

    def __init__(self, path):
        super().__init__(path)
        self.metadata = {row["tag"]: row["value"] for row in self.rows("SELECT tag, value FROM rocpd_metadata")}
        require(self.metadata["schema_version"] == "3", "the version of the schema")
        require(self.metadata["uuid"] == "_" + self.metadata["guid"].replace("-", "_"), "uuid and guid")
        views = set(self.names("view"))
        for table in self.names("table"):
            require(table.endswith(self.metadata["uuid"]), f"{table} is a table of the file")
            base = table[:-len(self.metadata["uuid"])]
            require(base in views, f"{base} is a view")
            self.check_references(base)

    def check_references(self, base):
        """All references lead to a row, as the views of rocprofv3's own tools join them."""
        targets = {"nid": "info_node", "agent_id": "info_agent", "kernel_id": "info_kernel_symbol", "queue_id": "info_queue",
                   "stream_id": "info_stream", "event_id": "event", "name_id": "string", "category_id": "string",
                   "region_name_id": "string", "src_agent_id": "info_agent", "dst_agent_id": "info_agent",
                   "code_object_id": "info_code_object", "pmc_id": "info_pmc", "track_id": "track"}
        if not base.startswith("rocpd_info_process"):
            targets["pid"] = "info_process"
        if not base.startswith("rocpd_info"):
            targets["tid"] = "info_thread"
        for row in self.rows(f"SELECT name FROM pragma_table_info('{base}')"):
            if row[0] in targets:
                lost = self.rows(f"SELECT count(*) FROM {base} WHERE {row[0]} IS NOT NULL AND {row[0]} NOT IN "
                                 f"(SELECT id FROM rocpd_{targets[row[0]]})")[0][0]
                require(lost == 0, f"{base}.{row[0]} leads to {targets[row[0]]}")

    def lines(self):
        for name in [one[:-len(self.metadata["uuid"])] for one in self.names("table")]:
            for row in self.rows(f"SELECT * FROM {name}"):
                cells = (f"{key}={row[key]}" for key in row.keys() if row[key] not in (None, "{}") and key != "guid")
                yield f"{name}: {' '.join(cells)}"
        for name in ("kernels", "memory_copies", "regions", "samples", "top", "busy", "pmc_events", "counters_collection"):
            yield f"{name}: {self.rows(f'SELECT count(*) FROM {name}')[0][0]} rows"


# ---- OpenTelemetry -------------------------------------------------------------------------------

def any_value(message):
    return next(iter(first(message, "value", {"": [0]}).values()), [0])[0]


def key_values(messages):
    return {first(one, "key", ""): any_value(one) for one in messages}


class Otlp:
    """Profiles with their indices resolved and the rules of the protocol checked."""

    ZERO = {"mapping_table": {}, "location_table": {}, "function_table": {}, "attribute_table": {},
            "stack_table": {}, "string_table": ""}

    def __init__(self, path):
        with open(path, "rb") as file:
            data = decoded("otlp.proto", "otlp.ProfilesData", file.read())
        self.tables = first(data, "dictionary", {})
        for name, zero in self.ZERO.items():
            require(self.tables[name][0] == zero, f"{name}[0] is the zero value")
            plain = [repr(one) for one in self.tables[name]]
            require(len(set(plain)) == len(plain) or "\ufffd" in "".join(plain), f"{name}: no doubles")
        require(len(self.tables["link_table"]) == 1, "link_table[0]")
        resources = first(data, "resource_profiles", {})
        self.resource = key_values(first(resources, "resource", {}).get("attributes", []))
        scopes = first(resources, "scope_profiles", {})
        self.scope = key_values(first(scopes, "scope", {}).get("attributes", []))
        self.used = {name: {0} for name in self.ZERO}
        self.profiles = [self.profile(one) for one in scopes.get("profiles", [])]
        for name in ("location_table", "function_table", "stack_table", "mapping_table"):
            require(self.used[name] == set(range(len(self.tables[name]))), f"{name}: no orphans")

    def at(self, table, index):
        require(0 <= index < len(self.tables[table]), f"{table}[{index}] is there")
        self.used[table].add(index)
        return self.tables[table][index]

    def string(self, message, field):
        return self.at("string_table", first(message, field))

    def attributes(self, indices):
        found = {}
        for index in indices:
            entry = self.at("attribute_table", index)
            key = self.string(entry, "key_strindex")
            require(index and key not in found, "keys of attributes are unique")
            found[key] = any_value(entry)
        return found

    def profile(self, profile):
        kind = first(profile, "sample_type", {})
        samples, seen = [], set()
        for sample in profile.get("samples", []):
            stack = first(sample, "stack_index")
            identity = (stack, *sorted(sample.get("attribute_indices", [])))
            require(identity not in seen, "a sample for each stack and attributes")
            seen.add(identity)
            values = sample.get("values", [0])
            require(len(values) == 1, "without time stamps one value")
            frames = [self.location(self.at("location_table", index))
                      for index in self.at("stack_table", stack).get("location_indices", [])]
            samples.append((values[0], self.attributes(sample.get("attribute_indices", [])),
                            frames[::-1]))
        return (self.string(kind, "type_strindex"), self.string(kind, "unit_strindex"), samples,
                profile)

    def location(self, location):
        mapping = self.at("mapping_table", first(location, "mapping_index"))
        require(not mapping or first(location, "address") < first(mapping, "memory_limit"),
                "inside its mapping")
        names = []
        for line in reversed(location.get("lines", [])):
            function = self.at("function_table", first(line, "function_index"))
            names.append(self.string(function, "name_strindex"))
        kind = self.attributes(location.get("attribute_indices", []))["profile.frame.type"]
        place = self.string(mapping, "filename_strindex") if mapping else ""
        build = self.attributes(mapping.get("attribute_indices", [])) if mapping else {}
        return f"{'>'.join(names)} ({kind}{' ' + place if place else ''}" \
               f"{''.join(' ' + str(one) for one in build.values())})"

    def lines(self):
        yield f"resource: {self.resource}"
        yield f"scope: {self.scope}"
        for name, unit, samples, profile in self.profiles:
            yield (f"profile {name}/{unit}: {first(profile, 'duration_nano')} ns"
                   f" from {first(profile, 'time_unix_nano')}")
            for value, attributes, frames in samples:
                yield f"  {value} | " + " ".join(f"{key}={one}" for key, one in attributes.items())
                if name in ("gpu_time", "cpu", "gpu_samples"):
                    yield "    " + "; ".join(frames)


class OtlpMetrics:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = decoded("otlp.proto", "otlp.MetricsData", file.read())
        resources = first(data, "resource_metrics", {})
        scopes = first(resources, "scope_metrics", {})
        self.scope = key_values(first(scopes, "scope", {}).get("attributes", []))
        self.metrics = collections.defaultdict(lambda: ("", []))
        self.times = []  # of each point: name and attributes, start (None: a gauge, or not known), time
        for metric in scopes.get("metrics", []):
            points = list(self.points(metric))
            self.times += self.times_of(metric)
            require(points, "a metric has a point")
            self.metrics[first(metric, "name", "")] = (first(metric, "unit", ""), points)

    @staticmethod
    def times_of(metric):
        for point in first(metric, "sum" if "sum" in metric else "gauge", {}).get("data_points", []):
            start = first(point, "start_time_unix_nano")
            yield ((first(metric, "name", ""), str(sorted(key_values(point.get("attributes", [])).items()))),
                   int(start) if start else None, int(first(point, "time_unix_nano")))

    @staticmethod
    def points(metric):
        kind = "sum" if "sum" in metric else "gauge"
        body = first(metric, kind, {})
        if kind == "sum":
            kind = "DELTA" if first(metric, "name", "").startswith("duet.counter.") else "CUMULATIVE"
            require(first(body, "aggregation_temporality") == "AGGREGATION_TEMPORALITY_" + kind, f"sums are {kind}")
        for point in body.get("data_points", []):
            require(("as_int" in point) != ("as_double" in point), "a point has one value")
            value = first(point, "as_int") if "as_int" in point else first(point, "as_double")
            yield key_values(point.get("attributes", [])), value

    def lines(self):
        yield f"scope: {self.scope}"
        for name, (unit, points) in self.metrics.items():
            for attributes, value in points:
                yield f"{name} ({unit}) {value} | " + " ".join(
                    f"{key}={one}" for key, one in attributes.items())


READERS = {"pprof": Pprof, "svg": Svg, "speedscope": Speedscope, "perf-script": PerfScript, "csv": Csv,
           "json": Json, "sqlite": Sqlite, "rocpd": Rocpd, "otlp": Otlp, "otlp-metrics": OtlpMetrics}
RAW = ("speedscope", "perf-script", "csv", "json")


def lines_of(name, path):
    """What is in an export, line by line; a format without a reader here is its own text."""
    if name in READERS:
        reader = READERS[name](path)
        return [line if name in RAW else shown(line.rstrip()) for line in reader.lines()]
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


if __name__ == "__main__":
    print("\n".join(lines_of(sys.argv[1], sys.argv[2])))

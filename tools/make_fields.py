#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes what says again what src/event/fields.def says once.

    tools/make_fields.py --lists OUTPUT             C: the lists of columns of the exporters
    tools/make_fields.py --tables INPUT OUTPUT      SQL: "CREATE TABLE NAME (@);" gets its columns
    tools/make_fields.py --write                    the committed files below, in place
    tools/make_fields.py --check                    TAP: whether they are what --write would make

Committed: docs/export.schema.json (definitions of rows), docs/events-fields.md, proto/duet_trace.proto (messages of rows).
"""
import json
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIELDS = os.path.join(ROOT, "src", "event", "fields.def")
WIDTH = 120
MARK = "// Made of src/event/fields.def by tools/make_fields.py: from here to the end of the file."
QUOTED = {"of", "offset", "limit"} # words of SQL
TIMES = {"TIME", "TIME_OF"}
TEXTS = {"TEXT", "TEXT_OF", "NAME"}


# ---- reading ---------------------------------------------------------------------------------------------------------


class Row:
    """A row of the table: its macro and its arguments."""

    def __init__(self, macro, arguments):
        self.macro, self.arguments = macro, arguments


def arguments_of(text):
    """The arguments of a macro's call; strings are joined and lose their quotes."""
    found, current, depth = [], "", 0
    for piece in re.findall(r'"(?:[^"\\]|\\.)*"|[(),]|[^"(),]+', text):
        depth += (piece == "(") - (piece == ")")
        if piece == "," and not depth:
            found.append(current.strip())
            current = ""
        elif piece.startswith('"'):
            current = current.strip() + piece[1:-1].replace('\\"', '"')
        elif piece.strip() or not current.endswith('"'):
            current += piece if piece.strip() else ""
    return found + [current.strip()]


def rows_of(text):
    text = re.sub(r"^#.*$", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S), flags=re.M)
    pattern = re.compile(r"^([A-Z_0-9]+)\((.*?)\)$", re.M | re.S)
    unread = pattern.sub("", text).strip()
    if unread:
        sys.exit(f"{FIELDS}: not a row: {unread.splitlines()[0]}")
    for match in pattern.finditer(text):
        yield Row(match.group(1), arguments_of(match.group(2)))


class Field:
    """A field of an event, stored or derived."""

    def __init__(self, name, member, value, unit, text):
        self.name, self.member, self.unit, self.text = name, member, unit, text
        self.value, _, inner = value.partition("(")
        self.of = [part.strip() for part in inner.rstrip(")").split(",")] if inner else []
        self.number, self.type, self.since = None, "", 0

    def names(self):
        """The kind of the rows that it names by their ids, or None."""
        return self.of[0] if self.value in ("ID", "ID_OF") else None


class Event:
    def __init__(self, name, kind, key, since, text):
        self.name, self.kind, self.key, self.since, self.text = name, kind, key, int(since), text
        self.fields, self.lists = {}, []

    def field(self, name):
        if name not in self.fields:
            sys.exit(f"{FIELDS}: {self.name} has no field '{name}'")
        return self.fields[name]


def events():
    """{KIND: Event}"""
    with open(FIELDS, encoding="utf-8") as file:
        found = {}
        for row in rows_of(file.read()):
            add_row(found, row)
        return found


def add_row(found, row):
    arguments = row.arguments
    by_name = {event.name: event for event in found.values()}
    if row.macro == "ENTITY":
        found[arguments[1]] = Event(arguments[0], arguments[1], None, *arguments[2:])
    elif row.macro == "HAPPENING":
        found[arguments[1]] = Event(*arguments)
    elif row.macro in ("FIELD", "FIELD_3"):
        event, number, name, member, kind, value, unit, since, text = arguments
        field = Field(name, member, value, unit, text)
        field.number, field.type, field.since = int(number), kind, int(since)
        by_name[event].fields[name] = field
    elif row.macro == "DERIVED":
        event, name, value, unit, text = arguments
        by_name[event].fields[name] = Field(name, None, value, unit, text)
    elif row.macro in ("JSON", "SQLITE", "CSV", "CTF"):
        by_name[arguments[0]].lists.append((row.macro, arguments[1], arguments[2].split()))


class Column:
    """A column of an export: [NAME=]FIELD[?][@f]"""

    def __init__(self, found, event, text, format_):
        text, _, self.condition = text.partition("@")
        self.is_optional = text.endswith("?")
        name, _, path = text.rstrip("?").rpartition("=")
        self.steps, self.event = [], event
        parts = path.split(".")
        for part in parts[:-1]:
            step = self.event.field(part)
            self.steps.append((self.event, step))
            self.event = found[step.names()]
        self.field = self.event.field(parts[-1])
        self.name = name or parts[-1]
        if format_ in ("SQLITE", "CSV") and self.field.value in TIMES and not self.name.endswith("_ns"):
            self.name += "_ns"

    def is_always(self):
        return not self.is_optional and not self.condition and self.field.value != "NEXT"


def lists(found, format_):
    """(event, name of the list, columns) of a format."""
    for event in found.values():
        for kind, name, columns in event.lists:
            if kind == format_:
                yield event, name, [Column(found, event, text, format_) for text in columns]


# ---- C ---------------------------------------------------------------------------------------------------------------


def storage(field):
    """U32, U64, I32 or I64."""
    return re.match(r"[UI]\d\d|TEXT", field.type).group(0)


def value_of(field):
    if field.value in ("NUMBER", "ID"):
        return storage(field)
    return field.value


def member_of(column_event, field):
    member = field.of[0] if field.value == "BIT" else field.member
    for other in column_event.fields.values():
        if field.value == "BIT" and other.name == member:
            member = other.member
    return f"offsetof(struct event_{column_event.name}, {member})" if member else None


def step_initializer(event, step):
    place = f".number = field_{step.of[1]}" if step.value == "ID_OF" else \
        f".offset = offsetof(struct event_{event.name}, {step.member})"
    return f"{{EVENT_{step.names()}, {place}}}"


def function_of(field):
    """The member of the union and the function, or None."""
    if field.value == "NAME":
        return f".of.name = {field.of[0]}"
    kind = {"TEXT_OF": "text", "DOUBLE_OF": "real"}.get(field.value, "number")
    return f".of.{kind} = field_{field.of[0]}" if field.value.endswith("_OF") else None


def column_initializer(column, steps):
    parts = [f'"{column.name}"', f"FIELD_VALUE_{value_of(column.field)}"]
    place = member_of(column.event, column.field)
    if column.is_optional:
        parts.append(".is_optional = true")
    if place and not column.field.value.endswith("_OF"):
        parts.append(f".offset = {place}")
    if column.field.value == "BIT":
        parts.append(f".bit = {column.field.of[1]}")
    if column.steps:
        parts.append(f".steps = {steps[tuple(step for _, step in column.steps)]}")
    if column.condition:
        parts.append(f".has = field_{column.condition}")
    if function_of(column.field):
        parts.append(function_of(column.field))
    return "\t{" + ", ".join(parts) + "},\n"


def list_name(format_, name):
    return f"{format_}_{name}".lower()


def make_lists(found):
    text = ("/* Made of event/fields.def by tools/make_fields.py. */\n#include \"analyze/analysis.h\"\n"
            "#include \"analyze/collectors.h\"\n#include \"analyze/order.h\"\n#include \"export/common/field_values.h\"\n"
            "#include \"export/common/fields.h\"\n#include \"export/ctf/metadata.h\"\n\n")
    steps, tables = {}, ""
    for format_ in ("JSON", "SQLITE", "CSV", "CTF"):
        table = f"\nconst struct field_list field_{format_.lower()}_lists[] = {{\n"
        for event, name, columns in lists(found, format_):
            for column in columns:
                key = tuple(step for _, step in column.steps)
                if key and key not in steps:
                    steps[key] = f"steps_{len(steps)}"
                    text += (f"static const struct field_step {steps[key]}[] = "
                             f"{{{', '.join(step_initializer(*step) for step in column.steps)}, {{EVENT_PADDING}}}};\n")
            text += f"static const struct field_column {list_name(format_, name)}[] = {{\n"
            text += "".join(column_initializer(column, steps) for column in columns) + "};\n"
            table += (f'\t{f"[CTF_{name}] = " if format_ == "CTF" else ""}{{"{name.lower()}", EVENT_{event.kind}, sizeof(struct event_{event.name}), {len(columns)}, '
                      f"{list_name(format_, name)}}},\n")
        tables += table + ("};\n" if format_ == "CTF" else "\t{NULL},\n};\n")
    return text + tables


# ---- SQL -------------------------------------------------------------------------------------------------------------


def sql_type(field):
    return "TEXT" if field.value in TEXTS | {"SIZES"} else "REAL" if field.value == "DOUBLE_OF" else "INTEGER"


def sql_column(column):
    name = f'"{column.name}"' if column.name in QUOTED else column.name
    return f"{name} {sql_type(column.field)}" + (" PRIMARY KEY" if column.name == "id" else "")


def make_tables(found, text):
    """A table whose rows have no id of their own has their number."""
    for _, name, columns in lists(found, "SQLITE"):
        row = ([] if columns[0].name == "id" else ["id INTEGER PRIMARY KEY"]) + [sql_column(one) for one in columns]
        # a line ends between columns, never in one
        statement = f"CREATE TABLE {name} (".replace(" ", "\0") + ", ".join(one.replace(" ", "\0") for one in row) + ");"
        text = text.replace(f"CREATE TABLE {name} (@);", textwrap.fill(statement, WIDTH).replace("\0", " "))
    return text


# ---- documents -------------------------------------------------------------------------------------------------------

TIME_TEXT = 'ns since the start of the recording; if "absolute" is true, CLOCK_MONOTONIC'


def schema_type(column):
    field = column.field
    if field.value in TEXTS:
        return {"type": "string", "enum": field.unit.split("|")} if "|" in field.unit else {"type": "string"}
    if field.value in ("BIT", "BOOL_OF"):
        return {"type": "boolean"}
    if field.value == "SIZES":
        return {"type": "array", "items": {"type": "integer", "minimum": 0}}
    if field.value in TIMES or field.type.startswith("I"):
        return {"type": "integer"}
    return {"type": "integer", "minimum": 1 if column.is_optional and field.value == "NUMBER" else 0}


def schema_text(column):
    field = column.field
    parts = [field.text]
    if field.names():
        parts.append(f"id of a {field.names().lower()} in this document; 0: none, or not known")
    elif field.value == "STACK":
        parts.append("id of a stack in this document")
    elif field.name == "id":
        parts.append("id in this document")
    elif field.value in TIMES:
        parts.append(TIME_TEXT)
    elif field.value == "NUMBER" and field.unit and not re.search(r"^enum |^bytes$|^ns$", field.unit):
        parts.insert(0, field.unit)
    return "; ".join(part for part in parts if part)


def schema_list(event, columns):
    properties = {}
    for column in columns:
        properties[column.name] = schema_type(column)
        if schema_text(column):
            properties[column.name]["description"] = schema_text(column)
    return {"type": "array", "description": event.text, "items": {
        "type": "object", "properties": properties, "required": [one.name for one in columns if one.is_always()]}}


def pretty(value, indent=0, used=0):
    """JSON with what fits on a line on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or len(flat) + indent + used <= WIDTH and indent:
        return flat
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        lines = [f"{pad}{json.dumps(key)}: {pretty(one, indent + 1, len(key) + 5)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(pad + pretty(one, indent + 1) for one in value) + "\n" + " " * indent + "]"


def make_schema(found, text):
    document = json.loads(text)
    for event, name, columns in lists(found, "JSON"):
        document["properties"][name] = schema_list(event, columns)
    return pretty(document) + "\n"


def message_name(event):
    return "".join(word.capitalize() for word in event.name.split("_")) + "Rows"


def difference(field):
    base = re.search(r"\((\w+)\)", field.type)
    if re.search(r"_(DELTA|RISING)$", field.type):
        return "difference to previous"
    return f"difference to {base.group(1)}" if base else "string" if field.type == "TEXT" else ""


def is_signed(field):
    return field.type.startswith("I") or re.search(r"_(DELTA|AROUND)", field.type)


def message_columns(field):
    """(number, name, field, what is subtracted) of the columns of a field."""
    if field.value == "SIZES":
        return [(field.number + i, f"{field.name}_{axis}", "") for i, axis in enumerate("xyz")]
    if "_AROUND_OR_DELTA" in field.type:
        return [(field.number, field.name, difference(field) + ", or …"), (field.number + 1, field.name + "_previous", "")]
    return [(field.number, field.name, difference(field))]


def message_line(event, field, number, name, note):
    since = f"from 1.{field.since}" if field.since else ""
    notes = "; ".join(part for part in (since, note) if part)
    kind = "sint64" if is_signed(field) else "uint64"
    return f"  repeated {kind} {name} = {number} [packed = true];" + (f"  // {notes}" if notes else "")


def message(event):
    lines = [f"// From 1.{event.since}."] if event.since else []
    lines.append(f"message {message_name(event)} {{")
    columns = sorted((number, name, note, field) for field in event.fields.values() if field.number
                     for number, name, note in message_columns(field))
    lines += [message_line(event, field, number, name, note) for number, name, note, field in columns]
    return "\n".join(lines) + "\n}\n"


def make_proto(found, text):
    head = text[:text.index(MARK)]
    things = [event for event in found.values() if not event.key]
    happenings = [event for event in found.values() if event.key]
    return (head + MARK + "\n\n// Things. Key: id. A thing described again has its newest description in the chunk with the "
            "largest\n// sequence.\n\n" + "\n".join(message(event) for event in things) +
            "\n// Happenings. The key of executions is started; with Chunk.flags & 1 it is seen.\n\n" +
            "\n".join(message(event) for event in happenings))


def type_words(field):
    if field.names():
        return f"id of a {field.names().lower()}"
    words = {"TEXT": "text", "TEXT_OF": "text", "NAME": "u32", "STACK": "id of a stack", "NEXT": "u32, one more",
             "SIZES": "u64 × 3", "BIT": "bool", "BOOL_OF": "bool", "DOUBLE_OF": "double", "NUMBER_OF": "u64",
             "COUNT_OF": "u64", "TIME": "time", "TIME_OF": "time"}
    return words.get(field.value, storage(field).lower() if field.type else "")


def table_line(event, field):
    since = max(event.since, field.since)
    cells = [f"`{field.name}`", type_words(field), field.unit.replace("|", ", "), f"1.{since}" if field.number else "–",
             field.text or ("of the row, counts from 1" if field.name == "id" else "")]
    return "| " + " | ".join(cells) + " |\n"


def make_table(found, _):
    text = ("# Fields of events\n\n<!-- Made of src/event/fields.def by tools/make_fields.py --write. -->\n\n"
            "Every field that a trace has, with the version of the schema that added it. Fields with “–” are in no trace: "
            "exports\nderive them. Times in a trace are in the clock domain of their chunk; exports have them in ns from the "
            "start of the\nrecording. An id of 0 is “none” or “not known”. [events.md](design/events.md) has what holds "
            "beyond the fields.\n")
    for event in found.values():
        shown = [f"{'key' if format_ == 'CSV' else 'list' if format_ == 'JSON' else 'table'} `{name}` of {format_.lower()}"
                 .replace("key", "`--kind`") for format_, name, _ in event.lists if format_ != "CTF"]
        text += (f"\n## {event.name}\n\n{event.text}\n" + (f"In exports: {', '.join(shown)}.\n" if shown else "") +
                 "\n| field | type | unit, values | since | meaning |\n|---|---|---|---|---|\n")
        text += "".join(table_line(event, field) for field in event.fields.values())
    return text


COMMITTED = {"docs/export.schema.json": make_schema, "docs/events-fields.md": make_table,
             "proto/duet_trace.proto": make_proto}


# ---- the whole -------------------------------------------------------------------------------------------------------


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check(found):
    """TAP, a line for each committed file."""
    failed = False
    for number, (path, make) in enumerate(COMMITTED.items(), 1):
        old = read(os.path.join(ROOT, path))
        good = make(found, old) == old
        failed |= not good
        print(f"{'' if good else 'not '}ok {number} - {path}" + ("" if good else " (tools/make_fields.py --write)"))
    print(f"1..{len(COMMITTED)}")
    return 1 if failed else 0


def main(arguments):
    found = events()
    if arguments[:1] == ["--lists"] and len(arguments) == 2:
        write(arguments[1], make_lists(found))
    elif arguments[:1] == ["--tables"] and len(arguments) == 3:
        write(arguments[2], make_tables(found, read(arguments[1])))
    elif arguments == ["--write"]:
        for path, make in COMMITTED.items():
            write(os.path.join(ROOT, path), make(found, read(os.path.join(ROOT, path))))
    elif arguments == ["--check"]:
        return check(found)
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

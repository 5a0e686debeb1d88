# SPDX-License-Identifier: MIT
"""The facts of a trace as duet reports them: counted in the rows of `duet export -f json`, idle time and the
certificate from `duet report --json`."""
import collections

import facts

DIRECTIONS = {"write": "HtoD", "read": "DtoH", "migrate": "migrate", "copy": "DtoD"}
ADDED = ("(not in the file)", "(unified memory)")
FURTHER = 4
CALL_KINDS = {4: "operator", 5: "function", 6: "os"}
# Formats that have several names for a kernel; duet and the reader need not choose the same one.
SEVERAL_NAMES = ("rocprofv3-json", "rocpd")
SAME_DIRECTION = {"HtoD": "HtoD", "DtoH": "DtoH", "migrate": "migrate"}

Row = collections.namedtuple("Row", "start end device queue kind direction name joined")


def kind_of(command):
    if command in DIRECTIONS:
        return "copy", DIRECTIONS[command]
    return {"kernel": "kernel", "fill": "fill"}.get(command, "other"), None


def rows_of(document):
    """The executions with what their launches say."""
    launches = {}
    threads = {row["id"]: row["process"] for row in document["threads"]}
    for row in document["launches"]:
        launches[threads[row["thread"]], row["correlation"]] = row
    code = {row["id"]: row["name"] for row in document["code"]}
    device = {row["id"]: row["device"] for row in document["queues"]}
    begin = 0 if document["absolute"] else document["begin_ns"]
    for row in document["executions"]:
        launch = launches.get((row["process"], row["correlation"]))
        kind, direction = kind_of(launch["command"]) if launch else ("other", None)
        yield Row(begin + row["started"], begin + row["ended"], device[row["queue"]], row["queue"], kind, direction,
                  code.get(launch["kernel"], "") if launch else "",
                  launch is not None and launch["function"] not in ADDED)


def calls_of(document):
    """Number of calls of each kind. A launch that is a further command of a call is no call of its own."""
    counts = collections.Counter(CALL_KINDS.get(row["type"], "api") for row in document["calls"])
    counts["api"] += sum(row["function"] not in ADDED and not row["flags"] & FURTHER
                         for row in document["launches"])
    return {kind: count for kind, count in counts.items() if count}


def device_facts(rows):
    busy = facts.union_ns((row.start, row.end) for row in rows)
    total = sum(row.end - row.start for row in rows)
    return {"commands": len(rows), "queues": len({row.queue for row in rows}), "sum_ns": total, "busy_ns": busy,
            "overlap_ns": total - busy}


def idle_of(device):
    """duet's causes, put together to the reader's classes. Gaps of commands without a call are unknown to duet."""
    causes = device["idle_causes"]
    kinds = device.get("idle_kinds", {})
    launched = kinds.get("unknown", {}).get("launched_not_started", 0)
    return {"call": causes["api_wait"] + causes["api_call"], "launching": causes["runtime"],
            "profiler": causes["profiler_overhead"],
            "launched": causes["submission"] + causes["dependency"] + causes["latency"] + launched,
            "host": causes["host"] + causes["on_cpu"] + causes["preempted"] + causes["blocked"],
            "outside": causes["nothing_to_do"], "no_call": causes["unknown"] - launched}


def idle_calls_of(device):
    sums = collections.Counter()
    for row in device["idle_calls"]:
        sums[facts.shorten(row["call"])] += row["ns"]
    return [list(row) for row in facts.top(sums, 3)]


def wanted_idle(idle):
    """The reader's classes in the same form."""
    return {"call": idle["call"] + idle["os_call"], "launching": idle["launching"], "launched": idle["launched"],
            "profiler": idle.get("profiler", 0),
            "host": idle["function"] + idle["nothing"], "outside": idle["before_first"] + idle["after_last"],
            "no_call": idle["no_call"] + idle["in_flight"]}


def facts_of(document, report):
    rows = list(rows_of(document))
    by_kind = collections.defaultdict(list)
    by_device = collections.defaultdict(list)
    for row in rows:
        by_kind[row.kind, row.direction].append(row)
        by_device[row.device].append(row)
    keys = {row["id"]: row["key"] for row in document["devices"]}
    reported = {device["key"]: device for device in report["devices"]}
    joined = sum(row.joined for row in rows)
    full = report.get("command_buffer_full", {})
    if full.get("estimated"):  # by the length of launches: no row of the file
        full = {}
    devices = []
    for number, own in by_device.items():
        device = reported.get(keys[number])
        devices.append({**device_facts(own), "reported_busy_ns": device and device["busy_ns"],
                        "idle": idle_of(device) if device else None,
                        "idle_calls": idle_calls_of(device) if device else None})
    return {
        "kernels": facts.count_and_sum(by_kind["kernel", None]),
        "copies": {key[1]: facts.count_and_sum(own) for key, own in by_kind.items() if key[0] == "copy"},
        "fills": facts.count_and_sum(by_kind["fill", None]), "other": facts.count_and_sum(by_kind["other", None]),
        "first_ns": min((row.start for row in rows), default=None),
        "last_ns": max((row.end for row in rows), default=None),
        "begin_ns": document["begin_ns"], "end_ns": document["begin_ns"] + document["wall_ns"],
        "calls": calls_of(document), "joined": joined, "without_call": len(rows) - joined,
        "violations": sum(clock["violations"] for clock in report["clocks"]),
        "devices": sorted(devices, key=order), "ranges": [len(document["ranges"]), sum(row["end"] - row["begin"] for row in document["ranges"])],
        "samples": len(document["cpu_samples"]), "switches": sum(row["previous"] != 0 for row in document["switches"]),
        "command_buffer_full": [full.get("launches", 0), full.get("ns", 0)],
        "top": [[facts.shorten(name), count, total] for name, count, total in facts.kernels_by_name(rows)[:3]],
    }


def arrivals_of(report):
    """Who came last in collective operations, from `duet report --by rank --json`."""
    whole = report.get("collectives", {})
    ranks = [row for row in report["by"] if "operations" in row]
    return {"collectives": whole.get("operations"), "ranks": len(ranks), "waited_ns": whole.get("waited_ns"),
            "max_wait_ns": whole.get("max_waited_ns"),
            "last": {str(row["rank"]): row["last_count"] for row in ranks if row["last_count"]},
            "ns": {str(row["rank"]): row["collectives_ns"] for row in ranks}}


def wanted_arrivals(line, got):
    """The reader's in the same form. Of ranks that came last at once, either one may count."""
    want = {key: line[key] for key in got}
    ranks = set(got["last"]) | set(want["last"])
    moved = sum(abs(got["last"].get(rank, 0) - want["last"].get(rank, 0)) for rank in ranks)
    if moved <= 2 * line["ties"] and sum(got["last"].values()) == line["collectives"]:
        want["last"] = got["last"]
    return want


def order(device):
    return device["sum_ns"], device["commands"], device["busy_ns"]


def wanted(line):
    """A line of facts in the same form."""
    copies = collections.defaultdict(lambda: [0, 0])
    for direction, (count, total) in line["copies"].items():
        entry = copies[SAME_DIRECTION.get(direction, "DtoD")]
        entry[0] += count
        entry[1] += total
    calls = collections.Counter()
    for kind, count in line["calls"].items():
        calls[kind if kind in CALL_KINDS.values() else "api"] += count
    devices = [{key: device[key] for key in ("commands", "queues", "sum_ns", "busy_ns", "overlap_ns")}
               | {"reported_busy_ns": device["busy_ns"], "idle": wanted_idle(device["idle"]),
                  "idle_calls": device["idle_calls"]}
               for device in line["devices"].values()]
    same = {key: line[key] for key in ("kernels", "fills", "other", "first_ns", "last_ns", "begin_ns", "end_ns",
                                       "joined", "without_call", "violations", "ranges", "samples", "switches")}
    if "top" in line:
        same["top"] = line["top"] if line["format"] not in SEVERAL_NAMES else [row[1:] for row in line["top"]]
    more = [*line["overheads"].values(), line.get("profiler_overhead", [0, 0])]
    same["ranges"] = [sum(column) for column in zip(same["ranges"], *more)]
    same["command_buffer_full"] = line["overheads"].get("command buffer full", [0, 0])
    return {**same, "copies": dict(copies), "calls": dict(calls), "devices": sorted(devices, key=order)}


def compare(got, want):
    """What differs. duet's window may be longer, because it includes the profiler's own span; the difference is idle
    time outside of the first and last command."""
    got, want = {key: value for key, value in got.items() if key in want}, dict(want)
    if want.get("top") and len(want["top"][0]) < 3:
        got["top"] = [row[1:] for row in got["top"]]
    longer = want["begin_ns"] - got["begin_ns"] + got["end_ns"] - want["end_ns"]
    if got["begin_ns"] <= want["begin_ns"] and got["end_ns"] >= want["end_ns"]:
        want["begin_ns"], want["end_ns"] = got["begin_ns"], got["end_ns"]
        want["devices"] = [{**device, "idle": {**device["idle"], "outside": device["idle"]["outside"] + longer}}
                           for device in want["devices"]]
    return list(differences(got, want))


def differences(got, want, path=""):
    """Lines that name what differs: a dotted path, duet's value, the reader's."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(set(got) | set(want)):
            yield from differences(got.get(key), want.get(key), f"{path}.{key}" if path else key)
    elif isinstance(want, list) and isinstance(got, list) and want and isinstance(want[0], dict) \
            and len(got) == len(want):
        for index, (one, other) in enumerate(zip(got, want)):
            yield from differences(one, other, f"{path}[{index}]")
    elif got != want:
        yield path, got, want

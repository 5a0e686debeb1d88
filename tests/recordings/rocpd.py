# SPDX-License-Identifier: MIT
"""AMD's SQLite files: rocpd of schema 3 (rocprofv3) and of schema 2 (rocmProfileData's rpd)."""
from nsys import connect, rows_of
from rows import DIRECTIONS, Call, Command, Recording


def read(path):
    base = connect(path)
    names = {row[0] for row in base.execute("select name from sqlite_master")}
    recording = read_rpd(base) if "rocpd_api" in names else read_rocpd(base)
    base.close()
    return recording


def read_rocpd(base):
    """Views join the tables of all processes of the file; a dispatch has its region's stack id."""
    recording = Recording("rocpd")
    strings = dict(rows_of(base, "rocpd_string", "id", "string"))
    events = {row[0]: row[1:] for row in rows_of(base, "rocpd_event", "id", "stack_id", "category_id")}
    processes = dict(rows_of(base, "rocpd_info_process", "id", "pid"))
    threads = dict(rows_of(base, "rocpd_info_thread", "id", "tid"))
    regions = {}
    for process, thread, start, end, name, event in rows_of(base, "rocpd_region", "pid", "tid", "start", "end",
                                                            "name_id", "event_id"):
        stack, category = events.get(event, (0, None))
        if strings.get(category, "").startswith("MARKER"):
            recording.add_range(start, end)
            continue
        if stack:
            regions[process, stack] = len(recording.calls)
        recording.calls.append(Call(start, end, processes.get(process), threads.get(thread), "runtime",
                                    strings.get(name, "")))
    kernels = dict(rows_of(base, "rocpd_info_kernel_symbol", "id", "display_name"))
    for process, agent, stream, start, end, kernel, event in rows_of(
            base, "rocpd_kernel_dispatch", "pid", "agent_id", "stream_id", "start", "end", "kernel_id", "event_id"):
        recording.commands.append(Command(start, end, agent, (agent, stream), "kernel", None, kernels.get(kernel, ""),
                                          regions.get((process, events.get(event, (0,))[0]))))
    for process, agent, stream, start, end, name, event in rows_of(
            base, "rocpd_memory_copy", "pid", "dst_agent_id", "stream_id", "start", "end", "name_id", "event_id"):
        direction = DIRECTIONS.get(strings.get(name, "").replace("MEMORY_COPY_", ""), "other")
        recording.commands.append(Command(start, end, agent, (agent, stream), "copy", direction, "",
                                          regions.get((process, events.get(event, (0,))[0]))))
    return recording


# Rows that rocmProfileData writes about itself.
RPD_OWN = ("::writeRows", "rpdflush", "hcc_activity_callback")
RPD_COPIES = {"CopyHostToDevice": "HtoD", "CopyDeviceToHost": "DtoH", "CopyDeviceToDevice": "DtoD"}


def read_rpd(base):
    """Links of calls and operations have a table of their own. A Task is the kernel of a graph's node."""
    recording = Recording("rpd")
    strings = dict(rows_of(base, "rocpd_string", "id", "string"))
    indices = {}
    for number, process, thread, start, end, name in rows_of(base, "rocpd_api", "id", "pid", "tid", "start", "end",
                                                             "apiName_id"):
        name = strings.get(name, "")
        if name.endswith(RPD_OWN):
            recording.add_overhead(name, start, end)
        elif not name.startswith(("hip", "hsa")):
            recording.add_range(start, end)
        else:
            indices[number] = len(recording.calls)
            recording.calls.append(Call(start, end, process, thread, "runtime", name))
    links = {operation: call for call, operation in rows_of(base, "rocpd_api_ops", "api_id", "op_id")}
    tasks = 0
    for number, device, queue, start, end, description, kind in rows_of(
            base, "rocpd_op", "id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"):
        kind, description = strings.get(kind, ""), strings.get(description, "")
        tasks += kind == "Task"
        recording.commands.append(Command(
            start, end, device, (device, queue), kind_of_operation(kind), RPD_COPIES.get(kind), description or kind,
            indices.get(links.get(number))))
    for start, end in rows_of(base, "rocpd_monitor", "start", "end"):
        recording.more["monitor"] = recording.more.get("monitor", 0) + 1
    if tasks:
        recording.more["tasks"] = tasks
    return recording


def kind_of_operation(kind):
    if kind.startswith("Copy"):
        return "copy"
    return {"KernelExecution": "kernel", "Task": "kernel", "FillBuffer": "fill"}.get(kind, "other")

# SPDX-License-Identifier: MIT
"""rocprofv3's JSON and CSV files."""
import csv
import io
import json

from rows import Call, Command, Recording


def read_json(data):
    """The link of a dispatch to its call is the internal correlation id."""
    recording = Recording("rocprofv3-json")
    for tool in json.loads(data)["rocprofiler-sdk-tool"]:
        read_tool(recording, tool)
    return recording


def read_tool(recording, tool):
    process = tool["metadata"]["pid"]
    buffers = tool["buffer_records"]
    operations = {row["kind"]: row["operations"] for row in tool["strings"]["buffer_records"]}
    launches = {}
    for domain in ("hip_api", "hsa_api", "rccl_api"):
        for row in buffers.get(domain, ()):
            launches[row["correlation_id"]["internal"]] = len(recording.calls)
            recording.calls.append(Call(row["start_timestamp"], row["end_timestamp"], process, row["thread_id"],
                                        "runtime", str(operations.get(row["kind"], row["operation"]))))
    for row in buffers.get("marker_api", ()):
        recording.add_range(row["start_timestamp"], row["end_timestamp"])
    kernels = {row["kernel_id"]: row["formatted_kernel_name"] for row in tool["kernel_symbols"]}
    for row in buffers.get("kernel_dispatch", ()):
        dispatch = row["dispatch_info"]
        device = dispatch["agent_id"]["handle"]
        recording.commands.append(Command(
            row["start_timestamp"], row["end_timestamp"], device, (device, row["stream_id"]["handle"]), "kernel",
            None, kernels.get(dispatch["kernel_id"], ""), launches.get(row["correlation_id"]["internal"])))
    if buffers.get("memory_copy"):
        raise ValueError("this reader has not seen copies in such a file")


def read_csv(*texts):
    """Tables of one process: kernel trace, API trace, counters of kernels. The header says which."""
    recording = Recording("rocprofv3-csv")
    tables = [list(csv.DictReader(io.StringIO(text))) for text in texts]
    launches = {}
    for row in (row for table in tables for row in table if "Function" in row):
        launches[row["Correlation_Id"]] = len(recording.calls)
        recording.calls.append(Call(int(row["Start_Timestamp"]), int(row["End_Timestamp"]), row["Process_Id"],
                                    row["Thread_Id"], "runtime", row["Function"]))
    seen = set()
    for row in (row for table in tables for row in table if "Kernel_Name" in row):
        if "Counter_Name" in row:
            recording.more["counter_values"] = recording.more.get("counter_values", 0) + 1
            if row["Dispatch_Id"] in seen:
                continue
            seen.add(row["Dispatch_Id"])
        device = row["Agent_Id"]
        recording.commands.append(Command(
            int(row["Start_Timestamp"]), int(row["End_Timestamp"]), device, (device, row.get("Stream_Id", row["Queue_Id"])), "kernel", None,
            row["Kernel_Name"], launches.get(row["Correlation_Id"])))
    return recording

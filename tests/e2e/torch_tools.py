# SPDX-License-Identifier: MIT
"""Runs HolisticTraceAnalysis or TraceLens, which lie beside the project, on a PyTorch timeline, and prints their breakdowns
as JSON. test_torch_readers.py compares them.

    /usr/bin/python3 tests/e2e/torch_tools.py hta|tracelens FOLDER FILE
"""
import contextlib
import io
import json
import logging
import sys
import warnings


def rows_of(frame):
    """Rows of a table without their order; numbers to 10 ns in us, because the tools add doubles."""
    if frame is None:
        return None
    frame = frame.reset_index()
    frame.columns = ["/".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    frame = frame[[name for name in frame.columns if name != "index" and "Cumulative" not in name]]
    return sorted(json.loads(frame.to_json(orient="records", double_precision=2)), key=json.dumps)


def hta(path):
    from hta.trace_analysis import TraceAnalysis
    trace = TraceAnalysis(trace_files={0: path})
    types, kernels = trace.get_gpu_kernel_breakdown(visualize=False, num_kernels=10000, duration_ratio=1.0,
                                                    include_memory_kernels=True)
    return {"temporal": trace.get_temporal_breakdown(visualize=False), "types": types, "kernels": kernels,
            "idle": trace.get_idle_time_breakdown(ranks=[0], visualize=False)[0],
            "queue length": trace.get_queue_length_summary(ranks=[0])}


def tracelens(path):
    from TraceLens.TreePerf.tree_perf import TreePerfAnalyzer
    trace = TreePerfAnalyzer.from_file(path, include_unlinked_kernels=True)
    kernels = trace.get_df_kernels(launcher_detail=True)
    duration = next(name for name in kernels.columns if name.startswith("Kernel duration"))
    summary = {"timeline": trace.get_df_gpu_timeline(),
               "kernels": kernels.groupby(["Kernel name", "Kernel stream"])[duration].agg(["count", "sum"])}
    if "Parent cpu_op" in kernels:
        summary["operators"] = kernels.groupby("Parent cpu_op")[duration].agg(["count", "sum"])
    return summary


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, sys.argv[2])
    with contextlib.redirect_stdout(io.StringIO()):
        tables = {"hta": hta, "tracelens": tracelens}[sys.argv[1]](sys.argv[3])
        found = {name: rows_of(table) for name, table in tables.items()}
    json.dump(found, sys.stdout)

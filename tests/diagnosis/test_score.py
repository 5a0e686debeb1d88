#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scorer against verdicts made by hand; prints TAP."""
import copy
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import score  # noqa: E402

TRUTH = {"name": "fsync", "kind": ["file_sync"], "sentence_words": ["fsync"], "function": "save_checkpoint",
         "file": "fsync.c", "line": [20, 30], "ns": 100}
LOCK = {"name": "lock", "kind": ["lock"], "sentence_words": ["lock"], "function": "flush_statistics", "file": "lock.c",
        "line": [5, 9], "waiter": {"function": "update", "file": "lock.c", "line": [40, 44]}, "ns": 50}
FSYNC_CAUSE = {"kind": "file_sync", "ns": 95, "function": "save_checkpoint", "file": "/x/fsync.c", "line": 25}
LOCK_CAUSE = {"kind": "lock", "ns": 52, "function": "update", "file": "/x/lock.c", "line": 41,
              "holder": {"function": "flush_statistics", "file": "/x/lock.c", "line": 7}}
results = []


def verdict(*causes, sentences=("The GPU was busy 41 %.", "Largest cause of idle: fsync in save_checkpoint, and a lock.")):
    return {"sentences": list(sentences), "causes": [copy.deepcopy(cause) for cause in causes],
            "steady": {"wall_ns": 1000, "idle_ns": 300}}


def expect(name, got, **want):
    wrong = {key: got[key] for key, value in want.items() if got[key] != value}
    results.append(not wrong)
    print(f"{'not ok' if wrong else 'ok'} {len(results)} - {name}{f' # got {wrong}' if wrong else ''}")


right = {"named": True, "line": True, "unknown": False, "wrong": False, "amount": True}
expect("the planted cause", score.score_single(verdict(FSYNC_CAUSE), TRUTH), **right)
expect("the holder's place counts", score.score_single(verdict(LOCK_CAUSE), LOCK), **right)
expect("the waiter alone is named, but not the line",
       score.score_single(verdict({**LOCK_CAUSE, "holder": None}), LOCK), named=True, line=False, wrong=False)
expect("another line", score.score_single(verdict({**FSYNC_CAUSE, "line": 31}), TRUTH), named=True, line=False)
expect("another file", score.score_single(verdict({**FSYNC_CAUSE, "file": "/x/other.c"}), TRUTH), named=True, line=False)
expect("no line", score.score_single(verdict({**FSYNC_CAUSE, "line": None}), TRUTH), named=True, line=False)
expect("another function", score.score_single(verdict({**FSYNC_CAUSE, "function": "main"}), TRUTH),
       named=False, wrong=True, amount=False)
expect("another kind", score.score_single(verdict({**FSYNC_CAUSE, "kind": "sleep"}), TRUTH), named=False, wrong=True,
       amount=False)
expect("blocked is vague", score.score_single(verdict({**FSYNC_CAUSE, "kind": "blocked"}), TRUTH), named=False,
       unknown=True, wrong=False)
expect("unknown", score.score_single(verdict({"kind": "unknown", "ns": 100}), TRUTH), unknown=True, wrong=False)
expect("no verdict", score.score_single(None, TRUTH), named=False, unknown=True, amount=False)
expect("no words", score.score_single(verdict(FSYNC_CAUSE, sentences=["Busy.", "Idle."]), TRUTH), named=False)
expect("the third sentence does not count", score.score_single(
    verdict(FSYNC_CAUSE, sentences=["Busy.", "Idle.", "fsync"]), TRUTH), named=False)
expect("two halves add up", score.score_single(
    verdict({**FSYNC_CAUSE, "ns": 60}, {**FSYNC_CAUSE, "ns": 45, "line": 26}), TRUTH), amount=True, ns=105)
expect("11 % too much", score.score_single(verdict({**FSYNC_CAUSE, "ns": 111}), TRUTH), amount=False)
expect("a wait may include the time until the thread runs", score.score_single(
    verdict({**FSYNC_CAUSE, "ns": 180}), {**TRUTH, "wall_ns": 170}), amount=True)
expect("computing may not", score.score_single(verdict({**FSYNC_CAUSE, "kind": "computing", "ns": 180}),
                                               {**TRUTH, "kind": ["computing"], "wall_ns": 170}), named=True, amount=False)
expect("C++ names", score.score_single(verdict({**FSYNC_CAUSE, "function": "void io::Log<int>::save_checkpoint(int, char)"}),
                                       TRUTH), **right)
expect("Python's qualified names", score.score_single(verdict({**FSYNC_CAUSE, "function": "Trainer.save_checkpoint"}), TRUTH),
       **right)
GIL = {**TRUTH, "kind": ["python_gil"], "function": "parse"}
expect("the interpreter's lock is awaited anywhere", score.score_single(
    verdict({"kind": "python_gil", "ns": 100, "function": "main", "holder": {"function": "parse", "file": "fsync.c", "line": 20}},
            sentences=["parse"]), GIL), **right)
expect("the interpreter's lock held by another function", score.score_single(
    verdict({"kind": "python_gil", "ns": 100, "holder": {"function": "other"}}, sentences=["parse"]), GIL), wrong=True)
COMPUTING = {**TRUTH, "kind": ["computing"]}
PREEMPTED = {**FSYNC_CAUSE, "kind": "preempted", "own_kind": "computing", "ns": 500, "preempted_ns": 400}
expect("preempted at the planted place for longer than it computes", score.score_single(verdict(PREEMPTED), COMPUTING), **right)
expect("preempted in something of another kind", score.score_single(verdict({**PREEMPTED, "own_kind": "sleep"}), COMPUTING),
       named=False, wrong=True)
expect("the preempted part is the amount where that is planted", score.score_single(
    verdict({**PREEMPTED, "preempted_ns": 98}), {**TRUTH, "kind": ["preempted"]}), named=True, amount=True, ns=98)
THROTTLED = {**TRUTH, "kind": ["throttled"], "ns": 1000, "wall_ns": 1000}
LIMIT = {**FSYNC_CAUSE, "kind": "throttled", "ns": 600}
expect("a throttled thread's amount has the time of its preemption", score.score_single(verdict(LIMIT, PREEMPTED), THROTTLED),
       **right, ns=1000)
expect("preempted instead of throttled, on an idle machine", score.score_single(verdict(PREEMPTED, LIMIT), THROTTLED), wrong=True)
expect("preempted instead of throttled, beside other processes",
       score.score_single(verdict(PREEMPTED, LIMIT), {**THROTTLED, "competing": 8}), named=True, wrong=False)
expect("preempted elsewhere", score.score_single(verdict({**FSYNC_CAUSE, "kind": "preempted", "function": "main"}),
                                                 {**TRUTH, "kind": ["preempted"]}), wrong=True, amount=False)
expect("two causes in order", score.score_several(verdict(FSYNC_CAUSE, LOCK_CAUSE), [LOCK, TRUTH]), in_order=True, found=2)
expect("two causes in the wrong order", score.score_several(verdict(LOCK_CAUSE, FSYNC_CAUSE), [LOCK, TRUTH]),
       in_order=False, found=2)
expect("an order that the wall time allows", score.score_several(
    verdict(LOCK_CAUSE, FSYNC_CAUSE), [{**LOCK, "wall_ns": 101}, TRUTH]), in_order=True)
expect("one of two", score.score_several(verdict(FSYNC_CAUSE), [LOCK, TRUTH]), in_order=False, found=1)
expect("a clean verdict", score.score_clean(verdict({**FSYNC_CAUSE, "ns": 50}), [TRUTH]), clean=True, false=[])
expect("a false cause", score.score_clean(verdict({**FSYNC_CAUSE, "ns": 51, "function": "main"}), [TRUTH]), clean=False)
COMPUTE = {**TRUTH, "kind": ["computing"]}
expect("every program computes", score.score_clean(verdict({"kind": "computing", "ns": 200, "function": "main"}), [COMPUTE]),
       clean=True)
expect("but not there", score.score_clean(verdict({"kind": "computing", "ns": 200, "function": "save_checkpoint"}), [COMPUTE]),
       clean=False)
expect("clean without a verdict is not shown", score.score_clean(None, [TRUTH]), clean=False)
expect("a summary", score.summarise([{**right, "named": False}, right]), runs=2, named=0.5, line=1.0)
print(f"1..{len(results)}")
sys.exit(not all(results))

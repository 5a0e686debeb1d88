#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scorer against comparisons made by hand; prints TAP."""
import copy
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import score  # noqa: E402
from catalogue import CHANGES  # noqa: E402

NOISE = {"proof": "proved", "values": "runs", "estimate": 190, "low": 180, "high": 210}
UNPROVED = {"proof": "unproved", "values": "runs", "estimate": 5, "low": -10, "high": 20}
results = []


def row(table, name, change, noise=UNPROVED, match="exact", **more):
    return {"table": table, "name": name, "match": match, "change": change, "more_often": 0, "each_slower": change,
            "noise": dict(noise), **more}


def document(*rows, exact=True):
    total = sum(one["change"] for one in rows)
    return {"account": {"change_ns": total, "exact": exact, "rows": [copy.deepcopy(one) for one in rows]},
            "devices": [{"wall_change_ns": total}], "wall": {"noise": dict(UNPROVED)}, "paired": True, "verdict": "", "notes": []}


def expect(name, got, **want):
    wrong = {key: got.get(key) for key, value in want.items() if got.get(key) != value}
    results.append(not wrong)
    print(f"{'not ok' if wrong else 'ok'} {len(results)} - {name}{f' # got {wrong}' if wrong else ''}")


def judge(change, found, base=(), new=()):
    return score.score(change, CHANGES[change], found, (list(base), list(new)))


BASE, NEW = [{"sleep_ns": 0, "sleep_delay_ns": 0}], [{"sleep_ns": 200, "sleep_delay_ns": 4}]
SLEEP = row("idle", "sleep in sleep_before_launch", 200, NOISE)
OTHER = row("idle", "computing in host_work", -300)

expect("the planted sleep", judge("sleep", document(SLEEP), BASE, NEW), named=True, rank=1, contains=True, proved=True,
       exact=True, others=[], truth=(196, 200), mean_error=0, error=(196 - 190) / 200)
DOUBTED = {**SLEEP, "noise": {**NOISE, "proof": "unproved"}}
expect("a proved row before a larger one", judge("sleep", document(SLEEP, OTHER), BASE, NEW), named=True, rank=1)
expect("behind a larger row", judge("sleep", document(DOUBTED, OTHER), BASE, NEW), named=True, rank=2)
expect("behind three larger rows", judge("sleep", document(DOUBTED, OTHER, OTHER, OTHER), BASE, NEW), named=False, rank=4)
expect("with the wrong sign", judge("sleep", document({**SLEEP, "change": -200}), BASE, NEW), named=False)
expect("in the wrong table", judge("sleep", document({**SLEEP, "table": "kernel"}), BASE, NEW), named=False, row=None)
expect("an interval beside the amount", judge("sleep", document({**SLEEP, "noise": {**NOISE, "low": 201}}), BASE, NEW),
       contains=False)
expect("an amount without a place", judge("sleep", document(OTHER), BASE, NEW), named=False, contains=None)
found = judge("sleep", document(SLEEP, {**OTHER, "noise": {**NOISE, "low": -310, "high": -290}}), BASE, NEW)
expect("another row is proved", {"count": len(found["others"])}, count=1)
expect("an account that duet calls wrong", judge("sleep", document(SLEEP, exact=False), BASE, NEW), exact=False)
wrong = document(SLEEP)
wrong["account"]["rows"][0]["change"] += 1
expect("an account that we find wrong", judge("sleep", wrong, BASE, NEW), exact=False)

TIMES = [{"update_ns": 100}]
SPLIT = row("kernel", "update_low + update_high", 0, match="split", base_name="update")
expect("a split kernel", judge("split", document(SPLIT), TIMES, TIMES), named=True, match="split", contains=True)
expect("a split kernel with another reason", judge("split", document({**SPLIT, "match": "renamed"}), TIMES, TIMES), named=False)
expect("a split kernel of another one", judge("split", document({**SPLIT, "base_name": "finish"}), TIMES, TIMES), named=False)
launches = row("idle", "clEnqueueNDRangeKernel called from launch", 9, NOISE)
found = judge("split", document(SPLIT, launches), TIMES, TIMES)
expect("a further call is a consequence", {"others": found["others"], "follow": len(found["follow"])}, others=[], follow=1)
expect("3 % of the base", judge("slow_kernel", document(row("kernel", "update", 3, NOISE)), TIMES, TIMES), named=True,
       mean_error=0, proved=True)
found = judge("none", document(row("kernel", "update", 3, NOISE)))
expect("nothing was planted", {"others": len(found["others"])}, others=1)
expect("a refusal", judge("none", {"notes": [{"weight": "refusal", "text": "other device"}]}), refused=["other device"])
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)

# SPDX-License-Identifier: MIT
"""Compares what `duet diff --json` says with the change that was planted."""
from catalogue import SLOWER

NAMED = 3
QUANTITIES = "noise", "count_noise", "mean_noise"


def mean(values):
    return sum(values) / len(values)


def measured(key, base, new):
    return mean([run.get(key, 0) for run in new]) - mean([run.get(key, 0) for run in base])


def truth_of(change, name, base, new):
    """The planted amount per run, ns: its lowest and highest right value. base, new: what the program measured in each
    run. A wait may be reported with or without the time for which its thread was ready and waited for a processor."""
    if not change.truth:
        return 0, 0
    key = change.truth
    if name == "slow_kernel":  # the loops are longer by this part; a measurement would have the noise of both sides
        amount = round((SLOWER - 1) * mean([run[key] for run in base]))
    elif name == "more_launches":
        amount = mean([run[key] for run in base])
    else:
        amount = measured(key, base, new)
    return tuple(sorted((amount - measured(key.replace("_ns", "_delay_ns"), base, new), amount)))


def error_of(value, truth):
    low, high = truth
    return max(low - value, value - high, 0) / high


def is_exact(document):
    """The rows add up to the change: as duet says, and by our own sum."""
    account = document["account"]
    total = sum(row["change"] for row in account["rows"])
    devices = sum(device["wall_change_ns"] for device in document["devices"])
    parts = all(row["more_often"] + row["each_slower"] == row["change"] for row in account["rows"])
    return bool(account["exact"]) and total == account["change_ns"] == devices and parts


def proofs(row):
    return [quantity for quantity in QUANTITIES if row.get(quantity, {}).get("proof") == "proved"]


def brief(row, quantities):
    """A row as one line, to be listed."""
    noise = row[quantities[0]] if quantities else row["noise"]
    interval = f" [{noise['low']:.0f}, {noise['high']:.0f}]" if "low" in noise else ""
    base = f" (base: {row['base_name']})" if "base_name" in row else ""
    return (f"{row['table']}: {row['name']}{base}, {row['match']}: {row['change'] / 1e6:+.3f} ms, "
            f"{','.join(quantities) or noise['proof']}{interval}")


def contains(noise, amount):
    return noise["low"] <= amount[1] and noise["high"] >= amount[0]


def reason_order(row):
    """As the reasons are ranked (docs/design/compare.md): certain changes by what is certain, then the others."""
    noise = row["noise"]
    if noise["proof"] in ("proved", "small"):
        return 0, -min(abs(noise["low"]), abs(noise["high"]))
    return 1 + (noise["proof"] == "no_change"), -abs(row["change"])


def score_planted(change, rows, truth):
    """The columns about the row of the change. Its rank is 1 for the first reason."""
    ranked = sorted(rows, key=reason_order)
    found = [(rank, row) for rank, row in enumerate(ranked, 1) if change.is_row(row)]
    weak = [(rank, row) for rank, row in enumerate(ranked, 1) if change.is_weak(row)]
    result = {"named": False, "weak": bool(weak) and weak[0][0] <= NAMED and weak[0][1]["change"] > 0, "row": None}
    if not found:
        return result
    rank, row = found[0]
    is_right = row["match"] == change.match if change.match else rank <= NAMED and row["change"] > 0
    noise = row["noise"]
    result.update(named=is_right, row=brief(row, proofs(row)), rank=rank, change=row["change"], match=row["match"],
                  estimate=noise.get("estimate"), low=noise.get("low"), high=noise.get("high"), proof=noise["proof"],
                  p=noise.get("p"), p_adjusted=noise.get("p_adjusted"))
    if "low" in noise:
        result["contains"] = contains(noise, truth)
    if truth[1] > 0 and not change.match:
        result["error"] = error_of(noise["estimate"], truth) if "estimate" in noise else None
        result["mean_error"] = error_of(row["change"], truth)
        result["proved"] = noise["proof"] == "proved"
    if "estimate" in row.get("count_noise", {}):
        result["count"] = row["count_noise"]["estimate"]
        result["more_often"] = row["more_often"]
    return result


def score(name, change, document, truths):
    """truths: (what the program measured in each run of the base, the same of the new side)"""
    truth = truth_of(change, name, *truths)
    if "account" not in document:
        return {"refused": [note["text"] for note in document["notes"] if note["weight"] == "refusal"], "truth": truth}
    rows = document["account"]["rows"]
    result = score_planted(change, rows, truth) if change.pattern else {}
    others = [row for row in rows if not change.is_row(row) and not change.is_consequence(row) and proofs(row)]
    follow = [row for row in rows if change.is_consequence(row) and proofs(row)]
    result.update(truth=truth, exact=is_exact(document), others=[brief(row, proofs(row)) for row in others],
                  follow=[brief(row, proofs(row)) for row in follow], verdict=document.get("verdict"),
                  wall_proof=document["wall"]["noise"]["proof"], wall_low=document["wall"]["noise"].get("low"),
                  wall_high=document["wall"]["noise"].get("high"), paired=document["paired"],
                  top=[brief(row, proofs(row)) for row in sorted(rows, key=lambda row: -abs(row["change"]))[:4]])
    return result


def part(rows, key):
    """How often a column is true, among the rows that have it; None: none has it."""
    values = [row[key] for row in rows if row.get(key) is not None]
    return sum(map(bool, values)) / len(values) if values else None


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def summarise(rows):
    errors = [row["error"] for row in rows if row.get("error") is not None]
    mean_errors = [row["mean_error"] for row in rows if row.get("mean_error") is not None]
    return {"repeats": len(rows), "named": part(rows, "named"), "weak": part(rows, "weak"), "contains": part(rows, "contains"),
            "error": median(errors) if errors else None, "error_max": max(errors, default=None),
            "mean_error": median(mean_errors) if mean_errors else None, "proved": part(rows, "proved"),
            "others": sum(len(row.get("others", ())) for row in rows),
            "with_others": sum(bool(row.get("others")) for row in rows),
            "exact": part(rows, "exact"), "refused": sum("refused" in row for row in rows)}

# SPDX-License-Identifier: MIT
"""Compares a verdict with the truth that a program printed. Pure functions; test_score.py tests them."""
import itertools
import os
import re

VAGUE = ("unknown", "blocked")
AMOUNT_TOLERANCE = 0.10
# Their amounts do not contain the time of waiting for a processor.
PROCESSOR_KINDS = ("computing", "garbage_collection", "page_fault", "preempted", "throttled")
# A clean program's verdict may name the planted kind with at most this share of the steady part.
CLEAN_SHARE = 0.05
# Kinds that every program has a little of: in a clean program they are false at the planted place alone.
EVERYWHERE = ("computing", "launch_call", "call", "submission", "device_wait", "launched_not_started", "preempted")


def base_name(function):
    """Without namespaces, classes, templates and parameters."""
    function = re.sub(r"\(.*", "", function or "")
    while re.search(r"<[^<>]*>", function):
        function = re.sub(r"<[^<>]*>", "", function)
    return re.split(r"::|\.", function.strip())[-1].split(" ")[-1]


def as_list(value):
    return value if isinstance(value, list) else [value]


def is_function_of(place, truth):
    return bool(place) and base_name(place.get("function")) in [base_name(name) for name in as_list(truth["function"])]


def is_line_of(place, truth):
    if not is_function_of(place, truth) or place.get("line") is None:
        return False
    first, last = truth["line"]
    return os.path.basename(place.get("file") or "") == truth["file"] and first <= place["line"] <= last


def places(cause):
    """The place of the thread that waited, and that of the thread that held it up."""
    return [cause, cause.get("holder") or {}]


def is_at(cause, truth):
    """Whether the cause is at the planted place, of either thread."""
    known = [truth, truth["waiter"]] if "waiter" in truth else [truth]
    return any(is_function_of(place, one) for place in places(cause) for one in known)


def is_elsewhere(cause, truth):
    """Whether the cause has places, and none of them is the planted one. A wait for the device's return, as for the
    interpreter's lock, can begin in any function of the launching thread: there the holder alone counts."""
    named = [place for place in places(cause) if place.get("function")]
    if "waiter" not in truth and cause.get("kind") == "python_gil":
        named = [place for place in [cause.get("holder") or {}] if place.get("function")]
    return bool(named) and not is_at(cause, truth)


def has_words(sentences, truth):
    text = " ".join(sentences).lower()
    words = as_list(truth["sentence_words"]) + as_list(truth["function"])
    return any(base_name(word).lower() in text for word in words)


def is_accepted(cause, truth):
    """Code that was preempted for most of its time is still the planted code, if the cause names its function. A group
    does not use up its quota where other processes take the processors."""
    kinds = as_list(truth["kind"])
    if cause["kind"] == "preempted" and is_at(cause, truth) and kinds == ["throttled"]:
        return truth.get("competing", 0) > 0
    return cause["kind"] in kinds or (cause["kind"] == "preempted" and cause.get("own_kind") in kinds and is_at(cause, truth))


def preempted_ns(cause):
    return cause.get("preempted_ns", cause["ns"] if cause["kind"] == "preempted" else 0)


def own_ns(cause, truth):
    """The part of a cause that the truth counts: preempted time alone, or without preempted time."""
    return preempted_ns(cause) if as_list(truth["kind"]) == ["preempted"] else cause["ns"] - preempted_ns(cause)


def amount_of(causes, truth):
    """Nanoseconds of all causes with an accepted kind that are not elsewhere. A throttled program measures all the time
    for which its thread could not run."""
    if as_list(truth["kind"]) == ["preempted"]:
        return sum(own_ns(cause, truth) for cause in causes if not is_elsewhere(cause, truth))
    if as_list(truth["kind"]) == ["throttled"]:
        return sum(cause["ns"] if cause["kind"] == "throttled" else preempted_ns(cause)
                   for cause in causes if not is_elsewhere(cause, truth))
    return sum(own_ns(cause, truth) for cause in causes if is_accepted(cause, truth) and not is_elsewhere(cause, truth))


def is_amount_right(ns, truth):
    """Between the truth and, for waits and calls, the wall time: whether a wait ends when the thread is woken or when it
    runs is a matter of definition."""
    is_strict = all(kind in PROCESSOR_KINDS for kind in as_list(truth["kind"]))
    most = truth["ns"] if is_strict else max(truth["ns"], truth.get("wall_ns", 0))
    return (1 - AMOUNT_TOLERANCE) * truth["ns"] <= ns <= (1 + AMOUNT_TOLERANCE) * most


def score_cause(cause, verdict, truth, sentence_count):
    """One cause of the verdict, expected to be the planted one. sentence_count None: no sentence is asked for."""
    causes = (verdict or {}).get("causes") or []
    cause = cause or {"kind": "unknown"}
    is_kind = is_accepted(cause, truth)
    named = is_kind and not is_elsewhere(cause, truth) and \
        (sentence_count is None or has_words(((verdict or {}).get("sentences") or [])[:sentence_count], truth))
    vague = not named and cause["kind"] in VAGUE
    ns = amount_of(causes, truth)
    return {"named": named, "line": named and any(is_line_of(place, truth) for place in places(cause)),
            "unknown": vague, "wrong": not named and not vague and (not is_kind or is_elsewhere(cause, truth)),
            "amount": is_amount_right(ns, truth), "ns": ns, "truth_ns": truth["ns"], "kind": cause["kind"]}


def score_single(verdict, truth):
    """The first cause, in the first two sentences."""
    causes = (verdict or {}).get("causes") or []
    return score_cause(causes[0] if causes else None, verdict, truth, 2)


def orders(truths):
    """The orders that the amounts allow, largest first. An amount lies between the truth and the wall time, as waits and
    preempted code may be reported with the time until the thread runs."""
    for order in itertools.permutations(sorted(truths, key=lambda truth: -truth["ns"])):
        if all(max(one["ns"], one.get("wall_ns", 0)) >= other["ns"] for i, one in enumerate(order) for other in order[i + 1:]):
            yield order


def score_several(verdict, truths):
    """The first causes in the right order; in_order is True if all are. Two are named in three sentences as well."""
    causes = (verdict or {}).get("causes") or []
    count = 3 if len(truths) == 2 else None
    best = max(([score_cause(causes[i] if i < len(causes) else None, verdict, truth, count) for i, truth in enumerate(order)]
                for order in orders(truths)), key=lambda scores: sum(one["named"] for one in scores))
    anywhere = [any(score_cause(cause, verdict, truth, count)["named"] for cause in causes) for truth in truths]
    return {"scores": best, "in_order": all(one["named"] for one in best), "found": sum(anywhere), "of": len(truths)}


def score_clean(verdict, truths):
    """Causes that the verdict names though nothing was planted."""
    wall = ((verdict or {}).get("steady") or {}).get("wall_ns") or 0
    false = []
    for cause in (verdict or {}).get("causes") or []:
        for truth in truths:
            if cause["kind"] not in as_list(truth["kind"]) or cause["ns"] <= CLEAN_SHARE * wall:
                continue
            if cause["kind"] not in EVERYWHERE or is_at(cause, truth):
                false.append({"kind": cause["kind"], "ns": cause["ns"], "share_of_wall": cause["ns"] / wall if wall else None})
                break
    return {"false": false, "clean": verdict is not None and not false}


def summarise(rows):
    """Of scores of single causes: counts and the share of each column."""
    count = len(rows)
    columns = ("named", "line", "unknown", "wrong", "amount")
    return {"runs": count, **{column: sum(row[column] for row in rows) / count if count else None for column in columns}}

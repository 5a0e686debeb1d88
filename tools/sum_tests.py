#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Adds up every test line of a run and prints one last line: "N passed, N failed[, N skipped]".

    tools/sum_tests.py FILE ...
    tools/sum_tests.py --failed FILE    names of the programs that failed in a log
    tools/sum_tests.py --self-test

FILE is meson's log (meson-logs/NAME.json, one JSON object per test) or plain TAP (NAME.tap). A
program that died, was killed for time or stopped short of its plan counts as one failure more, so
that a test cannot be lost. NAME-again.json beside a log is of programs that failed in it and were
run once more, alone: what they say then counts, and each is named with what failed first. Skips are listed with their reasons. Where DUET_EXPECT_SKIPS is a number,
or CI is "true" (then the number is in tests/expected_skips), another number of skips is a failure; those of
ELSEWHERE, which depend on what a mirror or another folder has, are not among them.
Exit status 1 when anything failed or when nothing was run.
"""
import contextlib
import copy
import io
import json
import os
import re
import sys
import tempfile

LINE = re.compile(r"^(ok|not ok)\b\s*\d*\s*(?:-\s*)?([^#]*)(?:#\s*(SKIP|TODO)\b:?\s*(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\b:?\s*(.*))?", re.I)

# Tests that download packages, of which a mirror may have less today, and those of recordings that are beside the tree.
ELSEWHERE = ("check-vm", "check-fresh", "e2e-recordings")

# Programs that may fail beside others and pass alone: on two processors a wait can be too short. More are a fault.
UNSTEADY_MOST = 8

# What a failed test says of itself is shown, of each so much at most: lines, and characters of a line.
COMMENTS, COMMENT_LENGTH = 20, 600


class Total:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = []
        self.unsteady = []

    def add_tap(self, name, text):
        """Returns a sentence where the text is not a whole TAP document, else None. A test that is
        expected to fail (TODO) counts as a failure where it fails."""
        planned, seen, comments = None, 0, []
        for line in text.splitlines():
            if line.startswith("#"):
                comments.append(line)
                continue
            plan = PLAN.match(line)
            if plan:
                planned = int(plan.group(1))
                if planned == 0:
                    self.skips.append((name, plan.group(2) or "no reason given"))
                continue
            match = LINE.match(line)
            if not match:
                if line.startswith("Bail out!"):
                    return line
                continue
            seen += 1
            what = f"{name}: {match.group(2).strip()}"
            if match.group(1).lower() == "not ok":
                self.failures.append((what, "\n  ".join(line[:COMMENT_LENGTH] for line in comments[:COMMENTS])))
            elif (match.group(3) or "").upper() == "SKIP":
                self.skips.append((what, match.group(4).strip() or "no reason given"))
            else:
                self.passed += 1
            comments = []
        if planned is None:
            return "no plan: it ended before its last line"
        if planned != seen:
            return f"{planned} tests planned, {seen} seen"
        return None

    def add_program(self, record):
        """One program of meson's log."""
        name = record["name"].split(" / ")[-1]
        text = record.get("stdout") or ""
        result = record["result"]
        failures_before = len(self.failures)
        if result == "TIMEOUT":
            self.add_tap(name, text)
            self.failures.append((name, "ran out of time"))
        elif is_tap(text):
            broken = self.add_tap(name, text)
            status = record.get("returncode", 0)
            told = len(self.failures) > failures_before
            if broken and not told:
                self.failures.append((name, f"{broken} (exit status {status})"))
            elif status not in (0, 77) and not told:
                self.failures.append((name, f"exit status {status} after its last test"))
        elif result == "SKIP":
            self.skips.append((name, "exit status 77"))
        elif result in ("OK", "EXPECTEDFAIL"):
            self.passed += 1
        else:
            self.failures.append((name, f"{result}, exit status {record.get('returncode')}"))

    def add_file(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if not path.endswith(".json"):
            broken = self.add_tap(os.path.basename(path).removesuffix(".tap"), text)
            if broken:
                self.failures.append((path, broken))
            return
        records = [json.loads(line) for line in text.splitlines()]
        for record in self.settled(path, records):
            self.add_program(record)

    def settled(self, path, records):
        """Of each program the record that counts."""
        again_path = path.removesuffix(".json") + "-again.json"
        if not os.path.exists(again_path):
            return records
        with open(again_path, encoding="utf-8", errors="replace") as file:
            again = {record["name"]: record for record in map(json.loads, file)}
        for record in records:
            if record["name"] in again:
                first, second = Total(), Total()
                first.add_program(record)
                second.add_program(again[record["name"]])
                if first.failures and not second.failures:
                    self.unsteady += [(what, reason) for what, reason in first.failures]
        return [again.get(record["name"], record) for record in records]

    def line(self):
        text = f"{self.passed} passed, {len(self.failures)} failed"
        return text + (f", {len(self.skips)} skipped" if self.skips else "")


def is_tap(text):
    return any(LINE.match(line) or PLAN.match(line) for line in text.splitlines())


def expected_skips():
    """How many skips there must be; None where any number will do."""
    if os.environ.get("DUET_EXPECT_SKIPS"):
        return int(os.environ["DUET_EXPECT_SKIPS"])
    if os.environ.get("CI") != "true":
        return None
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "tests", "expected_skips"), encoding="utf-8") as file:
        return int(next(line for line in file if not line.startswith("#")))


def finish(total, expected):
    """Prints the account; returns the exit status."""
    for what, reason in total.skips:
        print(f"skipped: {what}: {reason}")
    for what, reason in total.unsteady:
        print(f"unsteady: {what}: failed once, and passed alone{': ' + reason if reason else ''}")
    if len(total.unsteady) > UNSTEADY_MOST:
        total.failures.append(("unsteady tests", f"{len(total.unsteady)}, at most {UNSTEADY_MOST}"))
    counted = [what for what, _ in total.skips if what.split(":")[0] not in ELSEWHERE]
    if expected is not None and expected != len(counted):
        total.failures.append(("number of skips", f"{len(counted)}, expected {expected}"))
    if not total.passed and not total.failures:
        total.failures.append(("sum", "nothing was run"))
    for what, reason in total.failures:
        print(f"failed: {what}{': ' + reason if reason else ''}")
    print(total.line())
    return 1 if total.failures else 0


def program(stdout, result="OK", returncode=0, name="suite / x"):
    return {"name": name, "stdout": stdout, "result": result, "returncode": returncode}


CASES = [
    ("all pass", program("ok 1 - a\nok 2 - b\n1..2\n"), (2, 0, 0)),
    ("plan first", program("1..1\nok 1 a\n"), (1, 0, 0)),
    ("one fails", program("not ok 1 - a\nok 2 - b\n1..2\n", "FAIL", 1), (1, 1, 0)),
    ("one skips", program("ok 1 - a # SKIP no device\n1..1\n"), (0, 0, 1)),
    ("all skip", program("1..0 # SKIP clang is not installed\n", "SKIP"), (0, 0, 1)),
    ("dies between tests", program("ok 1 - a\n", "ERROR", -11), (1, 1, 0)),
    ("stops short of its plan", program("1..3\nok 1 - a\n"), (1, 1, 0)),
    ("dies at exit", program("ok 1 - a\n1..1\n", "ERROR", 1), (1, 1, 0)),
    ("runs out of time", program("ok 1 - a\n", "TIMEOUT", -15), (1, 1, 0)),
    ("no TAP, passes", program("hello\n"), (1, 0, 0)),
    ("no TAP, fails", program("", "FAIL", 3), (0, 1, 0)),
    ("no TAP, skips", program("", "SKIP", 77), (0, 0, 1)),
    ("expected failure is one", program("not ok 1 - a # TODO later\n1..1\n"), (0, 1, 0)),
    ("bails out", program("Bail out! no memory\n", "ERROR", 1), (0, 1, 0)),
    ("a comment is no test", program("# ok 1\n#   not ok\nok 1 - a\n1..1\n"), (1, 0, 0)),
]


def self_test():
    status = 0
    for number, (name, record, want) in enumerate(CASES, 1):
        total = Total()
        total.add_program(record)
        got = (total.passed, len(total.failures), len(total.skips))
        if got != want:
            print(f"#   got {got}, want {want}")
            status = 1
        print(f"{'ok' if got == want else 'not ok'} {number} - {name}")
    total = Total()
    total.add_tap("x", "# of a\nok 1 - a\n# got 1, want 2\nnot ok 2 - b\n1..2\n")
    told = total.failures == [("x: b", "# got 1, want 2")]
    print(f"{'ok' if told else 'not ok'} {len(CASES) + 1} - what a failed test says is told")
    total = Total()
    for name in ELSEWHERE:
        total.add_tap(name, "ok 1 - a # SKIP the mirror has none\n1..1\n")
        total.add_tap(name, "1..0 # SKIP the mirror is not reached\n")
    total.add_tap("x", "ok 1 - a\nok 2 - b # SKIP no device\n1..2\n")
    with contextlib.redirect_stdout(io.StringIO()):
        statuses = [finish(copy.deepcopy(total), expected) for expected in (1, 2)]
    print(f"{'ok' if statuses == [0, 1] else 'not ok'} {len(CASES) + 2} - skips for want of a mirror are not counted")
    settled = self_test_again()
    print(f"{'ok' if settled else 'not ok'} {len(CASES) + 3} - what passes alone counts, and is told")
    print(f"1..{len(CASES) + 3}")
    return status or not told or statuses != [0, 1] or not settled


def self_test_again():
    """One that fails twice is a failure, one that fails once is told of."""
    good, bad = "ok 1 - a\n1..1\n", "not ok 1 - a\n1..1\n"
    with tempfile.TemporaryDirectory() as folder:
        for name, logs in (("check", (("x", bad), ("y", bad), ("z", good))),
                           ("check-again", (("x", good), ("y", bad)))):
            with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
                file.writelines(json.dumps(program(text, name=what)) + "\n" for what, text in logs)
        total = Total()
        total.add_file(f"{folder}/check.json")
    many = copy.deepcopy(total)
    many.failures, many.unsteady = [], total.unsteady * (UNSTEADY_MOST + 1)
    with contextlib.redirect_stdout(io.StringIO()):
        status = finish(many, None)
    return (total.passed, total.failures, total.unsteady, status) == (2, [("y: a", "")], [("x: a", "")], 1)


def print_failed(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for record in map(json.loads, file):
            total = Total()
            total.add_program(record)
            if total.failures:
                print(record["name"].split(" / ")[-1])
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if arguments[:1] == ["--failed"]:
        return print_failed(arguments[1])
    total = Total()
    for path in arguments:
        total.add_file(path)
    return finish(total, expected_skips())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

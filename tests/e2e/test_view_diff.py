#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet view --diff: both halves are the pages of the two runs, the account is that of duet diff, and in a browser the
timelines are aligned. The browser's cases need Chromium (packages-test.debian)."""
import json
import os
import re
import sys

import browser
import duet_test
import view_file
from duet_test import DUET, run, text

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"
STEP_NS, STEPS = 100_000, 12

t = duet_test.Suite(needs_opencl=False)


def written(name):
    """As a description of a trace takes it."""
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02x}" for byte in name.encode())


def loop(kernels, begin=20_000, steps=STEPS, pause=0, command="loop"):
    """A main loop of kernels, {name: ns}; each step is a range."""
    end = begin + steps * (STEP_NS + pause) + 50_000
    lines = [f"window 0 {end} command={command}", "device 1 gpu", f"process 1 101 loop command={command}", "thread 1 1 name=main", "queue 1 1"]
    correlation = 0
    for step in range(steps):
        at = begin + step * (STEP_NS + pause)
        lines.append(f"range 1 {at} {at + STEP_NS - 1000 + pause} step")
        for name, length in kernels.items():
            correlation += 1
            lines += [f"launch {correlation} 1 1 {at} {at + 100} kernel name={written(name)}",
                      f"execution 1 {correlation} 1 {at + 50} {at + 120} {at + 500} {at + 500 + length}"]
            at += length + 2000
    return lines


BASE = {"gemm": 20_000, "softmax": 8000, "scale_rows": 3000, HOSTILE: 2000}
NEW = {"gemm": 30_000, "softmax": 8000, HOSTILE: 2500, "completely_different_thing": 900}


def make(name, lines):
    return t.described(name, *lines)


def pair(base, changed, *options, status=0, name="pair.html"):
    output = t.path(name)
    if os.path.exists(output):
        os.unlink(output)
    done = run([DUET, "view", "--diff", base, "-o", output, *options, changed])
    t.equal(done.status, status, text(done.stderr))
    return output, done


def elements(path):
    with open(path, encoding="ascii") as file:
        return view_file.View(file.read())


try:
    base = make("base.duet", loop(BASE))
    new = make("new.duet", loop(NEW, begin=70_000, pause=5000))
except duet_test.Skip as reason:
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)
page, _ = pair(base, new, name="shown.html")


# ---- the file ----

with t.case("each half is the page of its run"):
    both = elements(page)
    for trace, prefix in ((base, "b_"), (new, "")):
        single = t.path("single.html")
        t.equal(run([DUET, "view", "-o", single, trace]).status, 0, "view")
        one = elements(single)
        mine = {name for name in one.elements if name != "end"}
        t.true({"head", "s1", "graph0", "cells0"} <= mine, f"{mine}")
        for name in mine:
            t.true(both.section(prefix + name) == one.section(name), f"{prefix}{name}")
    t.equal([name for name in both.elements if name in ("diff", "end")], ["diff", "end"], "the comparison, and the end")

with t.case("the account is that of duet diff, and adds up"):
    shown = json.loads(both.section("diff"))
    document = json.loads(run([DUET, "diff", "--json", base, new]).stdout)
    t.equal(shown["schema"], "duet.view-diff/1", "schema")
    for key in ("base", "new", "notes", "verdict", "reasons", "wall", "iteration"):
        t.equal(shown[key], document[key], key)
    hows = [entry.pop("how") for entry in shown["rows"]]
    t.equal(shown["rows"], document["account"]["rows"], "rows")
    t.true(any("each" in how for how in hows), f"remarks: {hows}")
    t.equal(sum(entry["change"] for entry in shown["rows"]), shown["change_ns"], "changes")
    for side in ("base", "new"):
        t.equal(sum(entry[side]["value"] for entry in shown["rows"]), sum(device[f"{side}_wall_ns"] for device in shown["devices"]), side)

with t.case("no text of the traces is treated as markup"):
    plain, _ = pair(make("one.duet", loop({"gemm": 20_000})), make("two.duet", loop({"gemm": 21_000})))

    def frame_of(path):
        return re.sub(r'<script type="text/plain" id="\w+"></script>\n', "", elements(path).markup())

    t.equal(frame_of(plain), frame_of(pair(base, new)[0]), "the page around the sections")

with t.case("recordings that cannot be compared: status 3, the reason, no page; --force writes it"):
    other = make("other.duet", loop({"a": 5000, "b": 9000}))
    unlike = make("unlike.duet", [*loop({"gemm": 20_000}), "device 2 gpu", "queue 2 2", "launch 900 1 2 10 20 kernel name=k", "execution 1 900 2 12 14 30 90"])
    output, done = pair(other, unlike, status=3)
    t.true("devices" in text(done.stderr) and "--force" in text(done.stderr), text(done.stderr))
    t.true(not os.path.exists(output), "no page")
    output, _ = pair(other, unlike, "--force")
    forced = json.loads(elements(output).section("diff"))
    t.equal((forced["comparable"], [note["weight"] for note in forced["notes"]][:1]), (False, ["refusal"]), "the page says so")

with t.case("wrong usage, and files that cannot be read"):
    for options in (["--diff", base, "--from", "1ms"], ["--diff", base, "--to", "1ms"], ["--force"], ["--map", base], ["--diff", base, "--map", "/nonexistent"]):
        done = run([DUET, "view", *options, "-o", t.path("no.html"), new])
        t.equal((done.status, os.path.exists(t.path("no.html"))), (2, False), f"{options}: {text(done.stderr)}")
    done = run([DUET, "view", "--diff", "/nonexistent.duet", "-o", t.path("no.html"), new])
    t.equal(done.status, 2, "no base")
    t.true("/nonexistent.duet" in text(done.stderr), text(done.stderr))
    done = run([DUET, "view", "--diff", base, "-o", base, new])
    t.equal(done.status, 1, "the base is not overwritten")
    t.true(os.path.getsize(base) > 100, "the base is whole")

with t.case("a matching is corrected by hand"):
    mapping = t.path("names.map")
    with open(mapping, "w", encoding="ascii") as file:
        file.write("scale_rows => completely_different_thing\n")
    shown = json.loads(elements(pair(base, new, "--map", mapping)[0]).section("diff"))
    t.equal([entry["base_name"] for entry in shown["rows"] if entry["name"] == "completely_different_thing"], ["scale_rows"], "partner")


# ---- in a browser ----

HELPERS = r"""
const p = window.duetPair;
async function settled() {
    for (let i = 0; i < 6; i++) await new Promise(requestAnimationFrame);
    while (p.views.some((v) => v.move || v.chunks.running.size)) await new Promise((r) => setTimeout(r, 20));
    p.views.forEach((v) => v.redraw());
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
}
function texts(selector) { return Array.from(document.querySelectorAll(selector), (e) => e.textContent); }
// Where on the screen the aligned item begins and ends, px, of both runs.
function edges() {
    return p.views.map((v, i) => [p.place.spans[i].begin, p.place.spans[i].end].map((ns) =>
        v.elements.timeline.getBoundingClientRect().x + (ns - v.from) / (v.to - v.from) * v.width));
}
function selected() { return p.views.map((v) => v.selection && v.model.itemName(v.selection.track, v.selection.item.what)); }
function rowNamed(name) { return Array.from(document.querySelectorAll(".changes tr.pick")).find((r) => r.cells[0].textContent.includes(name)); }
// Style of the command of that name in a run.
function styleOfKernel(side, name) { return p.views[side].colours.path({cls: 0, name}); }
// Sums of the exact times of rows of the account.
function sums(selector) {
    const at = (row, cell) => Number(row.cells[cell].title.replace(/[^\d\u2212-]/g, "").replace("\u2212", "-"));
    return Array.from(document.querySelectorAll(selector)).reduce((sum, row) => [sum[0] + at(row, 4), sum[1] + at(row, 5), sum[2] + at(row, 6)], [0, 0, 0]);
}
"""


class Page:
    def __init__(self, chromium):
        self.chromium = chromium

    def open(self, path, helpers=True):
        self.chromium.resize(1400, 900)
        self.chromium.open(f"file://{path}")
        if not helpers:
            return
        if not self.chromium.wait("window.duetPair !== undefined && window.duetPair.mode === 'iteration'", 30):
            raise AssertionError("the viewer did not start: " + self.get("document.body.innerText")[:300])
        self.get(HELPERS)
        self.get("settled()")

    def get(self, expression):
        return self.chromium.evaluate(expression)

    def key(self, *keys):
        for key in keys:
            self.chromium.key(key)
        self.get("settled()")

    def click_row(self, name):
        self.get(f"rowNamed({name!r}).click()")
        self.chromium.wait(f"selected().some((s) => s !== null && s.includes({name!r}))")
        self.get("settled()")


def near(first, second):
    return abs(first - second) < 0.5


def test_alignment(page):
    with t.case("the page opens on iterations, without errors"):
        t.equal(page.get("p.mode"), "iteration", "mode")
        t.equal(page.chromium.problems(), [], "problems")
        t.equal(page.get("document.getElementById('notice').hidden"), True, "no notice")
        t.true("NEW takes" in page.get("texts('#said .verdict')[0]"), "the verdict")

    with t.case("the chosen iteration starts at the same place, and the scale is one"):
        seen = set()
        for keys in (["n"], ["n"], ["i"], ["n"], ["p"], ["0"]):
            page.key(*keys)
            (base_begin, base_end), (new_begin, new_end) = page.get("edges()")
            t.true(near(base_begin, new_begin), f"after {keys}: {base_begin}, {new_begin}")
            scales = page.get("p.views.map((v) => (v.to - v.from) / v.width)")
            t.true(abs(scales[0] - scales[1]) < 1e-6 * scales[0], f"ns a pixel: {scales}")
            t.true(new_end - new_begin > base_end - base_begin, "what takes longer is longer")
            seen.add(page.get("p.place.index"))
        t.true(len(seen) >= 3, f"{seen}")
        page.key(*"n" * 20)
        t.equal(page.get("[p.place.index, document.getElementById('next').disabled]"), [page.get("p.place.count") - 1, True], "the last one")

    with t.case("ranges of one name are aligned too, and the begins of the runs"):
        page.get("(() => { const list = document.getElementById('align'); list.value = 'range step'; list.dispatchEvent(new Event('change')); })()")
        page.key("n", "n", "i")
        (base_begin, _), (new_begin, _) = page.get("edges()")
        t.true(near(base_begin, new_begin), f"{base_begin}, {new_begin}")
        t.equal(page.get("p.place.spans.map((s) => s.begin)"), [20_000 + 2 * STEP_NS, 70_000 + 2 * (STEP_NS + 5000)], "the third step of both")
        t.true("3 of 12: 99.00" in page.get("texts('#place')[0]"), page.get("texts('#place')[0]"))
        page.get("p.align('begin', 0)")
        t.equal(page.get("p.base.from === p.changed.from && p.base.to === p.changed.to"), True, "both from their begin")
        page.get("p.align('iteration', 1)")

    with t.case("both move together, by mouse and keys"):
        page.key("i")
        before = page.get("[p.base.from - p.base.origin, p.changed.from - p.changed.origin]")
        box = page.get("(() => { const b = p.base.elements.timeline.getBoundingClientRect(); return [b.x, b.y]; })()")
        page.chromium.mouse("mouseMoved", box[0] + 400, box[1] + 60)
        page.chromium.mouse("mousePressed", box[0] + 400, box[1] + 60, button="left", clickCount=1)
        page.chromium.mouse("mouseMoved", box[0] + 300, box[1] + 60, button="left", buttons=1)
        page.chromium.mouse("mouseReleased", box[0] + 300, box[1] + 60, button="left", clickCount=1)
        page.get("settled()")
        after = page.get("[p.base.from - p.base.origin, p.changed.from - p.changed.origin]")
        t.true(after[0] > before[0] + 1000, f"{before} {after}")
        t.true(near(after[0], after[1]), f"{after}")
        page.key("s", "d")
        after = page.get("[p.base.from - p.base.origin, p.changed.from - p.changed.origin, p.base.to - p.base.from, p.changed.to - p.changed.from]")
        t.true(near(after[0], after[1]) and near(after[2], after[3]), f"{after}")


def test_account(page):
    with t.case("what is shown adds up"):
        rows, total = page.get("sums('.changes tr.pick')"), page.get("sums('.changes tr.total.last')")
        t.equal(rows, total, "rows and wall time")
        parts = page.get("sums('.changes tr.total:not(.last)')")
        t.equal(parts, total, "busy and idle")
        t.equal(total[1] - total[0], total[2], "the change")
        said = page.get("texts('#sum')[0]")
        t.true("add up" in said and "NOT" not in said, said)

    with t.case("a damaged account is not said to add up"):
        page.get("(() => { p.diff.rows[0].change += 1; p.toggleTheme(); })()")
        t.true("NOT" in page.get("texts('#sum')[0]"), "said")
        page.get("(() => { p.diff.rows[0].change -= 1; p.toggleTheme(); })()")

    with t.case("a click on a row selects the kernel in both runs; again, and nothing is"):
        page.key("0")
        page.click_row("softmax")
        t.equal(page.get("selected()"), ["softmax", "softmax"], "selected")
        t.equal(page.get("p.views.map((v) => v.search.paths.size)"), [1, 1], "all else is faint")
        inside = page.get("p.views.map((v, i) => v.selection.item.begin >= p.place.spans[i].begin && v.selection.item.begin < p.place.spans[i].end)")
        t.equal(inside, [True, True], "of the aligned iteration")
        t.true("softmax" in page.get("texts('#picked')[0]"), "facts")
        page.get("rowNamed('softmax').click()")
        page.get("settled()")
        t.equal(page.get("[selected(), p.views.map((v) => v.search)]"), [[None, None], [None, None]], "nothing")
        page.get("p.pickRow(p.diff.rows.find((r) => r.cause && r.match === 'exact'))")
        page.get("settled()")
        t.true(all(name and name.startswith("idle: ") for name in page.get("selected()")), f"idle: {page.get('selected()')}")
        page.key("Escape")

    with t.case("two selected items can be aligned"):
        page.click_row("gemm")
        page.get("p.align('selection', 0)")
        page.get("settled()")
        (base_begin, base_end), (new_begin, new_end) = page.get("edges()")
        t.true(near(base_begin, new_begin) and new_end > base_end, f"{base_begin} {new_begin}")
        page.key("Escape")
        page.get("p.align('iteration', 0)")

    with t.case("matched kernels have one colour; others are hatched and marked"):
        t.equal(page.get("styleOfKernel(0, 'gemm').fill === styleOfKernel(1, 'gemm').fill"), True, "gemm")
        t.equal(page.get("styleOfKernel(0, 'gemm').paint === styleOfKernel(0, 'gemm').fill"), True, "solid")
        for side, name, mark in ((0, "scale_rows", "gone"), (1, "completely_different_thing", "new")):
            t.equal(page.get(f"styleOfKernel({side}, {name!r}).paint === styleOfKernel({side}, {name!r}).fill"), False, f"{name}: hatched")
            t.equal(page.get(f"p.views[{side}].model.shortName({name!r})"), f"{mark}: {name}", name)
            t.equal(page.get(f"rowNamed({name!r}).querySelector('.badge').textContent"), mark, name)
        page.click_row("scale_rows")
        t.equal(page.get("selected()"), ["scale_rows", None], "in the base alone")
        page.key("Escape")


def test_rest(page):
    with t.case("a search counts in both runs, Enter selects the longest match"):
        page.key("/")
        page.chromium.type("gemm")
        t.true(page.chromium.wait(f"texts('#hits')[0] === '{STEPS} | {STEPS}'"), page.get("texts('#hits')[0]"))
        page.chromium.key("Enter")
        t.true(page.chromium.wait("selected().every((s) => s === 'gemm')"), "selected")
        page.get("(() => { p.searchFor(''); document.activeElement.blur(); })()")

    with t.case("names of the trace stay texts"):
        t.true(page.get("rowNamed('onerror') !== undefined"), "the name is shown")
        t.true("\\u202e" in page.get("rowNamed('onerror').cells[0].textContent"), "what is invisible is written out")
        t.equal(page.get("document.querySelectorAll('img').length"), 0, "no image")
        page.click_row("onerror")
        t.equal(page.get("document.querySelectorAll('img').length"), 0, "no image")
        t.equal(page.chromium.problems(), [], "problems")
        page.key("Escape")

    with t.case("help, theme, a small window"):
        page.key("?")
        t.true("align" in page.get("texts('#help')[0]"), "help")
        page.key("Escape", "t")
        page.chromium.resize(700, 600)
        page.get("settled()")
        t.equal(page.get("document.documentElement.scrollWidth <= 700"), True, "it fits")
        (base_begin, _), (new_begin, _) = page.get("edges()")
        t.true(near(base_begin, new_begin), f"{base_begin}, {new_begin}")
        t.equal(page.chromium.problems(), [], "problems")


def test_broken(page, path):
    with open(path, encoding="ascii") as file:
        whole = file.read()
    short = t.path("short.html")
    with t.case("a file that was cut off is shown as far as it goes"):
        with open(short, "w", encoding="ascii") as file:
            file.write(whole[:whole.index('id="b_graph0"')])
        page.open(short, helpers=False)
        t.true(page.chromium.wait("document.getElementById('notice').textContent.includes('cut off')"), page.get("document.getElementById('notice').textContent"))
        with open(short, "w", encoding="ascii") as file:
            file.write(whole.replace('id="b_head"', 'id="other"', 1))
        page.open(short, helpers=False)
        t.true(page.chromium.wait("document.getElementById('notice').textContent.includes('no head')"), page.get("document.getElementById('notice').textContent"))


if browser.find():
    with browser.Browser(t.folder) as chromium:
        shown = Page(chromium)
        shown.open(page)
        test_alignment(shown)
        test_account(shown)
        test_rest(shown)
        test_broken(shown, page)
else:
    with t.case("in a browser"):
        raise duet_test.Skip("chromium is not installed")

sys.exit(t.end())

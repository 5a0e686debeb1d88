#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages of duet diff in a browser: a comparison and a history. Needs Chromium."""
import sys

import browser
import duet_test
import series_scene
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)
US = 1000


def make_side(name, slower, devices=2):
    """Two devices, ten iterations; the names are hostile."""
    lines = [f"window 0 {12000 * US} command={series_scene.HOSTILE}", "process 1 1001 train", "thread 1 1",
             f"frame 1 python {series_scene.HOSTILE} file=a.py line=1", "stack 1 1"]
    for device in range(1, devices + 1):
        lines += [f"device {device} {series_scene.HOSTILE}", f"queue {device} {device}"]
    number = 0
    for iteration in range(10):
        for device in range(1, devices + 1):
            now = (1000 * iteration + 40 * device) * US
            for kernel, mean in (("gemm", 300 + slower), (series_scene.HOSTILE, 100), ("new" if slower else "gone", 50)):
                number += 1
                duration = (mean + (iteration * 7 + number) % 5) * US
                lines += [f"launch {number} 1 {device} {now} {now + US} kernel name={kernel} stack=1",
                          f"execution 1 {number} {device} {now + 100} {now + 200} {now + 2 * US} {now + 2 * US + duration}"]
                now += duration + 3 * US
    return t.described(name, *lines)


def make_diff(*more):
    page, sides = t.path("diff.html"), (make_side("base.duet", 0), make_side("new.duet", 30))
    result = run([DUET, "diff", "--html", page, *more, *sides])
    t.equal(result.status, 0, text(result.stderr))
    return page


class Page:
    def __init__(self, chromium, path, name):
        self.chromium = chromium
        chromium.dark(False)
        chromium.open(f"file://{path}")
        if not chromium.wait(f"window.{name} !== undefined", 30):
            raise AssertionError("the page did not start: " + str(self.get("document.body.innerText"))[:300])

    def get(self, expression):
        return self.chromium.evaluate(expression)

    def texts(self, selector):
        return self.get(f"Array.from(document.querySelectorAll('{selector}'), (one) => one.textContent)")

    def check_names(self):
        t.true("duet diff" in self.get("document.title"), self.get("document.title"))
        t.equal(self.get("document.querySelectorAll('img, script:not([type]) ~ script:not([type])').length"), 0, "elements of the trace")
        t.true(self.get("document.body.textContent.includes('<img src=x onerror=alert(1)>')"), "the name as text")
        t.equal(self.get("performance.getEntriesByType('resource').length"), 0, "resources")
        t.equal(self.get("document.documentElement.scrollWidth > innerWidth"), False, "nothing hangs out")


def check_diff(chromium):
    with t.case("diff: the rows and the bars add up"):
        page = Page(chromium, make_diff(), "duetDiff")
        for device in (-1, 0, 1):
            page.get(f"duetDiff.page.choose({device})")
            sums = page.get("duetDiff.page.sums()")
            t.true(sums["isExact"], f"device {device}: rows")
            steps = page.get("duetDiff.page.steps")
            t.equal(sum(step["change"] for step in steps), sums["change"], f"device {device}: bars")
            t.true(all(a["to"] == b["from"] for a, b in zip(steps[:-1], steps[1:-1])), f"device {device}: {steps}")
            t.equal(steps[-1]["to"], sums["base"] + sums["change"], f"device {device}: the end")
        t.equal(page.get("[duetDiff.data.account.exact, document.getElementById('notice').hidden]"), [True, True], "no notice")
        t.equal(chromium.problems(), [], "problems")

    with t.case("diff: sides, verdict, tabs, intervals and matches are shown"):
        page = Page(chromium, make_diff(), "duetDiff")
        t.equal(page.texts(".side b"), ["BASE", "NEW"], "sides")
        t.equal(page.texts("#verdict .verdict"), [page.get("duetDiff.data.verdict")], "verdict")
        t.equal(len(page.texts(".reasons li")), 3, "reasons")
        t.equal(len(page.texts("#tabs button")), 3, "tabs")
        proofs = set(page.texts(".account .proof"))
        t.true({"proved", "within these runs"} & proofs, f"proof in words: {proofs}")
        t.true(page.get("document.querySelectorAll('.bar-line').length > 0"), "intervals")
        t.true({"new", "gone"} & set(page.texts(".account .tag")) or "renamed" in page.texts(".account .tag"), f"{set(page.texts('.account .tag'))}")
        page.get("document.querySelectorAll('#tabs button')[1].click()")
        t.equal(page.get("duetDiff.page.device"), 0, "the tab")
        t.true("device 1" not in page.texts(".account .tag"), "rows of one device")

    with t.case("diff: sorting and filtering"):
        page = Page(chromium, make_diff(), "duetDiff")
        page.get("document.querySelector('.account th button').click()")
        t.equal(page.texts(".account th[aria-sort]"), ["name"], "the column")
        names = [name.lower() for name in page.texts(".account tr.group td:first-child")]
        t.equal(names, sorted(names), "groups by name")
        chromium.key("/")
        chromium.type("gemm")
        t.true(chromium.wait("document.querySelectorAll('.account tr.row').length === 2"), "gemm of two devices")
        t.equal(page.texts(".account tr.total td:first-child"), ["2 rows shown", "wall time: the sum of all rows"], "sums")
        chromium.key("Escape")
        t.true(page.get("document.querySelectorAll('.account tr.row').length > 4"), "all rows")
        t.equal(chromium.problems(), [], "problems")

    with t.case("diff: names are text, also in a narrow dark page"):
        page = Page(chromium, make_diff("--per", "iteration"), "duetDiff")
        page.check_names()
        chromium.key("t")
        t.equal(page.get("document.documentElement.dataset.theme"), "dark", "t")
        t.equal(chromium.problems(), [], "problems")

    with t.case("diff: a refused comparison has notes and no numbers"):
        page = t.path("refused.html")
        result = run([DUET, "diff", "--html", page, make_side("base.duet", 0), make_side("one.duet", 0, devices=1)])
        t.equal(result.status, 3, text(result.stderr))
        page = Page(chromium, page, "duetDiff")
        t.equal(page.get("[document.querySelectorAll('.notes .refusal').length > 0, document.querySelectorAll('.account').length]"), [True, 0], "notes")
        t.equal(chromium.problems(), [], "problems")


def make_history():
    page = t.path("history.html")
    runs = [series_scene.make_run(t, number, hostile=True) for number in range(series_scene.RUNS)]
    result = run([DUET, "diff", "--series", "--html", page, *runs])
    t.equal(result.status, 0, text(result.stderr))
    return page


def check_series(chromium, path):
    with t.case("series: a chart for each line, with its changes"):
        page = Page(chromium, path, "duetSeries")
        titles = page.texts(".chart h3")
        t.true("wall time" in titles and "gemm" in titles and "sum_rows" in titles, f"{titles}")
        t.true(any(found.startswith("gemm: ") and "from run12.duet" in found for found in page.texts("#found li")), f"{page.texts('#found li')}")
        t.true(chromium.wait("document.querySelectorAll('.chart .step.up').length > 0"), "the step is drawn")
        t.true(any("was reduce_v1; renamed" in note for note in page.texts(".chart li")), "the new name")
        gap = page.get("Array.from(document.querySelectorAll('.chart')).find((one) => one.querySelector('h3').textContent.includes('<img'))"
                       ".querySelectorAll('.curve').length")
        t.equal(gap, 2, "a gap parts the curve")
        t.equal(chromium.problems(), [], "problems")

    with t.case("series: the pointer and the arrows show file, date and value"):
        page = Page(chromium, path, "duetSeries")
        chromium.wait("document.querySelectorAll('.chart svg').length > 2")
        x, y = page.get("(() => { const box = document.querySelector('.chart .frame').getBoundingClientRect(); return [box.right - 8, box.top + 40]; })()")
        chromium.mouse("mouseMoved", x, y)
        t.true(chromium.wait("!document.getElementById('tip').hidden"), "the tip")
        tip = page.texts("#tip *")
        t.true(tip[0].endswith("ms") and tip[1].endswith("run17.duet") and tip[2] == "no date", f"{tip}")
        page.get("document.querySelector('.chart .frame').focus()")
        chromium.key("ArrowLeft")
        t.true("run16.duet" in page.get("document.getElementById('status').textContent"), "the recording before")
        t.equal(chromium.problems(), [], "problems")

    with t.case("series: order, filter, names"):
        page = Page(chromium, path, "duetSeries")
        chromium.key("/")
        chromium.type("gemm")
        t.true(chromium.wait("document.querySelectorAll('.chart').length === 1"), "the filter")
        chromium.key("Escape")
        page.get("(() => { const order = document.getElementById('order'); order.value = 'change'; order.dispatchEvent(new Event('change')); })()")
        t.equal(page.texts(".chart h3")[0] in ("wall time", "busy time of the devices", "iteration (median)"), True, "changes first")
        page.check_names()
        t.equal(chromium.problems(), [], "problems")


def main():
    if not browser.find():
        print("1..0 # SKIP chromium is not installed")
        return
    with browser.Browser(t.folder) as chromium:
        check_diff(chromium)
        check_series(chromium, make_history())
    t.end()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of duet flamescope in a browser: mouse and keyboard. Needs Chromium."""
import os
import sys

import browser
import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)
MAKE_TRACE = os.path.join(duet_test.BUILD, "tests", "unit", "analyze", "make_trace")
MS = 1000000
HOSTILE = "%3c/script%3e%3cscript%3edocument.title=%22hit%22%3c/script%3e%3cimg%20src=x%20onerror=alert(1)%3e"


def make_page(view="gpu"):
    """Four seconds; in each its own function, and every 100 ms one command of 10 ms."""
    lines = [f"window 0 {4000 * MS} command={HOSTILE}", f"device 1 {HOSTILE}", f"process 1 1001 {HOSTILE}", "thread 1 1", "queue 1 1"]
    for second in range(4):
        name = HOSTILE if second == 3 else f"second{second}"
        lines += [f"frame {second + 1} python {name} file=a.py line=1 first=1", f"stack {second + 1} {second + 1}"]
    for number in range(40):
        now = number * 100 * MS + MS
        lines += [f"launch {number + 1} 1 1 {now - 1000} {now - 500} kernel name=heat stack={number // 10 + 1}",
                  f"execution 1 {number + 1} 1 {now - 400} {now - 300} {now} {now + 10 * MS}"]
    trace, page = t.path("browser.duet"), t.path("browser.html")
    made = run([MAKE_TRACE, "-", trace], stdin="\n".join(lines).encode())
    t.equal(made.status, 0, text(made.stderr))
    drawn = run([DUET, "flamescope", "--row", "20", "--view", view, "-o", page, trace])
    t.equal(drawn.status, 0, text(drawn.stderr))
    return page


class Page:
    def __init__(self, chromium, path):
        self.chromium = chromium
        chromium.dark(False)
        chromium.open(f"file://{path}")
        if not chromium.wait("window.duetScope !== undefined", 30):
            raise AssertionError("the page did not start: " + str(self.get("document.body.innerText"))[:300])

    def get(self, expression):
        return self.chromium.evaluate(expression)

    def place(self, cell):
        return [self.get("document.getElementById('map').getBoundingClientRect()." + axis + " + duetScope.map.placeOf("
                         f"{cell})." + axis) + 2 for axis in "xy"]

    def pick(self, cell):
        self.chromium.click(*self.place(cell))

    def range(self):
        return self.get("document.getElementById('range').textContent")

    def functions(self):
        """Names in the first row of the graph."""
        return sorted(self.get("Array.from(duetScope.root.children.values(), (node) => node.text)"))


def check(chromium):
    with t.case("two clicks select a range, and its flame graph is below"):
        page = Page(chromium, make_page())
        t.true("Whole map: 0 s to 4 s" in page.range() and "400,000,000 ns" in page.range(), page.range())
        t.equal(len(page.functions()), 4, "functions of the whole map")
        page.pick(50)
        t.true("now the other end" in page.range(), page.range())
        page.pick(149)
        t.equal(page.range(), "1 s to 3 s \u00b7 200,000,000 ns \u00b7 50.0 % of all", "two seconds")
        t.equal(page.functions(), ["second1 (a.py:1)", "second2 (a.py:1)"], "functions of two seconds")
        page.pick(5)
        page.pick(5)
        t.equal(page.range(), "0.1 s to 0.12 s \u00b7 10,000,000 ns \u00b7 2.5 % of all", "one cell")
        page.pick(149)
        page.pick(100)
        t.true(page.range().startswith("2 s to 3 s"), "the other way round: " + page.range())
        page.get("document.getElementById('all').click()")
        t.true("Whole map" in page.range(), page.range())
        t.equal(chromium.problems(), [], "problems")

    with t.case("the pointer shows the exact value of a cell"):
        page = Page(chromium, make_page())
        chromium.mouse("mouseMoved", *page.place(105))
        chromium.wait("!document.getElementById('tip').hidden")
        t.equal(page.get("Array.from(document.getElementById('tip').children, (line) => line.textContent)"),
                ["2.1 s to 2.12 s", "10,000,000 ns", "2.5 % of all", "100.0 % of the fullest cell"], "tip")
        legend = page.get("document.getElementById('legend').textContent")
        for part in ("busy time of the devices", "cell 20.00 ms, column 1.000 s", "10.00 ms in a cell", "all: 400,000,000 ns"):
            t.true(part in legend, f"{part} in {legend}")

    with t.case("a short map is as wide as the page has room, up to 240 px a column"):
        page = Page(chromium, make_page())
        t.equal(page.get("[duetScope.map.columns, duetScope.map.cellWidth]"), [4, 240], "four seconds")
        chromium.resize(700, 700)
        chromium.wait("duetScope.map.cellWidth < 240")
        t.true(page.get("duetScope.map.cellWidth > 100 && duetScope.map.width <= 700"), "a narrow page")
        chromium.resize(1300, 700)

    with t.case("a Python function's box says where it is defined"):
        page = Page(chromium, make_page())
        x, y = page.get("(() => { const box = duetScope.flame.boxes.find((one) => one.node.text === 'second1 (a.py:1)'),"
                        " rect = duetScope.flame.canvas.getBoundingClientRect();"
                        " return [rect.x + box.x + 3, rect.y + duetScope.flame.topOf(box.depth) + 4]; })()")
        chromium.mouse("mouseMoved", x, y)
        chromium.wait("!document.getElementById('tip').hidden")
        t.equal(page.get("document.getElementById('tip').lastChild.textContent"), "defined at a.py:1", "the tip")

    with t.case("keys"):
        page = Page(chromium, make_page())
        page.get("document.getElementById('map').focus()")
        chromium.key("ArrowRight")
        t.equal(page.get("duetScope.map.cursor"), 0, "the first key shows where it is")
        for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
            chromium.key(key)
        t.equal(page.get("duetScope.map.cursor"), 101, "two columns and a cell")
        t.true("2.02 s to 2.04 s" in page.get("document.getElementById('status').textContent"), "it is said")
        chromium.key("Enter")
        chromium.key("End")
        chromium.key("Enter")
        t.true(page.range().startswith("2.02 s to 4 s"), page.range())
        chromium.key("Escape")
        t.true("Whole map" in page.range(), page.range())

    with t.case("o turns the graph, for all ranges"):
        page = Page(chromium, make_page())
        tops = "[duetScope.flame.topOf(0), duetScope.flame.topOf(1)]"
        t.true(page.get(f"{tops}[0] > {tops}[1]"), "the root is at the bottom")
        chromium.key("o")
        t.equal(page.get(tops), [0, 17], "the root is on top")
        page.get("duetScope.pick(3); duetScope.pick(90)")
        t.equal(page.get(tops), [0, 17], "of another range too")
        chromium.key("o")
        t.true(page.get(f"{tops}[0] > {tops}[1]"), "back")

    with t.case("search: what matches, its share, the largest first"):
        page = Page(chromium, make_page())
        chromium.key("/")
        chromium.type("SECOND1")
        t.true(chromium.wait("document.getElementById('hits').textContent === '25.0 %'"), "its share")
        chromium.key("Enter")
        t.equal(page.get("duetScope.flame.cursor.text"), "second1 (a.py:1)", "the match")
        chromium.key("Escape")
        t.equal(page.get("[duetScope.search, document.getElementById('hits').textContent]"), [None, ""], "no search")
        chromium.key("/")
        chromium.type("second")
        chromium.wait("document.getElementById('hits').title.startsWith('3 boxes')")
        found = []
        page.get("document.getElementById('map').focus()")
        for key in ("n", "n", "n", "n", "N"):
            chromium.key(key)
            found.append(page.get("duetScope.flame.cursor.text"))
        t.equal((len(set(found[:3])), found[3], found[4]), (3, found[0], found[2]), f"round: {found}")
        chromium.key("Escape")
        t.equal(chromium.problems(), [], "problems")

    with t.case("help, and the causes of idle time in their colours"):
        page = Page(chromium, make_page("idle"))
        chromium.key("?")
        t.true("Keys and mouse" in page.get("document.getElementById('help').innerText"), "help")
        chromium.key("Escape")
        t.true(page.get("document.getElementById('help').hidden"), "closed")
        legend = page.get("Array.from(document.querySelectorAll('.flame-box .legend'), (one) => one.textContent)")
        t.true("idle: nothing to do" in legend and len(legend) > 2, f"{legend}")
        colours = page.get("duetScope.model.head.causes.map((name) => duetScope.colours.cause(name).fill)")
        t.equal(len(set(colours)), len(colours), "each cause has its own")
        t.equal(colours, page.get("duetScope.model.head.cause_colours.filter((_, i) => i % 2 === 0)"), "those of the file")

    with t.case("dark and light, narrow and wide"):
        page = Page(chromium, make_page())
        chromium.key("t")
        t.equal(page.get("document.documentElement.dataset.theme"), "dark", "t")
        t.true(page.get("duetScope.colours.theme.isDark"), "drawn so")
        chromium.resize(700, 500)
        t.true(chromium.wait("duetScope.map.width <= 700"), "a narrow map")
        chromium.resize(1300, 700)
        t.equal(page.get("document.documentElement.scrollWidth > innerWidth"), False, "nothing hangs out")
        t.equal(chromium.problems(), [], "problems")

    with t.case("names are shown as text, and no network request is made"):
        page = Page(chromium, make_page())
        t.true(page.get("document.title").endswith("- duet flamescope"), page.get("document.title"))
        t.equal(page.get("document.querySelectorAll('img').length"), 0, "elements of the trace")
        t.true("<img src=x onerror=alert(1)>" in page.get("document.getElementById('title').textContent"), "title")
        t.true(any("<img" in name for name in page.functions()), "functions")
        t.equal(page.get("performance.getEntriesByType('resource').length"), 0, "resources")
        t.equal(chromium.problems(), [], "problems")


def main():
    if not browser.find():
        print("1..0 # SKIP chromium is not installed")
        return
    with browser.Browser(t.folder) as chromium:
        check(chromium)
    t.end()


if __name__ == "__main__":
    sys.exit(main())

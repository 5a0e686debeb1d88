# SPDX-License-Identifier: MIT
"""Flame graphs in a browser: mouse, keyboard, and names that contain markup.

Needs Chromium (packages-test.debian); tests/e2e/make_flame.c draws the graphs.
"""
import os
import re
import subprocess
import sys
import time
import xml.dom.minidom

import browser
import duet_test

MAKE = os.environ.get("DUET_MAKE_FLAME") or os.path.join(duet_test.BUILD, "tests", "e2e", "make_flame")

# What a page may do with what it finds; the tests read it with evaluate().
HELPERS = r"""
function box(name) {
    for (const g of document.querySelectorAll("#frames>g")) {
        const text = g.querySelector("text");
        if (!g.hasAttribute("display") && text && text.textContent === name) return g;
    }
    return null;
}
function place(name) {
    const r = box(name).querySelector("rect").getBoundingClientRect();
    return [r.x, r.y, r.width, r.height];
}
function shown() {
    return Array.from(document.querySelectorAll("#frames>g:not([display])>text"),
                      (t) => t.textContent).filter((t) => t);
}
function text(selector) {
    return Array.from(document.querySelectorAll(selector), (t) => t.textContent).join("|");
}
function tip() {
    return document.querySelector(".tip").hasAttribute("display") ? null : text(".tip text");
}
function status() { return text("text[role=status]"); }
function crumbs() { return text("#trail text"); }
function ring() { return !document.querySelector(".ring").hasAttribute("display"); }
"""

# main is 100: a;a 30, b 50, c;a 20; c's other children are too narrow to be drawn
SIMPLE = [("h:main h:a k:a", 30_000_000), ("h:main G:b", 50_000_000), ("h:main p:c h:a", 20_000_000 - 500)]
SIMPLE += [(f"h:main p:c h:narrow{i}", 1) for i in range(500)]

HOSTILE = ["</title></svg><script>window.hacked=1;alert(1)</script>", "]]><script>window.hacked=2</script>",
           "\"' onload=\"window.hacked=3\" x='", "<img src=x onerror=window.hacked=4>", "__proto__",
           "constructor", "hasOwnProperty", "a\\x0ab\\x1b[31m", "\\xff\\xfe\\xc0\\x80", "\u202egnp.exe",
           "&lt;script&gt;", "javascript:window.hacked=5", "K" * 10240, "\u6f22\u5b57" * 40]


def make(path, stacks, *options):
    """Draws stacks of (frames with a space between, value), or of (list of frames, value)."""
    lines = []
    for frames, value in stacks:
        frames = frames.split(" ") if isinstance(frames, str) else frames
        lines.append("\t".join([*frames, str(value)]))
    done = subprocess.run([MAKE, *options], input="\n".join(lines).encode() + b"\n",
                          stdout=subprocess.PIPE, check=True)
    with open(path, "wb") as file:
        file.write(done.stdout)
    return "file://" + path


class Page:
    """One page, with the helpers in it."""

    def __init__(self, suite, chromium):
        self.suite, self.chromium = suite, chromium

    def open(self, url):
        self.chromium.resize(1300, 700)
        self.chromium.dark(False)
        self.chromium.open(url)
        self.chromium.evaluate(HELPERS)

    def get(self, expression):
        return self.chromium.evaluate(expression)

    def click(self, name):
        x, y, width, height = self.get(f"place({name!r})")
        self.chromium.click(x + width / 2, y + height / 2)

    def hover(self, name):
        x, y, width, height = self.get(f"place({name!r})")
        self.chromium.mouse("mouseMoved", x + width / 2, y + height / 2)
        return self.get("tip()")

    def search(self, pattern):
        self.chromium.key("/")
        self.get("document.querySelector('input').value = ''")
        self.chromium.type(pattern)
        self.chromium.key("Enter")


def rgb(colour):
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


def luminance(colour):
    parts = [c / 255 for c in rgb(colour)]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    one, other = luminance(one), luminance(other)
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_mouse(t, page, url):
    with t.case("click zooms, the trail leads back"):
        page.open(url)
        t.equal(page.get("crumbs()"), "all: 100.0 ms (100,000,000 ns)", "the trail at first")
        page.click("main")
        page.click("c")
        t.equal(page.get("shown()"), ["all", "main", "c", "a"], "boxes of the zoomed frame")
        t.equal(page.get("place('c')")[2] > 1200, True, "c is as wide as the page")
        t.equal(page.get("crumbs()"), "all|\u203a|main|\u203a|c|: 20.00 ms, 20.00 %", "the trail")
        page.chromium.click(*page.get("(() => { const r = document.querySelectorAll('.crumb')[1]"
                                      ".getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()"))
        t.equal(page.get("shown()"), ["all", "main", "a", "a", "b", "c", "a"], "back at main")
        page.click("all")
        t.equal(page.get("location.hash"), "", "everything has no fragment")
        t.equal(page.chromium.problems(), [], "problems")

    with t.case("the browser's Back and Escape undo a zoom"):
        page.open(url)
        page.click("main")
        page.click("c")
        inner = page.get("location.hash")
        page.get("history.back()")
        t.true(page.chromium.wait("crumbs().startsWith('all|\u203a|main|:')"), "Back is at main")
        page.get("history.forward()")
        t.true(page.chromium.wait(f"location.hash === {inner!r} && box('b') === null"), "Forward")
        page.chromium.key("Escape")
        t.equal(page.get("box('b') !== null"), True, "Escape is at main")
        page.chromium.key("Escape")
        t.equal(page.get("crumbs().startsWith('all: ')"), True, "Escape is at all")


def test_tooltip(t, page, url, folder):
    with t.case("tooltip: value, shares, what is not drawn"):
        page.open(url)
        t.equal(page.hover("b"), "b|device frame: 50.00 ms (50,000,000 ns)|"
                "50.00 % of its parent, 50.00 % of the total", "b")
        t.equal(page.hover("c"), "c|Python frame: 20.00 ms (20,000,000 ns)|"
                "20.00 % of its parent, 20.00 % of the total|"
                "not drawn: 500 narrower children, 500 ns, < 0.01 % of this", "c")
        t.equal(page.get("document.querySelectorAll('#frames title').length"), 0, "native tooltips")

    with t.case("tooltip: where a Python function is defined"):
        page.open(make(os.path.join(folder, "python.svg"), [(["p:step (train.py:55)", "h:run (a.c:7)"], 3)]))
        t.true(page.hover("step (train.py:55)").endswith("|defined at train.py:55"), "of its box")
        t.true("defined" not in page.hover("run (a.c:7)"), "not of others")

    with t.case("tooltip: what a stall reason means, by whole words"):
        words = " ".join(f"word{i}" for i in range(60))
        page.open(make(os.path.join(folder, "stall.svg"), [("g:send w:sbid g:0x40", 3), ("g:sync w:send", 1)],
                       "--note", f"sbid={words} <b>&amp;</b>", "--note", "sync=not drawn: word"))
        shown = page.hover("sbid").split("|")
        t.equal(shown[:3], ["sbid", "stall reason frame: 3 samples", "100.00 % of its parent, 75.00 % of the total"],
                "as others")
        t.equal(" ".join(shown[3:]), f"{words} <b>&amp;</b>", "the whole note")
        t.true(len(shown) > 5 and all(" " in line and not line.startswith(" ") for line in shown[3:]), f"lines: {shown}")
        t.true(all("word" not in page.hover(name) for name in ("sync", "0x40")), "others have none")
        t.equal(page.get("document.querySelectorAll('#notes desc').length"), 1, "notes in the file")

    with t.case("values are exact up to 2^64 - 1"):
        page.open(make(os.path.join(folder, "large.svg"), [("h:a h:b", 2 ** 64 - 3), ("h:a", 2)],
                       "--unit", "ns"))
        t.true("(18,446,744,073,709,551,613 ns)" in page.hover("b"), "b")
        t.true("itself: 2 ns" in page.hover("a"), "what is a's own: " + page.hover("a"))


def test_search(t, page, url):
    with t.case("search: each stack once, of what is shown"):
        page.open(url)
        page.search("^a")
        t.equal(page.get("status()"),
                "matched 50.00 %, 50.00 ms (49,999,500 ns); not drawn < 0.01 %", "all")
        t.equal(page.get("document.querySelectorAll('#frames rect.m').length"), 3, "boxes marked")
        page.click("c")
        t.equal(page.get("status()"),
                "matched 99.99 %, 20.00 ms (19,999,500 ns); not drawn < 0.01 %", "c")
        page.search("a_\\[k\\]$")
        t.equal(page.get("status()"), "no match; not drawn < 0.01 %", "no kernel frame in c")
        page.chromium.key("Home")
        t.true(page.get("status()").startswith("matched 30.00 %, 30.00 ms"), "the kernel frame")

    with t.case("search: case, and back to none"):
        page.open(url)
        page.search("MAIN")
        t.true(page.get("status()").startswith("no match"), "with case")
        page.chromium.key("i")
        t.true(page.get("status()").startswith("matched 100.00 %"), "without case")
        t.equal(page.get("location.hash"), "#s=MAIN&i=1", "fragment")
        page.chromium.key("r")
        t.equal(page.get("[status(), location.hash, document.querySelector('input').value]"),
                ["", "", ""], "reset")

    with t.case("search: a bad expression is shown as such"):
        page.open(url)
        page.search("a(")
        t.true(page.get("status()").startswith("bad expression: "), page.get("status()"))
        t.equal(page.get("document.querySelector('input').getAttribute('aria-invalid')"), "true", "marked")
        t.equal(page.get("document.querySelectorAll('#frames rect.m').length"), 0, "nothing marked")
        page.search("a")
        t.true(page.get("status()").startswith("matched "), "a good one again")
        t.equal(page.chromium.problems(), [], "problems")


def test_state(t, page, url, folder):
    with t.case("the fragment restores zoom and search, in a graph made anew too"):
        page.open(url)
        page.click("main")
        page.click("c")
        page.search("a|b %&#+")
        fragment = page.get("location.hash")
        t.true(re.fullmatch(r"#z=\w+\.\w+&s=a%7Cb%20%25%26%23%2B", fragment), fragment)
        state = "[shown(), crumbs(), status(), document.querySelector('input').value]"
        before = page.get(state)
        page.open(url + fragment)
        t.equal(page.get(state), before, "the same page")
        other = make(os.path.join(folder, "other.svg"), SIMPLE + [("h:main h:more", 70_000_000)],
                     "--unit", "ns")
        page.open(other + fragment)
        t.equal(page.get("shown()"), before[0], "another graph")

    with t.case("fragments and queries of others do no harm"):
        for tail in ("#z=nonsense.1&s=%E0%A4%A", "#z=&s=&i=", "#s=(", "#__proto__=1&constructor=2",
                     "?x=1&y=2&s=^b$"):
            page.open(url + tail)
            t.true("all" in page.get("shown()"), tail)
            t.equal(page.chromium.problems(), [], tail)
        t.true(page.get("status()").startswith("matched 50.00 %"), "flamegraph.pl's ?s=")


def test_keyboard(t, page, url, folder):
    with t.case("keyboard: move, zoom, back"):
        page.open(url)
        focused = "document.activeElement.getAttribute('aria-label').split(',')[0]"
        for key, name in (("ArrowUp", "all"), ("ArrowUp", "main"), ("ArrowUp", "b"), ("ArrowLeft", "a"),
                          ("ArrowRight", "b"), ("ArrowRight", "c"), ("ArrowUp", "a"),
                          ("ArrowUp", "a"), ("ArrowDown", "c")):
            page.chromium.key(key)
            t.equal(page.get(focused), name, key)
        t.equal(page.get("ring()"), True, "the focus is visible")
        t.true(page.get("tip()").startswith("c|Python frame"), "its tooltip")
        page.chromium.key("Enter")
        t.equal(page.get("box('b')"), None, "zoomed")
        page.chromium.key("Escape")
        t.equal(page.get("box('b') !== null"), True, "back")
        t.equal(page.get("document.querySelectorAll('#frames [tabindex=\"0\"]').length"), 1, "one stop for Tab")

    with t.case("keyboard: search, help, Tab"):
        page.open(url)
        page.chromium.key("f", control=True)
        t.equal(page.get("document.activeElement.localName"), "input", "Ctrl-F")
        page.chromium.type("b")
        page.chromium.key("Enter")
        page.chromium.key("n")
        t.equal(page.get("document.activeElement.getAttribute('aria-label').charAt(0)"), "b", "next match")
        page.chromium.key("?")
        t.true("search by regular expression" in page.get("text('.help text')"), "help")
        page.chromium.key("Escape")
        t.equal(page.get("document.querySelector('.help').hasAttribute('display')"), True, "closed")
        names = []
        for _ in range(6):
            page.chromium.key("Tab")
            names.append(page.get("(document.activeElement || document.body || {}).localName"))
        t.true("button" in names and "input" in names, f"Tab goes to the controls: {names}")

    with t.case("an icicle goes the other way"):
        page.open(make(os.path.join(folder, "icicle.svg"), SIMPLE, "--icicle"))
        page.chromium.key("ArrowDown")
        page.chromium.key("ArrowDown")
        t.true(page.get("document.activeElement.getAttribute('aria-label').startsWith('main')"), "down is inner")
        t.true(page.get("place('all')[1] < place('main')[1]"), "the root is at the top")

    with t.case("o turns the graph, and the link keeps that"):
        page.open(url)
        places = page.get("[place('all')[1], place('main')[1]]")
        t.true(places[0] > places[1], f"the root is at the bottom: {places}")
        page.chromium.key("o")
        t.true(page.get("place('all')[1] < place('main')[1]"), "the root is on top")
        t.equal(page.get("document.querySelector('[aria-label=\"Root on top\"]').getAttribute('aria-pressed')"), "true", "pressed")
        t.equal(page.get("Array.from(document.querySelectorAll('#frames>g')).filter((g) => { const x = g.querySelector('text');"
                         " return x && x.textContent && Number(x.getAttribute('y')) - Number(g.querySelector('rect').getAttribute('y'))"
                         " !== 12; }).length"), 0, "labels go with their boxes")
        page.chromium.key("ArrowDown")
        page.chromium.key("ArrowDown")
        t.true(page.get("document.activeElement.getAttribute('aria-label').startsWith('main')"), "down is inner")
        page.chromium.key("Enter")
        t.true(page.get("place('main')[1] < place('b')[1]"), "a zoomed graph too")
        t.true("o=1" in page.get("location.hash"), "in the link")
        page.open(url + "#o=1")
        t.true(page.get("place('all')[1] < place('main')[1]"), "from the link")
        page.get("document.querySelector('[aria-label=\"Root on top\"]').click()")
        t.equal(page.get("[place('all')[1], place('main')[1]]"), places, "back by the button")
        t.equal(page.chromium.problems(), [], "problems")


def check_fit(t, page, width, height):
    page.chromium.resize(width, height)
    time.sleep(0.3)
    t.equal(page.get("[document.documentElement.getBoundingClientRect().width,"
                     " Math.round(document.documentElement.getBoundingClientRect().height)]"),
            [width, height], f"the page at {width} x {height}")
    t.equal(page.get("Array.from(document.querySelectorAll('#frames>g:not([display])')).filter((g) => {"
                     " const x = g.querySelector('text'), r = g.querySelector('rect').getBoundingClientRect();"
                     " return x && x.textContent && x.getBoundingClientRect().right > r.right + 1; }).length"),
            0, f"text wider than its box at {width} x {height}")


def test_missing(t, page, folder):
    with t.case("missing data is shown in the legend, in tooltips, and without scripts"):
        meaning = "stands for frames that are not known, or were left out of a very deep stack"
        path = os.path.join(folder, "missing.svg")
        page.open(make(path, [("h:main t:[truncated] h:leaf", 30), ("h:main p:whole", 60)]))
        t.true("truncated (frames missing)" in page.get("text('#legend text')"), page.get("text('#legend text')"))
        t.equal(page.hover("[truncated]").split("|")[:2], ["[truncated]", meaning], "its details")
        t.true(meaning not in page.hover("whole") and meaning not in page.hover("all"), "others are whole")
        with open(path, encoding="utf-8") as file:
            t.equal(file.read().count(f" of the total; {meaning}</title>"), 1, "of one box alone")
        page.search("truncated")
        t.true(page.get("status()").startswith("matched 33.33 %"), page.get("status()"))


def test_looks(t, page, url, folder):
    with t.case("light and dark, with contrast"):
        page.open(url)
        pages = []
        for is_dark in (False, True):
            page.chromium.dark(is_dark)
            colours = page.get(
                "Array.from(document.querySelectorAll('#frames>g')).filter((g) => g.querySelector('text'))"
                ".map((g) => [getComputedStyle(g.querySelector('rect')).fill,"
                " getComputedStyle(g.querySelector('text')).fill])")
            back = page.get("getComputedStyle(document.querySelector('.page')).fill")
            pages.append(back)
            for fill, ink in colours:
                t.true(contrast(fill, ink) >= 4.5, f"{ink} on {fill}")
            for selector in ("text.title", "#trail text", "#legend text"):
                ink = page.get(f"getComputedStyle(document.querySelector('{selector}')).fill")
                t.true(contrast(back, ink) >= 4.5, f"{selector}: {ink} on {back}")
        t.true(luminance(pages[0]) > 0.9 and luminance(pages[1]) < 0.05, f"pages {pages}")

    with t.case("windows of all sizes, graphs of all depths"):
        page.open(url)
        for size in ((1600, 900), (600, 400), (330, 300)):
            check_fit(t, page, *size)
        deep = [f"p:f{i % 7} (x.py:{i})" for i in range(512)]
        page.open(make(os.path.join(folder, "deep.svg"), [(deep, 9), (["h:main"], 5)]))
        check_fit(t, page, 1300, 700)
        y = page.get("place('all')[1]")
        t.true(600 < y < 700, f"the root is at the bottom: {y}")
        page.chromium.key("PageUp")
        t.true(page.get("place('all')[1]") > 700, "scrolled by keys")
        page.chromium.mouse("mouseWheel", 600, 400, deltaX=0, deltaY=5000)
        t.true(page.chromium.wait(f"place('all')[1] === {y}", 3), "scrolled by the wheel")
        for _ in range(513):
            page.chromium.key("ArrowUp")
        t.true(page.get("document.activeElement.getAttribute('aria-label').startsWith('f0 (x.py:511)')"), "the top")
        inside = page.get("document.activeElement.querySelector('rect').getBoundingClientRect().y")
        t.true(0 < inside < 700, f"which is shown: {inside}")

    with t.case("nothing recorded"):
        page.open(make(os.path.join(folder, "empty.svg"), []))
        t.true("Nothing was recorded." in page.get("document.documentElement.textContent"), "said so")
        for key in ("ArrowUp", "Enter", "Home", "n", "Escape"):
            page.chromium.key(key)
        page.search("x")
        t.equal(page.chromium.problems(), [], "problems")


def test_hostile(t, page, folder):
    path = os.path.join(folder, "hostile.svg")
    stacks = [(["h:main"] + ["h:" + name for name in HOSTILE], 5000)]
    stacks += [(["h:main", "h:" + name, "G:leaf"], 300) for name in HOSTILE]
    url = make(path, stacks, "--title", HOSTILE[0], "--subtitle", HOSTILE[1], "--warning", HOSTILE[3],
               "--unit", HOSTILE[2])
    with t.case("names are text: nothing of them runs"):
        page.open(url)
        page.search("__proto__|constructor|script")
        for _ in range(3):
            page.chromium.key("n")
            page.chromium.key("Enter")
        page.chromium.key("Home")
        for _ in range(len(HOSTILE) + 2):
            page.chromium.key("ArrowUp")
        page.click("main")
        t.equal(page.get("window.hacked"), None, "a global was set")
        t.equal(page.chromium.problems(), [], "problems")
        t.equal(page.get("document.querySelectorAll('script,img,iframe').length"), 1, "elements")
        t.equal(page.get("({}).hacked === undefined && Object.keys(Object.prototype).length"), 0, "prototypes")
        t.equal(page.get("performance.getEntriesByType('resource').length"), 0, "requests")
        names = page.get("shown()")
        for name in ("__proto__", "constructor", "a\\x0ab\\x1b[31m", "\\xff\\xfe\\xc0\\x80", "\\u202egnp.exe",
                     "&lt;script&gt;", "<img src=x onerror=window.hacked=4>"):
            t.true(name in names, f"{name} is shown")

    with t.case("a long name is short in its box and whole in its tooltip"):
        page.open(url)
        page.chromium.resize(1300, 2600)
        time.sleep(0.3)
        label = next(name for name in page.get("shown()") if name.startswith("KKK"))
        t.true(len(label) < 200 and label.endswith("\u2026"), f"{len(label)} characters")
        t.equal(page.hover(label).split("|os")[0].split("|host")[0].replace("|", ""), "K" * 10240, "tooltip")

    with t.case("the file is XML whatever the names are"):
        document = xml.dom.minidom.parse(path)
        t.equal(len(document.getElementsByTagName("script")), 1, "scripts")
        t.true(not re.search(r"(href|src)\s*=", re.sub(r"(?s)<title>.*?</title>|<text.*?</text>|<script.*", "",
                                                       open(path, encoding="utf-8").read())), "references")

    with t.case("without scripts: labels are cut to their boxes, titles tell the rest"):
        page.chromium.scripts(False)
        try:
            page.open(url)
        except AssertionError:
            pass
        finally:
            page.chromium.scripts(True)
        page.get(HELPERS)
        t.equal(page.get("document.querySelectorAll('#frames title').length > 20"), True, "titles")
        check_static = ("Array.from(document.querySelectorAll('#frames>g')).filter((g) => {"
                        " const x = g.querySelector('text');"
                        " return x && x.getBoundingClientRect().right >"
                        " g.querySelector('rect').getBoundingClientRect().right + 4; }).map((g) => g.textContent)")
        t.equal(page.get(check_static), [], "labels wider than their boxes")


def write_lines(path, stacks):
    with open(path, "w") as file:
        file.writelines("\t".join([*frames.split(" "), str(value)]) + "\n" for frames, value in stacks)
    return path


# Of main's 48 ms in BASE, 7 ms are gone and 10 ms are new: d is missing, e is there. deep makes the graph high.
NEW = [("h:main k:a", 30_000_000), ("h:main h:b", 5_000_000), ("h:main h:c", 7_000_000), ("h:main h:e", 10_000_000)]
BASE = [("h:main k:a", 10_000_000), ("h:main h:b", 20_000_000), ("h:main h:c", 7_000_000), ("h:main h:d", 7_000_000)]
DEEP = [("h:main " + " ".join(f"h:deep{i}" for i in range(60)), 4_000_000)]


def click_row(page, index):
    page.chromium.click(*page.get(f"(() => {{ const r = document.querySelectorAll('#changes .row .path')[{index}]"
                                  ".getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()"))


def test_changes(t, page, folder):
    base = write_lines(os.path.join(folder, "base.lines"), BASE)
    url = make(os.path.join(folder, "diff.svg"), NEW, "--unit", "ns", "--base", base)
    with t.case("changes: tooltips have both values"):
        page.open(url)
        t.equal(page.hover("a"), "a|OS kernel frame in NEW: 30.00 ms (30,000,000 ns)|"
                "BASE: 10.00 ms (10,000,000 ns); +20.00 ms (20,000,000 ns), +200.00 %|"
                "57.69 % of its parent, 57.69 % of the total", "grew")
        t.equal(page.hover("b").split("|")[2], "BASE: 20.00 ms (20,000,000 ns); \u221215.00 ms (15,000,000 ns), "
                "\u221275.00 %", "shrank")
        t.equal(page.hover("c").split("|")[2], "BASE: 7.000 ms (7,000,000 ns); unchanged", "equal")
        t.equal(page.hover("e").split("|")[2], "BASE: nothing; +10.00 ms (10,000,000 ns), new", "new")
        t.equal(page.hover("all").split("|")[1:3], ["NEW: 52.00 ms (52,000,000 ns)",
                "BASE: 44.00 ms (44,000,000 ns); +8.000 ms (8,000,000 ns), +18.18 %"], "the total")
        t.equal(page.chromium.problems(), [], "problems")

    with t.case("changes: colours by sign, in both modes readable"):
        page.open(url)
        colour = "(n) => getComputedStyle(box(n).querySelector('rect')).fill"
        for is_dark in (False, True):
            page.chromium.dark(is_dark)
            red, grey, blue = (rgb(page.get(f"({colour})('{name}')")) for name in ("a", "c", "b"))
            t.true(red[0] > 2 * red[2] and blue[2] > 2 * blue[0], f"red {red}, blue {blue}")
            t.equal(len(set(grey)), 1, f"grey {grey}")
        page.chromium.dark(False)

    with t.case("changes: a row leads to its box; search and zoom work"):
        page.open(url)
        t.equal(page.get("text('#changes .heading')"), "Grew, without callees: 1, +20.00 ms|"
                "Shrank, without callees: 1, \u221215.00 ms|Only in NEW, with callees: 1, +10.00 ms|"
                "Only in BASE, with callees: 1, \u22127.000 ms", "headings")
        t.equal(page.get("Array.from(document.querySelectorAll('#changes .row'), (r) => r.hasAttribute('role'))"),
                [True, True, True, False], "what is gone has no box")
        click_row(page, 1)
        t.equal(page.get("shown()"), ["all", "main", "b"], "zoomed to b")
        page.chromium.key("r", "r")
        page.search("^e$")
        t.equal(page.get("status()"), "matched 19.23 %, 10.00 ms (10,000,000 ns)", "search")
        t.equal(page.chromium.problems(), [], "problems")

    with t.case("changes: below a high graph, one key away"):
        page.open(make(os.path.join(folder, "deep.svg"), NEW + DEEP, "--unit", "ns", "--base", base))
        top = "document.querySelector('#changes .heading').getBoundingClientRect().top"
        bottom = page.get("place('all')[1]")
        t.true(bottom < 700 <= page.get(top), "the root at the bottom of the page, the lists below it")
        page.chromium.key("c", "c")
        t.true(page.get(top) < 700, "the lists are shown")
        page.chromium.key("c", "c")
        t.equal(page.get("place('all')[1]"), bottom, "and back")
        page.chromium.resize(420, 700)
        page.chromium.wait("document.documentElement.width.baseVal.value === 420")
        page.chromium.key("c", "c")
        wide = "Array.from(document.querySelectorAll('#changes text'))" \
               ".filter((e) => e.getAttribute('visibility') !== 'hidden' && e.getBoundingClientRect().right > 421)"
        t.equal(page.get(wide + ".map((e) => e.textContent)"), [], "rows fit a narrow page")

    with t.case("changes: the widths of BASE"):
        page.open(make(os.path.join(folder, "widths.svg"), NEW, "--unit", "ns", "--base", base, "--width-of-base"))
        t.equal(page.get("shown()"), ["all", "main", "a", "b", "c", "d"], "what is gone has a box, what is new has none")
        t.equal(page.hover("d").split("|")[1:3], ["host frame in BASE: 7.000 ms (7,000,000 ns)",
                "NEW: nothing; \u22127.000 ms (7,000,000 ns), only in BASE"], "its tooltip")


def main():
    if not browser.find():
        print("1..0 # SKIP chromium is not installed")
        return
    if not os.access(MAKE, os.X_OK):
        print(f"1..0 # SKIP {MAKE} was not built")
        return
    t = duet_test.Suite(needs_opencl=False)
    with browser.Browser(t.folder) as chromium:
        page = Page(t, chromium)
        url = make(t.path("simple.svg"), SIMPLE, "--unit", "ns", "--title", "simple")
        test_mouse(t, page, url)
        test_tooltip(t, page, url, t.folder)
        test_search(t, page, url)
        test_state(t, page, url, t.folder)
        test_keyboard(t, page, url, t.folder)
        test_missing(t, page, t.folder)
        test_looks(t, page, url, t.folder)
        test_hostile(t, page, t.folder)
        test_changes(t, page, t.folder)
    t.end()


if __name__ == "__main__":
    sys.exit(main())

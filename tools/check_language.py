#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counts patterns that make text hard to read.

Each count has a limit in tools/language_limits. A count above its limit fails. A count below it fails too, until the limit is
lowered: limits only go down. Texts are the comments and strings of src/, the Markdown files and the subjects of the commits after
the one that tools/language_limits names as its base.

    tools/check_language.py
    tools/check_language.py --list [PATTERN] [PATH...]    prints the places; PATTERN is the start of a count's name
    tools/check_language.py --counts PATH...              prints the counts of these files or folders alone
    tools/check_language.py --lower                       writes today's counts as limits where they are lower
    tools/check_language.py --self-test
"""
import argparse
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMITS = os.path.join(ROOT, "tools", "language_limits")
MAN = os.path.join("docs", "man")
GENERATED = {os.path.join(MAN, "duet-metrics.7.md"), os.path.join("docs", "events-fields.md")}  # their text is in src/
MAX_COLUMNS = 120
MAX_PARAGRAPH_WORDS = 80
MAX_SUBJECT = 72

# ---- patterns: a name, and a regular expression of one sentence ----

ELSE_IS_FINE = r"(?<!thing )(?<!body )(?<!one )(?<!where )(?<!who )(?<!what )(?<!or )(?<!if )"
PATTERNS = {
    "told: data that tells": re.compile(r"\b(?:told|tells?|telling)\b", re.I),
    "nobody: an actor without a name": re.compile(r"\b(?:nobody|somebody|whoever)\b", re.I),
    "what: a sentence that begins with a noun clause": re.compile(r"^(?:what|who|whose|where|of)\b(?!.*\?$)", re.I),
    "so many: a number without a name": re.compile(r"\bso (?:many|much|long)\b", re.I),
    "else: for otherwise": re.compile(ELSE_IS_FINE + r"\belse\b", re.I),
    "is no: a negated noun": re.compile(r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|less|fewer|better)[a-z]", re.I),
}
PARAGRAPHS = f"paragraphs of manual pages above {MAX_PARAGRAPH_WORDS} words"
COLUMNS = f"lines of Markdown above {MAX_COLUMNS} columns"
SUBJECTS = "commit subjects against the rules"

# ---- texts ----

TOKEN = re.compile(r"""/\*(?P<block>.*?)\*/ | //(?P<line>[^\n]*) | '(?:\\.|[^'\\\n])+' |
                       (?P<strings>"(?:\\.|[^"\\\n])*"(?:\s*(?:PRI[a-zA-Z0-9]+\s*)?"(?:\\.|[^"\\\n])*")*)""", re.S | re.X)
SENTENCE_END = re.compile(r"(?<=[.!?:])(?<!\bNo\.)[\"')*]*\s+|(?:\\n)+")


def relative(path):
    return os.path.relpath(path, ROOT)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def walk(folder, endings):
    for place, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.join(place, name)


def sources():
    return walk("src", (".c", ".h"))


def markdown():
    yield from (os.path.join(ROOT, name) for name in sorted(os.listdir(ROOT)) if name.endswith(".md"))
    yield from (path for path in walk("docs", (".md",)) if relative(path) not in GENERATED)


def without_marks(block):
    """The text of a comment, without the stars and rulers of its lines."""
    return "\n".join(re.sub(r"^\s*\*? ?|-{3,}", "", line) for line in block.split("\n"))


def source_texts(text):
    """(line, text) of each comment and each string of a C file."""
    for match in TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.group("strings"):
            before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
            if not before.lstrip().startswith("#include"):
                yield line, "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match.group("strings")))
        elif match.group("block") or match.group("line"):
            yield line, without_marks(match.group("block") or match.group("line"))


def prose(text):
    """(line, text) of each paragraph, list item, term and table cell of a Markdown file, without its blocks of code."""
    fenced, start, gathered = False, 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        begins = re.match(r"\s*(?:[-*] |\d+\. |:\s|#|\*\*[^*]+\*\*[^.,;]{0,60}$)", line)
        is_row = line.startswith("|")
        if gathered and (fence or fenced or begins or is_row or not line.strip()):
            yield start, "\n".join(gathered)
            gathered = []
        if is_row and not fenced and not re.match(r"[|\s:-]+$", line):
            yield from ((number, cell) for cell in re.split(r"(?<!\\)\|", line) if cell.strip())
        elif line.strip() and not fence and not fenced and not is_row:
            start = start if gathered else number
            gathered.append(re.sub(r"^\s*(?:[-*] |\d+\. |:\s+|#+ )", "", line))


def sentences(text):
    """Sentences of a text, without what stands in back quotes."""
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"\n\s*\n", ". ", text)
    for sentence in SENTENCE_END.split(re.sub(r"\n", " ", text)):
        yield re.sub(r"\s+", " ", sentence).strip(" *_")


def pattern_places(line, text):
    """(name of a pattern, line, sentence) of each match."""
    for sentence in sentences(text):
        for name, pattern in PATTERNS.items():
            for _ in pattern.finditer(sentence):
                yield name, line, sentence


def man_paragraphs(text):
    """(line, text) of each paragraph of a manual page; the item of a definition is one."""
    for line, paragraph in prose(text):
        if len(re.sub(r"[*_`\\]", "", paragraph).split()) > MAX_PARAGRAPH_WORDS:
            yield PARAGRAPHS, line, paragraph.replace("\n", " ")


def markdown_places(path, text):
    for line, paragraph in prose(text):
        yield from pattern_places(line, paragraph)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COLUMNS:
            yield COLUMNS, number, line
    if relative(path).startswith(MAN):
        yield from man_paragraphs(text)


def places(path):
    """(name of a count, line, text) of each place in a file."""
    text = read(path)
    if path.endswith(".md"):
        yield from markdown_places(path, text)
        return
    for line, piece in source_texts(text):
        yield from pattern_places(line, piece)


# ---- commit subjects ----

def subjects(base):
    """Subjects of commits after base, or None where the history does not contain it."""
    def git(*arguments):
        try:
            return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
        except OSError:
            return None
    known = base and git("merge-base", "--is-ancestor", base, "HEAD")
    if not known or known.returncode:
        return None
    return git("log", "--no-merges", "--format=%h %s", f"{base}..HEAD").stdout.splitlines()


def subject_is_plain(subject):
    return (len(subject) <= MAX_SUBJECT and re.match(r"[\w, .-]+: \S", subject)
            and not any(True for _ in pattern_places(0, subject.split(": ", 1)[1])))


# ---- limits ----

def limits():
    """({count: limit}, base commit)"""
    allowed, base = {}, None
    for line in read(LIMITS).splitlines():
        if line.startswith("base "):
            base = line.split()[1]
        elif line.strip() and not line.startswith("#"):
            count, name = line.split(None, 1)
            allowed[name.strip()] = int(count)
    return allowed, base


def write_limits(found, allowed):
    text = read(LIMITS)
    for name, count in found.items():
        if count < allowed.get(name, 0):
            text = re.sub(rf"^ *\d+( +{re.escape(name)})$", rf"{count}\1", text, flags=re.M)
    with open(LIMITS, "w", encoding="utf-8") as file:
        file.write(text)


# ---- the check ----

class Tap:
    def __init__(self):
        self.number = 0
        self.failed = False

    def result(self, good, text, *, notes=(), skip=None):
        self.number += 1
        self.failed |= not good
        for note in notes:
            print(f"#   {note}")
        print(f"{'' if good else 'not '}ok {self.number} - {text}" + (f" # SKIP {skip}" if skip else ""))

    def end(self):
        print(f"1..{self.number}")
        return 1 if self.failed else 0


def count(paths):
    """{name of a count: number} of these files."""
    found = collections.Counter({name: 0 for name in (*PATTERNS, PARAGRAPHS, COLUMNS)})
    found.update(name for path in paths for name, _, _ in places(path))
    return found


def check(lower):
    tap = Tap()
    found, (allowed, base) = count([*sources(), *markdown()]), limits()
    for name, number in found.items():
        limit = allowed.get(name, 0)
        good = number == limit or lower and number < limit
        notes = [] if good else [f"{number}, limit {limit}: " + (
            f"tools/check_language.py --list '{name.split(':')[0]}' prints the places" if number > limit else
            "lower the limit with tools/check_language.py --lower")]
        tap.result(good, f"{name}: {number}", notes=notes)
    known = subjects(base)
    wrong = [line for line in known or () if not subject_is_plain(line.split(" ", 1)[1])]
    tap.result(not wrong, f"{SUBJECTS}: {len(wrong)}", notes=wrong,
               skip=None if known is not None else "the history does not contain the base commit")
    if lower:
        write_limits(found, allowed)
    return tap.end()


def given_files(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from walk(os.path.abspath(path), (".c", ".h", ".md"))
        else:
            yield os.path.abspath(path)


def list_places(wanted):
    """The places of the counts whose names begin with the first word, in the files that the others name."""
    pattern = wanted[0] if wanted and not os.path.exists(wanted[0]) else ""
    paths = wanted[1:] if pattern else wanted
    for path in given_files(paths) if paths else [*sources(), *markdown()]:
        for name, line, text in places(path):
            if name.startswith(pattern):
                print(f"{relative(path)}:{line}: {name.split(':')[0]}: {text[:160]}")
    return 0


PROSE = """\
# Who reads this

What was lost is told. Is it so much? Or else `nobody`. That is no
number.

**-x**
:   tell Whose it is

```
nobody tells
```
| of | Where is it? |
|---|---|
"""
CODE = """\
#include "told.h"
/* Nobody is told:
 * what is lost. */
put("of %d so many, " "else"); // something else
c = '"';
"""


def self_test():
    tap = Tap()
    short = {name: name.split(":")[0] for name in PATTERNS}
    in_prose = collections.Counter(short[name] for line, text in prose(PROSE) for name, _, _ in pattern_places(line, text))
    in_code = collections.Counter(short[name] for line, text in source_texts(CODE) for name, _, _ in pattern_places(line, text))
    for what, got, wanted in (
            ("patterns in Markdown", dict(in_prose), {"what": 3, "told": 2, "so many": 1, "is no": 1}),
            ("patterns in C", dict(in_code), {"nobody": 1, "told": 1, "what": 2, "so many": 1, "else": 1}),
            ("a plain subject", subject_is_plain("trace: keep segments whole"), True),
            ("a subject that is not", subject_is_plain("trace: what nobody told"), False)):
        tap.result(bool(got) == bool(wanted) if isinstance(wanted, bool) else got == wanted, what, notes=[] if got == wanted else [f"got {got}"])
    return tap.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--lower", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.list:
        return list_places(arguments.words)
    if arguments.counts:
        for name, number in count(given_files(arguments.words)).items():
            print(f"{number:6} {name}")
        return 0
    return check(arguments.lower)


if __name__ == "__main__":
    sys.exit(main())

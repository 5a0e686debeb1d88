#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Puts a viewer's modules, style and frame together: the page around the sections of `duet view`, `flamescope` or `diff`.

    tools/bundle.py --depfile FILE --page NAME FOLDER OUTPUT.c
    tools/bundle.py --self-test

FOLDER has the files of PAGES and the modules that the first imports. The C file has the page's
three parts: what stands before the first sections, between them and the rest, and behind the rest.

There is no parser here, so the modules keep to one form: imports and the word export at column 0,
`import {a, b} from "./x.js";` on a line of its own, names at the top unique over all modules. All
are put into one function, in the order of imports, without imports and that word. The hashes of the
policy are those of the texts as they stand in the page.
"""
import argparse
import base64
import hashlib
import os
import re
import sys

import embed

# By name: the module that begins, the styles, the frame.
PAGES = {"view": ("main.js", ("view.css",), "view.html"),
         "scope": ("scope.js", ("view.css", "scope.css"), "scope.html"),
         "pair": ("pair.js", ("view.css", "pair.css"), "pair.html"),
         "diff": ("diff.js", ("compare.css",), "diff.html"),
         "series": ("series.js", ("compare.css",), "series.html")}
IMPORT = re.compile(r'^import \{([\w$, ]+)\} from "\./([\w-]+\.js)";$', re.M)
EXPORT = re.compile(r"^export (?=(?:async function\*?|function\*?|const|class) )", re.M)
TOP = re.compile(r"^(?:async function\*?|function\*?|const|let|class) +([\w$]+)", re.M)
MARKS = ("@policy@", "@style@", "@first@", "@script@", "@rest@")


class Problem(Exception):
    pass


def check_text(name, text):
    if not text.isascii() or any(ord(c) < 32 and c not in "\n\t" for c in text):
        raise Problem(f"{name}: a byte that is not printable ASCII")
    for word in ("</script", "<!--", "</style"):
        if word in text.lower():
            raise Problem(f"{name}: '{word}', which would end it early")


def strip_module(name, text):
    """Its own text and what it imports: [(names, module)]."""
    check_text(name, text)
    imports = [([n.strip() for n in names.split(",") if n.strip()], module)
               for names, module in IMPORT.findall(text)]
    text = EXPORT.sub("", IMPORT.sub("", text))
    left = re.search(r"^\s*(?:import|export)\b.*", text, re.M)
    if left:
        raise Problem(f"{name}: '{left.group().strip()}': only `import {{a, b}} from \"./x.js\";` "
                      "and `export function`, `const` or `class`, at column 0")
    return text, imports


def join_modules(read, entry):
    """The script of all modules from the entry on; read gives the text of one."""
    texts, names, done, open_modules = [], {}, {}, []

    def visit(module):
        if module in done:
            return
        if module in open_modules:
            raise Problem(f"{module}: imports itself by way of {' > '.join(open_modules)}")
        open_modules.append(module)
        whole = read(module)
        text, imports = strip_module(module, whole)
        for wanted, other in imports:
            visit(other)
            for name in wanted:
                if name not in done[other]:
                    raise Problem(f"{module}: {other} does not export '{name}'")
        for name in TOP.findall(text):
            if name in names:
                raise Problem(f"{module}: '{name}' is in {names[name]} too")
            names[name] = module
        exported = EXPORT.sub("\0", whole)
        done[module] = set(TOP.findall("\n".join(l[1:] for l in exported.splitlines()
                                                 if l.startswith("\0"))))
        texts.append(text.strip("\n"))
        open_modules.pop()

    visit(entry)
    return '\n(function () {\n"use strict";\n' + "\n".join(texts) + "\n})();\n"


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def make_page(frame, style, script):
    """The page's parts: before the first sections, between them and the rest, behind it."""
    check_text("style", style)
    for mark in MARKS:
        if len(re.findall(f"^{mark}$", frame, re.M)) != 1:
            raise Problem(f"frame: {mark} must stand alone on a line, once")
    style = "\n" + style
    policy = (f"default-src 'none'; script-src {policy_hash(script)}; "
              f"style-src {policy_hash(style)}; img-src data: blob:")
    frame = frame.replace("@policy@",
                          f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    frame = frame.replace("@style@", f"<style>{style}</style>")
    first, _, rest = frame.partition("@first@\n")
    middle, _, last = rest.partition("@rest@\n")
    if "@script@" not in middle:
        raise Problem("frame: @first@, @script@ and @rest@ must come in this order")
    return first, middle.replace("@script@", f"<script>{script}</script>"), last


def write_source(page, parts):
    text = f'/* Made by tools/bundle.py. */\n#include "page/{page}/page.h"\n'
    for end, part in zip(("begin", "script", "end"), parts):
        name = f"{page}_page_{end}"
        text += (f"\nconst char {name}[] =\n{embed.literal(part)};\n"
                 f"const size_t {name}_size = sizeof({name}) - 1;\n")
    return text


def refuses(call):
    try:
        call()
    except Problem:
        return True
    return False


def self_test():
    tree = {"main.js": 'import {two} from "./b.js";\nexport const one = two + 1;\n',
            "b.js": "const own = 1;\nexport const two = own + 1;\n"}
    frame = "<!doctype html>\n@policy@\n@style@\n@first@\n@script@\n@rest@\n</html>\n"
    joined = join_modules(tree.get, "main.js")
    page = make_page(frame, "p { margin: 0 }\n", joined)
    script = page[1][page[1].index("<script>") + 8:page[1].index("</script>")]

    def join(**files):
        return lambda: join_modules({k + ".js": v for k, v in files.items()}.get, "main.js")

    checks = [
        ("what is imported comes first", 0 < joined.index("two = own") < joined.index("one = ")),
        ("no import or export is left", "import" not in joined and "export" not in joined),
        ("the policy has the script's hash", policy_hash(script) in page[0]),
        ("three parts", page[2] == "</html>\n" and "@" not in "".join(page)),
        ("default export", refuses(join(main="export default 1;\n"))),
        ("import of all", refuses(join(main='import * as b from "./b.js";\n', b=""))),
        ("indented import", refuses(join(main='  import {b} from "./b.js";\n', b=""))),
        ("a name that is not exported",
         refuses(join(main='import {own} from "./b.js";\n', b="const own = 1;\n"))),
        ("one name in two modules", refuses(
            join(main='import {a} from "./b.js";\nconst b = 1;\n',
                 b="const b = 2;\nexport const a = 1;\n"))),
        ("a circle", refuses(join(main='import {a} from "./b.js";\nexport const m = 1;\n',
                                  b='import {m} from "./main.js";\nexport const a = 1;\n'))),
        ("end of script", refuses(join(main="const a = '</SCRIPT>';\n"))),
        ("a mark that is missing", refuses(lambda: make_page("@policy@\n", "", ""))),
    ]
    for number, (what, is_ok) in enumerate(checks, 1):
        print(f"{'ok' if is_ok else 'not ok'} {number} - {what}")
    print(f"1..{len(checks)}")
    return 0 if all(is_ok for _, is_ok in checks) else 1


def bundle(page, folder, target, depfile):
    entry, styles, frame = PAGES[page]
    used = []

    def read(name):
        path = os.path.join(folder, name)
        used.append(path)
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except OSError as error:
            raise Problem(f"{name}: {error.strerror}") from error

    parts = make_page(read(frame), "".join(map(read, styles)), join_modules(read, entry))
    with open(target, "w", encoding="ascii") as file:
        file.write(write_source(page, parts))
    if depfile:
        with open(depfile, "w", encoding="utf-8") as file:
            file.write(f"{target}: {' '.join(used)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--depfile")
    parser.add_argument("--page", choices=PAGES, default="view")
    parser.add_argument("arguments", nargs="*", metavar="FOLDER OUTPUT")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if len(options.arguments) != 2:
        parser.error("FOLDER and OUTPUT are needed")
    try:
        bundle(options.page, *options.arguments, options.depfile)
    except Problem as problem:
        print(f"bundle: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes docs/man/duet-metrics.7.md from the program's own list of metrics, to stdout.

    tools/write_metrics.py DUET >docs/man/duet-metrics.7.md
"""
import itertools
import json
import subprocess
import sys
import textwrap

HEAD = """\
# NAME

duet-metrics - quantities that duet counts over time

# DESCRIPTION

The collectors *system*, *nvidia*, *drm* and *intel* read these metrics; *duet list metrics* prints the same list.
Each entry has the metric's base unit, the highest rate at which it is read, its source and what it measures. Names
in parentheses are those of the source.

A share has the unit *ns*: it is recorded as ns out of the ns that passed, so 25 % of a second is 250000000 ns.
*uJ* is a microjoule; *mW*, *mC* and *mtasks* are thousandths of a watt, a degree Celsius and a task. Metrics that
exist once for each CPU, disk, GPU, process or sensor have a series for each.

"""
TAIL = """
# EXAMPLES

```
$ duet list metrics | grep '^disk\\.write '
```

# SEE ALSO

**duet-list**(1), **duet-record**(1), **duet-report**(1)
"""


def escape(text):
    return "".join("\\" + c if c in "\\_*[]<>`" else c for c in text)


def title(name):
    return name.split(".")[0].upper()


def main():
    done = subprocess.run([sys.argv[1], "list", "--json", "metrics"], check=True, stdout=subprocess.PIPE)
    rows = sorted(json.loads(done.stdout)["metrics"], key=lambda row: (title(row["name"]), row["name"]))
    page = HEAD
    for group, entries in itertools.groupby(rows, key=lambda row: title(row["name"])):
        page += f"## {escape(group)}\n\n"
        for row in entries:
            rate = f", at most {row['most_hz']}/s" if row["most_hz"] else ""
            text = textwrap.fill(f"*{escape(row['source'])}*: {escape(row['help'])}", 115, initial_indent=":   ",
                                 subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
            page += f"**{escape(row['name'])}** ({escape(row['unit'])}{rate})\n{text}\n\n"
    sys.stdout.write(page.rstrip("\n") + "\n" + TAIL)


main()

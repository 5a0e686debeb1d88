# SPDX-License-Identifier: MIT
"""What the measurements say while they run."""
import sys


def title(text):
    print(f"\n{text}", flush=True)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:60}", end="\r", file=sys.stderr, flush=True)

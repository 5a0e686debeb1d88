#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The table of src/abi/python_offsets.h, measured from the headers of installed Python versions.

Each version's headers are compiled into python_offsets.c, which measures with offsetof.

    python_offsets.py           print the members, with a column for each version
    python_offsets.py --check   compare them with the table; TAP
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.join(HERE, "..", "..", "src")
PLACES = ["/usr/include/python3.*", "/usr/local/include/python3.*",
          "/opt/pyenv/versions/3.*/include/python3.*",
          os.path.expanduser("~/.pyenv/versions/3.*/include/python3.*")]
OLDEST = (3, 8)


def minor_version(folder):
    """(3, 11) of .../python3.11, None of what is no release's folder of headers."""
    try:
        major, minor = os.path.basename(folder)[len("python"):].split(".")
        return int(major), int(minor)
    except ValueError:
        return None


def header_folders():
    """Those with the internal headers, oldest version first."""
    found = {os.path.realpath(folder) for place in PLACES for folder in glob.glob(place)}
    found = [folder for folder in found
             if os.path.exists(os.path.join(folder, "internal", "pycore_pystate.h"))
             and (minor_version(folder) or (0, 0)) >= OLDEST]
    return sorted(found, key=lambda folder: (minor_version(folder), folder))


def measure(folder, compiler, arguments):
    """The program's output and exit status; what the compiler says where it does not compile."""
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "offsets")
        built = subprocess.run(
            [compiler, "-std=gnu11", "-w", "-I", folder, "-I", os.path.join(folder, "internal"),
             "-I", SRC, os.path.join(HERE, "python_offsets.c"), "-o", program],
            capture_output=True, text=True, timeout=120)
        if built.returncode != 0:
            return built.stderr, 1
        ran = subprocess.run([program] + arguments, capture_output=True, text=True, timeout=60)
        return ran.stdout, ran.returncode


def check(folders, compiler):
    failed = False
    for number, folder in enumerate(folders, 1):
        text, status = measure(folder, compiler, ["--check"])
        for line in text.splitlines()[:20]:
            print(f"#   {line}")
        print(f"{'not ' if status else ''}ok {number} - {folder}")
        failed |= status != 0
    print(f"1..{len(folders)}")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compiler", default="cc")
    options = parser.parse_args()
    folders = header_folders()
    if options.check and not folders:
        print("1..0 # SKIP no headers of Python 3.8 or later (Debian: python3-dev)")
        return 0
    if options.check:
        return check(folders, options.compiler)
    columns = {}
    for folder in folders:
        text, status = measure(folder, options.compiler, [])
        if status:
            print(text, file=sys.stderr)
            return 1
        columns.setdefault(minor_version(folder), [line.split() for line in text.splitlines()])
    for cells in zip(*columns.values()):
        print(f"{cells[0][0]:24}" + "".join(f"{value + ',':>7}" for _, value in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())

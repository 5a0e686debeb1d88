#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A child process is run to its end."""
import subprocess

import diagnosis


def convert_frame(ns):
    subprocess.run(["sleep", "%.6f" % (ns / 1e9)], check=True)


diagnosis.Plant("child_process", "convert_frame child process", act=convert_frame, every=10)

if __name__ == "__main__":
    diagnosis.run()

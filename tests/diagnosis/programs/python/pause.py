#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A pause that somebody left in the loop."""
import time

import diagnosis


def limit_rate(ns):
    time.sleep(ns / 1e9)


diagnosis.Plant("sleep", "limit_rate sleep slept", act=limit_rate)

if __name__ == "__main__":
    diagnosis.run()

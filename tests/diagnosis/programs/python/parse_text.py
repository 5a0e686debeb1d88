#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pure Python: a method of a class parses lines."""
import time

import diagnosis

LINES = ["%d,%f,label%d" % (i, i / 7, i % 10) for i in range(50)]


class Reader:
    def __init__(self):
        self.rows = []

    def parse_rows(self, ns):
        end = time.thread_time_ns() + ns
        while time.thread_time_ns() < end:
            self.rows.clear()
            for line in LINES:
                number, value, label = line.split(",")
                self.rows.append((int(number), float(value), label))


diagnosis.Plant("computing", "parse_rows", act=Reader().parse_rows)

if __name__ == "__main__":
    diagnosis.run()

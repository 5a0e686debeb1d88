#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""numpy computes below the user's function."""
import time

import numpy

import diagnosis

BATCH = numpy.arange(1 << 13, dtype=numpy.float32)  # small enough for the heap: no page faults


def normalise_batch(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        scaled = (BATCH - BATCH.mean()) / (BATCH.std() + 1e-6)
        numpy.ascontiguousarray(scaled, dtype=numpy.float32)


diagnosis.Plant("computing", "normalise_batch", act=normalise_batch)

if __name__ == "__main__":
    diagnosis.run()

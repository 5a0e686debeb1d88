#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples are read from the disk; the page cache has been dropped."""
import os
import tempfile

import diagnosis

SIZE, BLOCK = 32 << 20, 1 << 18
samples = tempfile.NamedTemporaryFile(prefix="diagnosis.")
position = 0


def start(device):
    for _ in range(SIZE >> 20):
        samples.write(bytes(1 << 20))
    samples.flush()
    os.fsync(samples.fileno())
    os.posix_fadvise(samples.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(samples.fileno(), 0, 0, os.POSIX_FADV_RANDOM)


def read_samples(ns):
    global position
    while diagnosis.planted_ns() < ns:
        position = (position + 37 * BLOCK) % SIZE
        os.pread(samples.fileno(), BLOCK, position)
        os.posix_fadvise(samples.fileno(), position, BLOCK, os.POSIX_FADV_DONTNEED)


diagnosis.Plant("file_read", "read_samples read", act=read_samples, start=start)

if __name__ == "__main__":
    diagnosis.run()

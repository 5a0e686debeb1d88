#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fresh memory is touched in each iteration."""
import mmap
import time

import diagnosis

SIZE = 4 << 20
arena = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
zeros = bytes(SIZE)


def clear_arena(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        arena.madvise(mmap.MADV_DONTNEED)
        arena[:] = zeros


diagnosis.Plant("page_fault", "clear_arena fault", act=clear_arena)

if __name__ == "__main__":
    diagnosis.run()

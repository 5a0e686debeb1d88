#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers of multiprocessing compute what the launching thread needs next."""
import multiprocessing
import time

import diagnosis

held = {}


def transform_chunk(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        sum(range(500))


def map_chunks(ns):
    held["pool"].map(transform_chunk, [ns])


def start(device):
    held["pool"] = multiprocessing.get_context("spawn").Pool(1)
    held["pool"].map(transform_chunk, [0])


def finish():
    held["pool"].close()
    held["pool"].join()


diagnosis.Plant("thread_wait pipe child_process", "transform_chunk map_chunks worker", act=map_chunks,
                guilty=transform_chunk, start=start, finish=finish)

if __name__ == "__main__":
    diagnosis.run()

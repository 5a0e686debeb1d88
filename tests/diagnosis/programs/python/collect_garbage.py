#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collection of garbage in each iteration, with a large graph of objects."""
import gc

import diagnosis

graph = []


def start(device):
    gc.disable()
    for i in range(6000):
        graph.append({"id": i, "next": graph[-1:]})


def release_batch(ns):
    while diagnosis.planted_ns() < ns:
        gc.collect()


diagnosis.Plant("garbage_collection", "release_batch garbage", act=release_batch, start=start)

if __name__ == "__main__":
    diagnosis.run()

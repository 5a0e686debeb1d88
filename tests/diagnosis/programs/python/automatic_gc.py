#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Collections of garbage that allocations set off; gc.callbacks measures them."""
import gc
import time

import diagnosis

graph = []
begun = []


def on_collection(phase, info):
    if phase == "start":
        begun.append((time.monotonic_ns(), diagnosis.schedule_delay_ns()))
    elif begun:
        begin, delay = begun.pop()
        plant.ns += time.monotonic_ns() - begin - (diagnosis.schedule_delay_ns() - delay)


def start(device):
    for i in range(20000):
        graph.append({"id": i, "next": graph[-1:]})
    gc.set_threshold(1000, 1, 1)
    gc.callbacks.append(on_collection)


def build_samples(ns):
    end = plant.ns + ns
    while plant.ns < end:
        graph.append([{"id": i} for i in range(1000)])
        graph.pop()


plant = diagnosis.Plant("garbage_collection", "build_samples garbage", act=build_samples, start=start, measure="own")

if __name__ == "__main__":
    diagnosis.run()

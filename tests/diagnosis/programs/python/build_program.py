#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyOpenCL builds a program again for each new constant."""
import itertools
import os

import pyopencl

import diagnosis

numbers, held = itertools.count(), {}


def start(device):
    held["context"] = device.context


def specialise_kernel(ns):
    while diagnosis.planted_ns() < ns:
        source = "kernel void scale(global float *x) { x[get_global_id(0)] *= %d.%df; }" % (os.getpid(), next(numbers))
        pyopencl.Program(held["context"], source).build(cache_dir=False)


diagnosis.Plant("build", "specialise_kernel build", act=specialise_kernel, every=8, start=start)

if __name__ == "__main__":
    diagnosis.run()

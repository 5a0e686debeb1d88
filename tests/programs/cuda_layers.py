#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Python program whose kernels a library in C++ launches: cuda_layers.py LIBRARY TRAINED EVALUATED [DEVICE [REST]]

matmul is launched TRAINED times by train and EVALUATED times by evaluate, softmax EVALUATED times by evaluate. evaluate works
on the device with this number, 0 or 1, and so many seconds after train.
"""
import ctypes
import sys
import time

layers = ctypes.CDLL(sys.argv[1])
device = int(sys.argv[4]) if len(sys.argv) > 4 else 0
rest = float(sys.argv[5]) if len(sys.argv) > 5 else 0


def check(result):
    if result:
        raise RuntimeError(f"CUDA said {result}")


def train(times):
    check(layers.layers_forward(0, times, 0))


def evaluate(times):
    check(layers.layers_forward(0, times, device))
    check(layers.layers_forward(1, times, device))


check(layers.layers_open(device + 1))
train(int(sys.argv[2]))
time.sleep(rest)
evaluate(int(sys.argv[3]))
for one in range(device + 1):
    check(layers.layers_wait(one))
print("{}", flush=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Python program whose kernels a library in C++ launches: cuda_layers.py LIBRARY TRAINED EVALUATED

matmul is launched TRAINED times by train and EVALUATED times by evaluate, softmax EVALUATED times by evaluate.
"""
import ctypes
import sys

layers = ctypes.CDLL(sys.argv[1])


def check(result):
    if result:
        raise RuntimeError(f"CUDA said {result}")


def train(times):
    check(layers.layers_forward(0, times))


def evaluate(times):
    check(layers.layers_forward(0, times))
    check(layers.layers_forward(1, times))


check(layers.layers_open())
train(int(sys.argv[2]))
evaluate(int(sys.argv[3]))
check(layers.layers_wait())
print("{}", flush=True)

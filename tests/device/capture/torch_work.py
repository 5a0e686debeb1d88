#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch workloads for the captures: prints WORKLOAD, steps a second and launches a step.

    torch_work.py eager|graph|compile [STEPS] [--profiler]

eager: forward, backward and SGD of an MLP of four small layers, launch-bound. graph: its forward as a CUDA
graph. compile: its forward by torch.compile. --profiler: with torch.profiler around the steps.
"""
import contextlib
import sys
import time

import torch

LAUNCHES_A_STEP = {"eager": "about 60", "graph": "1", "compile": "about 4"}


def model():
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers).cuda()


def eager():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    data = torch.randn(64, 256, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(data).square().mean().backward()
        optimizer.step()
    return step


def graph():
    net, data = model(), torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(3):
            net(data)
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(recorded):
        net(data)
    return recorded.replay


def compiled():
    net, data = torch.compile(model()), torch.randn(64, 256, device="cuda")

    def step():
        with torch.no_grad():
            net(data)
    return step


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    name = words[0] if words else "eager"
    steps = int(words[1]) if len(words) > 1 else 500
    step = {"eager": eager, "graph": graph, "compile": compiled}[name]()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    around = contextlib.nullcontext()
    if "--profiler" in sys.argv:
        from torch.profiler import ProfilerActivity, profile
        around = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    begin = time.perf_counter()
    with around:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
    print(f"torch-{name}{' profiler' if '--profiler' in sys.argv else ''} steps_per_second={steps / seconds:.1f}"
          f" launches_a_step={LAUNCHES_A_STEP[name]}")


main()

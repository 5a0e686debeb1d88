#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch workloads for the table: prints a line of JSON with the seconds of the steps, and how many there were.

    table_work.py step|eager SECONDS [STEPS] [--profiler]

step: forward, backward and Adam of a small transformer, bound by the GPU. eager: many small operations one after the
other, bound by launching them. --profiler: with torch.profiler around all that uses the GPU, and the kernels that it saw.
"""
import contextlib
import json
import sys
import time

import torch


def training():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True)
    net = torch.nn.TransformerEncoder(layer, 6).cuda().train()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    data = torch.randn(16, 512, 1024, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(data).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
    return step


def eager():
    data = torch.randn(64, 64, device="cuda")

    def step():
        other = data
        for _ in range(50):
            other = torch.relu(other * 1.01 + 0.5)
        return other
    return step


def kernels_of(profile):
    """Count and ns of kernels alone."""
    count = total = 0
    for event in profile.profiler.kineto_results.events():
        name = event.name()
        if "CUDA" not in str(event.device_type()) or name.startswith(("Memcpy", "Memset", "ProfilerStep")):
            continue
        if getattr(event, "is_user_annotation", lambda: False)():
            continue
        count += 1
        total += event.duration_ns() if hasattr(event, "duration_ns") else event.duration_us() * 1000
    return count, total


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    name, seconds = words[0], float(words[1])
    wanted = int(words[2]) if len(words) > 2 else 0
    torch.cuda.init()
    around = contextlib.nullcontext()
    if "--profiler" in sys.argv:
        from torch.profiler import ProfilerActivity, profile
        around = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with around as profile:
        step = {"step": training, "eager": eager}[name]()
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        begin, steps = time.perf_counter(), 0
        while steps < wanted if wanted else time.perf_counter() < begin + seconds:
            step()
            steps += 1
        torch.cuda.synchronize()
        took = time.perf_counter() - begin
    row = {"seconds": took, "steps": steps}
    if profile is not None:
        row["kernels"], row["kernel_ns"] = kernels_of(profile)
    print(json.dumps(row))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Python program of CUDA's driver interface, by ctypes: work from three call paths and two threads.

    cuda_paths.py [rest SECONDS | told]

told: it loads CUPTI, as PyTorch does, prints "ready" and begins when it reads a line; its end is that of stdin.

All together 23 kernels, 7 copies to the device, 5 from it, and a graph of 11 kernels that is launched twice. Prints what
each path did as a line of JSON: {path: {kind: count}}.
"""
import collections
import ctypes
import json
import sys
import threading
import time

PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry matmul(.param .u64 p) { ret; }
.visible .entry softmax(.param .u64 p) { ret; }
"""
BYTES = 65536

cuda = ctypes.CDLL("libcuda.so.1")
done = collections.defaultdict(collections.Counter)


def check(result):
    if result:
        raise RuntimeError(f"CUDA said {result}")


class KernelNode(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("sizes", ctypes.c_uint * 7), ("parameters", ctypes.c_void_p),
                ("extra", ctypes.c_void_p), ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)]


class Worker:
    """A thread's stream and memory."""

    def __init__(self):
        self.stream, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        self.host = ctypes.create_string_buffer(BYTES)
        check(cuda.cuCtxSetCurrent(context))
        check(cuda.cuStreamCreate(ctypes.byref(self.stream), 1))
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(BYTES)))

    def launch(self, function, path):
        check(cuda.cuLaunchKernel(function, 8, 1, 1, 256, 1, 1, 0, self.stream, None, None))
        done[path]["kernels"] += 1

    def upload(self, path):
        check(cuda.cuMemcpyHtoDAsync_v2(self.memory, self.host, ctypes.c_size_t(BYTES), self.stream))
        done[path]["h2d"] += 1

    def download(self, path):
        check(cuda.cuMemcpyDtoHAsync_v2(self.host, self.memory, ctypes.c_size_t(BYTES), self.stream))
        done[path]["d2h"] += 1

    def wait(self):
        check(cuda.cuStreamSynchronize(self.stream))


def forward(worker):
    for _ in range(5):
        worker.upload("forward")
    for _ in range(12):
        worker.launch(matmul, "forward")


def evaluate(worker):
    for _ in range(2):
        worker.upload("evaluate")
    for _ in range(11):
        worker.launch(softmax, "evaluate")
    for _ in range(5):
        worker.download("evaluate")


def replay(worker):
    graph, last, instance = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    node = KernelNode(function=matmul, sizes=(ctypes.c_uint * 7)(4, 1, 1, 128, 1, 1, 0))
    check(cuda.cuGraphCreate(ctypes.byref(graph), 0))
    for i in range(11):
        after = ctypes.c_void_p(last.value)
        node.function = softmax if i % 2 else matmul
        check(cuda.cuGraphAddKernelNode_v2(ctypes.byref(last), graph, ctypes.byref(after) if i else None,
                                           ctypes.c_size_t(1 if i else 0), ctypes.byref(node)))
    check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(instance), graph, ctypes.c_uint64(0)))
    for _ in range(2):
        check(cuda.cuGraphLaunch(instance, worker.stream))
        done["replay"]["graphs"] += 1
        done["replay"]["nodes"] += 11


def second_thread():
    worker = Worker()
    evaluate(worker)
    worker.wait()


check(cuda.cuInit(0))
context, module = ctypes.c_void_p(), ctypes.c_void_p()
matmul, softmax = ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(matmul), module, b"matmul"))
check(cuda.cuModuleGetFunction(ctypes.byref(softmax), module, b"softmax"))
is_told = sys.argv[1:2] == ["told"]
if is_told:
    ctypes.CDLL("libcupti.so.13")
    print("ready", flush=True)
    sys.stdin.readline()
thread = threading.Thread(target=second_thread)
thread.start()
main = Worker()
forward(main)
replay(main)
main.wait()
thread.join()
print(json.dumps(done), flush=True)
if is_told:
    sys.stdin.read()
if sys.argv[1:2] == ["rest"]:
    time.sleep(float(sys.argv[2]))

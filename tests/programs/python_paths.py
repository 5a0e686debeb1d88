# SPDX-License-Identifier: MIT
"""Launches kernels from three call paths, by ctypes, and prints what each is.

    python_paths.py TIMES

For each path a line of JSON: the global size of its kernels, and its Python frames, innermost first: name, file
and line, as Python itself tells them.
"""
import ctypes
import json
import sys

import python_paths_other

CL = ctypes.CDLL("libOpenCL.so.1")
P = ctypes.c_void_p


def made(name, *arguments):
    function = getattr(CL, name)
    function.restype = P
    return P(function(*arguments))


class Launcher:
    def __init__(self):
        platform, device = P(), P()
        CL.clGetPlatformIDs(1, ctypes.byref(platform), None)
        CL.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None)
        context = made("clCreateContext", None, 1, ctypes.byref(device), None, None, None)
        self.queue = made("clCreateCommandQueue", context, device, ctypes.c_uint64(0), None)
        source = ctypes.c_char_p(b"kernel void paths(global float *x) { }")
        program = made("clCreateProgramWithSource", context, 1, ctypes.byref(source), None, None)
        CL.clBuildProgram(program, 1, ctypes.byref(device), b"", None, None)
        self.kernel = made("clCreateKernel", program, b"paths", None)
        buffer = made("clCreateBuffer", context, ctypes.c_uint64(1), ctypes.c_size_t(4096), None,
                      None)
        CL.clSetKernelArg(self.kernel, 0, ctypes.c_size_t(8), ctypes.byref(buffer))
        self.paths = {}

    def launch(self, size):
        if size not in self.paths:
            self.paths[size] = own_frames(sys._getframe())
        wide = (ctypes.c_size_t * 1)(size)
        status = CL.clEnqueueNDRangeKernel(self.queue, self.kernel, 1, None, wide, None, 0, None, None)
        assert status == 0, status

    def finish(self):
        CL.clFinish(self.queue)


def own_frames(frame):
    found = []
    while frame:
        found.append([getattr(frame.f_code, "co_qualname", frame.f_code.co_name),
                      frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def directly(launcher):
    launcher.launch(1)


def through_a_generator(launcher):
    def sizes():
        yield 2
        launcher.launch(2)

    return [size for size in sizes()]


def main():
    launcher = Launcher()
    for _ in range(int(sys.argv[1])):
        directly(launcher)
        through_a_generator(launcher)
        python_paths_other.Other(launcher).launch_sorted(3)
    launcher.finish()
    for size, frames in launcher.paths.items():
        print(json.dumps([size, frames]))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Heat flow in a plate with PyOpenCL: a small Python program to profile.

    heat.py [--size N] [--steps N] [--frames N]

`diffuse` is reached through two call paths, main > warm_up > step and main > simulate > step, and
`residual` and `colourise` through one each, so that a profiler that knows Python call paths shows
more than one that knows kernel names.
"""
import argparse
import sys

import numpy
import pyopencl

SOURCE = """
kernel void diffuse(global const float *from, global float *to, float rate)
{
	int x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
	int i = y * n + x;
	if (x == 0 || y == 0 || x == n - 1 || y == n - 1) {
		to[i] = from[i];
		return;
	}
	to[i] = from[i] + rate * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n] - 4 * from[i]);
}

kernel void residual(global const float *a, global const float *b, global float *rows)
{
	int y = get_global_id(0), n = get_global_size(0);
	float sum = 0;
	for (int x = 0; x < n; x++)
		sum += fabs(a[y * n + x] - b[y * n + x]);
	rows[y] = sum;
}

kernel void colourise(global const float *heat, global uchar *grey)
{
	int i = get_global_id(0);
	grey[i] = convert_uchar_sat(heat[i] * 255.0f);
}
"""


class Plate:
    """The state on the device: two planes that take turns, and what is read back."""

    def __init__(self, size):
        self.size = size
        self.context = pyopencl.create_some_context(interactive=False)
        self.queue = pyopencl.CommandQueue(self.context)
        program = pyopencl.Program(self.context, SOURCE).build()
        self.diffuse = program.diffuse
        self.residual = program.residual
        self.colourise = program.colourise
        flags = pyopencl.mem_flags
        plane_bytes = size * size * 4
        self.now = pyopencl.Buffer(self.context, flags.READ_WRITE, plane_bytes)
        self.then = pyopencl.Buffer(self.context, flags.READ_WRITE, plane_bytes)
        self.rows = pyopencl.Buffer(self.context, flags.WRITE_ONLY, size * 4)
        self.grey = pyopencl.Buffer(self.context, flags.WRITE_ONLY, size * size)


def load(plate):
    """Uploads a plate that is hot in the middle and along one edge."""
    heat = numpy.zeros((plate.size, plate.size), dtype=numpy.float32)
    third = plate.size // 3
    heat[third:2 * third, third:2 * third] = 1.0
    heat[0, :] = 0.7
    pyopencl.enqueue_copy(plate.queue, plate.now, heat)
    pyopencl.enqueue_copy(plate.queue, plate.then, heat)


def step(plate):
    plate.diffuse(plate.queue, (plate.size, plate.size), None, plate.now, plate.then,
                  numpy.float32(0.2))
    plate.now, plate.then = plate.then, plate.now


def warm_up(plate):
    """The first launch compiles the kernel; it is not part of the simulation."""
    step(plate)
    plate.queue.finish()


def simulate(plate, steps):
    for _ in range(steps):
        step(plate)


def change(plate):
    """How much the last step changed, summed on the host."""
    rows = numpy.empty(plate.size, dtype=numpy.float32)
    plate.residual(plate.queue, (plate.size,), None, plate.now, plate.then, plate.rows)
    pyopencl.enqueue_copy(plate.queue, rows, plate.rows)
    return float(rows.sum())


def render(plate):
    grey = numpy.empty(plate.size * plate.size, dtype=numpy.uint8)
    plate.colourise(plate.queue, (plate.size * plate.size,), None, plate.now, plate.grey)
    pyopencl.enqueue_copy(plate.queue, grey, plate.grey)
    return grey


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="heat flow in a plate")
    parser.add_argument("--size", type=int, default=256, help="points along an edge")
    parser.add_argument("--steps", type=int, default=20, help="steps per frame")
    parser.add_argument("--frames", type=int, default=5)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    plate = Plate(options.size)
    load(plate)
    warm_up(plate)
    for frame in range(options.frames):
        simulate(plate, options.steps)
        moved = change(plate)
        grey = render(plate)
        print(f"frame {frame}: mean {grey.mean():.3f}, change {moved:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

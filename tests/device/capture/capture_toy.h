/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_toy.h - what the workloads of capture_toy share
 */
#pragma once

#include "sim/nvidia/cuda_abi.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOY_FLOATS = 1 << 20, TOY_GRAPH_KERNELS = 20 };

struct toy {
	struct cuda_all_functions call;
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction empty, add, chase, barrier, fma, spin;
	CUdeviceptr x, y, out; /* TOY_FLOATS floats each */
	void *library;
};

/* Calls the driver; ends the program with a line that names the call where it fails or is not
 * there. */
#define TOY(toy, name, ...)                                               \
	toy_check(#name, (toy)->call.name ? (toy)->call.name(__VA_ARGS__) \
					  : (CUresult)CUDA_ERROR_NOT_FOUND)
void toy_check(const char *name, CUresult result);

/* Up to cuInit and the context. */
void toy_open(struct toy *toy);
/* And the kernels and memory. */
void toy_load(struct toy *toy);

double toy_seconds(void);
void toy_launch(struct toy *toy, CUfunction function, unsigned blocks, unsigned threads,
		CUstream stream, void **parameters);
void toy_launch_empty(struct toy *toy, uint64_t count);
CUgraphExec toy_graph(struct toy *toy, CUstream stream, uint32_t kernels);
/* y[i] += x[i] */
void toy_add(struct toy *toy, CUdeviceptr x, CUdeviceptr y, uint32_t floats, CUstream stream);
/* chase, barrier or fma, on all multiprocessors */
void toy_launch_steps(struct toy *toy, CUfunction function, uint32_t steps);
/* The word after the workload's name, or the usual. */
uint64_t toy_count(char **rest, uint64_t usual);
/* "NAME WHAT_per_second=…" */
void toy_report(const char *name, const char *what, uint64_t count, double seconds);

/* capture_toy_shapes.c: the workloads whose shape on the GPU is known, and those that make many
 * kinds of calls. */
int toy_busy(struct toy *toy, char **rest);
int toy_overlap(struct toy *toy, char **rest);
int toy_calls(struct toy *toy, char **rest);

/* capture_toy_bursts.c: what a call costs the program. */
int toy_launches(struct toy *toy, char **rest);
int toy_graphs(struct toy *toy, char **rest);

/* capture_toy_trouble.c: the workloads that end badly. rest: the words behind the workload's
 * name. */
int toy_fork(struct toy *toy, char **rest);
int toy_second_subscriber(struct toy *toy, char **rest);
int toy_exit_without_sync(struct toy *toy, char **rest);
int toy_kill_self(struct toy *toy, char **rest);
int toy_no_such_kernel(struct toy *toy, char **rest);
int toy_late(struct toy *toy, char **rest);
int toy_leak(struct toy *toy, char **rest);

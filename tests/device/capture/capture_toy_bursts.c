/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_toy_bursts.c - what a call costs the program that makes it
 *
 * Runs in:  capture_toy
 * Gets:     a context and kernels
 * Gives:    "NAME ns_a_call=…"
 * Owns:     the times of the bursts
 * Fails:    as capture_toy.c
 * Why:      a queue that is full makes calls wait for the GPU, and then they all cost what a kernel
 *           lasts, with and without a profiler. So calls come in bursts that the queue holds, of at
 *           most 500 kernels, and waiting for the GPU between them is not in the time
 */
#include "capture_toy.h"

#include <stdio.h>
#include <stdlib.h>

enum { BURST_KERNELS = 500, MAX_BURSTS = 4096 };

struct bursts {
	uint64_t count, burst_count;
	double seconds;
	double ns[MAX_BURSTS]; /* a call, of each burst */
};

static int by_value(const void *one, const void *other)
{
	double first = *(const double *)one, second = *(const double *)other;

	return (first > second) - (first < second);
}

static void note_burst(struct bursts *bursts, uint32_t calls, double seconds)
{
	bursts->count += calls;
	bursts->seconds += seconds;
	if (bursts->burst_count < MAX_BURSTS)
		bursts->ns[bursts->burst_count++] = seconds / calls * 1e9;
}

static void report(struct bursts *bursts, const char *name, const char *what)
{
	uint64_t count = bursts->burst_count;
	double mean = bursts->count ? bursts->seconds / (double)bursts->count * 1e9 : 0;

	qsort(bursts->ns, count, sizeof(*bursts->ns), by_value);
	printf("%s ns_a_call=%.1f median=%.1f p90=%.1f most=%.1f bursts=%llu\n", name, mean,
	       count ? bursts->ns[count / 2] : 0.0, count ? bursts->ns[count * 9 / 10] : 0.0,
	       count ? bursts->ns[count - 1] : 0.0, (unsigned long long)count);
	toy_report(name, what, bursts->count, bursts->seconds);
}

int toy_launches(struct toy *toy, char **rest)
{
	static struct bursts bursts;
	uint64_t left = toy_count(rest, 100000);

	toy_launch_empty(toy, 1);
	TOY(toy, cuCtxSynchronize);
	while (left) {
		uint32_t now = left < BURST_KERNELS ? (uint32_t)left : BURST_KERNELS;
		double begin = toy_seconds();

		toy_launch_empty(toy, now);
		note_burst(&bursts, now, toy_seconds() - begin);
		TOY(toy, cuCtxSynchronize);
		left -= now;
	}
	report(&bursts, "launches", "launches");
	return 0;
}

int toy_graphs(struct toy *toy, char **rest)
{
	static struct bursts bursts;
	uint64_t left = toy_count(rest, 1000);
	CUgraphExec graph;
	CUstream stream = NULL;

	TOY(toy, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	graph = toy_graph(toy, stream, TOY_GRAPH_KERNELS);
	TOY(toy, cuGraphLaunch, graph, stream);
	TOY(toy, cuStreamSynchronize, stream);
	for (left -= left > 0; left;) {
		uint32_t most = BURST_KERNELS / TOY_GRAPH_KERNELS;
		uint32_t now = left < most ? (uint32_t)left : most;
		double begin = toy_seconds();

		for (uint32_t i = 0; i < now; i++)
			TOY(toy, cuGraphLaunch, graph, stream);
		note_burst(&bursts, now, toy_seconds() - begin);
		TOY(toy, cuStreamSynchronize, stream);
		left -= now;
	}
	report(&bursts, "graphs", "replays");
	return 0;
}

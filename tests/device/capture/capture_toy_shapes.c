/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_toy_shapes.c - workloads whose shape on the GPU is known, and all
 * kinds of launches
 *
 * Runs in:  capture_toy
 * Gets:     a context and kernels
 * Gives:    lines of text, with the times of phases
 * Owns:     memory of the GPU and pinned memory, until the end
 * Fails:    as capture_toy.c; a function that the driver does not have is said, and left out
 * Why:      counters show something only where there is something to show: arrays that no cache
 *           holds, copies from pinned memory, tensor cores, and times without any work
 */
#include "capture_toy.h"

#include "kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BUSY_MIB = 512, PINNED_MIB = 64, OVERLAP_STREAMS = 4, OVERLAP_MS = 20, CALL_ROUNDS = 3 };
#define PHASE_SECONDS 0.5
#define IDLE_SECONDS  1.0

/* ---- busy ------------------------------------------------------------------------------------ */

struct load {
	struct toy *toy;
	CUdeviceptr x, y;
	uint32_t floats;
	void *pinned;
	size_t pinned_bytes;
	CUfunction tensor; /* NULL: this GPU has none */
};

static void stream_memory(struct load *load)
{
	toy_add(load->toy, load->x, load->y, load->floats, NULL);
}

static void copy_pinned(struct load *load)
{
	struct toy *toy = load->toy;

	TOY(toy, cuMemcpyHtoDAsync_v2, load->x, load->pinned, load->pinned_bytes, NULL);
	TOY(toy, cuMemcpyDtoHAsync_v2, load->pinned, load->y, load->pinned_bytes, NULL);
}

static void multiply_tensors(struct load *load)
{
	uint32_t steps = 20000;
	void *parameters[] = {&load->toy->out, &steps};

	if (load->tensor)
		toy_launch(load->toy, load->tensor, 132 * 4, 256, NULL, parameters);
	else
		toy_launch_steps(load->toy, load->toy->fma, 2000);
}

static void multiply_add(struct load *load)
{
	toy_launch_steps(load->toy, load->toy->fma, 20000);
}

static const struct {
	const char *name;
	void (*run)(struct load *load);
} phases[] = {{"stream", stream_memory},
	      {"copy", copy_pinned},
	      {"tensor", multiply_tensors},
	      {"fma", multiply_add},
	      {"idle", NULL}};
enum { PHASES = sizeof(phases) / sizeof(*phases) };

/* Times are of CLOCK_MONOTONIC, as those of the samples are to be. */
static uint64_t run_phase(struct load *load, uint32_t phase, double end)
{
	struct toy *toy = load->toy;
	double begin = toy_seconds(),
	       idle = end - begin < IDLE_SECONDS ? end - begin : IDLE_SECONDS;
	uint64_t count = 0;

	if (!phases[phase].run && idle > 0)
		nanosleep(&(struct timespec){(time_t)idle,
					     (long)((idle - (double)(time_t)idle) * 1e9)},
			  NULL);
	while (phases[phase].run && toy_seconds() - begin < PHASE_SECONDS) {
		phases[phase].run(load);
		TOY(toy, cuCtxSynchronize);
		count++;
	}
	printf("busy phase=%s begin=%.6f end=%.6f count=%llu\n", phases[phase].name, begin,
	       toy_seconds(), (unsigned long long)count);
	fflush(stdout);
	return count;
}

static void make_load(struct toy *toy, size_t mib, struct load *load)
{
	CUmodule module = NULL;

	*load = (struct load){.toy = toy,
			      .floats = (uint32_t)((mib << 20) / 4),
			      .pinned_bytes = (mib < PINNED_MIB ? mib : PINNED_MIB) << 20};
	TOY(toy, cuMemAlloc_v2, &load->x, mib << 20);
	TOY(toy, cuMemAlloc_v2, &load->y, mib << 20);
	TOY(toy, cuMemsetD32_v2, load->x, 0, load->floats);
	TOY(toy, cuMemsetD32_v2, load->y, 0, load->floats);
	TOY(toy, cuMemAllocHost_v2, &load->pinned, load->pinned_bytes);
	if (toy->call.cuModuleLoadData(&module, capture_tensor_kernel) != CUDA_SUCCESS ||
	    toy->call.cuModuleGetFunction(&load->tensor, module, "duet_tensor") != CUDA_SUCCESS)
		load->tensor = NULL;
	TOY(toy, cuCtxSynchronize);
}

/* SECONDS MIB: of each of two arrays. */
int toy_busy(struct toy *toy, char **rest)
{
	double seconds = (double)toy_count(rest, 5), begin;
	size_t mib = rest[0] && rest[1] ? (size_t)atoi(rest[1]) : BUSY_MIB;
	struct load load;
	uint64_t count = 0;

	make_load(toy, mib ? mib : 1, &load);
	begin = toy_seconds();
	printf("busy tensor=%d mib=%zu\nbusy ready\n", load.tensor != NULL, mib);
	fflush(stdout);
	for (uint32_t phase = 0; toy_seconds() - begin < seconds; phase = (phase + 1) % PHASES)
		count += run_phase(&load, phase, begin + seconds);
	toy_report("busy", "launches", count, toy_seconds() - begin);
	return 0;
}

/* ---- overlap --------------------------------------------------------------------------------- */

static double spin_seconds(struct toy *toy, CUstream *streams, uint32_t count, uint64_t cycles)
{
	void *parameters[] = {&toy->out, &cycles};
	double begin = toy_seconds();

	for (uint32_t i = 0; i < count; i++)
		toy_launch(toy, toy->spin, 1, 32, streams[i], parameters);
	for (uint32_t i = 0; i < count; i++)
		TOY(toy, cuStreamSynchronize, streams[i]);
	return toy_seconds() - begin;
}

/* MS: each kernel has one block and a stream of its own, so all run at one time, unless something
 * serializes them. */
int toy_overlap(struct toy *toy, char **rest)
{
	uint64_t ms = toy_count(rest, OVERLAP_MS);
	CUstream streams[OVERLAP_STREAMS];
	int clock_khz = 0;
	double alone, together;

	TOY(toy, cuDeviceGetAttribute, &clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, toy->device);
	clock_khz = clock_khz > 0 ? clock_khz : 1500000;
	for (uint32_t i = 0; i < OVERLAP_STREAMS; i++)
		TOY(toy, cuStreamCreate, &streams[i], CU_STREAM_NON_BLOCKING);
	spin_seconds(toy, streams, OVERLAP_STREAMS, 1000);
	alone = spin_seconds(toy, streams, 1, ms * (uint64_t)clock_khz);
	together = spin_seconds(toy, streams, OVERLAP_STREAMS, ms * (uint64_t)clock_khz);
	printf("overlap kernels=%d alone_ms=%.3f together_ms=%.3f %s\n", OVERLAP_STREAMS,
	       alone * 1e3, together * 1e3,
	       together < 2 * alone ? "at one time" : "one after the other");
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Functions by their symbols, those of programs with a default stream for each thread among
 * them. */
struct calls {
	__typeof__(((struct cuda_all_functions *)0)->cuLaunchKernel) kernel;
	__typeof__(((struct cuda_all_functions *)0)->cuLaunchKernelEx) kernel_ex;
	__typeof__(((struct cuda_all_functions *)0)->cuLaunchCooperativeKernel) cooperative;
	__typeof__(((struct cuda_all_functions *)0)->cuLaunchHostFunc) host;
};

static uint32_t host_calls;

static void on_host(void *user)
{
	__atomic_fetch_add(&host_calls, 1, __ATOMIC_RELAXED);
}

static void *find(struct toy *toy, const char *name, const char *suffix)
{
	char symbol[64];
	void *function;

	snprintf(symbol, sizeof(symbol), "%s%s", name, suffix);
	function = dlsym(toy->library, symbol);
	if (!function)
		printf("calls missing=%s\n", symbol);
	return function;
}

static void make_calls(struct toy *toy, const struct calls *calls, CUstream stream)
{
	uint32_t steps = 10;
	void *parameters[] = {&toy->out, &steps};
	CUlaunchConfig config = {.grid_x = 2,
				 .grid_y = 1,
				 .grid_z = 1,
				 .block_x = 64,
				 .block_y = 1,
				 .block_z = 1,
				 .stream = stream};

	if (calls->kernel)
		toy_check("cuLaunchKernel",
			  calls->kernel(toy->fma, 2, 1, 1, 64, 1, 1, 0, stream, parameters, NULL));
	if (calls->kernel_ex)
		toy_check("cuLaunchKernelEx",
			  calls->kernel_ex(&config, toy->barrier, parameters, NULL));
	if (calls->cooperative)
		toy_check("cuLaunchCooperativeKernel",
			  calls->cooperative(toy->fma, 2, 1, 1, 64, 1, 1, 0, stream, parameters));
	if (calls->host)
		toy_check("cuLaunchHostFunc", calls->host(stream, on_host, NULL));
}

int toy_calls(struct toy *toy, char **rest)
{
	static const char *const suffixes[] = {"", "_ptsz"};
	uint64_t rounds = toy_count(rest, CALL_ROUNDS);
	CUstream stream = NULL;

	TOY(toy, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	for (uint32_t i = 0; i < 2; i++) {
		struct calls calls;

		*(void **)&calls.kernel = find(toy, "cuLaunchKernel", suffixes[i]);
		*(void **)&calls.kernel_ex = find(toy, "cuLaunchKernelEx", suffixes[i]);
		*(void **)&calls.cooperative = find(toy, "cuLaunchCooperativeKernel", suffixes[i]);
		*(void **)&calls.host = find(toy, "cuLaunchHostFunc", suffixes[i]);
		for (uint64_t round = 0; round < rounds; round++) {
			make_calls(toy, &calls, stream);
			make_calls(toy, &calls, NULL);
		}
	}
	TOY(toy, cuStreamSynchronize, stream);
	TOY(toy, cuStreamSynchronize, CU_STREAM_PER_THREAD);
	TOY(toy, cuStreamSynchronize, NULL);
	printf("calls rounds=%llu host=%u\n", (unsigned long long)rounds, host_calls);
	return 0;
}

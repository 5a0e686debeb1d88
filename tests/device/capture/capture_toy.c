/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_toy.c - CUDA programs of known behaviour, by the driver's interface
 * alone
 *
 * Runs in:  a process of its own, mostly with the capturing library in it
 * Gets:     WORKLOAD [COUNT]
 * Gives:    a line "WORKLOAD …_per_second=…"
 * Owns:     one context
 * Fails:    with status 1 and the name of the call; status 3: there is no usable driver
 * Why:      no CUDA toolkit is needed to build it, and no runtime library stands between it and the
 *           driver
 */
#include "capture_toy.h"

#include "kernels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, STREAMS = 4, NO_DRIVER = 3 };

double toy_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void toy_check(const char *name, CUresult result)
{
	if (result == CUDA_SUCCESS)
		return;
	fflush(stdout);
	fprintf(stderr, "capture_toy: %s: %u\n", name, result);
	exit(strcmp(name, "cuInit") ? 1 : NO_DRIVER);
}

void toy_report(const char *name, const char *what, uint64_t count, double seconds)
{
	printf("%s %s_per_second=%.0f count=%llu seconds=%.3f\n", name, what,
	       seconds > 0 ? (double)count / seconds : 0.0, (unsigned long long)count, seconds);
	fflush(stdout);
}

void toy_open(struct toy *toy)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	toy->library = library;
	if (!library) {
		fprintf(stderr, "capture_toy: no driver here: %s\n", dlerror());
		exit(NO_DRIVER);
	}
#define FIND(name, parameters) *(void **)&toy->call.name = dlsym(library, #name);
	CUDA_ALL_FUNCTIONS(FIND)
#undef FIND
	TOY(toy, cuInit, 0);
	TOY(toy, cuDeviceGet, &toy->device, 0);
	TOY(toy, cuDevicePrimaryCtxRetain, &toy->context, toy->device);
	TOY(toy, cuCtxSetCurrent, toy->context);
}

void toy_load(struct toy *toy)
{
	TOY(toy, cuModuleLoadData, &toy->module, capture_kernels);
	TOY(toy, cuModuleGetFunction, &toy->empty, toy->module, "duet_empty");
	TOY(toy, cuModuleGetFunction, &toy->add, toy->module, "duet_add");
	TOY(toy, cuModuleGetFunction, &toy->chase, toy->module, "duet_chase");
	TOY(toy, cuModuleGetFunction, &toy->barrier, toy->module, "duet_barrier");
	TOY(toy, cuModuleGetFunction, &toy->fma, toy->module, "duet_fma");
	TOY(toy, cuModuleGetFunction, &toy->spin, toy->module, "duet_spin");
	TOY(toy, cuMemAlloc_v2, &toy->x, TOY_FLOATS * 4);
	TOY(toy, cuMemAlloc_v2, &toy->y, TOY_FLOATS * 4);
	TOY(toy, cuMemAlloc_v2, &toy->out, TOY_FLOATS * 4);
	TOY(toy, cuMemsetD32_v2, toy->x, 0, TOY_FLOATS);
	TOY(toy, cuMemsetD32_v2, toy->y, 0, TOY_FLOATS);
	TOY(toy, cuCtxSynchronize);
}

void toy_launch(struct toy *toy, CUfunction function, unsigned blocks, unsigned threads,
		CUstream stream, void **parameters)
{
	TOY(toy, cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters,
	    NULL);
}

void toy_launch_empty(struct toy *toy, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		toy_launch(toy, toy->empty, 1, 1, NULL, NULL);
}

void toy_add(struct toy *toy, CUdeviceptr x, CUdeviceptr y, uint32_t floats, CUstream stream)
{
	void *parameters[] = {&x, &y, &floats};

	toy_launch(toy, toy->add, (floats + 255) / 256, 256, stream, parameters);
}

void toy_launch_steps(struct toy *toy, CUfunction function, uint32_t steps)
{
	CUdeviceptr table = toy->x;
	void *chase[] = {&table, &toy->out, &steps}, *others[] = {&toy->out, &steps};

	toy_launch(toy, function, 132, 128, NULL, function == toy->chase ? chase : others);
}

uint64_t toy_count(char **rest, uint64_t usual)
{
	return rest[0] ? strtoull(rest[0], NULL, 10) : usual;
}

struct worker {
	struct toy *toy;
	uint64_t count, launched;
};

static void *work(void *user)
{
	struct worker *worker = user;
	struct toy *toy = worker->toy;
	CUstream streams[STREAMS];
	CUdeviceptr mine;
	void *host;

	TOY(toy, cuCtxSetCurrent, toy->context);
	TOY(toy, cuMemAllocHost_v2, &host, 1 << 16);
	TOY(toy, cuMemAlloc_v2, &mine, 1 << 16);
	for (uint32_t i = 0; i < STREAMS; i++)
		TOY(toy, cuStreamCreate, &streams[i], CU_STREAM_NON_BLOCKING);
	for (uint64_t i = 0; i < worker->count; i++) {
		CUstream stream = streams[i % STREAMS];

		TOY(toy, cuMemcpyHtoDAsync_v2, mine, host, 1 << 16, stream);
		toy_add(toy, toy->x, toy->y, 1 << 14, stream);
		TOY(toy, cuMemsetD32Async, mine, 7, 1 << 14, stream);
		toy_launch(toy, toy->empty, 1, 32, stream, NULL);
		TOY(toy, cuMemcpyDtoHAsync_v2, host, mine, 1 << 12, stream);
		worker->launched += 2;
		if (i % 16 == 15)
			TOY(toy, cuStreamSynchronize, stream);
	}
	for (uint32_t i = 0; i < STREAMS; i++) {
		TOY(toy, cuStreamSynchronize, streams[i]);
		TOY(toy, cuStreamDestroy_v2, streams[i]);
	}
	return NULL;
}

static int threads(struct toy *toy, char **rest)
{
	struct worker workers[THREADS];
	pthread_t ids[THREADS];
	uint64_t launched = 0;
	double begin = toy_seconds();

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){toy, toy_count(rest, 500), 0};
		if (pthread_create(&ids[i], NULL, work, &workers[i]) != 0)
			return 1;
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		launched += workers[i].launched;
	}
	toy_report("threads", "launches", launched, toy_seconds() - begin);
	return 0;
}

CUgraphExec toy_graph(struct toy *toy, CUstream stream, uint32_t kernels)
{
	CUgraphExec graph_exec = NULL;
	CUgraph graph = NULL;

	TOY(toy, cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	for (uint32_t i = 0; i < kernels; i++) {
		if (kernels == TOY_GRAPH_KERNELS && i % 4 == 3)
			toy_add(toy, toy->x, toy->y, 1 << 14, stream);
		else
			toy_launch(toy, toy->empty, 1, 1, stream, NULL);
	}
	TOY(toy, cuStreamEndCapture, stream, &graph);
	TOY(toy, cuGraphInstantiateWithFlags, &graph_exec, graph, 0);
	return graph_exec;
}

static int copies(struct toy *toy, char **rest)
{
	uint64_t count = toy_count(rest, 200);
	double begin = toy_seconds();
	void *pinned, *pageable = calloc(1, TOY_FLOATS * 4);

	TOY(toy, cuMemAllocHost_v2, &pinned, TOY_FLOATS * 4);
	for (uint64_t i = 0; i < count; i++) {
		size_t bytes = (size_t)1 << (2 + i % 21);

		TOY(toy, cuMemcpyHtoD_v2, toy->x, pageable, bytes);
		TOY(toy, cuMemcpyHtoDAsync_v2, toy->x, pinned, bytes, NULL);
		TOY(toy, cuMemcpyDtoDAsync_v2, toy->y, toy->x, bytes, NULL);
		TOY(toy, cuMemsetD8Async, toy->out, 1, bytes, NULL);
		TOY(toy, cuMemcpyDtoHAsync_v2, pinned, toy->y, bytes, NULL);
		TOY(toy, cuMemcpyDtoH_v2, pageable, toy->out, bytes);
	}
	TOY(toy, cuCtxSynchronize);
	toy_report("copies", "copies", 6 * count, toy_seconds() - begin);
	return 0;
}

/* Sattolo: one cycle through all of it. */
static void fill_chase(struct toy *toy)
{
	uint32_t *table = malloc(TOY_FLOATS * 4);
	uint64_t random = 88172645463325252u;

	if (!table)
		return;
	for (uint32_t i = 0; i < TOY_FLOATS; i++)
		table[i] = i;
	for (uint32_t i = TOY_FLOATS - 1; i > 0; i--) {
		uint32_t other, swap = table[i];

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		other = (uint32_t)(random % i);
		table[i] = table[other];
		table[other] = swap;
	}
	TOY(toy, cuMemcpyHtoD_v2, toy->x, table, TOY_FLOATS * 4);
	free(table);
}

static double time_steps(struct toy *toy, CUfunction function, uint32_t steps)
{
	double begin = toy_seconds();

	toy_launch_steps(toy, function, steps);
	TOY(toy, cuCtxSynchronize);
	return toy_seconds() - begin;
}

static int stalls(struct toy *toy, char **rest)
{
	double ms = (double)toy_count(rest, 200);
	CUfunction functions[] = {toy->chase, toy->barrier, toy->fma};
	const char *names[] = {"chase", "barrier", "fma"};
	uint64_t cycles = (uint64_t)(ms * 1.5e6);
	void *spin[] = {&toy->out, &cycles};
	double begin = toy_seconds(), each;

	fill_chase(toy);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t steps;

		time_steps(toy, functions[i], 10);
		each = time_steps(toy, functions[i], 2000) / 2000;
		each = each > 5e-9 ? each : 5e-9;
		steps = ms * 1e-3 / each < 4e8 ? (uint32_t)(ms * 1e-3 / each) : 400000000u;
		printf("stalls duet_%s steps=%u seconds=%.3f\n", names[i], steps,
		       time_steps(toy, functions[i], steps));
	}
	toy_launch(toy, toy->spin, 132, 128, NULL, spin);
	TOY(toy, cuCtxSynchronize);
	toy_report("stalls", "kernels", 4, toy_seconds() - begin);
	return 0;
}

static int idle(struct toy *toy, char **rest)
{
	printf("idle ready\n");
	fflush(stdout);
	sleep((unsigned)toy_count(rest, 5));
	toy_report("idle", "launches", 0, (double)toy_count(rest, 5));
	return 0;
}

static int check(struct toy *toy, char **rest)
{
	int driver = 0, major = 0, minor = 0, count = 0, clock_khz = 0;
	size_t free_bytes = 0, total_bytes = 0;
	char name[128] = "?";
	CUuuid uuid = {0};

	TOY(toy, cuDriverGetVersion, &driver);
	TOY(toy, cuDeviceGetName, name, sizeof(name), toy->device);
	TOY(toy, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
	    toy->device);
	TOY(toy, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
	    toy->device);
	TOY(toy, cuDeviceGetAttribute, &count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
	    toy->device);
	TOY(toy, cuDeviceGetAttribute, &clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, toy->device);
	printf("check name=%s\ncheck capability=%d.%d\ncheck multiprocessors=%d\n"
	       "check driver=%d\ncheck clock_khz=%d\n",
	       name, major, minor, count, driver, clock_khz);
	if (toy->call.cuDeviceGetUuid_v2 &&
	    toy->call.cuDeviceGetUuid_v2(&uuid, toy->device) == CUDA_SUCCESS) {
		printf("check uuid=");
		for (uint32_t i = 0; i < 16; i++)
			printf("%02x", (unsigned char)uuid.bytes[i]);
		printf("\n");
	}
	if (toy->call.cuMemGetInfo_v2 &&
	    toy->call.cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS)
		printf("check memory_free_mib=%zu total_mib=%zu\n", free_bytes >> 20,
		       total_bytes >> 20);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct toy *toy, char **rest);
} workloads[] = {
	{"launches", toy_launches},
	{"threads", threads},
	{"graphs", toy_graphs},
	{"copies", copies},
	{"stalls", stalls},
	{"busy", toy_busy},
	{"overlap", toy_overlap},
	{"calls", toy_calls},
	{"idle", idle},
	{"check", check},
	{"fork-after-init", toy_fork},
	{"second-subscriber", toy_second_subscriber},
	{"exit-without-sync", toy_exit_without_sync},
	{"kill-self", toy_kill_self},
	{"no-such-kernel", toy_no_such_kernel},
	{"late", toy_late},
	{"leak", toy_leak},
};

int main(int argc, char **argv)
{
	static struct toy toy;

	for (size_t i = 0; argc > 1 && i < sizeof(workloads) / sizeof(*workloads); i++) {
		int status;

		if (strcmp(argv[1], workloads[i].name))
			continue;
		toy_open(&toy);
		toy_load(&toy);
		status = workloads[i].run(&toy, argv + 2);
		fflush(stdout);
		return status;
	}
	fprintf(stderr, "usage: capture_toy WORKLOAD [COUNT]\nworkloads:");
	for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++)
		fprintf(stderr, " %s", workloads[i].name);
	fprintf(stderr, "\n");
	return 2;
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/sim/sim_client.h - what the tests of the simulated NVIDIA libraries share
 *
 * SIM_NVIDIA is read once in a process, so each scenario runs in a process of its own: the test
 * program again, as `PROGRAM FOLDER scenario NAME`. The libraries are taken from FOLDER by path.
 */
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/nvidia/cuda_abi.h"
#include "sim/nvidia/cupti_abi.h"
#include "harness.h"

static const char *client_folder;
static struct cuda_all_functions cu;
static struct cupti_all_functions cupti;
static CUcontext client_context;
static CUmodule client_module;
static CUfunction client_spin, client_other;

static const char client_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
				 ".visible .entry spin(\n\t.param .u64 p\n)\n{ ret; }\n"
				 ".visible .entry _Z5otherPf(.param .u64 p) { ret; }\n";

static inline uint64_t client_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- loading --------------------------------------------------------------------------------- */

static inline void *client_open(const char *name)
{
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", client_folder, name);
	library = dlopen(path, RTLD_NOW);
	if (!library)
		printf("# %s\n", dlerror());
	return library;
}

/* -> how many functions are missing; the driver is not initialized */
static inline int client_open_cuda(void)
{
	void *library = client_open("libcuda.so.1");
	int missing = !library;

#define X(name, parameters)                                                    \
	cu.name = library ? (__typeof__(cu.name))dlsym(library, #name) : NULL; \
	missing += !cu.name;
	CUDA_ALL_FUNCTIONS(X)
#undef X
	return missing;
}

static inline int client_open_cupti(void)
{
	void *library = client_open("libcupti.so.13");
	int missing = !library;

#define X(need, name, parameters)                                                    \
	cupti.name = library ? (__typeof__(cupti.name))dlsym(library, #name) : NULL; \
	missing += !cupti.name;
	CUPTI_ALL_FUNCTIONS(X)
#undef X
	return missing;
}

/* Both libraries, cuInit and CUPTI's symbols; no context yet. */
static inline bool client_init(void)
{
	return !client_open_cuda() && cu.cuInit(0) == CUDA_SUCCESS && !client_open_cupti();
}

static inline bool client_make_context(void)
{
	return !cu.cuDevicePrimaryCtxRetain(&client_context, 0) &&
	       !cu.cuCtxSetCurrent(client_context) &&
	       !cu.cuModuleLoadData(&client_module, client_ptx) &&
	       !cu.cuModuleGetFunction(&client_spin, client_module, "spin") &&
	       !cu.cuModuleGetFunction(&client_other, client_module, "_Z5otherPf");
}

static inline CUresult client_launch(CUfunction function, CUstream stream)
{
	return cu.cuLaunchKernel(function, 4, 2, 1, 128, 1, 1, 16, stream, NULL, NULL);
}

/* ---- records --------------------------------------------------------------------------------- */

union client_record {
	uint32_t kind;
	struct cupti_activity_kernel kernel;
	struct cupti_activity_memcpy copy;
	struct cupti_activity_memcpy_peer peer;
	struct cupti_activity_memset set;
	struct cupti_activity_api api;
	struct cupti_activity_synchronization synchronization;
	struct cupti_activity_overhead overhead;
	struct cupti_activity_device device;
	struct cupti_activity_context context;
	struct cupti_activity_stream stream;
	struct cupti_activity_graph_trace graph;
	struct cupti_activity_external_correlation external;
	uint8_t bytes[256];
};

static struct {
	pthread_mutex_t lock;
	union client_record *records;
	size_t count, capacity, buffer_count, buffer_bytes, requested_count;
	bool gives_none;
	FILE *dump; /* buffers as they are: bytes and then the buffer */
} client = {.lock = PTHREAD_MUTEX_INITIALIZER, .buffer_bytes = 65536};

static inline void client_requested(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max)
{
	client.requested_count++;
	*ret_buffer = client.gives_none ? NULL : aligned_alloc(8, client.buffer_bytes);
	*ret_bytes = client.buffer_bytes;
	*ret_max = 0;
}

static inline void client_keep(const struct cupti_activity *record, size_t bytes)
{
	if (client.count == client.capacity) {
		client.capacity = client.capacity ? client.capacity * 2 : 1024;
		client.records = realloc(client.records, client.capacity * sizeof(*client.records));
	}
	memset(&client.records[client.count], 0, sizeof(*client.records));
	memcpy(&client.records[client.count++], record, bytes < 256 ? bytes : 256);
}

static inline void client_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer,
				    size_t bytes, size_t valid)
{
	struct cupti_activity *record = NULL, *next;

	pthread_mutex_lock(&client.lock);
	client.buffer_count++;
	if (client.dump && (fwrite(&valid, sizeof(valid), 1, client.dump) != 1 ||
			    fwrite(buffer, 1, valid, client.dump) != valid))
		abort();
	while (cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		next = record;
		if (cupti.cuptiActivityGetNextRecord(buffer, valid, &next) != CUPTI_SUCCESS)
			next = (struct cupti_activity *)(void *)(buffer + valid);
		client_keep(record, (size_t)((uint8_t *)next - (uint8_t *)record));
	}
	pthread_mutex_unlock(&client.lock);
	free(buffer);
}

static inline cupti_result client_enable(cupti_kind kind)
{
	cupti.cuptiActivityRegisterCallbacks(client_requested, client_completed);
	return cupti.cuptiActivityEnable(kind);
}

/* The number-th record of the kind; NULL: there are fewer. */
static inline const union client_record *client_find(uint32_t kind, size_t number)
{
	for (size_t i = 0; i < client.count; i++)
		if (client.records[i].kind == kind && number-- == 0)
			return &client.records[i];
	return NULL;
}

static inline size_t client_count(uint32_t kind)
{
	size_t count = 0;

	for (size_t i = 0; i < client.count; i++)
		count += client.records[i].kind == kind;
	return count;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

struct scenario {
	const char *name, *options; /* SIM_NVIDIA */
	void (*run)(void);
};

enum { SCENARIO_SKIPPED = 77 };

/* In a process of its own. -> its wait status */
static inline int scenario_spawn(const struct scenario *scenario)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		setenv("SIM_NVIDIA", scenario->options, 1);
		execl("/proc/self/exe", "scenario", client_folder, "scenario", scenario->name,
		      (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return status;
}

static const struct scenario *scenario_now;

static inline void scenario_test(void)
{
	int status = scenario_spawn(scenario_now);

	if (WIFEXITED(status) && WEXITSTATUS(status) == SCENARIO_SKIPPED)
		SKIP("what it compares with is not installed");
	CHECK_EQUAL(status, 0);
}

static inline int scenario_main(int argc, char **argv, const struct scenario *scenarios,
				size_t count)
{
	char scratch[] = "/tmp/duet-sim-XXXXXX";

	if (argc < 2)
		return 2;
	client_folder = argv[1];
	for (size_t i = 0; argc > 3 && i < count; i++) {
		if (strcmp(scenarios[i].name, argv[3]) != 0)
			continue;
		scenarios[i].run();
		fflush(stdout);
		return harness_failed;
	}
	/* some write files */
	if (!mkdtemp(scratch) || chdir(scratch))
		return 2;
	for (size_t i = 0; i < count; i++) {
		scenario_now = &scenarios[i];
		harness_run(scenarios[i].name, scenario_test);
	}
	if (chdir("/") == 0)
		rmdir(scratch);
	return harness_end();
}

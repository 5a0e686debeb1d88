/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cuda_live.c - a program of CUDA that works when it is told to, and is somewhere
 * else meanwhile
 *
 * Runs in:  a process of its own, with libcuda.so.1 and libcupti.so.13 as the loader finds them
 * Gets:     "read", "busy", "allocate", "threads", "alarm" or "sleep": where its threads are;
 *           "without": it does not load libcupti, or "later": it has no graph until it is told
 *           "make"; on stdin lines: "launch N", "graph N" (launches of a graph that was made at the
 *           begin), "context N" (a new context, and N launches in that)
 * Gives:    a line for each when it is done; at the end of stdin "wrong N" and status 7, where
 *           nothing went wrong
 * Why:      what is launched while somebody is attached is known to the last kernel
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "sim/nvidia/cuda_abi.h"

enum { THREADS = 50, NODES = 3 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry _Z4stepPfi(.param .u64 p) { ret; }\n";

static struct cuda_all_functions cu;
static CUfunction step;
static CUstream stream;
static CUgraphExec graph;
static _Atomic int wrong;
static _Atomic bool is_over;
static _Atomic uint64_t alarms;

#define CHECK(call) (wrong += (call) != CUDA_SUCCESS)

static bool open_libraries(bool has_cupti)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library || (has_cupti && !dlopen("libcupti.so.13", RTLD_NOW))) {
		fprintf(stderr, "cuda_live: %s\n", dlerror());
		return false;
	}
#define FIND(name, parameters) *(void **)&cu.name = dlsym(library, #name);
	CUDA_ALL_FUNCTIONS(FIND)
#undef FIND
	return true;
}

static void make_graph(void)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters = {.function = step,
						 .grid_x = 2,
						 .grid_y = 1,
						 .grid_z = 1,
						 .block_x = 32,
						 .block_y = 1,
						 .block_z = 1};
	CUgraphNode node;
	CUgraph made = NULL;

	CHECK(cu.cuGraphCreate(&made, 0));
	for (int i = 0; i < NODES; i++)
		CHECK(cu.cuGraphAddKernelNode_v2(&node, made, NULL, 0, &parameters));
	CHECK(cu.cuGraphInstantiateWithFlags(&graph, made, 0));
}

static bool begin(bool has_graph)
{
	CUcontext context;
	CUmodule module;

	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	CHECK(cu.cuModuleLoadData(&module, ptx));
	CHECK(cu.cuModuleGetFunction(&step, module, "_Z4stepPfi"));
	CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	if (!wrong && has_graph)
		make_graph();
	return !wrong;
}

/* ---- what it does meanwhile ------------------------------------------------------------------ */

__attribute__((noinline)) static double compute(int turns)
{
	double sums[4] = {0};

	for (int i = 0; i < turns; i++)
		for (int k = 0; k < 4; k++)
			sums[k] += (double)(i % 11) * (k + 1) * 0.25;
	return sums[0] + sums[1] + sums[2] + sums[3];
}

static void do_compute(void)
{
	if (compute(5000) != compute(5000))
		wrong++;
}

static void do_allocate(void)
{
	static _Thread_local unsigned int turn;
	size_t bytes = ++turn * 7919 % 200000 + 1;
	unsigned char *memory = malloc(bytes), *other = malloc(bytes / 2 + 1);

	if (!memory || !other)
		abort();
	memset(memory, (int)turn, bytes);
	free(other);
	wrong += memory[bytes - 1] != (unsigned char)turn;
	free(memory);
}

static void do_sleep(void)
{
	const struct timespec time = {0, 50000000};
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	wrong += nanosleep(&time, NULL) != 0;
	clock_gettime(CLOCK_MONOTONIC, &end);
	wrong += (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec <
		 time.tv_nsec;
}

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void start_alarms(void)
{
	const struct itimerval timer = {.it_interval = {0, 1000}, .it_value = {0, 1000}};
	const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void *run_thread(void *argument)
{
	while (!is_over) {
		if (argument)
			do_sleep();
		else
			do_allocate();
	}
	return NULL;
}

static const struct {
	const char *name;
	void (*start)(void); /* once */
	void (*turn)(void);  /* until there is a line */
	bool has_threads;
} all[] = {
	{"read", NULL, NULL, false},
	{"busy", NULL, do_compute, false},
	{"allocate", NULL, do_allocate, false},
	{"threads", NULL, do_allocate, true},
	{"alarm", start_alarms, do_compute, false},
	{"sleep", NULL, do_sleep, false},
};

static void use_context(int count)
{
	CUcontext context, before;
	CUfunction function;
	CUmodule module;

	CHECK(cu.cuCtxGetCurrent(&before));
	CHECK(cu.cuCtxCreate_v2(&context, 0, 0));
	CHECK(cu.cuModuleLoadData(&module, ptx));
	CHECK(cu.cuModuleGetFunction(&function, module, "_Z4stepPfi"));
	for (int i = 0; i < count; i++)
		CHECK(cu.cuLaunchKernel(function, 4, 2, 1, 128, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cu.cuCtxSynchronize());
	CHECK(cu.cuCtxSetCurrent(before));
}

/* ---- what it is told ------------------------------------------------------------------------- */

/* False: stdin has ended. */
static bool wait_line(void (*turn)(void), char *line, size_t size)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	size_t length = 0;

	while (turn && poll(&input, 1, 0) == 0)
		turn();
	for (ssize_t got; length + 1 < size; length += (size_t)got) {
		got = read(0, line + length, 1);
		if (got <= 0) {
			wrong += got < 0;
			return false;
		}
		if (line[length] == '\n')
			break;
	}
	line[length] = '\0';
	return true;
}

static void obey(const char *line)
{
	int count = 0;

	if (sscanf(line, "launch %d", &count) == 1)
		for (int i = 0; i < count; i++)
			CHECK(cu.cuLaunchKernel(step, 4, 2, 1, 128, 1, 1, 0, stream, NULL, NULL));
	else if (sscanf(line, "graph %d", &count) == 1)
		for (int i = 0; i < count; i++)
			CHECK(cu.cuGraphLaunch(graph, stream));
	else if (strcmp(line, "make") == 0)
		make_graph();
	else if (sscanf(line, "context %d", &count) == 1)
		use_context(count);
	CHECK(cu.cuStreamSynchronize(stream));
	printf("%s: done\n", line);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "read", *how = argc > 2 ? argv[2] : "";
	pthread_t threads[THREADS];
	size_t way = 0;
	int started = 0;
	char line[64];

	while (way < sizeof(all) / sizeof(all[0]) - 1 && strcmp(all[way].name, where) != 0)
		way++;
	if (!open_libraries(strcmp(how, "without") != 0) || !begin(strcmp(how, "later") != 0))
		return 2;
	for (; all[way].has_threads && started < THREADS; started++)
		if (pthread_create(&threads[started], NULL, run_thread,
				   started % 8 ? &wrong : NULL))
			return 2;
	if (all[way].start)
		all[way].start();
	printf("ready\n");
	fflush(stdout);
	while (wait_line(all[way].turn, line, sizeof(line)))
		obey(line);
	is_over = true;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	wrong += strcmp(where, "alarm") == 0 && !alarms;
	printf("wrong %d\n", wrong);
	return wrong ? 1 : 7;
}

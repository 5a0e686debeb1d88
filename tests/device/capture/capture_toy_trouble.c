/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_toy_trouble.c - workloads that end badly, or begin so
 *
 * Runs in:  capture_toy   Gets: a context and kernels   Gives: lines of text
 * Owns:     a child process, which is waited for
 * Fails:    as capture_toy.c
 */
#include "capture_toy.h"

#include "capture_cupti.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAK_NODES = 1000, LEAK_SYNC = 10000, LATE_STALLS = 10 };

/* The driver is of no use in a child; it only ends as programs do, with all exit handlers. */
int toy_fork(struct toy *toy, char **rest)
{
	uint64_t count = toy_count(rest, 1000);
	int status = 0;
	pid_t child;

	toy_launch_empty(toy, count);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		alarm(10);
		exit(0);
	}
	waitpid(child, &status, 0);
	toy_launch_empty(toy, count);
	TOY(toy, cuCtxSynchronize);
	printf("fork-after-init child=%s%d launches=%llu\n",
	       WIFSIGNALED(status) ? "signal " : "status ",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       (unsigned long long)(2 * count));
	return 0;
}

static void on_nothing(void *user, cupti_domain domain, uint32_t cbid, const void *data)
{
}

int toy_second_subscriber(struct toy *toy, char **rest)
{
	char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 64] = "";
	struct cupti_subscriber_params params = {.struct_bytes = CUpti_SubscriberParams_STRUCT_SIZE,
						 .name = "second",
						 .old_name = holder,
						 .old_name_bytes = sizeof(holder)};
	cupti_subscriber subscriber = NULL;
	struct capture_cupti cupti;
	cupti_result result;

	if (capture_cupti_open(&cupti) != 0) {
		printf("second-subscriber no libcupti is found\n");
		return 0;
	}
	result = cupti.call.cuptiSubscribe(&subscriber, on_nothing, NULL);
	printf("second-subscriber v1=%d %s\n", (int)result, capture_cupti_text(&cupti, result));
	if (result == 0)
		cupti.call.cuptiUnsubscribe(subscriber);
	if (cupti.call.cuptiSubscribe_v2) {
		result = cupti.call.cuptiSubscribe_v2(&subscriber, on_nothing, NULL, &params);
		printf("second-subscriber v2=%d %s holder='%.*s'\n", (int)result,
		       capture_cupti_text(&cupti, result), (int)sizeof(holder), holder);
	}
	toy_launch_empty(toy, toy_count(rest, 100));
	TOY(toy, cuCtxSynchronize);
	return 0;
}

int toy_exit_without_sync(struct toy *toy, char **rest)
{
	uint64_t cycles = 1000000, count = toy_count(rest, 200);
	void *parameters[] = {&toy->out, &cycles};

	for (uint64_t i = 0; i < count; i++)
		toy_launch(toy, toy->spin, 1, 32, NULL, parameters);
	printf("exit-without-sync launches=%llu\n", (unsigned long long)count);
	return 0;
}

int toy_kill_self(struct toy *toy, char **rest)
{
	uint64_t count = toy_count(rest, 20000);

	toy_launch_empty(toy, count);
	TOY(toy, cuCtxSynchronize);
	printf("kill-self launches=%llu\n", (unsigned long long)count);
	fflush(stdout);
	raise(SIGKILL);
	return 1;
}

/* Ends as a program does whose CUDA call fails. */
int toy_no_such_kernel(struct toy *toy, char **rest)
{
	CUfunction function;

	TOY(toy, cuModuleGetFunction, &function, toy->module, "duet_no_such_kernel");
	return 0;
}

/* COUNT AGENT: a graph is made before the capturing library is there. */
int toy_late(struct toy *toy, char **rest)
{
	uint64_t count = toy_count(rest, 100);
	int (*begin)(void) = NULL;
	CUgraphExec graph;
	CUstream stream = NULL;
	double asked;
	void *agent;
	int begun;

	TOY(toy, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	graph = toy_graph(toy, stream, TOY_GRAPH_KERNELS);
	TOY(toy, cuGraphLaunch, graph, stream);
	TOY(toy, cuStreamSynchronize, stream);
	agent = rest[0] && rest[1] ? dlopen(rest[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (agent)
		*(void **)&begin = dlsym(agent, "InitializeInjection");
	asked = toy_seconds();
	begun = begin ? begin() : -1;
	printf("late agent=%d seconds=%.6f\n", begun, toy_seconds() - asked);
	asked = toy_seconds();
	for (uint64_t i = 0; i < count; i++)
		TOY(toy, cuGraphLaunch, graph, stream);
	TOY(toy, cuStreamSynchronize, stream);
	toy_launch_empty(toy, count);
	for (uint32_t i = 0; i < LATE_STALLS; i++) {
		toy_launch_steps(toy, toy->fma, 20000);
		toy_launch_steps(toy, toy->barrier, 20000);
	}
	TOY(toy, cuCtxSynchronize);
	toy_report("late", "replays", count, toy_seconds() - asked);
	return 0;
}

static size_t used_mib(struct toy *toy)
{
	size_t free_bytes = 0, total_bytes = 0;

	TOY(toy, cuMemGetInfo_v2, &free_bytes, &total_bytes);
	return (total_bytes - free_bytes) >> 20;
}

/* Of this process; 0: not known. */
static unsigned long resident_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file) && sscanf(line, "VmRSS: %lu", &kib) != 1)
		;
	if (file)
		fclose(file);
	return kib;
}

static void report_leak(struct toy *toy, uint64_t done, double seconds)
{
	printf("leak nodes=%llu used_mib=%zu rss_kib=%lu seconds=%.2f\n", (unsigned long long)done,
	       used_mib(toy), resident_kib(), seconds);
	fflush(stdout);
}

/* NODES SECONDS: replays until as many nodes ran, or so long. A line each second: memory of the
 * GPU, all processes' together, and of this process. */
int toy_leak(struct toy *toy, char **rest)
{
	uint64_t nodes = toy_count(rest, 30000000), done = 0;
	double begin = toy_seconds(), most = rest[0] && rest[1] ? atof(rest[1]) : 100, next = 1;
	CUgraphExec graph;
	CUstream stream = NULL;

	TOY(toy, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	graph = toy_graph(toy, stream, LEAK_NODES);
	report_leak(toy, 0, 0);
	while (done < nodes && toy_seconds() - begin < most) {
		TOY(toy, cuGraphLaunch, graph, stream);
		done += LEAK_NODES;
		if (done % LEAK_SYNC)
			continue;
		TOY(toy, cuStreamSynchronize, stream);
		if (toy_seconds() - begin < next)
			continue;
		report_leak(toy, done, toy_seconds() - begin);
		next = (double)(uint64_t)(toy_seconds() - begin) + 1;
	}
	TOY(toy, cuStreamSynchronize, stream);
	report_leak(toy, done, toy_seconds() - begin);
	toy_report("leak", "nodes", done, toy_seconds() - begin);
	return 0;
}

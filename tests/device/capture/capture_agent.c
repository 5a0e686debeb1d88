/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_agent.c - the library that a CUDA program loads to be captured
 *
 * Runs in:  the captured program; CUDA_INJECTION64_PATH names it, cuInit calls InitializeInjection
 * Gets:     CAPTURE="key=value,…" (README.md), the callbacks and buffers of CUPTI
 * Gives:    one capture file
 * Owns:     a thread that reads clocks, drains PC samples and flushes; none with mode=null and
 *           subscribe
 * Fails:    by a line in the file; the program goes on
 * Why:      the end runs on a thread of its own and is waited for 5 s, because
 *           cuptiActivityFlushAll may deadlock; what is stuck then would hold up the library's own
 *           end as well, so the program ends there, with its own status
 */
#include "capture_agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "inject/libraries.h"

enum { END_WAIT_S = 5, TICK_MS = 10, TICKS_A_DRAIN = 3, TICKS_A_FLUSH = 50 };

struct agent capture_agent;

void *guest_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void read_one_clock_row(struct agent *agent)
{
	struct capture_clocks row;

	capture_clocks_read(&agent->cupti, &row);
	capture_write(agent->file, CAPTURE_CLOCKS, 1, &(struct capture_part){&row, sizeof(row)}, 1);
}

static void *work(void *user)
{
	struct agent *agent = user;

	for (uint32_t tick = 1; !atomic_load(&agent->is_exiting); tick++) {
		nanosleep(&(struct timespec){.tv_nsec = TICK_MS * 1000000}, NULL);
		if (atomic_load(&agent->is_exiting))
			break;
		if (!atomic_load(&agent->is_awake))
			continue;
		read_one_clock_row(agent);
		if (tick % TICKS_A_DRAIN == 0 && agent->options.pc != CAPTURE_PC_SERIALIZED)
			capture_pc_drain(agent);
		if (agent->options.flush != CAPTURE_FLUSH_NONE && tick % TICKS_A_FLUSH == 0)
			capture_activity_flush(agent, agent->options.flush == CAPTURE_FLUSH_FORCED);
	}
	return NULL;
}

/* A thread that is not waited for is told by a flag that it may not touch the file any more. */
static void *end(void *user)
{
	struct agent *agent = user;

	if (agent->has_worker) {
		agent->stage = "worker";
		pthread_join(agent->worker, NULL);
	}
	agent->stage = "stacks";
	capture_stack_facts(agent);
	agent->stage = "callbacks";
	capture_callbacks_write(agent);
	agent->stage = "pc sampling";
	capture_pc_drain(agent);
	capture_pc_stop(agent, NULL);
	capture_pc_facts(agent);
	if (agent->options.mode == CAPTURE_RECORD) {
		agent->stage = "flush";
		capture_activity_flush(agent, 0);
		agent->stage = "forced flush";
		capture_activity_flush(agent, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		agent->stage = "facts";
		capture_activity_facts(agent);
		agent->stage = "clocks";
		capture_clocks_write(&agent->cupti, agent->file, 100);
	}
	agent->stage = NULL;
	return NULL;
}

/* What the program printed goes out; the handlers that are left are the library's. */
static void leave(int status)
{
	fflush(stdout);
	fflush(stderr);
	_exit(status);
}

static void at_exit(int status, void *user)
{
	struct agent *agent = &capture_agent;
	struct timespec until;
	pthread_t thread;
	int error;

	if (agent->pid != getpid() || !atomic_load(&agent->is_live) ||
	    atomic_exchange(&agent->is_exiting, true))
		return;
	agent->stage = "start";
	capture_fact(agent->file, "exit.begin_ns", "%llu", (unsigned long long)capture_now_ns());
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_WAIT_S;
	error = pthread_create(&thread, NULL, end, agent);
	if (error == 0)
		error = pthread_timedjoin_np(thread, NULL, &until);
	if (error == 0) {
		capture_fact(agent->file, "exit", "complete");
	} else {
		const char *stage = agent->stage;

		capture_fact(agent->file, "exit", "stuck in %s: %s", stage ? stage : "?",
			     strerror(error));
	}
	atomic_store(&agent->is_over, true);
	capture_fact(agent->file, "exit.end_ns", "%llu", (unsigned long long)capture_now_ns());
	if (error != 0)
		leave(status);
}

static void in_child(void)
{
	libraries_after_fork_in_child();
	atomic_store(&capture_agent.is_live, false);
	atomic_store(&capture_agent.is_over, true);
}

/* A process that inherited CAPTURE does not overwrite its parent's file. */
static int open_file(struct agent *agent)
{
	char path[sizeof(agent->options.out) + 16];

	snprintf(path, sizeof(path), "%s", agent->options.out);
	if (access(path, F_OK) == 0)
		snprintf(path, sizeof(path), "%s.%d", agent->options.out, (int)getpid());
	return capture_open(path, agent->options.what, agent->cupti.version,
			    agent->options.driver_version, &agent->file);
}

static void start(struct agent *agent)
{
	bool live = capture_callbacks_start(agent);

	if (agent->options.mode == CAPTURE_RECORD) {
		live |= capture_activity_start(agent);
		capture_clocks_write(&agent->cupti, agent->file, 100);
	}
	capture_fact(agent->file, "started", "%d", live);
	if (!live)
		return;
	atomic_store(&agent->is_live, true);
	pthread_atfork(libraries_before_fork, libraries_after_fork, in_child);
	on_exit(at_exit, NULL); /* and not atexit: the status is asked for */
	if (agent->options.mode == CAPTURE_RECORD)
		agent->has_worker = pthread_create(&agent->worker, NULL, work, agent) == 0;
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	struct agent *agent = &capture_agent;
	const char *text = getenv("CAPTURE");
	uint64_t begin_ns = capture_now_ns();
	char wrong[64];
	int error;

	if (agent->pid)
		return 1;
	agent->pid = getpid();
	if (!capture_options_parse(text ? text : "", &agent->options, wrong)) {
		fprintf(stderr, "capture: CAPTURE has no '%s'\n", wrong);
		return 1;
	}
	if (agent->options.mode == CAPTURE_NULL)
		return 1;
	error = capture_cupti_open(&agent->cupti);
	if (error == 0)
		error = open_file(agent);
	if (error != 0) {
		fprintf(stderr, "capture: %s: %s\n",
			agent->cupti.handle ? agent->options.out : "no libcupti is found",
			strerror(-error));
		return 1;
	}
	capture_fact(agent->file, "options", "%s", text ? text : "");
	capture_fact(agent->file, "cupti.path", "%s", agent->cupti.path);
	start(agent);
	if (agent->options.is_late && atomic_load(&agent->is_live)) {
		atomic_store(&agent->is_awake, true);
		capture_pc_late(agent);
	}
	capture_fact(agent->file, "start_cost_ns", "%llu",
		     (unsigned long long)(capture_now_ns() - begin_ns));
	return 1;
}

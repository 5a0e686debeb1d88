/* SPDX-License-Identifier: MIT
 *
 * collect/counters.h - what a collector of counters does: its sources are read, their rows are written
 */
#ifndef COLLECT_COUNTERS_H
#define COLLECT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/recording.h"
#include "collect/source.h"

struct counters;

struct counters_options {
	const char *collector; /* in whose name things are noted */
	const struct source_list *sources;
	const char *names[GROUP_COUNT]; /* of the groups' threads; NULL: there is no such group */
	uint32_t hz;
	void *context; /* of all of its sources … */
	/* … given back when nobody works with it any more, also where counters_open fails. NULL: it is nobody's. */
	void (*close_context)(void *context);
	const char *root;  /* before /proc and /sys; "": these are the real ones */
	const pid_t *pids; /* running processes that the user named … */
	size_t pids_count; /* … 0: none */
	bool smaps;
	bool has_processes; /* of the program, or of -p; else of the machine alone */
	bool has_others; /* another collector tells of processes as they come: those are waited for */
};

/* Errors: -ENOMEM, -EAGAIN where no thread can be made, with the error chain. */
int counters_open(struct recording *recording, const struct counters_options *options,
		  struct counters **ret_counters);
/* Reads all once more. A sampler that hangs in its tick is left behind, with what it works with. NULL-safe. */
void counters_close(struct counters *counters);

/* How often a second, as an option says; 0: it does not say so. */
uint32_t counters_frequency(const char *option, uint32_t most_hz);

/* A process that is about to become the program, by its next exec; one that runs. Errors: -ENOMEM; -ESRCH. */
int counters_watch(struct counters *counters, pid_t pid);
int counters_attach(struct counters *counters, pid_t pid, int pid_fd);

uint64_t counters_interval_ns(const struct counters *counters);
/* Writes what samplers have read, and looks which processes there are. */
void counters_drain(struct counters *counters);
/* Writes losses since the last time. */
void counters_count_losses(struct counters *counters, uint64_t now_ns);

/* The most of a collector_work whose state is a struct counters. */
int counters_work_watch(void *state, pid_t pid);
int counters_work_attach(void *state, pid_t pid, int pid_fd);
int counters_work_descriptor(const void *state);
uint64_t counters_work_interval_ns(const void *state);
void counters_work_drain(void *state);
void counters_work_each_second(void *state, uint64_t now_ns);
void counters_work_close(void *state);
#define COUNTERS_WORK                                                                     \
	.watch = counters_work_watch, .attach = counters_work_attach,                     \
	.descriptor = counters_work_descriptor, .interval_ns = counters_work_interval_ns, \
	.drain = counters_work_drain, .catch_up = counters_work_drain,                    \
	.each_second = counters_work_each_second, .close = counters_work_close

#endif

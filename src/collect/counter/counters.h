/* SPDX-License-Identifier: MIT
 *
 * collect/counter/counters.h - a collector of counters: runs samplers, keeps the list of processes,
 * writes rows
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/counter/source_group.h"
#include "collect/recording.h"

struct counters;

struct counters_options {
	const char *collector;          /* name for notes */
	const char *names[GROUP_COUNT]; /* names of the groups' threads; NULL: no such group */
	/* For all groups: sources and their context, rate, root, pids, smaps. */
	struct group_options group;
	/* Releases the sources' context when no sampler uses it any more, even if counters_open
	 * fails. NULL: it is not owned. */
	void (*close_context)(void *context);
	/* Count processes of the program or of -p; otherwise the machine only. */
	bool has_processes;
	bool has_others; /* another collector reports new processes, so wait for it */
	/* With patterns in group.choice.processes: look for them among all processes, not only
	 * among those of counters_watch and counters_attach. */
	bool finds_processes;
};

/* Errors, with the error chain: -ENOMEM, -EAGAIN: a thread cannot be started. */
int counters_open(struct recording *recording, const struct counters_options *options,
		  struct counters **ret_counters);
/* Parses a rate in Hz; 0: not a rate. */
uint32_t counters_frequency(const char *option, uint32_t max_hz);

/* Members of a collector_work; the state is a struct counters, or NULL: there are none. */

/* Adds a process that is about to become the program by its next exec, or a running one. Errors:
 * -ENOMEM; -ESRCH. */
int counters_watch(void *state, pid_t pid);
int counters_attach(void *state, pid_t pid, int pid_fd);
uint64_t counters_interval_ns(const void *state);
/* counters_catch_up and counters_look. */
void counters_drain(void *state);
/* Looks for new and ended processes, if that is due. */
void counters_look(void *state);
/* Writes the rows that samplers have queued. */
void counters_catch_up(void *state, uint64_t until_ns);
/* Writes losses since the last call. */
void counters_count_losses(void *state, uint64_t now_ns);
/* Takes a last reading. A sampler that hangs is left alone with its memory. */
void counters_close(void *state);

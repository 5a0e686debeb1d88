/* SPDX-License-Identifier: MIT
 *
 * agent/child.h - a process of the agent that is started again when it ends
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_child {
	const char *name;
	/* Runs in the new process; returns its exit status. */
	int (*run)(void *context);
	void *context;
	pid_t pid; /* 0: it does not run */
	uint64_t started_ns;
	uint64_t next_start_ns; /* it starts then */
	uint64_t delay_ns;      /* before the next start; grows while it ends early */
	uint64_t cpu_ns;        /* used by processes that have ended */
	uint64_t kill_ns;       /* it was asked to end and is killed then; 0: it was not */
};

/* Starts it with this signal mask. It gets SIGTERM when the agent dies. Errors: -errno with the
 * error chain. */
int agent_child_start(struct agent_child *child, const sigset_t *mask, uint64_t now_ns);

/* Asks it to end; agent_child_look kills it after grace_ns. */
void agent_child_end(struct agent_child *child, uint64_t now_ns, uint64_t grace_ns);

/* Kills it if its time is over. */
void agent_child_look(struct agent_child *child, uint64_t now_ns);

/* Whether it has ended; reads its status and sets the time of its next start: at once if it was
 * asked to end, otherwise after a delay that doubles while it ends within a minute. */
bool agent_child_reap(struct agent_child *child, uint64_t now_ns, int *ret_status);

/* Its CPU time, with that of processes that have ended; and its memory in bytes. */
uint64_t agent_child_cpu_ns(const struct agent_child *child);
void agent_memory(pid_t pid, uint64_t *ret_resident, uint64_t *ret_private);

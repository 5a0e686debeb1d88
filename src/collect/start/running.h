/* SPDX-License-Identifier: MIT
 *
 * collect/start/running.h - checks and tracks the running processes to be recorded (option -p)
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* All zero: no -p was given. */
struct running {
	struct running_process {
		pid_t pid;
		int fd; /* owned pidfd; -1: the kernel has none */
	} * processes;  /* owned */
	size_t count;
};

/* Errors, with the remedy in the error chain: -ESRCH: no such process, or it has ended; -EPERM: it
 * may not be inspected; -EINVAL: a thread id, or a kernel thread; -ENOMEM. */
int running_open(struct running *running, const pid_t *pids, size_t count);
void running_close(struct running *running); /* NULL-safe */

/* Whether a process is one of them or a descendant whose ancestors in between are all alive. True
 * for every process without -p. */
bool running_has(const struct running *running, pid_t pid);

/* Finds the present descendants of the processes, without these themselves; at most `most`. Returns
 * their number. */
size_t running_find_started(const struct running *running, pid_t *pids, size_t most);

/* Adds the pidfds of living processes; returns the number of entries used. */
size_t running_poll(const struct running *running, struct pollfd *entries);

/* Whether all processes have ended. False without -p. */
bool running_have_ended(const struct running *running);

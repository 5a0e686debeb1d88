/* SPDX-License-Identifier: MIT
 *
 * collect/running.h - processes that run already and are to be recorded
 */
#ifndef COLLECT_RUNNING_H
#define COLLECT_RUNNING_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* All zero: none were asked for. */
struct running {
	struct running_process {
		pid_t pid;
		int fd; /* owned; -1 where the kernel has no such descriptors */
	} * processes;  /* owned */
	size_t count;
};

/* Errors: -ESRCH where one is none, or has ended; -EPERM where it is not ours to look at; -EINVAL for a thread, or one
 * of the kernel's; -ENOMEM; each with what to do in the error chain. */
int running_open(struct running *running, const pid_t *pids, size_t count);
void running_close(struct running *running); /* NULL-safe */

/* Whether a process is one of them, or was started by one, and all that are between them are there still; where none
 * were asked for, all are. */
bool running_has(const struct running *running, pid_t pid);

/* Processes that are there now and were started by one of them, itself left out; at most `most`. Returns how many. */
size_t running_find_started(const struct running *running, pid_t *pids, size_t most);

/* Adds what is to be waited for; returns the number of entries used. */
size_t running_poll(const struct running *running, struct pollfd *entries);

/* False where none were asked for. */
bool running_have_ended(const struct running *running);

#endif

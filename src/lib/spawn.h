/* SPDX-License-Identifier: MIT
 *
 * lib/spawn.h - start a process that is nobody's child
 *
 * Runs in:  the user's program
 */
#ifndef LIB_SPAWN_H
#define LIB_SPAWN_H

#include <sys/types.h>

#pragma GCC visibility push(hidden)

enum { SPAWN_CONTROL_FD = 3 };

struct spawn {
	const char *path;
	char *const *arguments; /* NULL-terminated */
	int control_fd;         /* will be SPAWN_CONTROL_FD there */
	int text_fd;            /* will be its stderr */
};

/* The process between us and what was started, where that would become our child without it; all zero: there is none. */
struct spawn_keeper {
	pid_t pid;    /* a child without a signal, which only waits */
	void *memory; /* owned; its stack */
};

/* Its stdin and stdout are /dev/null, its signals and its processors as a login gives them, its session its own. Errors:
 * -errno of the exec, or of what comes before it. */
int spawn_orphan(const struct spawn *spawn, struct spawn_keeper *ret_keeper);

/* Once what was started has ended, or is about to. */
void spawn_end(struct spawn_keeper *keeper);

#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: MIT
 *
 * lib/spawn.h - start a process that does not become a child of this program
 *
 * Runs in:  the user's program
 */
#pragma once

#include <sys/types.h>

#pragma GCC visibility push(hidden)

enum { SPAWN_CONTROL_FD = 3 };

struct spawn {
	const char *path;
	char *const *arguments; /* NULL-terminated */
	int control_fd;         /* becomes SPAWN_CONTROL_FD there */
	int text_fd;            /* becomes its stderr */
};

/* The process between us and the started one, needed if that would otherwise become our child; all
 * zero: none. */
struct spawn_keeper {
	pid_t pid;    /* a child that sends no signal and only waits */
	void *memory; /* owned; its stack */
};

/* The new process has /dev/null as stdin and stdout, default signal handling and processor affinity
 * as after a login, and a session of its own. Errors: -errno of the exec, or of a call before it.
 */
int spawn_orphan(const struct spawn *spawn, struct spawn_keeper *ret_keeper);

/* Call it once the started process has ended, or is about to. */
void spawn_end(struct spawn_keeper *keeper);

#pragma GCC visibility pop

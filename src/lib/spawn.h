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

/* Its stdin and stdout are /dev/null, its signals and its processors as a login gives them, its session its own. Errors:
 * -errno of the exec, or of what comes before it. */
int spawn_orphan(const struct spawn *spawn, pid_t *ret_pid);

#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: MIT
 *
 * collect/family.h - some processes and all that they start, by looks at /proc
 */
#ifndef COLLECT_FAMILY_H
#define COLLECT_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct family_member {
	uint32_t pid;
	uint64_t start_ticks; /* with the pid it is the process */
	uint64_t stack;       /* where its stack begins, anew with each exec; 0: not told */
	bool is_running; /* it was there before its recording: its group and session may be others' too */
	bool is_there;
	bool has_changed; /* by an exec since the last look; the first image has not */
};

/* All zero: nobody, and nothing was seen. */
struct family {
	struct hash_map members; /* pid -> struct family_member *, owned */
	struct hash_map ended; /* former members' pids -> is_running: groups and sessions live on */
	struct hash_map others;  /* pids of who was found to be no member */
	const char *environment; /* borrowed; "NAME=VALUE" that members have; NULL: none */
	uint32_t *fresh;         /* owned; pids seen for the first time in this look */
	size_t fresh_count, fresh_capacity;
	bool is_open;
};

/* All processes that are there now are others. Errors: -ENOMEM, -ESRCH where /proc cannot be read. */
int family_init(struct family *family);
void family_fini(struct family *family); /* NULL-safe */

/* One to begin with; is_running: it was there before. pid_fd: of it, for one whose number may be another's by now; -1:
 * none. Errors: -ESRCH, -ENOMEM. */
int family_add(struct family *family, uint32_t pid, int pid_fd, bool is_running);

/* Looks who is new, who called exec, and who has ended: these have is_there false, and stay until family_forget. */
void family_look(struct family *family);
void family_forget(struct family *family);

/* Iterates as hash_map_next does; NULL at the end. */
struct family_member *family_next(const struct family *family, size_t *cursor);

#endif

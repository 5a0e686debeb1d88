/* SPDX-License-Identifier: MIT
 *
 * collect/unrecorded.h - why the calls of a process are in no recording
 */
#ifndef COLLECT_UNRECORDED_H
#define COLLECT_UNRECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The process has a seccomp filter that the recorder has not. A zombie has its parent's word for it still. */
bool unrecorded_is_filtered(uint32_t pid);
/* What such a process is and what to do: behind its name. */
extern const char unrecorded_filtered[];

/* A sentence about a process that runs and of which a recording by -p has no OpenCL call. False: it has ended. */
bool unrecorded_explain(uint32_t pid, char *text, size_t size);

/* Processes that were started after `program` with this "NAME=VALUE" in their environment, and still run. */
struct unrecorded_left {
	uint32_t count;
	uint32_t first_pid;
	bool has_guest;  /* one of them has a guest of duet's loaded */
	char names[200]; /* "NAME (PID), …": the first few */
};
void unrecorded_find_left(pid_t program, const char *variable, struct unrecorded_left *ret_left);

#endif

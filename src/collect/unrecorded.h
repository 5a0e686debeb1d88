/* SPDX-License-Identifier: MIT
 *
 * collect/unrecorded.h - reasons why a process has no recorded call
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether the process has a seccomp filter that the recorder does not have. Works for zombies too,
 * until their parent has waited for them. */
bool unrecorded_is_filtered(uint32_t pid);
/* Text for such a process, behind its name. */
extern const char unrecorded_filtered[];

/* Writes a sentence about a running process that has no call in a recording with -p: its name and
 * the text of find_why. False: it has ended. */
bool unrecorded_explain(uint32_t pid, const char *(*find_why)(pid_t pid), char *text, size_t size);

/* Processes that still run. */
struct unrecorded_left {
	uint32_t count;
	uint32_t first_pid;
	bool has_guest;  /* a guest of duet is loaded into one of them */
	char names[200]; /* the first few, "NAME (PID), …" */
};
/* Finds those that were started after `program` with this "NAME=VALUE" in their environment. */
void unrecorded_find_left(pid_t program, const char *variable, struct unrecorded_left *ret_left);
/* Finds those that use this library without a guest of duet. */
void unrecorded_find_users(const char *library, struct unrecorded_left *ret_left);

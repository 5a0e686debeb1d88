/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/blocked.h - system call and stack of a blocked thread
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/stack/process_reader.h"

enum { BLOCKED_STACK_BYTES = 16 << 10 };

/* Registers and system call of a thread that is not running. */
struct blocked_place {
	uint64_t ip, sp;
	int32_t call;      /* number of the system call; -1: not in a call (a page fault) */
	uint64_t argument; /* first argument of the call */
};

/* The same, with a copy of the stack. */
struct blocked_look {
	struct blocked_place place;
	uint64_t stack[BLOCKED_STACK_BYTES / sizeof(uint64_t)]; /* copied from sp upwards */
	size_t stack_bytes;
};

enum thread_place {
	THREAD_GONE,
	/* inspection needs the rights of a debugger: the same user and, with Yama's scope 1, a
	 * descendant of ours */
	THREAD_REFUSED,
	THREAD_RUNS,
	THREAD_WAITS
};

/* Reads a thread's state; sets *ret_place for THREAD_WAITS. reader NULL: opens and closes the file
 * in /proc for this call alone. */
enum thread_place blocked_find(struct process_reader *reader, uint32_t pid, uint32_t tid,
			       struct blocked_place *ret_place);

/* Name of the system call ("futex"); NULL: not known. */
const char *blocked_call_name(const struct blocked_place *place);
/* Whether place->argument is the descriptor of the file for which the thread may wait. */
bool blocked_has_descriptor(const struct blocked_place *place);
/* Whether the thread sleeps on a futex; place->argument is then the futex's address. */
bool blocked_is_futex(const struct blocked_place *place);

/* Like blocked_find, and copies the stack. */
enum thread_place blocked_look(struct process_reader *reader, uint32_t pid, uint32_t tid,
			       struct blocked_look *ret_look);

/* Starts a child and inspects it, to find out whether threads of this user may be inspected.
 * Errors: -errno of the refused call; the error chain says how to allow it. */
int blocked_try(void);

/* SPDX-License-Identifier: MIT
 *
 * collect/enter/injector.h - loads a library into a running process
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct injector_options {
	pid_t pid;
	/* the library's path for the recorder; a loaded library is not loaded again */
	const char *path;
	/* the library's function int (const char *argument), called in a new thread */
	const char *entry;
	const char *argument; /* at most 511 bytes */
	/* true: the caller no longer waits; NULL: never cancelled */
	const _Atomic bool *is_unwanted;
};

struct injector_result {
	int32_t result;      /* the function's result */
	uint32_t attempts;   /* number of threads that were stopped, including the borrowed one */
	uint64_t stopped_ns; /* time for which the borrowed thread was stopped */
};

/* Waits at most 30 s until the function has returned. Call it in a thread that ends afterwards: its
 * end releases a target that does not stop in time. Errors: -errno with the error chain (reason and
 * remedy); the process continues unchanged. */
int injector_enter(const struct injector_options *options, struct injector_result *ret_result);

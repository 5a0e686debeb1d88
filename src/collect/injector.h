/* SPDX-License-Identifier: MIT
 *
 * collect/injector.h - bring a library into a process that runs
 */
#ifndef COLLECT_INJECTOR_H
#define COLLECT_INJECTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct injector_options {
	pid_t pid;
	const char *path; /* of the library, as we see it; a second time it is not loaded again */
	const char
		*entry; /* its function int (const char *argument), called in a thread of its own */
	const char *argument; /* at most 511 bytes */
	const _Atomic bool
		*is_unwanted; /* true: nobody waits for it any more; NULL: somebody does */
};

struct injector_result {
	int32_t result;      /* what the function returned */
	uint32_t attempts;   /* threads that were stopped, the one that was borrowed included */
	uint64_t stopped_ns; /* for how long that one was */
};

/* Waits until the function has returned, 30 s at most. To be called in a thread that then ends: what does not stop in
 * time is let go of by that. Errors: -errno with the error chain: why not, and what to do about it; the process goes on as
 * before. */
int injector_enter(const struct injector_options *options, struct injector_result *ret_result);

#endif

/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/forked.h - compute bytes in a child process, which gives back all of its memory
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct forked_options {
	/* Runs in the child. Returns 0 or -errno; *ret_bytes comes from malloc. */
	int (*make)(void *context, void **ret_bytes, size_t *ret_size);
	void *context;
	uint64_t time_limit_ns; /* the child is killed then */
	size_t max_bytes;       /* limit of the result */
	uint64_t max_memory;    /* private memory of the child; 0: no limit */
};

struct forked;

/* Starts the child. Errors: -errno, without the error chain. */
int forked_start(const struct forked_options *options, uint64_t now_ns, struct forked **ret_forked);
void forked_free(struct forked *forked); /* NULL-safe; kills the child */

/* A descriptor that can be read when forked_take has something to do. */
int forked_fd(const struct forked *forked);

/* Takes the result; the caller frees `forked` afterwards. -EAGAIN: not yet. Errors: those of
 * `make`; -ETIMEDOUT; -EFBIG; -ECHILD: the child died; -ENOMEM. Without the error chain. */
int forked_take(struct forked *forked, uint64_t now_ns, void **ret_bytes, size_t *ret_size);

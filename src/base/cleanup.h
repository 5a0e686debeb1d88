/* SPDX-License-Identifier: MIT
 *
 * base/cleanup.h - locals that are released where their scope ends
 *
 *	auto_free char *text = NULL;
 *	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	...
 *	*ret_text = take_ptr(text); // on success the caller owns it
 *
 * errno survives, so that `return -errno` works in a function that holds such locals.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *pointer)
{
	int saved = errno;

	free(*(void **)pointer);
	errno = saved;
}

static inline void cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_fclose(FILE **file)
{
	int saved = errno;

	if (*file)
		fclose(*file);
	errno = saved;
}

#define auto_free   __attribute__((cleanup(cleanup_free)))
#define auto_close  __attribute__((cleanup(cleanup_close)))
#define auto_fclose __attribute__((cleanup(cleanup_fclose)))

/* Takes the pointer from its variable, which becomes NULL. */
#define take_ptr(variable)                                \
	({                                                \
		__typeof__(variable) taken_ = (variable); \
		(variable) = NULL;                        \
		taken_;                                   \
	})

/* Takes the descriptor from its variable, which becomes -1. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

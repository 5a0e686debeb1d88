/* SPDX-License-Identifier: MIT
 *
 * tests/programs/no_memory.c - for LD_PRELOAD: the N-th allocation of a process fails
 *
 *	NO_MEMORY_AT=N		from 1 on; the N-th call of malloc, calloc, realloc and their like
 *		returns NULL
 *	NO_MEMORY_STICKY=1	and each one after it
 *	NO_MEMORY_COUNT=FILE	how many calls there were is written to FILE at the end
 *
 * Children and what they execute are left alone: the variables are removed at the start.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *bytes, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct {
	atomic_ulong calls;
	unsigned long at; /* 0: none */
	int is_sticky;
	char count_path[512];
} shim;

static int fails(void)
{
	unsigned long call = atomic_fetch_add(&shim.calls, 1) + 1;

	if (!shim.at || call < shim.at || (call > shim.at && !shim.is_sticky))
		return 0;
	errno = ENOMEM;
	return 1;
}

EXPORT void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *bytes, size_t size)
{
	return fails() ? NULL : __libc_realloc(bytes, size);
}

EXPORT void *reallocarray(void *bytes, size_t count, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(count, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(bytes, all);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

EXPORT int posix_memalign(void **ret_bytes, size_t alignment, size_t size)
{
	void *bytes = aligned_alloc(alignment, size);

	if (bytes)
		*ret_bytes = bytes;
	return bytes ? 0 : ENOMEM;
}

/* Counted from here on: what the loader allocated before differs from machine to machine. */
__attribute__((constructor)) static void start(void)
{
	const char *at = getenv("NO_MEMORY_AT"), *path = getenv("NO_MEMORY_COUNT");

	shim.is_sticky = getenv("NO_MEMORY_STICKY") != NULL;
	if (path)
		snprintf(shim.count_path, sizeof(shim.count_path), "%s", path);
	atomic_store(&shim.calls, 0);
	shim.at = at ? strtoul(at, NULL, 10) : 0;
	unsetenv("NO_MEMORY_AT");
	unsetenv("NO_MEMORY_COUNT");
	unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void)
{
	char text[32];
	int fd, length;

	if (!shim.count_path[0])
		return;
	length = snprintf(text, sizeof(text), "%lu\n", atomic_load(&shim.calls));
	fd = open(shim.count_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0 && write(fd, text, (size_t)length) == length)
		close(fd);
}

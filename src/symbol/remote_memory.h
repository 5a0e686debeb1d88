/* SPDX-License-Identifier: MIT
 *
 * symbol/remote_memory.h - memory of another process, read while that runs
 */
#ifndef SYMBOL_REMOTE_MEMORY_H
#define SYMBOL_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct remote_memory {
	uint32_t pid;
	uint64_t calls;  /* system calls so far */
	bool is_by_file; /* the kernel answers no question about many pages at once */
	int pagemap_fd;  /* owned; of the process's pages, then; -1: not open */
};

void remote_memory_init(struct remote_memory *memory, uint32_t pid);
void remote_memory_fini(struct remote_memory *memory); /* NULL-safe */

struct remote_piece {
	uint64_t address;
	size_t size;
};

/* Reads pieces in their order, one behind the other into `to`, from pages that are in memory. Returns the bytes read:
 * fewer than asked for where a piece cannot be read, up to which all are there. Errors: -ESRCH: no such process; -EPERM.
 * The error chain is left alone: it is no news that memory of a process that runs is gone. */
int64_t remote_memory_gather(struct remote_memory *memory, const struct remote_piece *pieces,
			     size_t count, void *to);

/* 0; -EFAULT where not all of it can be read, -ESRCH, -EPERM. */
int remote_memory_read(struct remote_memory *memory, uint64_t address, void *to, size_t size);

/* What a copy of it has at an offset. */
static inline uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static inline uint32_t half_at(const uint8_t *bytes, size_t at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

#endif

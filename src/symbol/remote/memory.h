/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/memory.h - read memory of another process while it runs
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote_memory {
	uint32_t pid;
	uint64_t calls;  /* system calls so far */
	bool is_by_file; /* the kernel cannot check many pages at once */
	int pagemap_fd;  /* owned; /proc/PID/pagemap, used then; -1: not open */
};

void remote_memory_init(struct remote_memory *memory, uint32_t pid);
void remote_memory_fini(struct remote_memory *memory); /* NULL-safe */

struct remote_piece {
	uint64_t address;
	size_t size;
};

/* Reads pieces in their order, one after the other into `to`, from pages that are in memory.
 * Returns the bytes read: fewer if a piece cannot be read; all pieces before it are complete.
 * Errors: -ESRCH: no such process; -EPERM. Does not set the error chain: memory of a running
 * process often vanishes. */
int64_t remote_memory_gather(struct remote_memory *memory, const struct remote_piece *pieces,
			     size_t count, void *to);

/* 0; -EFAULT if a part cannot be read, -ESRCH, -EPERM. */
int remote_memory_read(struct remote_memory *memory, uint64_t address, void *to, size_t size);

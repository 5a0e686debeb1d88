/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/batch.h - windows of another process's memory that are read in one call
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote_window {
	uint64_t address;
	size_t size;
	size_t at[2];   /* offsets of the first and the second copy, set by the reader */
	uint8_t unused; /* number of consecutive reads in which it was not used */
	bool is_used;
	bool is_new; /* not read together with the others yet */
};

/* Sorted by address, without overlaps; zeroed at first. */
struct remote_windows {
	struct remote_window *windows;
	size_t count, capacity;
	size_t bytes; /* total size of the windows */
};

void remote_windows_fini(struct remote_windows *windows);

/* The window that contains the whole range, NULL: none. Valid until the next add, remove or age. */
struct remote_window *remote_windows_find(const struct remote_windows *windows, uint64_t address,
					  size_t size);

/* Replaces the windows that it overlaps. NULL: no memory. */
struct remote_window *remote_windows_add(struct remote_windows *windows, uint64_t address,
					 size_t size);

void remote_windows_remove(struct remote_windows *windows, size_t index);

/* Drops windows that were not used for some reads, and starts the next read. */
void remote_windows_age(struct remote_windows *windows);

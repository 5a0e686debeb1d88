/* SPDX-License-Identifier: MIT
 *
 * symbol/remote_windows.h - the places of another process's memory that are read together
 */
#ifndef SYMBOL_REMOTE_WINDOWS_H
#define SYMBOL_REMOTE_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote_window {
	uint64_t address;
	size_t size;
	size_t at[2];   /* where the first and the second copy lie, as whoever reads it says */
	uint8_t unused; /* so many times in a row nobody asked for it */
	bool is_used;
	bool is_new; /* not read together with the others yet */
};

/* By address, none overlaps another; zeroed at first. */
struct remote_windows {
	struct remote_window *windows;
	size_t count, capacity;
	size_t bytes; /* of all */
};

void remote_windows_fini(struct remote_windows *windows);

/* The window that has all of it, NULL: none. Valid until the next add, remove or age. */
struct remote_window *remote_windows_find(const struct remote_windows *windows, uint64_t address,
					  size_t size);

/* In the place of those that it overlaps. NULL: no memory. */
struct remote_window *remote_windows_add(struct remote_windows *windows, uint64_t address,
					 size_t size);

void remote_windows_remove(struct remote_windows *windows, size_t index);

/* Drops those that were not used for some times, and begins the next time. */
void remote_windows_age(struct remote_windows *windows);

#endif

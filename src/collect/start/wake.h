/* SPDX-License-Identifier: MIT
 *
 * collect/start/wake.h - waits until one of many descriptors is readable or a time is over
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: nothing is registered. */
struct wake {
	int fd; /* owned */
	bool is_open;
};

enum wake_reason {
	WAKE_TIME,  /* the time is over, or a signal came */
	WAKE_RINGS, /* only descriptors of the frequent group are readable */
	WAKE_OTHERS
};

/* Registers the descriptors to wait for and replaces the earlier ones. The `often` entries from
 * `first` on form the frequent group (WAKE_RINGS). Closing a descriptor removes it. If the kernel's
 * limits are reached, nothing is registered. */
void wake_register(struct wake *wake, const struct pollfd *entries, size_t count, size_t first,
		   size_t often);

/* Removes all. To add a descriptor, register all of them again. */
void wake_forget(struct wake *wake);

/* Waits; the time is rounded up to milliseconds. Without registered descriptors, returns
 * WAKE_OTHERS when the time is over. */
enum wake_reason wake_wait(const struct wake *wake, uint64_t wait_ns);

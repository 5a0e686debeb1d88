/* SPDX-License-Identifier: MIT
 *
 * collect/wake.h - waits until one of many descriptors can be read from, where it mostly is for nothing
 */
#ifndef COLLECT_WAKE_H
#define COLLECT_WAKE_H

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
	WAKE_TIME,  /* it is time, or a signal came */
	WAKE_RINGS, /* only of those that come often can some be read from */
	WAKE_OTHERS
};

/* What is waited for from now on, in place of anything before; `often` of them, from `first` on, are told apart. A
 * descriptor that is closed is waited for no longer. Where the kernel has none left for us, nothing is registered. */
void wake_register(struct wake *wake, const struct pollfd *entries, size_t count, size_t first,
		   size_t often);

/* Whoever adds a descriptor registers all anew. */
void wake_forget(struct wake *wake);

/* Rounded up to milliseconds. With nothing registered it is never known why: WAKE_OTHERS when it is time. */
enum wake_reason wake_wait(const struct wake *wake, uint64_t wait_ns);

#endif

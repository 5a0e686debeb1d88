/* SPDX-License-Identifier: MIT
 *
 * analyze/waiting.h - samples of windows that wait until all is known that may have run in them
 */
#ifndef ANALYZE_WAITING_H
#define ANALYZE_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* What samples of one window have of their own. */
struct waiting_row {
	uint64_t offset, count;
	uint32_t stall_string, reserved;
};

struct waiting_window {
	struct event_instruction_sample
		head; /* what they have in common, and the first one's own */
	uint64_t due_ns;
	size_t count;
};

/* First in, first out. All zero at first. Rings of a power of two. */
struct waiting {
	struct waiting_window *windows; /* owned */
	size_t windows_first, windows_count, windows_capacity;
	struct waiting_row *rows; /* owned; of one window behind the other */
	size_t rows_first, rows_count, rows_capacity;
};

void waiting_fini(struct waiting *waiting);

/* None is due before one that was put before it. Errors: -ENOMEM, with all as it was. */
int waiting_put(struct waiting *waiting, const struct event_instruction_sample *row,
		uint64_t due_ns);

/* NULL: nothing waits. Until the next put. */
const struct waiting_window *waiting_first(const struct waiting *waiting);
/* Of the first window. */
const struct waiting_row *waiting_row_at(const struct waiting *waiting, size_t index);
/* Forgets the first window. */
void waiting_drop(struct waiting *waiting);

/* What it takes, in rows: a window is as large as some of them. */
size_t waiting_size(const struct waiting *waiting);

#endif

/* SPDX-License-Identifier: MIT
 *
 * import/chrome/overheads.h - time that the driver and CUPTI took, in a PyTorch trace
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct import_target;

struct chrome_overheads {
	struct event_range *list; /* owned; most without a process */
	size_t count, capacity;
	uint32_t process; /* the process that makes calls of a runtime; 0: none so far */
	bool has_more;    /* several processes make such calls */
};

void chrome_overheads_fini(struct chrome_overheads *overheads);

/* row: its begin, end, process and thread, as far as the file has them. Errors: -ENOMEM. */
int chrome_overheads_add(struct chrome_overheads *overheads, struct import_target *target,
			 const char *name, const struct event_range *row);

/* Adds a process that makes calls of a runtime. */
void chrome_overheads_add_process(struct chrome_overheads *overheads, uint32_t process);

/* Writes all, once the processes are known. */
int chrome_overheads_write(struct chrome_overheads *overheads, struct import_target *target);

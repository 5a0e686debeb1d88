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
	struct event_range *list; /* owned; without a process */
	size_t count, capacity;
	uint32_t process; /* the process that makes calls of a runtime; 0: none so far */
	bool has_more;    /* several processes make such calls */
};

void chrome_overheads_fini(struct chrome_overheads *overheads);

/* Errors: -ENOMEM. */
int chrome_overheads_add(struct chrome_overheads *overheads, struct import_target *target,
			 const char *name, uint64_t begin_ns, uint64_t end_ns);

/* Adds a process that makes calls of a runtime. */
void chrome_overheads_add_process(struct chrome_overheads *overheads, uint32_t process);

/* Writes all, once the processes are known. */
int chrome_overheads_write(struct chrome_overheads *overheads, struct import_target *target);

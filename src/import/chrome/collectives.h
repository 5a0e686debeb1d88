/* SPDX-License-Identifier: MIT
 *
 * import/chrome/collectives.h - collective operations of NCCL and RCCL in a Chrome trace
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chrome_event;

/* One collective operation. */
struct chrome_operation {
	uint32_t name, group, ranks, datatype; /* texts of struct chrome_names */
	uint32_t rank_count;                   /* 0: not known */
	uint32_t has_sequence;
	uint64_t sequence, bytes, bytes_out;
};

struct chrome_names;

struct chrome_collectives {
	struct chrome_operation *list;
	size_t count, capacity;
};

void chrome_collectives_fini(struct chrome_collectives *collectives);

/* Id + 1 of the operation that a slice describes; 0: none. Errors: -ENOMEM. */
int chrome_collectives_add(struct chrome_collectives *collectives, struct chrome_names *names,
			   const struct chrome_event *event, uint32_t *ret_operation);
/* The operation of a kernel, by its own arguments or its name. *ret_is: whether it is one. */
int chrome_collectives_of_kernel(struct chrome_names *names, const struct chrome_event *event,
				 struct chrome_operation *ret_operation, bool *ret_is);

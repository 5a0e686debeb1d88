/* SPDX-License-Identifier: MIT
 *
 * analyze/collectives/collectives.h - collective operations of several ranks: the rank that
 * arrives last, and the time that the others wait for it
 *
 * Rows of the same communicator and sequence number are one operation. An operation is evaluated
 * when each rank of the communicator that is in the trace has a row of it. A rank waits from the
 * start of its kernel until the start of the last rank's kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_process;
struct model;

struct collectives_rank {
	const struct event_process *process; /* NULL: not in the trace */
	uint64_t operations;                 /* evaluated, with this rank */
	uint64_t last_count;                 /* operations in which it arrived last */
	uint64_t waited_ns, max_waited_ns;   /* its time until the last rank arrived */
	/* time in which the other ranks waited for it; max: one rank in one operation */
	uint64_t caused_ns, max_caused_ns;
	uint64_t device_ns; /* time of its kernels, in evaluated operations */
	uint64_t bytes;     /* size of its inputs */
};

struct collectives {
	struct collectives_rank *ranks; /* by rank, then by id of the process */
	size_t ranks_count;
	uint64_t operations; /* evaluated */
	uint64_t incomplete; /* a rank has no row of it, or one rank has several */
	uint64_t unnumbered; /* rows without a sequence number or communicator */
	uint64_t waited_ns, max_waited_ns;
	/* Sums over the operations: the time between the first and the last start, and the same
	 * for the ends. Kernels of one operation end together, so ends that differ more than the
	 * starts show that the clocks of the ranks differ. */
	uint64_t starts_apart_ns, ends_apart_ns;
};

/* Reads the collectives of the window and of the chosen processes. Errors: -ENOMEM and those of
 * the reader. */
int collectives_read(const struct model *model, uint64_t from_ns, uint64_t to_ns,
		     struct collectives *ret_collectives);
void collectives_fini(struct collectives *collectives);

/* Whether the clocks of the ranks agree well enough to name the last rank. */
bool collectives_is_aligned(const struct collectives *collectives);

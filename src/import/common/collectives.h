/* SPDX-License-Identifier: MIT
 *
 * import/common/collectives.h - names of collective operations, and their numbers in communicators
 */
#pragma once

#include <stddef.h>

#include "event/event.h"

struct import_sequences;
struct import_target;

int import_sequences_new(struct import_sequences **ret_sequences);
void import_sequences_free(struct import_sequences *sequences); /* NULL-safe */

/* A row; its sequence is 0 if the file has none. Errors: as for record_sort_add. */
int import_sequences_add(struct import_sequences *sequences, const struct event_collective *row);

/* A row of an unknown communicator: the number of its process's later rows is not known. Errors:
 * -ENOMEM. */
int import_sequences_break(struct import_sequences *sequences, const struct event_collective *row);

/* Writes all rows. A row without a sequence gets its number in the order of time among the rows of
 * its process and communicator, and the flag that says so; none after a break. */
int import_sequences_write(struct import_sequences *sequences, struct import_target *target);

/* The operation in the name of a kernel of NCCL or RCCL,
 * "ncclKernel_AllReduce_RING_LL_Sum_half(…)": AllReduce. *ret_length: 0 for a name without one,
 * "ncclDevKernel_Generic(…)". NULL: another kernel. */
const char *import_collective_of_kernel(const char *kernel, size_t *ret_length);

/* The name in the trace: "_allgather_base" and "AllGather" become "allgatherbase" and "allgather".
 */
int import_collective_name(struct import_target *target, const char *name, size_t length,
			   uint32_t *ret_string);
/* The communicator of a kernel whose communicator is not known: its name without parameters,
 * because all ranks run the same kernel. */
int import_collective_of_all(struct import_target *target, const char *kernel,
			     uint32_t *ret_string);

/* SPDX-License-Identifier: MIT
 *
 * import/nsys/collectives.h - collective operations of NCCL in a file of Nsight Systems
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/pair_map.h"
#include "import/nsys/payloads.h"

struct event_launch;
struct event_range;
struct nsys;
struct import_cuda_command;
struct record_sort;

/* A rank of a communicator in one process. */
struct nsys_member {
	uint32_t rank, rank_count; /* rank: + 1; 0: not known */
};

/* All zero before the first use. */
struct nsys_collectives {
	struct hash_map kernels;               /* id of a kernel of NCCL -> two strings */
	struct record_sort *commands, *ranges; /* owned; NULL: none yet */
	bool has_operations;                   /* ranges have payloads */
	struct nsys_payloads payloads;
	struct nsys_member *members; /* owned */
	size_t members_count, members_capacity;
	struct pair_map members_index; /* (process, communicator) -> index of members */
};

void nsys_collectives_fini(struct nsys_collectives *collectives);

/* A new kernel. Errors: -ENOMEM. */
int nsys_collectives_add_kernel(struct nsys *nsys, uint32_t kernel, const char *name);
/* A command with its launch. has_call: the launch has its own call. */
int nsys_collectives_add_command(struct nsys *nsys, const struct import_cuda_command *command,
				 bool has_call);
/* A range "nccl…" with its name and payload. */
int nsys_collectives_add_range(struct nsys *nsys, const struct event_range *range, const char *name,
			       const struct nsys_payload *payload);

/* After the last range. */
int nsys_collectives_write(struct nsys *nsys);

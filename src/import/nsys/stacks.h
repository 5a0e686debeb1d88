/* SPDX-License-Identifier: MIT
 *
 * import/nsys/stacks.h - call chains of CUDA calls, OS calls and samples
 */
#pragma once

#include "import/nsys/nsys.h"

/* The chains of a table, in the order of their ids. */
struct nsys_chains {
	struct nsys *nsys;
	struct sqlite_cursor cursor;
	int status; /* > 0: the cursor is at the first row of the next chain */
	bool is_cuda;
};

/* A table that is absent has no chains. is_cuda: the innermost frames are those of the call, of the
 * driver and of CUPTI, which took the stack; they are left out. */
int nsys_chains_open(struct nsys *nsys, const char *table, bool is_cuda,
		     struct nsys_chains *chains);
void nsys_chains_close(struct nsys_chains *chains);

/* Returns 1 for a chain, 0 after the last, an error. is_kernel: the innermost frame is in the
 * operating system's kernel. */
int nsys_chains_next(struct nsys_chains *chains, int64_t *ret_id, uint32_t *ret_stack,
		     bool *ret_is_kernel);

/* Stacks of a table by the chain's id. */
struct nsys_stacks {
	uint32_t *stacks;
	size_t capacity;
	uint64_t left_out;
};

/* Empty if the table is absent. The caller closes the stacks in any case. */
int nsys_stacks_read(struct nsys *nsys, const char *table, bool is_cuda,
		     struct nsys_stacks *stacks);
void nsys_stacks_close(struct nsys_stacks *stacks);
uint32_t nsys_stacks_get(const struct nsys_stacks *stacks, int64_t id);

/* The number to add to the callchainId of a call of CUDA to get the id of its chain. */
int nsys_stacks_find_shift(struct nsys *nsys, int64_t *ret_shift);

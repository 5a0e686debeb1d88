/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/launches.h - the launches of one thread, and the ranges of its process
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/iterations/iterations.h"

struct model;

struct thread_launches {
	uint32_t thread, process;           /* ids */
	struct iterations_launch *launches; /* owned; sorted by enter */
	uint32_t *stacks;                   /* owned; by launch */
	size_t count, capacity, stacks_capacity;
	bool is_cut; /* ITERATIONS_MAX_LAUNCHES was reached */
};

/* The launches of the thread that has most of them. Errors: -ENOMEM and those of the reader. */
int thread_launches_read(const struct model *model, struct thread_launches *ret_launches);
void thread_launches_fini(struct thread_launches *launches);

/* Index of the first launch at `time` or later. */
size_t thread_launches_from(const struct thread_launches *launches, uint64_t time);

/* Sets the places of launches `first` to `last` from their stacks, as struct place_source needs
 * it. */
struct place_context {
	const struct model *model;
	struct thread_launches *launches;
};
int places_find(void *context, size_t first, size_t last);

/* Moves the end of the steady part to the end of the last command that it launched. Errors: -ENOMEM
 * and those of the reader. */
int device_end_find(const struct model *model, const struct thread_launches *launches,
		    struct iteration *steady);

/* Iterations that the program named by ranges. ITERATIONS_NONE without such ranges. Errors: -ENOMEM
 * and those of the reader. */
int ranges_find_iterations(const struct model *model, const struct thread_launches *launches,
			   struct iterations *ret_iterations);

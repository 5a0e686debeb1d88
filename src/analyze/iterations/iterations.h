/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/iterations.h - the iterations of a program's main loop
 *
 * No other part of duet looks for iterations. The search reads only launches and ranges, so it can
 * run before the sweep of an analysis.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* Launches of a thread that the search reads. Later launches are ignored. */
enum { ITERATIONS_MAX_LAUNCHES = 4 << 20 };

struct iterations_launch {
	uint64_t enter, exit; /* host ns */
	uint64_t correlation; /* its execution has it, too; 0: none */
	uint32_t thread;
	bool is_blocking; /* the call waits for the device */
	uint32_t key;     /* equal for launches of one kernel or kind of command */
	uint32_t place; /* position of the call in the function of the loop; rises from the head of
			   the loop to its end; 0: not known */
};

/* Sorted by enter. */
struct iterations_input {
	const struct iterations_launch *launches;
	size_t count;
};

enum iterations_method {
	ITERATIONS_NONE,
	ITERATIONS_RANGES,  /* the program named its iterations */
	ITERATIONS_SEQUENCE /* the sequence of launches repeats */
};

/* An iteration ends where the next one begins, unless a range states its end. The last one ends
 * with its last launch. */
struct iteration {
	uint64_t begin, end;      /* host ns */
	uint64_t first, launches; /* index of its first launch among those of its thread; number of
				     launches of that thread */
};

struct iterations {
	enum iterations_method method;
	char *name;        /* owned; RANGES: the ranges' name, with '#' for each number; or NULL */
	uint32_t thread;   /* thread that launches: its id */
	uint64_t launches; /* all of that thread, in and out of iterations */
	uint64_t period;   /* median number of launches in an iteration */
	struct iteration *list; /* owned; in the order of time */
	size_t count;
	/* The longest one in the window of an analysis, the first of equal ones: an index of list;
	 * SIZE_MAX: none. */
	size_t slowest;
	struct iteration steady; /* from the first one to the last, see iterations_steady */
	bool is_cut;             /* the thread has more launches than ITERATIONS_MAX_LAUNCHES */
};

/* "ranges", "sequence", "none" */
const char *iterations_method_name(enum iterations_method method);

/* The main loop of the thread with the most launches, by the ranges of its process, otherwise by
 * its launches. use_ranges false: by its launches only. Without iterations: 0, and method is
 * ITERATIONS_NONE. Errors: -ENOMEM and those of the reader; damaged chunks are skipped. */
int iterations_find(const struct model *model, bool use_ranges, struct iterations *ret_iterations);

/* The same for given launches, without ranges. All launches of the input are one sequence, whatever
 * their threads. -ENOMEM. */
int iterations_find_sequence(const struct iterations_input *input,
			     struct iterations *ret_iterations);

void iterations_fini(struct iterations *iterations); /* NULL-safe */

/* Sets steady to the span of the list. */
void iterations_join(struct iterations *iterations);

/* The steady part: from the begin of the first iteration to the end of the last one on the device,
 * and what repeats directly before and after them. False: there are no iterations. */
bool iterations_steady(const struct iterations *iterations, uint64_t *ret_begin_ns,
		       uint64_t *ret_end_ns);

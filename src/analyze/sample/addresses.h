/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/addresses.h - shared state of sample/addresses.c and sample/candidate_runs.c:
 * samples with only a device address, and the commands that may have run the instruction
 */
#pragma once

#include "analyze/sample/apportion.h"
#include "analyze/sample/code_sites.h"
#include "analyze/sample/pending_samples.h"
#include "analyze/sweep/sweep.h"

/* Candidates are the launches in the window or up to this long before it. If there are none, the
 * last LAUNCHES_KEPT launches before it are. */
#define LAUNCHED_BEFORE_NS UINT64_C(1000000000)
enum { LAUNCHES_KEPT = 64 };
/* With this many candidates or more, a row of samples is not divided among all of them. */
enum { MANY_CANDIDATES = 64 };

struct candidate {
	uint32_t path, site, debt;
};

/* The candidates for the samples of one code set in the latest window. */
struct split {
	uint64_t begin, end, correlation;
	struct candidate *candidates; /* owned */
	struct portion *shares;       /* owned; one for each candidate */
	size_t count, capacity, shares_capacity;
	uint64_t turns; /* single samples given to one of many, in all windows */
	bool is_made, is_divided;
	bool is_hidden; /* the trace shows no execution or recent launch of the code */
};

/* The rounding error that a path of a kernel has accumulated. */
struct debt {
	int64_t entities;
	uint64_t search; /* number of the latest search in which the path was a candidate, and its
			    index there */
	uint32_t candidate;
};

struct kernel_runs;
struct way;
struct batch_part;
struct place;
struct sorted;

struct addresses {
	struct code_index *index; /* owned */
	struct code_sites *sites; /* owned */
	struct pending_samples waiting, late;
	size_t max_waiting;
	struct sorted *sorted; /* owned; a window's rows sorted by address, and buffer space for the
				  sort */
	size_t sorted_capacity;
	struct place *places; /* owned; by place as code_sites_find returns it */
	size_t places_count, places_capacity;
	/* the members from here on belong to sample/candidate_runs.c */
	struct kernel_runs *runs; /* owned; by index of codes */
	struct pair_map way_rows; /* (code << 32 | stack, function or whom) -> index of ways */
	struct way *ways;         /* owned */
	size_t ways_count, ways_capacity;
	struct pair_map batch_rows; /* (process id, correlation of the batch) -> its latest part */
	struct batch_part *parts;   /* owned */
	size_t parts_count, parts_capacity;
	uint32_t free_part;   /* PAIR_MAP_NONE: none */
	struct split *splits; /* owned; by set */
	size_t splits_count, splits_capacity;
	uint64_t searches;
	struct pair_map debt_rows; /* (code, path) -> index of debts */
	struct debt *debts;        /* owned */
	size_t debts_count, debts_capacity;
	uint64_t *site_runs; /* owned; number of executions by site, of the current search */
	size_t site_runs_capacity;
};

int sweep_make_runs(struct sweep *sweep);
void sweep_runs_fini(struct sweep *sweep);

/* Finds the commands that may have run the code of a set in the window of a row. */
int sweep_make_split(struct sweep *sweep, const struct event_instruction_sample *row, uint32_t set,
		     struct split **ret_split);

/* Returns true at the first call for a kernel whose samples have no visible launch. */
bool sweep_is_newly_hidden(struct sweep *sweep, uint32_t code);

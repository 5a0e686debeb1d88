/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_addresses.h - what sweep_addresses.c and sweep_runs.c share: samples that tell an address of a device, and who may have run it
 */
#ifndef ANALYZE_SWEEP_ADDRESSES_H
#define ANALYZE_SWEEP_ADDRESSES_H

#include "analyze/code_sites.h"
#include "analyze/shares.h"
#include "analyze/sweep.h"
#include "analyze/waiting.h"

/* Launches count that were entered in the window or so long before it; else the last ones before. */
#define LAUNCHED_BEFORE_NS UINT64_C(1000000000)
enum { LAUNCHES_KEPT = 64 };
/* Of so many candidates or more, each is not looked at for each row. */
enum { MANY_CANDIDATES = 64 };

struct candidate {
	uint32_t path, site, debt;
};

/* Whose the samples of one set of code are, in the latest window. */
struct split {
	uint64_t begin, end, correlation;
	struct candidate *candidates; /* owned */
	struct share *shares;         /* owned; one for each */
	size_t count, capacity, shares_capacity;
	uint64_t turns; /* single samples that were given to one of many, in all windows */
	bool is_made, is_divided;
	bool is_hidden; /* nobody saw what of it ran then */
};

/* What a path of a kernel should have had so far, and has not. */
struct debt {
	int64_t things;
	uint64_t search; /* the latest one in which it was a candidate, and which */
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
	struct waiting waiting, late;
	size_t waiting_most;
	struct sorted *sorted; /* owned; a window's rows by address, and room for as many */
	size_t sorted_capacity;
	struct place *places; /* owned; by place of the sites */
	size_t places_count, places_capacity;
	/* of sweep_runs.c */
	struct kernel_runs *runs; /* owned; by index of codes */
	struct pair_map way_rows; /* (code << 32 | stack, function or whom) -> index of ways */
	struct way *ways;         /* owned */
	size_t ways_count, ways_capacity;
	struct pair_map batch_rows; /* (process id, correlation) -> the latest of its parts */
	struct batch_part *parts;   /* owned */
	size_t parts_count, parts_capacity;
	uint32_t free_part;   /* PAIR_MAP_NONE: none */
	struct split *splits; /* owned; by set */
	size_t splits_count, splits_capacity;
	uint64_t searches;
	struct pair_map debt_rows; /* (code, path) -> index of debts */
	struct debt *debts;        /* owned */
	size_t debts_count, debts_capacity;
	uint64_t *site_runs; /* owned; of the sites of a search: how many executions */
	size_t site_runs_capacity;
};

int sweep_make_runs(struct sweep *sweep);
void sweep_runs_fini(struct sweep *sweep);

/* Who may have run the code of a set in the window of a row. */
int sweep_make_split(struct sweep *sweep, const struct event_instruction_sample *row, uint32_t set,
		     struct split **ret_split);

/* Whether it is for the first time that samples of a kernel are counted for which no launch was seen. */
bool sweep_is_newly_hidden(struct sweep *sweep, uint32_t code);

#endif

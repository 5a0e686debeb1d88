/* SPDX-License-Identifier: MIT
 *
 * page/view/pyramid.h - the items of one track and their sums in bins of time, from fine to coarse
 * levels
 *
 * docs/design/view.md describes the layout of items, bins and chunks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page/view/rows.h"
#include "page/view/store.h"
#include "page/view/tally.h"

enum {
	PYRAMID_LEVELS = 16,    /* 0: items; l: bins of 64 * 8^l ns, from 512 ns to 26 days */
	MAX_PYRAMID_BINS = 2048 /* max bins of the coarsest level */
};

enum pyramid_type {
	PYRAMID_SPANS,   /* with start and end, mostly sequential */
	PYRAMID_CROWDS,  /* with start and end, mostly overlapping */
	PYRAMID_MOMENTS, /* with a weight */
	PYRAMID_VALUES,  /* valid until the next value */
	PYRAMID_READINGS /* sequential, with start and end; unknown in between */
};

struct pyramid_item {
	int64_t begin_ns;
	uint64_t duration_ns;   /* SPANS, READINGS */
	uint64_t weight;        /* MOMENTS */
	int64_t value;          /* VALUES, READINGS */
	uint64_t what;          /* content by which a bin divides its sum */
	bool is_uncovered;      /* SPANS: not part of the covered time */
	const uint64_t *values; /* columns 2, 3, … */
};

struct pyramid_level {
	struct view_rows filling;
	struct view_chunk *chunks;
	size_t chunks_count, chunks_capacity;
	uint64_t rows;   /* in all chunks */
	bool is_dropped; /* not worth its bytes */
	/* The bin that is being filled. */
	bool has_bin;
	int64_t bin;
	uint64_t begun, covered;
	int64_t value, least, largest;
	double area; /* READINGS: sum of value * nanoseconds */
	struct view_tally tally;
};

/* A span that ends after the finest level's current bin. */
struct pyramid_open {
	int64_t end_ns;
	uint64_t kind; /* pyramid_item.what << 1 | is_uncovered */
};

struct pyramid {
	enum pyramid_type type;
	unsigned int columns, hint;
	int64_t from_ns, to_ns; /* bins cover only this window */
	struct view_store *store;
	struct pyramid_level levels[PYRAMID_LEVELS];
	unsigned int finest; /* finest level of bins that is not dropped */
	bool is_cut;         /* its finest levels are left out of the file */
	uint64_t items, work;
	struct pyramid_open *open;  /* heap, the earliest end on top */
	struct view_tally standing; /* kind -> number of open spans */
	size_t open_count, open_capacity;
	bool has_value;
	int64_t value; /* VALUES: the latest */
};

/* columns: columns of an item, including one for its start; hint: the store's hint for items, hint
 * + 1 for bins. The store is borrowed. */
void pyramid_init(struct pyramid *pyramid, enum pyramid_type type, unsigned int columns,
		  unsigned int hint, int64_t from_ns, int64_t to_ns, struct view_store *store);
void pyramid_fini(struct pyramid *pyramid); /* NULL-safe */

/* Adds an item. Items should come in the order of their start: late ones cost additional rows.
 * Values must not come late. Errors: -ENOMEM, errors of the store. */
int pyramid_add(struct pyramid *pyramid, const struct pyramid_item *item);

/* Writes the open bins and chunks. Keeps the levels that are worth their size; drops the others. */
int pyramid_finish(struct pyramid *pyramid, uint64_t wall_ns);

/* Duration of a bin; 0 for level 0, the items. */
uint64_t pyramid_bin_ns(unsigned int level);

/* SPDX-License-Identifier: MIT
 *
 * export/view_pyramid.h - the items of one track, and what they add up to in bins of time, from fine to coarse
 *
 * The layout of items, bins and chunks is docs/design/view.md.
 */
#ifndef EXPORT_VIEW_PYRAMID_H
#define EXPORT_VIEW_PYRAMID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/view_rows.h"
#include "export/view_store.h"
#include "export/view_tally.h"

enum {
	PYRAMID_LEVELS = 16,     /* 0: items; l: bins of 64 * 8^l ns, from 512 ns to 26 days */
	PYRAMID_BINS_MOST = 2048 /* of the coarsest level */
};

enum pyramid_type {
	PYRAMID_SPANS,   /* from a moment to another, mostly one behind the other */
	PYRAMID_CROWDS,  /* … mostly many at a time */
	PYRAMID_MOMENTS, /* with a weight */
	PYRAMID_VALUES,  /* from a moment on */
	PYRAMID_READINGS /* of a stretch of time, one behind the other; what is between is not known */
};

struct pyramid_item {
	int64_t begin_ns;
	uint64_t duration_ns;   /* SPANS, READINGS */
	uint64_t weight;        /* MOMENTS */
	int64_t value;          /* VALUES, READINGS */
	uint64_t what;          /* what a bin tells apart */
	bool is_uncovered;      /* SPANS: not in the sum of what is covered */
	const uint64_t *values; /* columns 2, 3, … */
};

struct pyramid_level {
	struct view_rows filling;
	struct view_chunk *chunks;
	size_t chunks_count, chunks_capacity;
	uint64_t rows;   /* of all chunks */
	bool is_dropped; /* not worth its bytes */
	/* The bin that is being filled. */
	bool has_bin;
	int64_t bin;
	uint64_t begun, covered;
	int64_t value, least, largest;
	double area; /* READINGS: values, each by its nanoseconds */
	struct view_tally tally;
};

/* A span that goes on beyond the finest level's bin. */
struct pyramid_open {
	int64_t end_ns;
	uint64_t kind; /* what it is of, and whether it covers */
};

struct pyramid {
	enum pyramid_type type;
	unsigned int columns, hint;
	int64_t from_ns, to_ns; /* bins are of this part only */
	struct view_store *store;
	struct pyramid_level levels[PYRAMID_LEVELS];
	unsigned int finest; /* level of bins */
	bool is_cut;         /* there was no room for its finest levels */
	uint64_t items, work;
	struct pyramid_open *open;  /* heap, the earliest end on top */
	struct view_tally standing; /* kind -> how many are open */
	size_t open_count, open_capacity;
	bool has_value;
	int64_t value; /* VALUES: the latest */
};

/* columns: of an item, 1 for its begin; hint: of the store, and one more for bins. The store is borrowed. */
void pyramid_init(struct pyramid *pyramid, enum pyramid_type type, unsigned int columns,
		  unsigned int hint, int64_t from_ns, int64_t to_ns, struct view_store *store);
void pyramid_fini(struct pyramid *pyramid); /* NULL-safe */

/* Best in the order of begin. What comes late is right too, and costs rows of its own; values must not. -ENOMEM, errors
 * of the store. */
int pyramid_add(struct pyramid *pyramid, const struct pyramid_item *item);

/* Writes what is left; then levels that are worth it have their chunks and the others are dropped. */
int pyramid_finish(struct pyramid *pyramid, uint64_t wall_ns);

/* 0 for items. */
uint64_t pyramid_bin_ns(unsigned int level);

#endif

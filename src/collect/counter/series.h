/* SPDX-License-Identifier: MIT
 *
 * collect/counter/series.h - queue of rows from a sampler's thread to the writer
 *
 * One thread puts, one takes. After series_open, no call allocates or waits. A row without room is
 * refused; its source merges it into the next row.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/counter/metric.h"

enum { SERIES_NAME_BYTES = 48, SERIES_NOTES = 32 };

/* The entity that a series describes. */
struct series_of {
	char instance[SERIES_NAME_BYTES];
	uint32_t device;  /* id of the trace; 0: none */
	uint32_t cpu;     /* number of the processor plus 1; 0: none */
	uint32_t process; /* id of the trace; 0: none */
};

struct series_slot {
	const struct metric *metric;
	const char *file;
	struct series_of of;
	uint64_t limit;
	uint64_t interval_ns;
	uint32_t id; /* set by the taking thread */
	atomic_bool is_taken;
};

enum series_what { SERIES_BEGIN, SERIES_ROW, SERIES_END, SERIES_NOTE, SERIES_LOSS };

struct series_item {
	uint64_t begin, end;
	int64_t value;    /* LOSS: number of rows */
	uint64_t of;      /* LOSS: enum event_loss_reason */
	uint32_t slot;    /* NOTE: the process, as in struct series_of */
	uint32_t what;    /* enum series_what */
	const char *text; /* for NOTE */
};

struct series {
	struct series_item *items; /* owned */
	struct series_slot *slots; /* owned */
	size_t items_count;        /* size of items, a power of two */
	size_t slots_count, next_slot;
	_Atomic uint64_t put, taken;
	_Atomic uint64_t refused; /* number of rows */
	_Atomic uint64_t unnamed; /* number of readings without room for their instance or series */
	_Atomic uint64_t last_lost_ns;
	const char *noted[SERIES_NOTES]; /* notes that were made, used by the putting thread */
	size_t noted_count;
};

/* Allocates room for the given numbers of series and rows. Errors: -ENOMEM. */
int series_open(struct series *series, size_t slots, size_t rows);
void series_close(struct series *series); /* NULL-safe */

/* ---- the putting thread ---------------------------------------------------------------------- */

/* Adds a series. SERIES_NO_SLOT: no room. */
#define SERIES_NO_SLOT UINT32_MAX
uint32_t series_begin(struct series *series, const struct series_slot *about, uint64_t now_ns);
/* False: no room. */
bool series_put(struct series *series, uint32_t slot, uint64_t begin_ns, uint64_t end_ns,
		int64_t value, uint64_t of);
void series_end(struct series *series, uint32_t slot, uint64_t now_ns);
/* Counts a reading without room for its series. */
void series_count_unnamed(struct series *series, uint64_t now_ns);
/* Counts readings of instances above the limit. */
void series_count_lost(struct series *series, uint64_t count, uint64_t now_ns);
/* Puts a loss at an unknown time. False: no room; the caller tries again. */
bool series_put_loss(struct series *series, uint64_t begin_ns, uint64_t end_ns, uint32_t reason,
		     uint64_t count);
/* text must live as long as the series, and is identified by its address. Without a process it is
 * noted once. */
void series_note(struct series *series, const char *text, uint32_t process);

/* ---- the taking thread ----------------------------------------------------------------------- */

/* Takes the next item. False: none. */
bool series_take(struct series *series, struct series_item *ret_item);
/* Frees a slot whose END was taken. */
void series_release(struct series *series, uint32_t slot);

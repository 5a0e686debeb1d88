/* SPDX-License-Identifier: MIT
 *
 * collect/series.h - rows on their way from a sampler's thread to the writer's
 *
 * One thread puts, one takes. Nothing is allocated after series_open, nothing waits: where there is no room a row is
 * refused, and its source tells with the next what came since.
 */
#ifndef COLLECT_SERIES_H
#define COLLECT_SERIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/metric.h"

enum { SERIES_NAME_BYTES = 48, SERIES_NOTES = 32 };

/* What a series is of. */
struct series_of {
	char instance[SERIES_NAME_BYTES];
	uint32_t device;  /* the trace's; 0: none */
	uint32_t cpu;     /* number and 1; 0: none */
	uint32_t process; /* the trace's; 0: none */
};

struct series_slot {
	const struct metric *metric;
	const char *file;
	struct series_of of;
	uint64_t limit;
	uint64_t interval_ns;
	uint32_t id; /* the taker's own */
	atomic_bool is_taken;
};

enum series_what { SERIES_BEGIN, SERIES_ROW, SERIES_END, SERIES_NOTE, SERIES_LOSS };

struct series_item {
	uint64_t begin, end;
	int64_t value;    /* LOSS: so many rows */
	uint64_t of;      /* LOSS: enum event_loss_reason */
	uint32_t slot;    /* NOTE: the process, as in a series_of */
	uint32_t what;    /* enum series_what */
	const char *text; /* NOTE */
};

struct series {
	struct series_item *items; /* owned */
	struct series_slot *slots; /* owned */
	size_t items_count;        /* a power of two */
	size_t slots_count, next_slot;
	_Atomic uint64_t put, taken;
	_Atomic uint64_t refused; /* rows */
	_Atomic uint64_t unnamed; /* readings of things and series for which there was no room */
	_Atomic uint64_t last_lost_ns;
	const char *noted[SERIES_NOTES]; /* who puts: what was noted once */
	size_t noted_count;
};

/* Room for so many series, and rows. -ENOMEM. */
int series_open(struct series *series, size_t slots, size_t rows);
void series_close(struct series *series); /* NULL-safe */

/* ---- who puts ---- */

/* A new series. SERIES_NO_SLOT: there is no room. */
#define SERIES_NO_SLOT UINT32_MAX
uint32_t series_begin(struct series *series, const struct series_slot *about, uint64_t now_ns);
/* False: there is no room. */
bool series_put(struct series *series, uint32_t slot, uint64_t begin_ns, uint64_t end_ns,
		int64_t value, uint64_t of);
void series_end(struct series *series, uint32_t slot, uint64_t now_ns);
/* A reading that was lost because there was no room to remember what it is of. */
void series_count_unnamed(struct series *series, uint64_t now_ns);
/* Readings that were lost before they came here: what is counted had no room for them. */
void series_count_lost(struct series *series, uint64_t count, uint64_t now_ns);
/* Of a time of which nobody knows. False: there is no room; it is told again by who asks. */
bool series_put_loss(struct series *series, uint64_t begin_ns, uint64_t end_ns, uint32_t reason,
		     uint64_t count);
/* text: for as long as the series; it is told by its address. Of no process it is noted once. */
void series_note(struct series *series, const char *text, uint32_t process);

/* ---- who takes ---- */

/* The next item. False: none. */
bool series_take(struct series *series, struct series_item *ret_item);
/* Its END was taken, and nobody needs it any more. */
void series_release(struct series *series, uint32_t slot);

#endif

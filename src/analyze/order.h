/* SPDX-License-Identifier: MIT
 *
 * analyze/order.h - iterates over a trace in the order of host time, row by row or moment by moment
 * (a moment is one of the times in a row)
 *
 * Memory holds only the chunks that overlap the current time, never the whole trace. A chunk is
 * decoded when the sweep reaches its earliest moment and freed after its last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
struct clocks;
struct order;
struct order_item;
struct trace_reader;

/* Two more bits in event_execution.valid, set by order_next. */
/* its timestamps in the file were not in order */
#define ORDER_IMPOSSIBLE 0x40000000u
/* its clock is not aligned with host time: use only differences */
#define ORDER_UNPLACED   0x80000000u

enum order_point {
	POINT_ROW, /* the whole row, at its sort key: the only point unless order_options.points is
		      set */
	POINT_BEGIN, /* begin of a call or a launch */
	POINT_END,
	POINT_QUEUED,
	POINT_SUBMITTED,
	POINT_STARTED,
	POINT_ENDED,
	POINT_SEEN /* the end of an execution without device times, as the host saw it */
};

struct order_options {
	uint32_t kinds; /* kinds of rows to read: bits 1 << enum event_kind */
	bool points;    /* one item per moment instead of one per row */
	bool parts;     /* includes launches that are parts of a batch; those are not commands */
	uint64_t execution_delay_ns; /* with POINT_ROW: executions and instruction samples come this
					much after their key */
	/* Items for which it returns false are skipped; NULL: none. */
	bool (*has_item)(const void *context, const struct order_item *item);
	const void *context;
};

/* Times in the row are host ns; with ORDER_UNPLACED they are ns of the execution's own clock. Valid
 * until the next call. */
struct order_item {
	uint64_t time_ns;
	enum event_kind kind;
	enum order_point point;
	const void *row;
	uint32_t source; /* trace_chunk.source of the row's chunk */
};

/* order.c defines the order of rows with equal times. Errors: -ENOMEM and those of the reader.
 * reader and clocks are borrowed. */
int order_new(struct trace_reader *reader, const struct clocks *clocks,
	      const struct order_options *options, struct order **ret_order);
void order_free(struct order *order); /* NULL-safe */

/* Returns 1 for an item, 0 at the end, -errno on error. Damaged chunks are skipped and their rows
 * counted. */
int order_next(struct order *order, struct order_item *ret_item);

/* From now on the caller needs only launches, executions and calls that waited. All other rows may
 * be skipped. */
void order_narrow(struct order *order);

/* Number of rows of one kind in damaged chunks so far. */
uint64_t order_damaged_rows(const struct order *order, enum event_kind kind);

/* The earliest key of all chunks of the chosen kinds, in host ns; UINT64_MAX without such
 * chunks. */
uint64_t order_begin_ns(const struct order *order);

/* Max number of rows in memory at once, so far. */
size_t order_peak_rows(const struct order *order);

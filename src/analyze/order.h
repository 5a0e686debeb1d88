/* SPDX-License-Identifier: MIT
 *
 * analyze/order.h - all rows of a trace, or all moments in them, in the order of host time
 *
 * Memory holds the chunks whose time overlaps the sweep, never the trace: a chunk is decoded when
 * the sweep reaches its earliest moment and freed with its last.
 */
#ifndef ANALYZE_ORDER_H
#define ANALYZE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
struct clocks;
struct order;
struct trace_reader;

/* Two more bits in event_execution.valid of the rows given out. */
#define ORDER_IMPOSSIBLE 0x40000000u /* its stamps were not in order as they were read */
#define ORDER_UNPLACED   0x80000000u /* its clock has no place in host time: only differences count */

enum order_point {
	POINT_ROW, /* the row as a whole, at its key: the only point unless points are asked for */
	POINT_BEGIN, /* of a call, also of one that launched */
	POINT_END,
	POINT_QUEUED,
	POINT_SUBMITTED,
	POINT_STARTED,
	POINT_ENDED,
	POINT_SEEN /* of an execution without device times */
};

struct order_options {
	uint32_t kinds; /* bit (1 << enum event_kind) */
	bool points;    /* one item per moment instead of one per row */
	bool parts;     /* launches that are parts of a batch come too: they are no commands */
	uint64_t execution_delay_ns; /* executions come this much after their key (POINT_ROW) */
};

/* Times in the row are host ns (an execution's with ORDER_UNPLACED: its own clock's ns). Valid until
 * the next call. */
struct order_item {
	uint64_t time_ns;
	enum event_kind kind;
	enum order_point point;
	const void *row;
	uint32_t source; /* of the chunk */
};

/* Ties: see order.c. Errors: -ENOMEM and what the reader fails with. reader and clocks are borrowed. */
int order_new(struct trace_reader *reader, const struct clocks *clocks,
	      const struct order_options *options, struct order **ret_order);
void order_free(struct order *order); /* NULL-safe */

/* 1: an item; 0: the end; -errno. Damaged chunks are left out and counted. */
int order_next(struct order *order, struct order_item *ret_item);

/* From now on only launches, executions and calls that waited are wanted: the others may be left out. */
void order_narrow(struct order *order);

/* Rows of one kind that were in damaged chunks, so far. */
uint64_t order_damaged_rows(const struct order *order, enum event_kind kind);

/* The earliest key of any chunk of the wanted kinds in host ns; UINT64_MAX where there is none. */
uint64_t order_begin_ns(const struct order *order);

/* The most rows held in memory at once, so far. */
size_t order_peak_rows(const struct order *order);

#endif

/* SPDX-License-Identifier: MIT
 *
 * analyze/order.c - iterates over a trace in the order of host time, row by row or moment by moment
 * (a moment is one of the times in a row)
 *
 * Runs in:  commands that read a trace; an order belongs to one thread and starts a second one that
 *           decodes ahead
 * Gets:     the reader's chunks and the solved clocks
 * Gives:    rows or moments in host time
 * Owns:     the decoded chunks that overlap the current time, with their times converted in place
 * Fails:    -ENOMEM; a damaged chunk is skipped and its rows are counted
 * Why a merge of chunks: a chunk is sorted and its head contains its first time, so the sweep
 *           decodes it only when it reaches that time. 10^7 rows are in 2500 chunks, of which about
 *           ten are open at a time: 3 MiB instead of 800. Some heads do not contain the earliest
 *           moment, because executions are sorted by start and were queued long before. Those
 *           chunks are decoded once in advance.
 *
 * Rows with equal times are ordered so that an effect never comes before its cause. Rows:
 * dependency, range, call, launch, execution, sample, switch, counter; calls and launches by their
 * end, executions by (process, correlation). Moments: end of a command, end of a call, begin of a
 * call, wait-list entry or loss, queued, submitted, started, end of a command of zero length, end
 * of a call of zero length.
 */
#include "analyze/order.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/clocks.h"
#include "base/array.h"
#include "base/number.h"
#include "base/order/heap.h"
#include "trace/ahead.h"
#include "trace/reader.h"

enum { CROWD = 16 }; /* more open chunks than this are decoded further ahead */

struct moment {
	uint64_t time;
	uint32_t row;
	uint8_t point, rank;
};

struct cursor {
	const struct trace_chunk *chunk;
	char *rows;
	size_t row_size, row_count;
	struct moment *moments; /* NULL unless order_options.points is set */
	size_t next, count;     /* rows or moments */
	uint64_t time;          /* time of the next row or moment */
	uint8_t rank;
};

struct entry {
	uint64_t time; /* copy of cursor->time */
	struct cursor *cursor;
};

struct pending {
	uint64_t low; /* time of the chunk's earliest moment */
	size_t chunk;
};

struct order {
	struct trace_reader *reader;
	const struct clocks *clocks;
	struct order_options options;
	struct pending *pending; /* sorted by low */
	size_t pending_count, pending_next;
	size_t *chunks;            /* the chunks of pending, for trace_ahead */
	struct trace_ahead *ahead; /* decodes the chunks in that order */
	bool is_narrow;            /* atomic, because both threads read it; set by order_narrow */
	struct entry *heap;        /* min-heap by time */
	size_t heap_count, heap_capacity;
	bool top_is_used; /* the caller has the top's item: order_next advances the top first */
	size_t rows, peak_rows;
	uint64_t begin_ns;
	uint64_t damaged[EVENT_KIND_COUNT];
};

static bool is_in_order(const struct event_execution *row)
{
	uint64_t times[4] = {row->queued, row->submitted, row->started, row->ended}, last = 0;

	for (unsigned int i = 0; i < 4; i++) {
		if (!(row->valid & 1u << i))
			continue;
		if (times[i] < last)
			return false;
		last = times[i];
	}
	return true;
}

/* The clocks of one chunk. */
struct placing {
	const struct clocks_domain *clock, *seen_clock;
	bool is_placed;
};

/* Converts the timestamps to host time. Rounding must not reverse their order, so each time is
 * raised to the one before it. */
static void convert_stamps(const struct placing *placing, struct event_execution *row)
{
	uint64_t *times[4] = {&row->queued, &row->submitted, &row->started, &row->ended};
	bool ordered = is_in_order(row);
	uint64_t last = 0;

	if (!ordered)
		row->valid |= ORDER_IMPOSSIBLE;
	for (unsigned int i = 0; i < 4; i++) {
		if (!(row->valid & 1u << i))
			continue;
		*times[i] = clocks_domain_to_host(placing->clock, *times[i]);
		if (ordered && *times[i] < last)
			*times[i] = last;
		last = *times[i];
	}
}

static void convert_execution(const struct placing *placing, struct event_execution *row)
{
	row->valid &= EXECUTION_TIMED;
	convert_stamps(placing, row);
	if (!placing->is_placed)
		row->valid |= ORDER_UNPLACED;
	row->seen = clocks_domain_to_host(placing->seen_clock, row->seen);
}

static void convert_interval(const struct placing *placing, uint64_t *begin, uint64_t *end)
{
	bool ordered = *begin <= *end;

	*begin = clocks_domain_to_host(placing->clock, *begin);
	*end = clocks_domain_to_host(placing->clock, *end);
	if (!ordered || *end < *begin)
		*end = *begin;
}

/* Rows that begin with the start and the end of an interval; all others begin with their time. */
static bool is_interval(enum event_kind kind)
{
	return kind == EVENT_API || kind == EVENT_LAUNCH || kind == EVENT_LOSS ||
	       kind == EVENT_INSTRUCTION_SAMPLE || kind == EVENT_COUNTER || kind == EVENT_RANGE ||
	       kind == EVENT_COLLECTIVE;
}

static void convert_row(const struct placing *placing, enum event_kind kind, void *row)
{
	uint64_t *times = row;

	if (kind == EVENT_EXECUTION)
		convert_execution(placing, row);
	else if (is_interval(kind))
		convert_interval(placing, &times[0], &times[1]);
	else
		times[0] = clocks_domain_to_host(placing->clock, times[0]);
}

static uint64_t execution_key(const struct event_execution *row)
{
	bool has_start = (row->valid & EXECUTION_STARTED) && !(row->valid & ORDER_UNPLACED);

	return has_start ? row->started : row->seen;
}

/* Instruction samples are delayed as executions are, so that they come after their execution. */
static uint64_t delay_of(const struct order *order, enum event_kind kind)
{
	bool is_late = kind == EVENT_EXECUTION || kind == EVENT_INSTRUCTION_SAMPLE;

	return is_late && !order->options.points ? order->options.execution_delay_ns : 0;
}

/* The first member of every row except executions is its sort key. */
static uint64_t key_of(const struct order *order, enum event_kind kind, const void *row)
{
	uint64_t key = kind == EVENT_EXECUTION ? execution_key(row) : *(const uint64_t *)row;

	return key + delay_of(order, kind);
}

static int compare_executions(const void *left, const void *right)
{
	const struct event_execution *a = left, *b = right;
	uint64_t key_a = execution_key(a), key_b = execution_key(b);

	if (key_a != key_b)
		return key_a < key_b ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

/* The first two members of calls and launches are begin and end. */
static int compare_intervals(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return (a[1] > b[1]) - (a[1] < b[1]);
}

/* The longer of two ranges with the same begin encloses the other and comes first. */
static int compare_ranges(const void *left, const void *right)
{
	const struct event_range *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->end < b->end) - (a->end > b->end);
}

typedef int compare_rows(const void *left, const void *right);

static compare_rows *comparator_of(enum event_kind kind)
{
	if (kind == EVENT_EXECUTION)
		return compare_executions;
	if (kind == EVENT_API || kind == EVENT_LAUNCH)
		return compare_intervals;
	return kind == EVENT_RANGE ? compare_ranges : compare_u64;
}

/* A chunk can be out of order after the conversion, or if its head is damaged. */
static void sort_rows(enum event_kind kind, char *rows, size_t count)
{
	size_t size = trace_reader_row_size(kind);
	compare_rows *compare = comparator_of(kind);

	for (size_t i = 1; i < count; i++) {
		const char *row = rows + i * size;

		if (compare(row - size, row) <= 0)
			continue;
		qsort(rows, count, size, compare);
		return;
	}
}

/* Keeps the calls that waited; returns their number. */
static size_t keep_waits(struct event_api *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].type == API_TYPE_WAIT)
			rows[kept++] = rows[i];
	return kept;
}

static size_t keep_commands(struct event_launch *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!(rows[i].flags & LAUNCH_PART))
			rows[kept++] = rows[i];
	return kept;
}

/* Converts a chunk's rows to host time, filters and sorts them. Also runs in the thread that
 * decodes ahead. */
static size_t place_rows(const void *context, size_t index, void *rows, size_t count)
{
	const struct order *order = context;
	const struct trace_chunk *chunk = trace_reader_chunk(order->reader, index);
	const struct placing placing = {.clock = clocks_find(order->clocks, chunk->clock),
					.seen_clock = clocks_find(order->clocks, chunk->seen_clock),
					.is_placed = clocks_is_placed(order->clocks, chunk->clock)};
	size_t size = trace_reader_row_size(chunk->kind);

	if (__atomic_load_n(&order->is_narrow, __ATOMIC_RELAXED)) {
		if (chunk->kind == EVENT_API)
			count = keep_waits(rows, count);
		else if (chunk->kind != EVENT_LAUNCH && chunk->kind != EVENT_EXECUTION)
			return 0;
	}

	if (chunk->kind == EVENT_LAUNCH && !order->options.parts)
		count = keep_commands(rows, count);
	for (size_t i = 0; i < count; i++)
		convert_row(&placing, (enum event_kind)chunk->kind, (char *)rows + i * size);
	sort_rows(chunk->kind, rows, count);
	return count;
}

void order_narrow(struct order *order)
{
	__atomic_store_n(&order->is_narrow, true, __ATOMIC_RELAXED);
}

static void add_moment(struct cursor *cursor, uint32_t row, uint64_t time, enum order_point point,
		       unsigned int rank)
{
	cursor->moments[cursor->count++] =
		(struct moment){time, row, (uint8_t)point, (uint8_t)rank};
}

static void add_interval(struct cursor *cursor, uint32_t row, uint64_t begin, uint64_t end)
{
	add_moment(cursor, row, begin, POINT_BEGIN, 2);
	add_moment(cursor, row, end, POINT_END, begin == end ? 8 : 1);
}

static void add_execution(struct cursor *cursor, uint32_t index, const struct event_execution *row)
{
	bool instant = row->started == row->ended && (row->valid & EXECUTION_STARTED);

	if (!(row->valid & EXECUTION_TIMED) || (row->valid & ORDER_UNPLACED)) {
		add_moment(cursor, index, row->seen, POINT_SEEN, 0);
		return;
	}
	if (row->valid & EXECUTION_QUEUED)
		add_moment(cursor, index, row->queued, POINT_QUEUED, 4);
	if (row->valid & EXECUTION_SUBMITTED)
		add_moment(cursor, index, row->submitted, POINT_SUBMITTED, 5);
	if (row->valid & EXECUTION_STARTED)
		add_moment(cursor, index, row->started, POINT_STARTED, 6);
	if (row->valid & EXECUTION_ENDED)
		add_moment(cursor, index, row->ended, POINT_ENDED, instant ? 7 : 0);
}

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static int list_moments(struct cursor *cursor)
{
	enum event_kind kind = cursor->chunk->kind;

	cursor->count = 0;
	cursor->moments = calloc(4 * cursor->row_count + 1, sizeof(*cursor->moments));
	if (!cursor->moments)
		return -ENOMEM;
	for (size_t i = 0; i < cursor->row_count; i++) {
		const char *row = cursor->rows + i * cursor->row_size;
		const uint64_t *times = (const uint64_t *)(const void *)row;

		if (kind == EVENT_EXECUTION)
			add_execution(cursor, (uint32_t)i, (const void *)row);
		else if (kind == EVENT_API || kind == EVENT_LAUNCH || kind == EVENT_RANGE)
			add_interval(cursor, (uint32_t)i, times[0], times[1]);
		else
			add_moment(cursor, (uint32_t)i, times[0], POINT_ROW, 3);
	}
	qsort(cursor->moments, cursor->count, sizeof(*cursor->moments), compare_moments);
	return 0;
}

static void cursor_free(struct cursor *cursor)
{
	if (!cursor)
		return;
	free(cursor->rows);
	free(cursor->moments);
	free(cursor);
}

/* Makes a cursor from a chunk's converted rows and takes ownership of them. `error` is the error of
 * decoding. *ret_cursor is NULL for a damaged or empty chunk. */
static int make_cursor(struct order *order, size_t index, int error, void *rows, size_t count,
		       struct cursor **ret_cursor)
{
	const struct trace_chunk *chunk = trace_reader_chunk(order->reader, index);
	struct cursor *cursor;

	*ret_cursor = NULL;
	if (error == -EBADMSG)
		order->damaged[chunk->kind] += chunk->rows;
	if (error)
		return error == -EBADMSG ? 0 : error;
	cursor = count ? calloc(1, sizeof(*cursor)) : NULL;
	if (!cursor) {
		free(rows);
		return count ? -ENOMEM : 0;
	}
	cursor->chunk = chunk;
	cursor->row_size = trace_reader_row_size(chunk->kind);
	cursor->rows = rows;
	cursor->row_count = cursor->count = count;
	*ret_cursor = cursor;
	return 0;
}

/* The order of kinds at equal times: a dependency before the command that it names, a range before
 * the launches in it. */
static uint8_t rank_of(enum event_kind kind)
{
	if (kind == EVENT_DEPENDENCY)
		return 0;
	return kind == EVENT_RANGE ? 1 : (uint8_t)kind;
}

static void cursor_load(const struct order *order, struct cursor *cursor)
{
	const char *row = cursor->rows + cursor->next * cursor->row_size;

	if (cursor->moments) {
		cursor->time = cursor->moments[cursor->next].time;
		cursor->rank = cursor->moments[cursor->next].rank;
		return;
	}
	/* With 100 chunks read in turns, the processor's own prefetcher does not predict the next
	 * row. */
	__builtin_prefetch(row + 2 * cursor->row_size);
	cursor->time = key_of(order, cursor->chunk->kind, row);
	cursor->rank = rank_of(cursor->chunk->kind);
}

static const void *cursor_row(const struct cursor *cursor)
{
	size_t row = cursor->moments ? cursor->moments[cursor->next].row : cursor->next;

	return cursor->rows + row * cursor->row_size;
}

static bool is_before_at_once(const struct cursor *a, const struct cursor *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->chunk->kind == b->chunk->kind && !a->moments) {
		int difference = comparator_of(a->chunk->kind)(cursor_row(a), cursor_row(b));

		if (difference)
			return difference < 0;
	}
	return a->chunk->offset < b->chunk->offset;
}

/* The heap has a copy of the cursors' times. With 10^7 samples in 100 chunks, reading the cursors
 * took a fifth of the run time. */
static inline bool is_before(const struct entry *a, const struct entry *b)
{
	if (__builtin_expect(a->time != b->time, 1))
		return a->time < b->time;
	return is_before_at_once(a->cursor, b->cursor);
}

static int heap_push(struct order *order, struct cursor *cursor)
{
	if (array_append(order->heap, order->heap_capacity, order->heap_count,
			 (struct entry){cursor->time, cursor}))
		return -ENOMEM;
	HEAP_LIFT(order->heap, order->heap_count, is_before(a, b));
	return 0;
}

static int activate(struct order *order, size_t index)
{
	struct cursor *cursor;
	void *rows = NULL;
	size_t count = 0;
	int error = trace_ahead_next(order->ahead, &rows, &count);

	error = make_cursor(order, index, error, rows, count, &cursor);
	if (error || !cursor)
		return error;
	if (order->options.points)
		error = list_moments(cursor);
	if (!error) {
		cursor_load(order, cursor);
		error = heap_push(order, cursor);
	}
	if (error) {
		cursor_free(cursor);
		return error;
	}
	/* If many chunks are open, as in a recording of many threads, they end shortly after each
	 * other. Decode that many ahead. */
	if (order->heap_count > CROWD)
		trace_ahead_set_limit(order->ahead, order->heap_count);
	order->rows += cursor->row_count;
	if (order->rows > order->peak_rows)
		order->peak_rows = order->rows;
	return 0;
}

/* Advances the top cursor by one item, or removes it after its last item. */
static void advance_top(struct order *order)
{
	struct cursor *top = order->heap[0].cursor;

	if (++top->next < top->count) {
		cursor_load(order, top);
		order->heap[0].time = top->time;
	} else {
		order->rows -= top->row_count;
		order->heap[0] = order->heap[--order->heap_count];
		cursor_free(top);
	}
	if (order->heap_count)
		HEAP_SINK(order->heap, order->heap_count, is_before(a, b));
}

static int next_item(struct order *order, struct order_item *ret_item)
{
	struct cursor *top;

	if (order->top_is_used)
		advance_top(order);
	order->top_is_used = false;
	while (order->pending_next < order->pending_count &&
	       (!order->heap_count ||
		order->pending[order->pending_next].low <= order->heap[0].time)) {
		int error = activate(order, order->pending[order->pending_next++].chunk);

		if (error)
			return error;
	}
	if (!order->heap_count)
		return 0;
	top = order->heap[0].cursor;
	order->top_is_used = true;
	ret_item->time_ns = top->time;
	ret_item->kind = top->chunk->kind;
	ret_item->point = top->moments ? top->moments[top->next].point : POINT_ROW;
	ret_item->row = cursor_row(top);
	ret_item->source = top->chunk->source;
	return 1;
}

int order_next(struct order *order, struct order_item *ret_item)
{
	const struct order_options *options = &order->options;
	int status = next_item(order, ret_item);

	while (status > 0 && options->has_item && !options->has_item(options->context, ret_item))
		status = next_item(order, ret_item);
	return status;
}

static uint64_t earliest_moment(const struct order *order, const struct cursor *cursor)
{
	uint64_t low = key_of(order, cursor->chunk->kind, cursor->rows);

	for (size_t i = 0; i < cursor->row_count; i++) {
		const struct event_execution *row =
			(const void *)(cursor->rows + i * cursor->row_size);

		if ((row->valid & ORDER_UNPLACED) || !order->options.points)
			continue;
		if ((row->valid & EXECUTION_QUEUED) && row->queued < low)
			low = row->queued;
		else if ((row->valid & EXECUTION_SUBMITTED) && row->submitted < low)
			low = row->submitted;
	}
	return low;
}

/* The earliest time of a chunk. Its head contains the earliest sort key. The chunk is decoded if
 * moments are needed, or if its clock is not aligned with host time. */
static int lowest(struct order *order, size_t index, uint64_t *ret_low)
{
	const struct trace_chunk *chunk = trace_reader_chunk(order->reader, index);
	struct cursor *cursor;
	void *rows = NULL;
	size_t count = 0;
	int error;

	if (chunk->kind != EVENT_EXECUTION ||
	    (!order->options.points &&
	     (chunk->by_seen || clocks_is_placed(order->clocks, chunk->clock)))) {
		*ret_low = clocks_to_host(order->clocks,
					  chunk->by_seen ? chunk->seen_clock : chunk->clock,
					  chunk->first);
		*ret_low += delay_of(order, chunk->kind);
		return 0;
	}
	error = trace_reader_rows(order->reader, index, &rows, &count);
	if (!error)
		count = place_rows(order, index, rows, count);
	error = make_cursor(order, index, error, rows, count, &cursor);
	order->damaged[chunk->kind] = 0; /* the sweep will decode the chunk again and count then */
	if (error)
		return error;
	*ret_low = cursor ? earliest_moment(order, cursor) : UINT64_MAX;
	cursor_free(cursor);
	return 0;
}

static int compare_pending(const void *left, const void *right)
{
	const struct pending *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return (a->chunk > b->chunk) - (a->chunk < b->chunk);
}

static void note_begin(struct order *order, enum event_kind kind, uint64_t low)
{
	if (low == UINT64_MAX)
		return;
	low -= delay_of(order, kind);
	if (low < order->begin_ns)
		order->begin_ns = low;
}

static int list_chunks(struct order *order)
{
	size_t count = trace_reader_chunk_count(order->reader);

	order->begin_ns = UINT64_MAX;
	order->pending = calloc(count + 1, sizeof(*order->pending));
	order->chunks = calloc(count + 1, sizeof(*order->chunks));
	if (!order->pending || !order->chunks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(order->reader, i);
		struct pending pending = {.chunk = i};
		int error;

		if ((unsigned int)chunk->kind >= EVENT_KIND_COUNT ||
		    !trace_reader_row_size(chunk->kind) ||
		    !(order->options.kinds & 1u << chunk->kind))
			continue;
		error = lowest(order, i, &pending.low);
		if (error)
			return error;
		order->pending[order->pending_count++] = pending;
		note_begin(order, chunk->kind, pending.low);
	}
	qsort(order->pending, order->pending_count, sizeof(*order->pending), compare_pending);
	for (size_t i = 0; i < order->pending_count; i++)
		order->chunks[i] = order->pending[i].chunk;
	return 0;
}

int order_new(struct trace_reader *reader, const struct clocks *clocks,
	      const struct order_options *options, struct order **ret_order)
{
	struct order *order = calloc(1, sizeof(*order));
	int error;

	if (!order)
		return -ENOMEM;
	order->reader = reader;
	order->clocks = clocks;
	order->options = *options;
	error = list_chunks(order);
	if (!error)
		error = trace_ahead_new(reader, order->chunks, order->pending_count, place_rows,
					order, &order->ahead);
	if (error) {
		order_free(order);
		return error;
	}
	*ret_order = order;
	return 0;
}

void order_free(struct order *order)
{
	if (!order)
		return;
	trace_ahead_free(order->ahead);
	for (size_t i = 0; i < order->heap_count; i++)
		cursor_free(order->heap[i].cursor);
	free(order->heap);
	free(order->chunks);
	free(order->pending);
	free(order);
}

uint64_t order_damaged_rows(const struct order *order, enum event_kind kind)
{
	return (unsigned int)kind < EVENT_KIND_COUNT ? order->damaged[kind] : 0;
}

uint64_t order_begin_ns(const struct order *order)
{
	return order->begin_ns;
}

size_t order_peak_rows(const struct order *order)
{
	return order->peak_rows;
}

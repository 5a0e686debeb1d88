/* SPDX-License-Identifier: MIT
 *
 * page/view/metrics.c - values over time that a view computes itself
 *
 * Runs in:  our own process
 * Gets:     launches and ends of commands, samples of threads
 * Gives:    the number of commands in flight, the number of used processors
 * Owns:     ends in the future, one bin of samples
 * Fails:    -ENOMEM, errors of the store
 * Why bins of 100 ms: a thread is sampled every 10 ms by default, and ten samples measure its use
 *           of a processor to about a tenth.
 */
#include "page/view/metrics.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"
#include "base/order/heap.h"

#define USE_BIN_NS INT64_C(100000000)

static int put_item(struct pyramid *pyramid, int64_t time_ns, int64_t value)
{
	const uint64_t column = view_zigzag(value);
	const struct pyramid_item item = {.begin_ns = time_ns, .value = value, .values = &column};

	return pyramid_add(pyramid, &item);
}

static int put_held(struct view_line *line, struct pyramid *pyramid)
{
	bool is_held = line->is_held;

	line->is_held = false;
	return is_held ? put_item(pyramid, pyramid->from_ns, line->held) : 0;
}

static int put_value(struct view_line *line, struct pyramid *pyramid, int64_t time_ns,
		     int64_t value)
{
	int error = 0;

	if (time_ns <= pyramid->from_ns) {
		*line = (struct view_line){true, value};
		return 0;
	}
	if (time_ns < pyramid->to_ns) {
		error = put_held(line, pyramid);
		if (!error)
			error = put_item(pyramid, time_ns, value);
	}
	return error;
}

/* ---- levels ---- */

void view_level_fini(struct view_level *level)
{
	free(level->heap);
	*level = (struct view_level){0};
}

int view_level_add(struct view_level *level, int64_t time_ns, int64_t by)
{
	if (array_append(level->heap, level->capacity, level->count,
			 (struct view_step){time_ns, by}))
		return -ENOMEM;
	HEAP_LIFT(level->heap, level->count, a->time_ns < b->time_ns);
	return 0;
}

static struct view_step pop_step(struct view_level *level)
{
	return HEAP_POP(level->heap, level->count, a->time_ns < b->time_ns);
}

int view_level_take(struct view_level *level, int64_t limit_ns, struct pyramid *pyramid)
{
	int error = 0;

	while (!error && level->count && level->heap[0].time_ns < limit_ns) {
		struct view_step step = pop_step(level);
		int64_t before = level->value;

		level->value += step.by;
		while (level->count && level->heap[0].time_ns == step.time_ns)
			level->value += pop_step(level).by;
		level->last_ns = step.time_ns < level->last_ns ? level->last_ns : step.time_ns;
		if (level->value != before)
			error = put_value(&level->line, pyramid, level->last_ns,
					  level->value * VIEW_METRIC_ONE);
	}
	return error;
}

int view_level_finish(struct view_level *level, struct pyramid *pyramid)
{
	int error = view_level_take(level, INT64_MAX, pyramid);

	return error ? error : put_held(&level->line, pyramid);
}

/* ---- processors in use ---- */

static int put_use(struct view_use *use, int64_t bin, uint64_t weight_ns, struct pyramid *pyramid)
{
	uint64_t most = INT64_MAX / VIEW_METRIC_ONE;
	int64_t value = (int64_t)((weight_ns < most ? weight_ns : most) * VIEW_METRIC_ONE /
				  (uint64_t)USE_BIN_NS);

	if (!value && !use->was_used)
		return 0;
	use->was_used = value != 0;
	return put_value(&use->line, pyramid, bin * USE_BIN_NS, value);
}

/* Moves to `bin`: writes the previous bin, which is complete, and treats the bins in between as
 * empty. */
static int step_to_bin(struct view_use *use, int64_t bin, struct pyramid *pyramid)
{
	int error = put_use(use, use->bin - 1, use->before_ns, pyramid);

	use->before_ns = use->now_ns;
	use->now_ns = 0;
	use->bin++;
	if (!error && !use->before_ns && use->bin < bin) {
		error = put_use(use, use->bin - 1, 0, pyramid);
		use->bin = bin;
	}
	return error;
}

int view_use_add(struct view_use *use, int64_t time_ns, uint64_t weight_ns, uint32_t source,
		 struct pyramid *pyramid)
{
	int64_t bin = time_ns / USE_BIN_NS;
	uint64_t in_bin = (uint64_t)(time_ns < 0 ? 0 : time_ns % USE_BIN_NS);
	int error = 0;

	if (use->source && use->source != source)
		return 0;
	if (!use->has_bin)
		*use = (struct view_use){.source = source, .has_bin = true, .bin = bin};
	while (!error && use->bin < bin)
		error = step_to_bin(use, bin, pyramid);
	in_bin = weight_ns < in_bin ? weight_ns : in_bin;
	use->now_ns = add_saturated(use->now_ns, in_bin);
	use->before_ns = add_saturated(use->before_ns, weight_ns - in_bin);
	return error;
}

int view_use_finish(struct view_use *use, struct pyramid *pyramid)
{
	int64_t last = use->bin + 2;
	int error = 0;

	while (!error && use->has_bin && use->bin <= last)
		error = step_to_bin(use, last, pyramid);
	use->has_bin = false;
	return error ? error : put_held(&use->line, pyramid);
}

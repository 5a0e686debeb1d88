/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/history/history.c - collects the quantities of recordings, one after the other
 *
 * Runs in:  our own process
 * Gets:     sides in the order of time
 * Gives:    a line of values for each quantity
 * Owns:     all lines
 * Fails:    -ENOMEM
 * Why values are copied from the sides: a side has the stacks and batches of all rows. Only the
 *           values of 1000 recordings fit into memory, so each side is freed before the next.
 */
#include "analyze/compare/history/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/side.h"
#include "base/array.h"

static void line_fini(struct history_line *line)
{
	free(line->values);
	free(line->changes);
}

static void item_fini(struct history_item *item)
{
	line_fini(&item->value);
	line_fini(&item->executions);
	free(item->namings);
	free(item->stacks);
}

int history_new(const struct history_options *options, struct history **ret_history)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return -ENOMEM;
	history->options = *options;
	for (unsigned int i = 0; i < CAUSE_COUNT; i++) {
		struct history_item *item = &history->causes[i];

		item->scope = i;
		item->name = account_cause_name((enum account_cause)i);
		item->label = account_cause_text((enum account_cause)i);
		item->group = "idle";
	}
	*ret_history = history;
	return 0;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	line_fini(&history->wall);
	line_fini(&history->iteration);
	line_fini(&history->busy);
	line_fini(&history->idle);
	for (size_t i = 0; i < history->kernels_count; i++)
		item_fini(&history->kernels[i]);
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		item_fini(&history->causes[i]);
	free(history->kernels);
	free(history->records);
	arena_fini(&history->arena);
	free(history);
}

/* ---- one recording --------------------------------------------------------------------------- */

static int add_record(struct history *history, const struct compare_side *side,
		      uint64_t realtime_ns)
{
	const struct history_record record = {
		.path = history_text(history, side->path),
		.command = history_text(history, side->facts.command ? side->facts.command : ""),
		.realtime_ns = realtime_ns,
		.is_complete = side->facts.is_complete};

	if (!record.path || !record.command || history->count == UINT32_MAX)
		return -ENOMEM;
	return array_append(history->records, history->capacity, history->count, record);
}

static int add_totals(struct history *history, const struct compare_side *side, double divisor)
{
	const size_t recording = history->count - 1;
	uint64_t busy_ns = 0, idle_ns = 0;
	int error = history_line_add(&history->wall, recording, (double)side->wall_ns / divisor);

	for (size_t i = 0; i < side->devices_count; i++) {
		busy_ns += side->devices[i].busy_ns;
		idle_ns += side->devices[i].idle_ns;
	}
	if (!error && side->iterations.count)
		error = history_line_add(&history->iteration, recording,
					 (double)side->iterations.median_ns);
	if (error || !side->devices_count)
		return error;
	error = history_line_add(&history->busy, recording, (double)busy_ns / divisor);
	return error ? error
		     : history_line_add(&history->idle, recording, (double)idle_ns / divisor);
}

/* The causes are parts of the whole idle time, so a cause without a row has 0 ns. */
static int add_causes(struct history *history, const struct compare_side *side, double divisor)
{
	const struct side_table *table = &side->tables[COMPARE_IDLE];
	uint64_t sums[CAUSE_COUNT] = {0};
	int error = 0;

	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].scope < CAUSE_COUNT)
			sums[table->rows[i].scope] += table->rows[i].value;
	for (size_t i = 0; i < CAUSE_COUNT && side->devices_count && !error; i++) {
		history->causes[i].total_ns += sums[i];
		error = history_line_add(&history->causes[i].value, history->count - 1,
					 (double)sums[i] / divisor);
	}
	return error;
}

int history_add(struct history *history, const struct compare_side *side, uint64_t realtime_ns)
{
	double divisor = 1;
	int error = add_record(history, side, realtime_ns);

	if (history->options.is_per_iteration && side->iterations.count)
		divisor = (double)side->iterations.count;
	if (!error)
		error = add_totals(history, side, divisor);
	if (!error)
		error = add_causes(history, side, divisor);
	return error ? error : history_add_kernels(history, side, divisor);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int compare_items(const void *left, const void *right)
{
	const struct history_item *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	return strcmp(a->name, b->name);
}

int history_finish(struct history *history)
{
	if (history->kernels_count)
		qsort(history->kernels, history->kernels_count, sizeof(*history->kernels),
		      compare_items);
	qsort(history->causes, CAUSE_COUNT, sizeof(*history->causes), compare_items);
	while (history->causes_count < CAUSE_COUNT &&
	       history->causes[history->causes_count].total_ns)
		history->causes_count++;
	return history_find_changes(history);
}

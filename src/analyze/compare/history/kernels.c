/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/history/kernels.c - continues the lines of kernels in the next recording
 *
 * Runs in:  our own process
 * Gets:     the kernels of one recording
 * Gives:    values at the end of lines, and new lines
 * Owns:     copies of the latest stacks of each kernel
 * Fails:    -ENOMEM
 * Why each kernel is matched with the latest state of all lines, and not with the recording before:
 *           a kernel that one recording lacks keeps its line. Against the first recording, ten
 *           small changes of a name would not match, although each of them does.
 */
#include "analyze/compare/history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/side.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/string.h"

/* A kernel of the recording: the sum over its devices. */
struct arrival {
	const struct side_row *row; /* the device where it takes longest */
	uint64_t count, time_ns;
};

struct ranked {
	uint64_t time_ns;
	uint32_t index;
};

struct continuation {
	struct history *history;
	double divisor;
	struct arrival *arrivals;
	size_t arrivals_count, arrivals_capacity;
	struct string_table keys; /* an id is an index of arrivals + 1 */
	uint32_t *lines;          /* index of history->kernels by item of the base */
	size_t lines_count, lines_capacity;
	struct match_item *base, *changed;
	struct match *match;
	struct ranked *ranked; /* room for the members of a row: the base, then the others */
};

/* ---- the recording --------------------------------------------------------------------------- */

static int make_key(struct string_builder *key, uint32_t scope, const char *name)
{
	string_builder_append_bytes(key, &scope, sizeof(scope));
	string_builder_append(key, name);
	return key->error ? -ENOMEM : 0;
}

static int add_arrival(struct continuation *next, const struct side_row *row)
{
	struct string_builder key = {0};
	struct arrival *arrival;
	uint32_t id = 0;

	if (!make_key(&key, row->scope, row->name))
		id = string_table_add(&next->keys, key.text, key.length);
	string_builder_fini(&key);
	if (!id || array_grow(next->arrivals, next->arrivals_capacity, id))
		return -ENOMEM;
	arrival = &next->arrivals[id - 1];
	if (id > next->arrivals_count) {
		next->arrivals_count = id;
		*arrival = (struct arrival){.row = row};
	}
	if (row->value > arrival->row->value)
		arrival->row = row;
	arrival->count += row->count;
	arrival->time_ns += row->value;
	return 0;
}

static int add_arrivals(struct continuation *next, const struct compare_side *side)
{
	const struct side_table *table = &side->tables[COMPARE_BUSY];
	int error = 0;

	for (size_t i = 0; i < table->count && !error; i++)
		error = add_arrival(next, &table->rows[i]);
	return error;
}

/* ---- the match ------------------------------------------------------------------------------- */

static int has_name(const struct continuation *next, const struct history_item *item, bool *ret_has)
{
	struct string_builder key = {0};
	const int error = make_key(&key, item->scope, item->name);

	*ret_has = !error && string_table_find(&next->keys, key.text, key.length);
	string_builder_fini(&key);
	return error;
}

static int choose_lines(struct continuation *next)
{
	struct history *history = next->history;

	for (size_t i = 0; i < history->kernels_count; i++) {
		bool is_chosen =
			history->kernels[i].recording + HISTORY_MAX_GAP + 1 >= history->count - 1;

		if (!is_chosen && has_name(next, &history->kernels[i], &is_chosen))
			return -ENOMEM;
		if (is_chosen &&
		    array_append(next->lines, next->lines_capacity, next->lines_count, (uint32_t)i))
			return -ENOMEM;
	}
	return 0;
}

static void fill_items(struct continuation *next)
{
	for (size_t i = 0; i < next->lines_count; i++) {
		const struct history_item *item = &next->history->kernels[next->lines[i]];

		next->base[i] = (struct match_item){.name = item->name,
						    .scope = item->scope,
						    .is_kernel = item->is_kernel,
						    .stacks = item->stacks,
						    .stacks_count = item->stacks_count,
						    .position = item->position,
						    .count = item->count,
						    .time_ns = item->time_ns};
	}
	for (size_t i = 0; i < next->arrivals_count; i++) {
		const struct side_row *row = next->arrivals[i].row;

		next->changed[i] = side_row_item(row, row->scope);
		next->changed[i].count = next->arrivals[i].count;
		next->changed[i].time_ns = next->arrivals[i].time_ns;
	}
}

static int match_lines(struct continuation *next)
{
	int error = choose_lines(next);

	if (error)
		return error;
	next->base = calloc(next->lines_count + 1, sizeof(*next->base));
	next->changed = calloc(next->arrivals_count + 1, sizeof(*next->changed));
	next->ranked = calloc(next->lines_count + next->arrivals_count + 1, sizeof(*next->ranked));
	if (!next->base || !next->changed || !next->ranked)
		return -ENOMEM;
	fill_items(next);
	return match_make(next->base, next->lines_count, next->changed, next->arrivals_count,
			  next->history->options.map, &next->match);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int copy_stacks(struct history_item *item, const struct side_row *row)
{
	struct match_stack *stacks = malloc((row->stacks_count + 1) * sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	if (row->stacks_count)
		memcpy(stacks, row->stacks, row->stacks_count * sizeof(*stacks));
	free(item->stacks);
	item->stacks = stacks;
	item->stacks_count = row->stacks_count;
	return 0;
}

static int copy_names(struct history *history, struct history_item *item,
		      const struct side_row *row)
{
	if (item->name && strcmp(item->name, row->name) == 0)
		return 0;
	item->name = history_text(history, row->name);
	item->label = history_text(history, row->label ? row->label : row->name);
	item->group = history_text(history, row->group ? row->group : "");
	return item->name && item->label && item->group ? 0 : -ENOMEM;
}

static int add_values(struct continuation *next, struct history_item *item,
		      const struct arrival *arrival)
{
	struct history *history = next->history;
	const uint32_t recording = (uint32_t)(history->count - 1);
	int error = copy_names(history, item, arrival->row);

	if (!error)
		error = copy_stacks(item, arrival->row);
	if (error)
		return error;
	item->scope = arrival->row->scope;
	item->is_kernel = arrival->row->is_kernel;
	item->position = arrival->row->position;
	item->recording = recording;
	item->count = arrival->count;
	item->time_ns = arrival->time_ns;
	item->total_ns += arrival->time_ns;
	error = history_line_add(&item->executions, recording,
				 (double)arrival->count / next->divisor);
	if (error || !arrival->count)
		return error;
	return history_line_add(&item->value, recording,
				(double)arrival->time_ns / (double)arrival->count);
}

static int add_naming(struct continuation *next, struct history_item *item,
		      const struct match_row *row, const char *name, const char *was)
{
	const struct history_naming naming = {.recording = (uint32_t)(next->history->count - 1),
					      .reason = row->reason,
					      .confidence = row->confidence,
					      .name = history_text(next->history, name),
					      .was = history_text(next->history, was)};

	if (!naming.name || !naming.was)
		return -ENOMEM;
	return array_append(item->namings, item->namings_capacity, item->namings_count, naming);
}

static int continue_line(struct continuation *next, const struct match_row *row, uint32_t line,
			 uint32_t index)
{
	struct history_item *item = &next->history->kernels[next->lines[line]];
	const struct arrival *arrival = &next->arrivals[index];
	const bool is_renamed = strcmp(item->name, arrival->row->name) != 0;
	const char *was = item->label;
	int error = add_values(next, item, arrival);

	return error || !is_renamed ? error : add_naming(next, item, row, item->label, was);
}

/* was: the largest of the kernels that end here; NULL: none. */
static int begin_line(struct continuation *next, const struct match_row *row, const char *was,
		      uint32_t index)
{
	struct history *history = next->history;
	struct history_item *item;
	int error;

	if (array_grow(history->kernels, history->kernels_capacity, history->kernels_count + 1))
		return -ENOMEM;
	item = &history->kernels[history->kernels_count++];
	*item = (struct history_item){0};
	error = add_values(next, item, &next->arrivals[index]);
	return error || !was ? error : add_naming(next, item, row, item->label, was);
}

/* ---- rows of the match ----------------------------------------------------------------------- */

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static void rank_members(const struct match_item *items, const uint32_t *members, size_t count,
			 struct ranked *ranked)
{
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){items[members[i]].time_ns, members[i]};
	if (count)
		qsort(ranked, count, sizeof(*ranked), compare_ranked);
}

/* Kernels that do the work of others are new lines: a mean per execution would jump where one
 * kernel becomes two, although nothing got faster. */
static bool is_continued(enum match_reason reason)
{
	return reason != MATCH_SPLIT && reason != MATCH_FUSED && reason != MATCH_REGROUPED;
}

/* The largest kernel continues the largest line, and so on. */
static int add_row(struct continuation *next, const struct match_row *row)
{
	struct ranked *lines = next->ranked, *arrivals = lines + row->base_count;
	const size_t pairs = is_continued(row->reason) ? row->base_count : 0;
	const char *was = NULL;
	int error = 0;

	rank_members(next->base, row->base, row->base_count, lines);
	rank_members(next->changed, row->changed, row->changed_count, arrivals);
	if (row->base_count)
		was = next->history->kernels[next->lines[lines[0].index]].label;
	for (size_t i = 0; i < row->changed_count && !error; i++)
		error = i < pairs ? continue_line(next, row, lines[i].index, arrivals[i].index)
				  : begin_line(next, row, was, arrivals[i].index);
	return error;
}

static int add_rows(struct continuation *next)
{
	const struct match_row *rows;
	const size_t count = match_rows(next->match, &rows);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = add_row(next, &rows[i]);
	return error;
}

int history_add_kernels(struct history *history, const struct compare_side *side, double divisor)
{
	struct continuation next = {.history = history, .divisor = divisor};
	int error = add_arrivals(&next, side);

	if (!error)
		error = match_lines(&next);
	if (!error)
		error = add_rows(&next);
	match_free(next.match);
	free(next.base);
	free(next.changed);
	free(next.ranked);
	free(next.lines);
	free(next.arrivals);
	string_table_fini(&next.keys);
	return error;
}

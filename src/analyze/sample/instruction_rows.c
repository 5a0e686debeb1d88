/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/instruction_rows.c - counts instruction samples by path and place in the code
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     samples, each with its path
 * Gives:    one row for each path, code object, offset and stall reason
 * Owns:     nothing; the rows are the analysis's
 * Fails:    -ENOMEM
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/order/key_sort.h"
#include "base/number.h"

void sweep_instructions_fini(struct sweep_instructions *instructions)
{
	for (size_t i = 0; i < instructions->runners_count; i++)
		free(instructions->runners[i]);
	free(instructions->runners);
	pair_map_fini(&instructions->runner_rows);
	pair_map_fini(&instructions->places);
	pair_map_fini(&instructions->told_places);
	pair_map_fini(&instructions->rows.rows);
}

static int find_place(struct sweep_instructions *instructions,
		      const struct event_instruction_sample *row, uint32_t *ret_place)
{
	uint64_t key = (uint64_t)row->code << 32 | row->stall_string;

	*ret_place = pair_map_find(&instructions->places, key, row->offset);
	if (*ret_place != PAIR_MAP_NONE)
		return 0;
	*ret_place = instructions->places_count++;
	return pair_map_put(&instructions->places, key, row->offset, *ret_place);
}

/* The same, for samples that also contain the launching stack or the instruction's text. */
static int find_labelled_place(struct sweep *sweep, const struct event_instruction_sample *row,
			       uint32_t *ret_place)
{
	uint64_t told = (uint64_t)row->stack << 32 | row->text_string;
	uint32_t place;
	int error = find_place(&sweep->instructions, row, &place);

	if (error || !told) {
		*ret_place = place;
		return error;
	}
	*ret_place = pair_map_find(&sweep->instructions.told_places, place, told);
	if (*ret_place != PAIR_MAP_NONE)
		return 0;
	*ret_place = sweep->instructions.places_count++;
	return pair_map_put(&sweep->instructions.told_places, place, told, *ret_place);
}

/* The key of a row's owner: its path, which implies the device; without a path, its device if
 * known. */
static uint64_t key_of(const struct sweep_found *found)
{
	const uint64_t device = found->path == ANALYSIS_NO_PATH ? found->device + 1 : 0;

	return device << 32 | found->path;
}

/* The kernel's name: from the path. If the sample was found by address, or the path has no name, it
 * is from the code at the address, which is more exact. */
static const char *kernel_of(const struct sweep *sweep, const struct sweep_found *found,
			     uint32_t code)
{
	const char *name = "";

	if (found->path != ANALYSIS_NO_PATH && !found->is_by_address)
		name = sweep->analysis->paths[found->path].name;
	if (*name)
		return name;
	return model_code_name(sweep->analysis->model,
			       entity_index_get(&sweep->entities.codes, code), "");
}

static int make_row(struct sweep *sweep, const struct event_instruction_sample *row,
		    const struct sweep_found *found, uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	const uint32_t index = (uint32_t)analysis->instructions_count, path = found->path;

	if (array_grow(analysis->instructions, sweep->instructions.rows.capacity,
		       index + (size_t)1))
		return -ENOMEM;
	analysis->instructions[index] = (struct analysis_instruction){
		.path = path,
		.number = index,
		.code = row->code,
		.offset = row->offset,
		.device = found->device,
		.stack = path == ANALYSIS_NO_PATH ? row->stack : analysis->paths[path].stack,
		.text = model_text(analysis->model, row->text_string, ""),
		.kernel = kernel_of(sweep, found, row->code),
		.stall = model_text(analysis->model, row->stall_string, ""),
		.unit = model_text(analysis->model, row->period_unit_string, "samples")};
	analysis->instructions_count++;
	*ret_index = index;
	return 0;
}

/* The end of a sample's window, clipped to the analysed window. */
static uint64_t end_of(const struct analysis *analysis, const struct event_instruction_sample *row)
{
	uint64_t end = row->end < analysis->to_ns ? row->end : analysis->to_ns;

	return end > row->begin ? end : row->begin;
}

/* Finds or makes the row. Samples by address have searched in their own table already, so they
 * always need a new row. */
static int find_row(struct sweep *sweep, const struct event_instruction_sample *row,
		    const struct sweep_found *found, uint32_t *ret_row)
{
	uint32_t place;
	int error;

	if (found->is_by_address && !row->text_string)
		return make_row(sweep, row, found, ret_row);
	error = find_labelled_place(sweep, row, &place);
	if (error)
		return error;
	*ret_row = pair_map_find(&sweep->instructions.rows.rows, key_of(found), place);
	if (*ret_row != PAIR_MAP_NONE)
		return 0;
	error = make_row(sweep, row, found, ret_row);
	return error ? error
		     : pair_map_put(&sweep->instructions.rows.rows, key_of(found), place, *ret_row);
}

static bool is_estimate(const struct sweep_found *found)
{
	return found->is_divided || found->is_unsized || found->is_early;
}

static int count_row(struct sweep *sweep, const struct event_instruction_sample *row,
		     struct sweep_found *which)
{
	unsigned __int128 weight = (unsigned __int128)row->count * row->period;
	struct analysis_instruction *found;
	int error = 0;

	if (which->row == PAIR_MAP_NONE)
		error = find_row(sweep, row, which, &which->row);
	if (error)
		return error;
	found = &sweep->analysis->instructions[which->row];
	found->samples = add_saturated(found->samples, row->count);
	found->weight =
		add_saturated(found->weight, weight > UINT64_MAX ? UINT64_MAX : (uint64_t)weight);
	found->estimated = add_saturated(found->estimated, is_estimate(which) ? row->count : 0);
	return sweep_observe_part(
		sweep,
		&(struct observed_part){.table = OBSERVED_INSTRUCTION,
					.row = which->row,
					.begin = row->begin,
					.end = end_of(sweep->analysis, row),
					.by = weight > UINT64_MAX ? UINT64_MAX : (uint64_t)weight,
					.count = row->count});
}

static void add_to(uint64_t *sum, uint64_t count)
{
	*sum = add_saturated(*sum, count);
}

int sweep_count_instruction(struct sweep *sweep, const struct event_instruction_sample *row,
			    struct sweep_found *found)
{
	struct analysis_ledger *ledger = &sweep->analysis->ledger;

	add_to(&ledger->instructions, row->count);
	if (is_estimate(found))
		add_to(&ledger->instructions_estimated, row->count);
	if (found->is_divided)
		add_to(&ledger->instructions_divided, row->count);
	if (found->is_unsized)
		add_to(&ledger->instructions_unsized, row->count);
	if (found->is_early)
		add_to(&ledger->instructions_early, row->count);
	if (found->is_late)
		add_to(&ledger->instructions_late, row->count);
	if (found->path == ANALYSIS_NO_PATH)
		add_to(&ledger->instructions_unknown, row->count);
	if (found->path == ANALYSIS_NO_PATH && found->device == ANALYSIS_NO_DEVICE)
		add_to(&ledger->instructions_no_device, row->count);
	if (found->is_unknown_code)
		add_to(&ledger->instructions_unknown_code, row->count);
	if (!analysis_shows(sweep->analysis, row->begin, row->begin))
		return 0;
	return count_row(sweep, row, found);
}

int sweep_give_instruction(struct sweep *sweep, const struct event_instruction_sample *row,
			   uint32_t path, bool is_estimated)
{
	struct sweep_found found = {
		.path = path,
		.row = PAIR_MAP_NONE,
		.device = row->device ? entity_index_find(&sweep->entities.devices, row->device)
				      : ANALYSIS_NO_DEVICE,
		.is_divided = is_estimated};

	return sweep_count_instruction(sweep, row, &found);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int compare_texts(const struct analysis_instruction *a, const struct analysis_instruction *b)
{
	int order = strcmp(a->stall, b->stall);

	return order ? order : strcmp(a->text, b->text);
}

static int compare(const struct analysis_instruction *a, const struct analysis_instruction *b)
{
	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return compare_texts(a, b);
}

static int compare_rows(const void *context, uint32_t left, uint32_t right)
{
	const struct analysis_instruction *rows = context;

	return compare(&rows[left], &rows[right]);
}

static uint32_t clip(uint64_t number)
{
	return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static void fill_keys(const struct analysis *analysis, struct sort_key *keys)
{
	for (size_t i = 0; i < analysis->instructions_count; i++) {
		const struct analysis_instruction *row = &analysis->instructions[i];

		keys[i] = (struct sort_key){
			{(uint64_t)row->code << 32 | clip(row->offset), ~row->samples, row->path},
			(uint32_t)i};
	}
}

int sweep_sort_instructions(struct analysis *analysis)
{
	enum { AHEAD = 16 };
	const size_t count = analysis->instructions_count;
	auto_free struct sort_key *keys = malloc((2 * count + 1) * sizeof(*keys));
	auto_free struct analysis_instruction *rows = malloc((count + 1) * sizeof(*rows));
	const struct sort_key *sorted;

	if (!keys || !rows)
		return -ENOMEM;
	fill_keys(analysis, keys);
	sorted = key_sort(keys, count, compare_rows, analysis->instructions);
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD < count) {
			const void *ahead = &analysis->instructions[sorted[i + AHEAD].row];

			__builtin_prefetch(ahead);
			__builtin_prefetch((const char *)ahead + 64);
		}
		rows[i] = analysis->instructions[sorted[i].row];
	}
	free(analysis->instructions);
	analysis->instructions = take_ptr(rows);
	return 0;
}

size_t analysis_instruction_device(const struct analysis *analysis,
				   const struct analysis_instruction *row)
{
	return row->path == ANALYSIS_NO_PATH ? row->device : analysis->paths[row->path].device;
}

size_t analysis_instructions_of(const struct analysis *analysis, uint32_t path,
				const struct analysis_instruction **ret_first)
{
	const struct analysis_instruction *rows = analysis->instructions;
	size_t low = LOWER_BOUND(analysis->instructions_count, i, rows[i].path < path), end;

	for (end = low; end < analysis->instructions_count && rows[end].path == path; end++)
		;
	*ret_first = end > low ? &rows[low] : NULL;
	return end - low;
}

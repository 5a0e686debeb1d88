/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_instructions.c - which command a sampled device instruction belongs to
 *
 * Runs in:  the readers
 * Gets:     executions in the order of their start, samples behind them   Gives: one row for each path, code object,
 *           offset and stall
 * Owns:     the latest executions of each kernel of each process
 * Fails:    -ENOMEM
 * Whose the samples are that tell an address alone: sweep_addresses.c; their code and a window: sweep_windows.c.
 * Why by name and time: threads of a CPU device run kernels that no call leads to. The code says which kernel; of its
 *           executions that were running then, the sample is one's. Several of one path are the same to every view;
 *           of different paths it is given to them in turn, and counted as estimated.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/key_sort.h"
#include "base/number.h"

void sweep_instructions_fini(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->runners_count; i++)
		free(sweep->runners[i]);
	free(sweep->runners);
	pair_map_fini(&sweep->runner_rows);
	pair_map_fini(&sweep->places);
	pair_map_fini(&sweep->told_places);
	pair_map_fini(&sweep->instruction_rows);
}

/* ---- executions -------------------------------------------------------------------------------- */

static int make_runners(struct sweep *sweep, uint32_t process, uint32_t name)
{
	size_t index = sweep->runners_count;
	struct runners *made;

	if (array_grow(sweep->runners, sweep->runners_capacity, index + 1))
		return -ENOMEM;
	made = calloc(1, sizeof(*made));
	if (!made || pair_map_put(&sweep->runner_rows, process, name, (uint32_t)index)) {
		free(made);
		return -ENOMEM;
	}
	sweep->runners[sweep->runners_count++] = made;
	return 0;
}

static unsigned int first_to_end(const struct runners *runners)
{
	unsigned int place = 0;

	for (unsigned int i = 1; i < RUNNERS_MOST; i++)
		if (runners->last[i].ended < runners->last[place].ended)
			place = i;
	return place;
}

/* One that is full loses who has ended, else whoever ends first. */
static void add_runner(struct runners *runners, const struct runner *runner)
{
	if (runners->running == RUNNERS_MOST) {
		runners->last[first_to_end(runners)] = *runner;
		return;
	}
	if (runners->count < RUNNERS_MOST)
		runners->last[runners->count++] = runners->last[runners->running];
	runners->last[runners->running++] = *runner;
}

/* Samples come in the order of time. */
static void retire(struct runners *runners, uint64_t time_ns)
{
	for (unsigned int i = 0; i < runners->running;) {
		struct runner ended = runners->last[i];

		if (ended.ended > time_ns) {
			i++;
			continue;
		}
		runners->last[i] = runners->last[--runners->running];
		runners->last[runners->running] = ended;
	}
}

int sweep_note_runner(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	const struct event_code *code =
		things_row(&sweep->codes, things_index(&sweep->codes, joined->launch->kernel));
	const struct runner runner = {.started = joined->row->started,
				      .ended = joined->row->ended,
				      .correlation = joined->row->correlation,
				      .path = path};
	uint32_t index;

	if (!code || !code->name_string)
		return 0;
	index = pair_map_find(&sweep->runner_rows, joined->row->process, code->name_string);
	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)sweep->runners_count;
		if (make_runners(sweep, joined->row->process, code->name_string))
			return -ENOMEM;
	}
	add_runner(sweep->runners[index], &runner);
	return 0;
}

/* ---- samples ----------------------------------------------------------------------------------- */

static bool is_candidate(const struct runner *runner, const struct event_instruction_sample *row)
{
	if (row->correlation)
		return runner->correlation == row->correlation;
	return runner->started <= row->begin && row->begin < runner->ended;
}

static struct runners *runners_of(const struct sweep *sweep,
				  const struct event_instruction_sample *row)
{
	const struct event_code *code =
		things_row(&sweep->codes, things_index(&sweep->codes, row->code));
	uint32_t index = code && code->name_string ? pair_map_find(&sweep->runner_rows,
								   row->process, code->name_string)
						   : PAIR_MAP_NONE;

	return index == PAIR_MAP_NONE ? NULL : sweep->runners[index];
}

/* Whether it is all one whose of two commands a sample is: paths may differ in whether they are in the window. */
bool sweep_is_same_code(const struct analysis *analysis, uint32_t left, uint32_t right)
{
	const struct analysis_path *a = &analysis->paths[left], *b = &analysis->paths[right];

	return a->stack == b->stack && a->device == b->device &&
	       strcmp(a->function, b->function) == 0;
}

/* Whose it is; one of several in turn. */
static uint32_t find_owner(struct sweep *sweep, const struct event_instruction_sample *row,
			   bool *ret_is_estimated)
{
	struct runners *runners = runners_of(sweep, row);
	uint32_t paths[RUNNERS_MOST], count = 0, all = 0;

	*ret_is_estimated = false;
	if (runners) {
		retire(runners, row->begin);
		all = row->correlation ? runners->count : runners->running;
	}
	for (unsigned int i = 0; i < all; i++)
		if (is_candidate(&runners->last[i], row))
			paths[count++] = runners->last[i].path;
	for (unsigned int i = 1; i < count; i++)
		*ret_is_estimated |= !sweep_is_same_code(sweep->analysis, paths[i], paths[0]);
	if (!count)
		return ANALYSIS_NO_PATH;
	return paths[count > 1 ? runners->turns++ % count : 0];
}

static int find_place(struct sweep *sweep, const struct event_instruction_sample *row,
		      uint32_t *ret_place)
{
	uint64_t key = (uint64_t)row->code << 32 | row->stall_string;

	*ret_place = pair_map_find(&sweep->places, key, row->offset);
	if (*ret_place != PAIR_MAP_NONE)
		return 0;
	*ret_place = sweep->places_count++;
	return pair_map_put(&sweep->places, key, row->offset, *ret_place);
}

/* … and what its sampler told of it: who launched it, and the instruction's text. */
static int find_told_place(struct sweep *sweep, const struct event_instruction_sample *row,
			   uint32_t *ret_place)
{
	uint64_t told = (uint64_t)row->stack << 32 | row->text_string;
	uint32_t place;
	int error = find_place(sweep, row, &place);

	if (error || !told) {
		*ret_place = place;
		return error;
	}
	*ret_place = pair_map_find(&sweep->told_places, place, told);
	if (*ret_place != PAIR_MAP_NONE)
		return 0;
	*ret_place = sweep->places_count++;
	return pair_map_put(&sweep->told_places, place, told, *ret_place);
}

/* Of a path, which is of a device; else of the device, where that is known. */
static uint64_t key_of(const struct sweep_found *found)
{
	const uint64_t device = found->path == ANALYSIS_NO_PATH ? found->device + 1 : 0;

	return device << 32 | found->path;
}

/* Of several that say what lies at an address, the code that it was found in says it best. */
static const char *kernel_of(const struct sweep *sweep, const struct sweep_found *found,
			     uint32_t code)
{
	const char *name = "";

	if (found->path != ANALYSIS_NO_PATH && !found->is_by_address)
		name = sweep->analysis->paths[found->path].name;
	if (*name)
		return name;
	return model_code_name(sweep->analysis->model,
			       things_row(&sweep->codes, things_index(&sweep->codes, code)), "");
}

static int make_row(struct sweep *sweep, const struct event_instruction_sample *row,
		    const struct sweep_found *found, uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	const uint32_t index = (uint32_t)analysis->instructions_count, path = found->path;

	if (array_grow(analysis->instructions, sweep->instructions_capacity, index + (size_t)1))
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

/* A window goes on as long as the recording does. */
static uint64_t end_of(const struct sweep *sweep, const struct event_instruction_sample *row)
{
	uint64_t end = row->end < sweep->analysis->to_ns ? row->end : sweep->analysis->to_ns;

	return end > row->begin ? end : row->begin;
}

/* Who looks for rows by their address has looked already. */
static int find_row(struct sweep *sweep, const struct event_instruction_sample *row,
		    const struct sweep_found *found, uint32_t *ret_row)
{
	uint32_t place;
	int error;

	if (found->is_by_address && !row->text_string)
		return make_row(sweep, row, found, ret_row);
	error = find_told_place(sweep, row, &place);
	if (error)
		return error;
	*ret_row = pair_map_find(&sweep->instruction_rows, key_of(found), place);
	if (*ret_row != PAIR_MAP_NONE)
		return 0;
	error = make_row(sweep, row, found, ret_row);
	return error ? error
		     : pair_map_put(&sweep->instruction_rows, key_of(found), place, *ret_row);
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
	return sweep_tell_part(
		sweep,
		&(struct observed_part){.table = OBSERVED_INSTRUCTION,
					.row = which->row,
					.begin = row->begin,
					.end = end_of(sweep, row),
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
	if (!is_in_window(sweep->analysis, row->begin, row->begin))
		return 0;
	return count_row(sweep, row, found);
}

int sweep_give_instruction(struct sweep *sweep, const struct event_instruction_sample *row,
			   uint32_t path, bool is_estimated)
{
	struct sweep_found found = {.path = path,
				    .row = PAIR_MAP_NONE,
				    .device = row->device
						      ? things_index(&sweep->devices, row->device)
						      : ANALYSIS_NO_DEVICE,
				    .is_divided = is_estimated};

	return sweep_count_instruction(sweep, row, &found);
}

int sweep_take_instruction(struct sweep *sweep, const struct event_instruction_sample *row)
{
	bool is_estimated;
	uint32_t path;

	note_time(sweep, row->begin);
	if (sweep_add_sampled(sweep, row))
		return -ENOMEM;
	if (row->device)
		sweep->analysis->devices[things_index(&sweep->devices, row->device)].is_counted =
			true;
	if (sweep_is_address(row))
		return sweep_take_address(sweep, row);
	if (sweep_is_window(row))
		return sweep_take_window(sweep, row);
	path = find_owner(sweep, row, &is_estimated);
	return sweep_give_instruction(sweep, row, path, is_estimated);
}

/* ---- the end ----------------------------------------------------------------------------------- */

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
	struct analysis_instruction *rows = malloc((count + 1) * sizeof(*rows));
	const struct sort_key *sorted;

	if (!keys || !rows) {
		free(rows);
		return -ENOMEM;
	}
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
	analysis->instructions = rows;
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
	size_t low = 0, high = analysis->instructions_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].path < path)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < analysis->instructions_count && rows[end].path == path; end++)
		;
	*ret_first = end > low ? &rows[low] : NULL;
	return end - low;
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_cpu.c - what threads did, by the stacks in which they were found
 *
 * Runs in:  the readers
 * Gets:     samples in the window   Gives: one row for each process, stack, source and mode
 * Owns:     where each stack's row is; the rows are the analysis's
 * Fails:    -ENOMEM
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

enum { KINDS_DENSE = 16 };

bool sweep_tells_time(struct sweep *sweep, uint32_t source)
{
	if (!source || source != sweep->told_source) {
		sweep->told_source = source;
		sweep->told_time =
			analysis_tells_time(model_text(sweep->analysis->model, source, ""));
	}
	return sweep->told_time;
}

/* Which threads launch, at any time: their launches are in chunks of their own. */
void sweep_mark_launchers(struct sweep *sweep)
{
	const struct trace_reader *reader = sweep->analysis->model->reader;
	size_t count = trace_reader_chunk_count(reader);

	for (size_t i = 0; i < count; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, i);
		size_t thread = things_index(&sweep->threads, chunk->source);

		if (chunk->kind == EVENT_LAUNCH && thread < sweep->threads.count)
			sweep->states[thread].has_launched = true;
	}
}

static int add_row(struct sweep *sweep, const struct event_cpu_sample *row, size_t thread)
{
	struct analysis *analysis = sweep->analysis;
	size_t index = analysis->samples_count;

	if (array_grow(analysis->samples, sweep->samples_capacity, index + 1))
		return -ENOMEM;
	analysis->samples[index] = (struct analysis_sample){
		.source = model_text(analysis->model, row->source_string, "samples"),
		.mode = row->mode,
		.stack = row->stack,
		.process = sweep->thread_process[thread],
		.is_launching = sweep->states[thread].has_launched,
		.tells_time = sweep_tells_time(sweep, row->source_string)};
	analysis->samples_count++;
	return 0;
}

static int find_kind(struct sweep *sweep, uint64_t key, uint64_t whose,
		     struct sample_kind **ret_kind)
{
	uint32_t i = sweep->sample_kind, count = (uint32_t)sweep->sample_kinds_count;

	if (i >= count || sweep->sample_kinds[i].key != key ||
	    sweep->sample_kinds[i].whose != whose)
		i = pair_map_find(&sweep->sample_rows, key, whose);
	if (i == PAIR_MAP_NONE) {
		i = count;
		if (array_grow(sweep->sample_kinds, sweep->sample_kinds_capacity,
			       count + (size_t)1) ||
		    pair_map_put(&sweep->sample_rows, key, whose, i))
			return -ENOMEM;
		sweep->sample_kinds[i] = (struct sample_kind){.key = key, .whose = whose};
		sweep->sample_kinds_count++;
	}
	sweep->sample_kind = i;
	*ret_kind = &sweep->sample_kinds[i];
	return 0;
}

/* Index + 1 of the row of a stack; 0: none. In arrays where that costs little: the first kinds have most samples, and a
 * file whose ids are far above their number is damaged, or hostile. */
static bool is_dense(const struct sweep *sweep, uint32_t stack)
{
	return sweep->sample_kind < KINDS_DENSE &&
	       stack <= 2 * trace_reader_stack_count(sweep->analysis->model->reader) + 64;
}

static uint32_t find_row(const struct sweep *sweep, const struct sample_kind *kind, uint32_t stack)
{
	uint32_t index;

	if (is_dense(sweep, stack))
		return stack < kind->capacity ? kind->rows[stack] : 0;
	index = pair_map_find(&sweep->sparse_rows, sweep->sample_kind, stack);
	return index == PAIR_MAP_NONE ? 0 : index + 1;
}

static int put_row(struct sweep *sweep, struct sample_kind *kind, uint32_t stack, uint32_t row)
{
	if (!is_dense(sweep, stack))
		return pair_map_put(&sweep->sparse_rows, sweep->sample_kind, stack, row - 1);
	if (array_grow(kind->rows, kind->capacity, stack + (size_t)1))
		return -ENOMEM;
	kind->rows[stack] = row;
	return 0;
}

void sweep_samples_fini(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->sample_kinds_count; i++)
		free(sweep->sample_kinds[i].rows);
	free(sweep->sample_kinds);
	pair_map_fini(&sweep->sparse_rows);
}

/* Of 10^7 samples a hash of all would be a third of the time. */
int sweep_count_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	struct analysis *analysis = sweep->analysis;
	size_t thread = things_index(&sweep->threads, row->thread);
	uint64_t whose =
		(uint64_t)sweep->thread_process[thread] << 1 | sweep->states[thread].has_launched;
	struct analysis_sample *sample;
	struct sample_kind *kind;
	uint32_t found;

	analysis->ledger.samples++;
	if (!is_in_window(analysis, row->time, row->time))
		return 0;
	if (find_kind(sweep, (uint64_t)row->source_string << 32 | row->mode, whose, &kind))
		return -ENOMEM;
	found = find_row(sweep, kind, row->stack);
	if (!found) {
		if (add_row(sweep, row, thread))
			return -ENOMEM;
		found = (uint32_t)analysis->samples_count;
		if (put_row(sweep, kind, row->stack, found))
			return -ENOMEM;
	}
	sample = &analysis->samples[found - 1];
	sample->count++;
	sample->weight = add_saturated(sample->weight, row->weight);
	return 0;
}

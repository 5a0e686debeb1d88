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

static struct analysis_sample about(struct sweep *sweep, const struct event_cpu_sample *row,
				    size_t thread)
{
	return (struct analysis_sample){
		.source = model_text(sweep->analysis->model, row->source_string, "samples"),
		.mode = row->mode,
		.thread = sweep->by_thread && thread < sweep->threads.count ? row->thread : 0,
		.process = sweep->thread_process[thread],
		.is_launching = sweep->states[thread].has_launched,
		.tells_time = sweep_tells_time(sweep, row->source_string)};
}

static int find_kind(struct sweep *sweep, const struct event_cpu_sample *row, size_t thread,
		     struct sample_kind **ret_kind)
{
	uint64_t key = (uint64_t)row->source_string << 32 | row->mode;
	uint64_t whose = (uint64_t)(sweep->by_thread ? thread : sweep->thread_process[thread])
				 << 1 |
			 sweep->states[thread].has_launched;
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
		sweep->sample_kinds[i] = (struct sample_kind){
			.key = key, .whose = whose, .about = about(sweep, row, thread)};
		sweep->sample_kinds_count++;
	}
	sweep->sample_kind = i;
	*ret_kind = &sweep->sample_kinds[i];
	return 0;
}

static int add_row(struct sweep *sweep, const struct sample_kind *kind, uint32_t stack,
		   const struct sample_sum *sum)
{
	struct analysis *analysis = sweep->analysis;
	size_t index = analysis->samples_count;

	if (array_grow(analysis->samples, sweep->samples_capacity, index + 1))
		return -ENOMEM;
	analysis->samples[index] = kind->about;
	analysis->samples[index].stack = stack;
	analysis->samples[index].count = sum->count;
	analysis->samples[index].weight = sum->weight;
	analysis->samples_count++;
	return 0;
}

/* Sums of stacks lie in arrays where that costs little: the first kinds have most samples, and a file whose ids are far
 * above their number is damaged, or hostile. */
static bool is_dense(const struct sweep *sweep, uint32_t stack)
{
	return sweep->sample_kind < KINDS_DENSE && stack < sweep->stacks_dense;
}

/* NULL without memory. */
static struct sample_sum *find_dense(struct sample_kind *kind, uint32_t stack)
{
	if (stack >= kind->capacity && array_grow(kind->sums, kind->capacity, stack + (size_t)1))
		return NULL;
	return &kind->sums[stack];
}

static struct sample_sum *find_sparse(struct sweep *sweep, uint32_t stack)
{
	uint32_t index = pair_map_find(&sweep->sparse_rows, sweep->sample_kind, stack);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)sweep->sparse_count;
		if (array_grow(sweep->sparse, sweep->sparse_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->sparse_rows, sweep->sample_kind, stack, index))
			return NULL;
		sweep->sparse[index] = (struct sample_sparse){
			.kind = sweep->sample_kind, .stack = stack, .sum = {0}};
		sweep->sparse_count++;
	}
	return &sweep->sparse[index].sum;
}

/* Of 10^7 samples a hash of all would be a third of the time, and a row of the analysis for each a fifth. */
int sweep_count_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	struct sample_kind *kind;
	struct sample_sum *sum;

	sweep->analysis->ledger.samples++;
	if (!is_in_window(sweep->analysis, row->time, row->time))
		return 0;
	if (find_kind(sweep, row, things_index(&sweep->threads, row->thread), &kind))
		return -ENOMEM;
	sum = is_dense(sweep, row->stack) ? find_dense(kind, row->stack)
					  : find_sparse(sweep, row->stack);
	if (!sum)
		return -ENOMEM;
	sum->count++;
	sum->weight = add_saturated(sum->weight, row->weight);
	return sweep_tell_part(sweep, &(struct observed_part){.table = OBSERVED_SAMPLE,
							      .row = row->stack,
							      .begin = row->time,
							      .end = row->time,
							      .by = row->weight,
							      .source_string = row->source_string});
}

/* The analysis's rows: by kind as they came, and in each by stack. */
int sweep_close_samples(struct sweep *sweep)
{
	int error = 0;

	for (size_t i = 0; i < sweep->sample_kinds_count; i++) {
		const struct sample_kind *kind = &sweep->sample_kinds[i];

		for (size_t stack = 0; stack < kind->capacity && !error; stack++)
			if (kind->sums[stack].count)
				error = add_row(sweep, kind, (uint32_t)stack, &kind->sums[stack]);
	}
	for (size_t i = 0; i < sweep->sparse_count && !error; i++) {
		const struct sample_sparse *row = &sweep->sparse[i];

		error = add_row(sweep, &sweep->sample_kinds[row->kind], row->stack, &row->sum);
	}
	return error;
}

void sweep_samples_fini(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->sample_kinds_count; i++)
		free(sweep->sample_kinds[i].sums);
	free(sweep->sample_kinds);
	free(sweep->sparse);
	pair_map_fini(&sweep->sparse_rows);
}

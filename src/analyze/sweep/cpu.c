/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/cpu.c - CPU samples, counted by stack
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     samples in the window
 * Gives:    one row for each process (or thread, if counted by thread), launching or not, stack,
 *           perf event and mode (user, kernel)
 * Owns:     the sums of each stack until the end; the rows belong to the analysis
 * Fails:    -ENOMEM
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

/* The samples of one source, mode and process, or thread if counted by thread. Threads that launch
 * have a kind of their own. Each stack has a sum. */
struct sample_kind {
	uint64_t key, whose;
	struct analysis_sample about; /* without stack and sum */
	struct sample_sum *sums;      /* owned; by stack */
	size_t capacity;
};

struct sample_sum {
	uint64_t count, weight;
};

/* The sum of a kind or a stack that has no place in an array. */
struct sample_sparse {
	uint32_t kind, stack;
	struct sample_sum sum;
};

enum { KINDS_DENSE = 16 };

bool sweep_source_is_time(struct sweep *sweep, uint32_t source)
{
	if (!source || source != sweep->samples.last_source) {
		sweep->samples.last_source = source;
		sweep->samples.last_is_time =
			analysis_source_is_time(model_text(sweep->analysis->model, source, ""));
	}
	return sweep->samples.last_is_time;
}

/* Finds the threads that launch at any time. The chunk index is enough, because each chunk of
 * launches belongs to one thread. */
void sweep_mark_launchers(struct sweep *sweep)
{
	const struct trace_reader *reader = sweep->analysis->model->reader;
	size_t count = trace_reader_chunk_count(reader);

	for (size_t i = 0; i < count; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, i);
		size_t thread = entity_index_find(&sweep->entities.threads, chunk->source);

		if (chunk->kind == EVENT_LAUNCH && thread < sweep->entities.threads.count &&
		    model_has_thread(sweep->analysis->model, chunk->source))
			sweep->per_thread.states[thread].has_launched = true;
	}
}

static struct analysis_sample about(struct sweep *sweep, const struct event_cpu_sample *row,
				    size_t thread)
{
	return (struct analysis_sample){
		.source = model_text(sweep->analysis->model, row->source_string, "samples"),
		.mode = row->mode,
		.thread = sweep->options->by_thread && thread < sweep->entities.threads.count
				  ? row->thread
				  : 0,
		.process = sweep->entities.thread_process[thread],
		.is_launching = sweep->per_thread.states[thread].has_launched,
		.is_time = sweep_source_is_time(sweep, row->source_string)};
}

static int find_kind(struct sweep *sweep, const struct event_cpu_sample *row, size_t thread,
		     struct sample_kind **ret_kind)
{
	uint64_t key = (uint64_t)row->source_string << 32 | row->mode;
	uint64_t whose =
		(uint64_t)(sweep->options->by_thread ? thread
						     : sweep->entities.thread_process[thread])
			<< 1 |
		sweep->per_thread.states[thread].has_launched;
	uint32_t i = sweep->samples.last_kind, count = (uint32_t)sweep->samples.kinds_count;

	if (i >= count || sweep->samples.kinds[i].key != key ||
	    sweep->samples.kinds[i].whose != whose)
		i = pair_map_find(&sweep->samples.kind_rows, key, whose);
	if (i == PAIR_MAP_NONE) {
		i = count;
		if (array_grow(sweep->samples.kinds, sweep->samples.kinds_capacity,
			       count + (size_t)1) ||
		    pair_map_put(&sweep->samples.kind_rows, key, whose, i))
			return -ENOMEM;
		sweep->samples.kinds[i] = (struct sample_kind){
			.key = key, .whose = whose, .about = about(sweep, row, thread)};
		sweep->samples.kinds_count++;
	}
	sweep->samples.last_kind = i;
	*ret_kind = &sweep->samples.kinds[i];
	return 0;
}

static int add_row(struct sweep *sweep, const struct sample_kind *kind, uint32_t stack,
		   const struct sample_sum *sum)
{
	struct analysis *analysis = sweep->analysis;
	size_t index = analysis->samples_count;

	if (array_grow(analysis->samples, sweep->samples.capacity, index + 1))
		return -ENOMEM;
	analysis->samples[index] = kind->about;
	analysis->samples[index].stack = stack;
	analysis->samples[index].count = sum->count;
	analysis->samples[index].weight = sum->weight;
	analysis->samples_count++;
	return 0;
}

/* Sums are kept in arrays where that costs little memory: for the first kinds, which have most
 * samples, and for ids below stacks_dense. A file with ids far above the number of stacks is
 * damaged or hostile. */
static bool is_dense(const struct sweep_samples *samples, uint32_t stack)
{
	return samples->last_kind < KINDS_DENSE && stack < samples->stacks_dense;
}

/* NULL: out of memory. */
static struct sample_sum *find_dense(struct sample_kind *kind, uint32_t stack)
{
	if (stack >= kind->capacity && array_grow(kind->sums, kind->capacity, stack + (size_t)1))
		return NULL;
	return &kind->sums[stack];
}

static struct sample_sum *find_sparse(struct sweep *sweep, uint32_t stack)
{
	struct sweep_samples *samples = &sweep->samples;
	uint32_t index =
		pair_map_add(&samples->sparse_rows, samples->last_kind, stack, samples->sparse,
			     samples->sparse_capacity, samples->sparse_count,
			     (struct sample_sparse){.kind = samples->last_kind, .stack = stack});

	return index == PAIR_MAP_NONE ? NULL : &samples->sparse[index].sum;
}

/* With 10^7 samples, hashing each one would take a third of the time, and a row of the analysis for
 * each a fifth. */
int sweep_count_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	struct sample_kind *kind;
	struct sample_sum *sum;

	sweep->analysis->ledger.samples++;
	if (!analysis_shows(sweep->analysis, row->time, row->time))
		return 0;
	if (find_kind(sweep, row, entity_index_find(&sweep->entities.threads, row->thread), &kind))
		return -ENOMEM;
	sum = is_dense(&sweep->samples, row->stack) ? find_dense(kind, row->stack)
						    : find_sparse(sweep, row->stack);
	if (!sum)
		return -ENOMEM;
	sum->count++;
	sum->weight = add_saturated(sum->weight, row->weight);
	return sweep_observe_part(sweep,
				  &(struct observed_part){.table = OBSERVED_SAMPLE,
							  .row = row->stack,
							  .begin = row->time,
							  .end = row->time,
							  .by = row->weight,
							  .source_string = row->source_string});
}

/* Makes the analysis's rows: kinds in the order of their first sample, and stacks by id in each
 * kind; then the sums that have no place in an array. */
int sweep_close_samples(struct sweep *sweep)
{
	int error = 0;

	for (size_t i = 0; i < sweep->samples.kinds_count; i++) {
		const struct sample_kind *kind = &sweep->samples.kinds[i];

		for (size_t stack = 0; stack < kind->capacity && !error; stack++)
			if (kind->sums[stack].count)
				error = add_row(sweep, kind, (uint32_t)stack, &kind->sums[stack]);
	}
	for (size_t i = 0; i < sweep->samples.sparse_count && !error; i++) {
		const struct sample_sparse *row = &sweep->samples.sparse[i];

		error = add_row(sweep, &sweep->samples.kinds[row->kind], row->stack, &row->sum);
	}
	return error;
}

void sweep_samples_fini(struct sweep_samples *samples)
{
	for (size_t i = 0; i < samples->kinds_count; i++)
		free(samples->kinds[i].sums);
	free(samples->kinds);
	free(samples->sparse);
	pair_map_fini(&samples->sparse_rows);
	pair_map_fini(&samples->kind_rows);
}

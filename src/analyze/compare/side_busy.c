/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/side_busy.c - the busy time of each kernel and kind of command
 *
 * Runs in:  our own process
 * Gets:     the paths of an analysis
 * Gives:    rows whose values add up to the busy time of their device
 * Owns:     the rows' stacks and batches, which the side frees
 * Fails:    -ENOMEM
 * Why shares and not durations: commands that overlap share an instant, and only shares add up to
 *           the busy time
 */
#include "analyze/compare/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/compare/batches.h"
#include "analyze/frames.h"
#include "analyze/text/short_names.h"
#include "base/array.h"
#include "base/number.h"

/* FNV-1a over the names of a call path, each with its end. */
static uint64_t hash_name(uint64_t hash, const char *name)
{
	do {
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	} while (*name++);
	return hash;
}

static int hash_stack(struct frames *frames, const struct analysis_path *path, uint64_t *ret_hash)
{
	const struct frame_name *names;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t count;
	int error = frames_of_stack(frames, path->stack, &names, &count);

	for (size_t i = 0; i < count && !error; i++)
		hash = hash_name(hash, names[i].place);
	*ret_hash = hash;
	return error;
}

/* Equal hashes are joined after sorting: a kernel may have 100,000 call paths. */
static int add_stack(struct side_row *row, size_t *capacity, uint64_t hash,
		     const struct analysis_path *path)
{
	const struct match_stack added = {hash, path->count, path->share_ns};

	return array_append(row->stacks, *capacity, row->stacks_count, added);
}

static const char *group_name(enum account_class class)
{
	return class == ACCOUNT_KERNEL ? "kernels" : class == ACCOUNT_COPY ? "copies" : "other";
}

static int make_batches(const struct side_maker *maker, struct side_row *row)
{
	const struct batches *batches = maker->options->batches;
	const size_t count = batches ? batches_count(batches) : 0;

	if (!count || row->batches)
		return 0;
	row->batches = calloc(count, sizeof(*row->batches));
	row->batch_counts = calloc(count, sizeof(*row->batch_counts));
	return row->batches && row->batch_counts ? 0 : -ENOMEM;
}

static void add_position(const struct side_maker *maker, uint32_t path, struct side_row *row)
{
	const uint32_t position =
		maker->options->batches ? batches_position(maker->options->batches, path) : 0;

	if (position && (!row->position || position < row->position))
		row->position = position;
}

static int add_path(struct side_maker *maker, uint32_t index, size_t *capacities)
{
	const struct analysis_path *path = &maker->analysis->paths[index];
	const uint32_t device = maker->devices[path->device];
	const struct side_row key = {.name = *path->name ? path->name : "[unknown]",
				     .device = device,
				     .scope = path->class};
	struct side_table *table = &maker->side->tables[COMPARE_BUSY];
	struct side_row *row;
	uint64_t hash = 0;
	int error = side_find_row(maker->side, COMPARE_BUSY, &key, &row);

	if (!error)
		error = make_batches(maker, row);
	if (!error && path->stack)
		error = hash_stack(maker->frames, path, &hash);
	if (error)
		return error;
	if (!row->label)
		row->label = side_text(maker->side,
				       short_names_find(maker->options->short_names, row->name));
	row->group = group_name(path->class);
	row->is_kernel = path->class == ACCOUNT_KERNEL;
	row->count += path->count;
	row->value += path->share_ns;
	add_position(maker, index, row);
	if (row->batches)
		batches_add_path(maker->options->batches, index, row->batches, row->batch_counts);
	if (!row->label)
		return -ENOMEM;
	return path->stack ? add_stack(row, &capacities[row - table->rows], hash, path) : 0;
}

static int compare_hashes(const void *left, const void *right)
{
	const struct match_stack *a = left, *b = right;

	return (a->hash > b->hash) - (a->hash < b->hash);
}

static void sort_stacks(struct side_row *row)
{
	size_t kept = 0;

	if (!row->stacks_count)
		return;
	qsort(row->stacks, row->stacks_count, sizeof(*row->stacks), compare_hashes);
	for (size_t i = 1; i < row->stacks_count; i++) {
		if (row->stacks[i].hash != row->stacks[kept].hash) {
			row->stacks[++kept] = row->stacks[i];
			continue;
		}
		row->stacks[kept].count += row->stacks[i].count;
		row->stacks[kept].time_ns += row->stacks[i].time_ns;
	}
	row->stacks_count = kept + 1;
}

static void sum_batches(const struct side_maker *maker, struct side_row *row)
{
	const struct batches *batches = maker->options->batches;

	for (size_t i = 0; row->batches && i < batches_count(batches); i++)
		row->batched_ns += row->batches[i] * (double)batches_size(batches, i);
}

int side_add_busy(struct side_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct side_table *table = &maker->side->tables[COMPARE_BUSY];
	size_t *capacities = calloc(analysis->paths_count + 1, sizeof(*capacities));
	int error = capacities ? 0 : -ENOMEM;

	for (size_t i = 0; i < analysis->paths_count && !error; i++) {
		const struct analysis_path *path = &analysis->paths[i];

		if (path->name && maker->devices[path->device] != SIDE_NO_DEVICE &&
		    (path->count || path->share_ns))
			error = add_path(maker, (uint32_t)i, capacities);
	}
	for (size_t i = 0; i < table->count; i++) {
		sort_stacks(&table->rows[i]);
		sum_batches(maker, &table->rows[i]);
	}
	free(capacities);
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/side.c - summarises an analysis for comparisons
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    devices, the parts of their account, and the tables that the caller wants
 * Owns:     all texts and rows of the side
 * Fails:    -ENOMEM
 * Why a copy: the analysis of 10^7 events holds up to some hundred MiB, and a side holds its
 *           distinct names. A comparison of 20 recordings needs 20 sides and one analysis.
 */
#include "analyze/compare/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/compare/batches.h"
#include "analyze/model.h"
#include "base/array.h"

/* ---- devices and iterations ------------------------------------------------------------------ */

static int add_device(struct side_maker *maker, size_t index)
{
	struct compare_side *side = maker->side;
	const struct analysis_device *device = &maker->analysis->devices[index];
	const struct account *account = &device->account;
	struct side_device *added = &side->devices[side->devices_count];

	*added = (struct side_device){
		.name = side_text(side, device->name),
		.vendor = side_text(side, device->vendor),
		.driver = side_text(side, device->device
						  ? model_text(maker->analysis->model,
							       device->device->driver_string, "")
						  : ""),
		.key = side_text(side, device->key),
		.compute_units = device->device ? device->device->compute_units : 0,
		.wall_ns = account->wall_ns,
		.busy_ns = account->busy_ns,
		.idle_ns = account->idle_ns,
		.commands = account->commands};
	if (!added->name || !added->vendor || !added->driver || !added->key)
		return -ENOMEM;
	maker->devices[index] = (uint32_t)side->devices_count++;
	return 0;
}

static bool is_wanted(const struct side_maker *maker, size_t device)
{
	return maker->options->device == SIDE_ALL_DEVICES || maker->options->device == device;
}

/* A device without a command has no account that could change. */
static int add_devices(struct side_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	const size_t count = analysis_devices_shown(analysis);
	int error = 0;

	maker->side->devices = calloc(count + 1, sizeof(*maker->side->devices));
	maker->devices = malloc((analysis->devices_count + 1) * sizeof(*maker->devices));
	if (!maker->side->devices || !maker->devices)
		return -ENOMEM;
	for (size_t i = 0; i <= analysis->devices_count; i++)
		maker->devices[i] = SIDE_NO_DEVICE;
	for (size_t i = 0; i < count && !error; i++)
		if (is_wanted(maker, i) && analysis->devices[i].is_measured &&
		    analysis->devices[i].account.commands)
			error = add_device(maker, i);
	return error;
}

static int compare_times(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static int add_iterations(struct side_maker *maker)
{
	const struct iterations *found = &maker->analysis->iterations;
	const struct batches *batches = maker->options->batches;
	struct side_iterations *iterations = &maker->side->iterations;
	uint64_t *times = malloc((found->count + 1) * sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < found->count; i++)
		if (analysis_shows(maker->analysis, found->list[i].begin, found->list[i].end))
			times[iterations->count++] = found->list[i].end - found->list[i].begin;
	qsort(times, iterations->count, sizeof(*times), compare_times);
	iterations->median_ns = iterations->count ? times[iterations->count / 2] : 0;
	free(times);
	iterations->name = side_text(maker->side, found->name ? found->name : "");
	iterations->batches = batches ? batches_count(batches) : 0;
	for (size_t i = 0; i < iterations->batches; i++)
		iterations->wall_ns[i] = batches_wall(batches, i);
	return iterations->name ? 0 : -ENOMEM;
}

static int fill_side(struct side_maker *maker)
{
	struct compare_side *side = maker->side;
	const struct analysis *analysis = maker->analysis;
	int error = add_devices(maker);

	side->wall_ns = analysis->to_ns - analysis->from_ns;
	if (maker->options->is_busy_only)
		return error ? error : side_add_busy(maker);
	if (!error)
		error = facts_collect(analysis, &side->arena, &side->facts);
	if (!error)
		error = add_iterations(maker);
	if (!error)
		error = side_add_busy(maker);
	if (!error)
		error = side_add_idle(maker);
	return error ? error : side_add_tables(maker);
}

int side_new(const char *path, const struct analysis *analysis, struct frames *frames,
	     const struct side_options *options, struct compare_side **ret_side)
{
	struct compare_side *side = calloc(1, sizeof(*side));
	struct side_maker maker = {
		.side = side, .analysis = analysis, .frames = frames, .options = options};
	int error;

	if (!side)
		return -ENOMEM;
	side->path = side_text(side, path);
	error = side->path ? fill_side(&maker) : -ENOMEM;
	free(maker.devices);
	if (error) {
		side_free(side);
		return error;
	}
	*ret_side = side;
	return 0;
}

void side_free(struct compare_side *side)
{
	if (!side)
		return;
	for (size_t i = 0; i < COMPARE_TABLES; i++) {
		for (size_t k = 0; k < side->tables[i].count; k++) {
			free(side->tables[i].rows[k].stacks);
			free(side->tables[i].rows[k].batches);
			free(side->tables[i].rows[k].batch_counts);
		}
		free(side->tables[i].rows);
		string_table_fini(&side->tables[i].keys);
	}
	free(side->devices);
	arena_fini(&side->arena);
	free(side);
}

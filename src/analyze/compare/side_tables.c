/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/side_tables.c - the tables of --by that are not part of the account
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    rows by stack, line, queue, range, API function, instruction, stall and metric
 * Owns:     nothing
 * Fails:    -ENOMEM and errors of the reader
 * Why only on demand: a recording may have 100,000 stacks, of which most comparisons need none
 */
#include "analyze/compare/side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/text/metrics.h"
#include "analyze/text/units.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/number.h"
#include "base/string.h"

enum { LINE_BYTES = 4096 };

struct table_value {
	const char *name, *label, *group;
	uint32_t device;
	uint64_t count, value;
};

static int add_value(struct side_maker *maker, enum compare_table table,
		     const struct table_value *added)
{
	const struct side_row key = {.name = added->name, .device = added->device};
	struct side_row *row;
	int error = side_find_row(maker->side, table, &key, &row);

	if (error)
		return error;
	if (!row->label)
		row->label = added->label ? side_text(maker->side, added->label) : row->name;
	row->group = added->group ? side_text(maker->side, added->group) : "";
	row->count += added->count;
	row->value = add_saturated(row->value, added->value);
	return row->label && row->group ? 0 : -ENOMEM;
}

static bool has_time(const struct side_maker *maker, const struct analysis_path *path)
{
	return path->name && maker->devices[path->device] != SIDE_NO_DEVICE &&
	       (path->count || path->share_ns);
}

static int add_stack(struct side_maker *maker, const struct analysis_path *path)
{
	struct string_builder text = {0};
	const struct frame_name *names;
	size_t count, callers;
	int error = frames_of_call(maker->frames, path->stack, path->function, &names, &count,
				   &callers);

	for (size_t i = 0; i < count && !error; i++)
		string_builder_appendf(&text, "%s;", names[i].place);
	string_builder_appendf(&text, "-;%s", path->name);
	if (!error)
		error = text.error ? text.error
				   : add_value(maker, COMPARE_STACK,
					       &(struct table_value){
						       .name = string_builder_text(&text),
						       .device = maker->devices[path->device],
						       .count = path->count,
						       .value = path->share_ns});
	string_builder_fini(&text);
	return error;
}

/* The user's function and the command; the label has the line. */
static int add_line(struct side_maker *maker, const struct analysis_path *path)
{
	struct verdict_place place;
	char name[LINE_BYTES], label[LINE_BYTES];
	int error = verdict_find_place(maker->frames, path->stack, &place);
	const char *function;

	if (error)
		return error;
	function = place.function ? place.function : "[unknown function]";
	snprintf(name, sizeof(name), "%.1500s: %.2000s", function, path->name);
	if (place.file && place.line)
		snprintf(label, sizeof(label), "%.1000s (%.500s:%" PRIu32 "): %.2000s", function,
			 path_base(place.file), place.line, path->name);
	else
		snprintf(label, sizeof(label), "%s", name);
	return add_value(maker, COMPARE_LINE,
			 &(struct table_value){.name = name,
					       .label = label,
					       .device = maker->devices[path->device],
					       .count = path->count,
					       .value = path->share_ns});
}

static int add_paths(struct side_maker *maker,
		     int (*add)(struct side_maker *maker, const struct analysis_path *path))
{
	int error = 0;

	for (size_t i = 0; i < maker->analysis->paths_count && !error; i++)
		if (has_time(maker, &maker->analysis->paths[i]))
			error = add(maker, &maker->analysis->paths[i]);
	return error;
}

static int add_stacks(struct side_maker *maker)
{
	return add_paths(maker, add_stack);
}

static int add_lines(struct side_maker *maker)
{
	return add_paths(maker, add_line);
}

/* Ids of queues differ between runs, so their order on the device is the name. */
static int add_queues(struct side_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->queues_count && !error; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		size_t number = 1;
		char name[256];

		if (!queue->executions || maker->devices[queue->device] == SIDE_NO_DEVICE)
			continue;
		for (size_t k = 0; k < i; k++)
			number += analysis->queues[k].device == queue->device &&
				  analysis->queues[k].executions;
		snprintf(name, sizeof(name), "queue %zu %.200s", number,
			 queue->queue ? model_text(analysis->model, queue->queue->name_string, "")
				      : "");
		error = add_value(maker, COMPARE_QUEUE,
				  &(struct table_value){.name = name,
							.device = maker->devices[queue->device],
							.count = queue->executions,
							.value = queue->account.busy_ns});
	}
	return error;
}

static int add_ranges(struct side_maker *maker)
{
	const struct analysis_program *program = &maker->analysis->program;
	int error = 0;

	for (size_t i = 0; i < program->ranges_count && !error; i++) {
		const struct analysis_range *range = &program->ranges[i];

		error = add_value(maker, COMPARE_RANGE,
				  &(struct table_value){.name = range->name,
							.group = range->domain,
							.device = SIDE_NO_DEVICE,
							.count = range->count,
							.value = range->total_ns});
	}
	return error;
}

static int add_calls(struct side_maker *maker)
{
	const struct analysis_program *program = &maker->analysis->program;
	int error = 0;

	for (size_t i = 0; i < program->calls_count && !error; i++)
		error = add_value(maker, COMPARE_API,
				  &(struct table_value){.name = program->calls[i].name,
							.device = SIDE_NO_DEVICE,
							.count = program->calls[i].count,
							.value = program->calls[i].total_ns});
	return error;
}

static uint32_t device_of(const struct side_maker *maker, const struct analysis_instruction *row)
{
	const size_t device = analysis_instruction_device(maker->analysis, row);

	return device == ANALYSIS_NO_DEVICE ? SIDE_NO_DEVICE : maker->devices[device];
}

/* The number of samples is the count. An instruction is known by its kernel, its text and its
 * offset, because texts repeat. */
static int add_instructions(struct side_maker *maker)
{
	int error = 0;

	for (size_t i = 0; i < maker->analysis->instructions_count && !error; i++) {
		const struct analysis_instruction *row = &maker->analysis->instructions[i];
		char name[LINE_BYTES];

		snprintf(name, sizeof(name), "%.2000s+0x%" PRIx64 " %.1000s",
			 *row->kernel ? row->kernel : "[unknown code]", row->offset, row->text);
		error = add_value(maker, COMPARE_INSTRUCTION,
				  &(struct table_value){.name = name,
							.group = row->unit,
							.device = device_of(maker, row),
							.count = row->samples,
							.value = row->weight});
	}
	return error;
}

static int add_stalls(struct side_maker *maker)
{
	int error = 0;

	for (size_t i = 0; i < maker->analysis->instructions_count && !error; i++) {
		const struct analysis_instruction *row = &maker->analysis->instructions[i];

		if (*row->stall)
			error = add_value(maker, COMPARE_STALL,
					  &(struct table_value){.name = row->stall,
								.group = row->unit,
								.device = device_of(maker, row),
								.count = row->samples,
								.value = row->weight});
	}
	return error;
}

static int add_metric(struct side_maker *maker, const struct metric_summary *summary)
{
	const struct model *model = maker->analysis->model;
	const struct event_series *series = summary->series;
	const struct unit_shown unit = unit_shown_of(model, series);
	const char *instance = model_text(model, series->instance_string, "");
	const double mean = summary->mean * unit.factor;
	char name[512];

	if (series->process || series->cpu || !(mean >= 0) || mean > 1e15)
		return 0;
	snprintf(name, sizeof(name), "%.200s%s%.200s", model_text(model, series->metric_string, ""),
		 *instance ? " " : "", instance);
	return add_value(maker, COMPARE_METRIC,
			 &(struct table_value){.name = name,
					       .group = unit.text,
					       .device = SIDE_NO_DEVICE,
					       .count = summary->readings,
					       .value = (uint64_t)(mean * 1000 + 0.5)});
}

static int add_metrics(struct side_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct metrics metrics = {0};
	int error = 0;

	if (model_has(analysis->model, EVENT_COUNTER))
		error = metrics_new(analysis->model, analysis->from_ns, analysis->to_ns, &metrics);
	for (size_t i = 0; i < metrics.count && !error; i++)
		error = add_metric(maker, &metrics.all[i]);
	metrics_fini(&metrics);
	return error;
}

int side_add_tables(struct side_maker *maker)
{
	static int (*const adders[COMPARE_TABLES])(struct side_maker * maker) = {
		[COMPARE_STACK] = add_stacks, [COMPARE_LINE] = add_lines,
		[COMPARE_QUEUE] = add_queues, [COMPARE_RANGE] = add_ranges,
		[COMPARE_API] = add_calls,    [COMPARE_INSTRUCTION] = add_instructions,
		[COMPARE_STALL] = add_stalls, [COMPARE_METRIC] = add_metrics,
	};
	int error = 0;

	for (size_t i = 0; i < COMPARE_TABLES && !error; i++)
		if (adders[i] && (maker->options->tables & 1u << i))
			error = adders[i](maker);
	return error;
}

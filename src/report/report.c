/* SPDX-License-Identifier: MIT
 *
 * report/report.c - the selection of rows, which text and JSON share
 *
 * Runs in:  our own process
 * Gets:     an analysis and the options
 * Gives:    which rows are shown, in which order
 * Owns:     nothing
 * Fails:    never here; report_frames keeps -ENOMEM in state->error, for the caller
 * Why shared: both outputs call these functions, so --top and --device select the same rows in both
 */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "analyze/text/short_names.h"
#include "base/number.h"
#include "report/table.h"

enum { MIN_NAME = 20, MAX_MORE = 60 }; /* columns of a name; columns that it may gain */

size_t report_columns(const struct report *report)
{
	return report->columns ? report->columns : REPORT_COLUMNS;
}

size_t report_name_width(const struct report *report, size_t width)
{
	const size_t columns = report_columns(report), less = REPORT_COLUMNS - columns;

	if (columns >= REPORT_COLUMNS)
		return width + smaller(columns - REPORT_COLUMNS, MAX_MORE);
	return width > less + MIN_NAME ? width - less : smaller(width, MIN_NAME);
}

struct report_widths report_find_widths(const struct report *report, struct report_widths usual,
					size_t min_name)
{
	struct report_widths widths = usual;

	if (!report->columns)
		return widths;
	while (widths.numbers > 1 && min_name + widths.numbers * TABLE_CELL > report->columns)
		widths.numbers--;
	widths.name = smaller(report->columns - widths.numbers * TABLE_CELL, usual.name + MAX_MORE);
	return widths;
}

const char *report_kernel_name(const struct report *report, const char *name)
{
	return short_names_find(report->short_names, name);
}

bool report_shows_device(const struct report *report, size_t device)
{
	return report->device == ALL_DEVICES || report->device == device;
}

bool report_has_many_devices(const struct report *report)
{
	return report->device == ALL_DEVICES && analysis_devices_shown(report->analysis) > 1;
}

/* The number distinguishes devices of one name, and leaves room for other text. */
const char *report_device_label(const struct report *report, size_t device, char *ret_label,
				size_t size)
{
	const char *name = report->analysis->devices[device].name;

	analysis_device_label(report->analysis, device, ret_label, size);
	if (report_has_many_devices(report) && strcmp(ret_label, name) != 0)
		snprintf(ret_label, size, "device %zu", device);
	return ret_label;
}

size_t report_frames(const struct report *report, uint32_t stack,
		     const struct frame_name **ret_names)
{
	size_t count;
	int error = frames_of_stack(report->frames, stack, ret_names, &count);

	if (error)
		report->state->error = error;
	return error ? 0 : count;
}

const char *report_device_key(const struct analysis_device *device)
{
	return *device->key ? device->key : device->name;
}

bool report_is_over_top(const struct report *report, size_t shown)
{
	return report->top && shown >= report->top;
}

const char *report_command(const struct report *report)
{
	return model_command(report->model);
}

bool report_is_of_all(const struct report *report)
{
	const struct event_process *process = model_main_process(report->model);

	return !*model_started(report->model) && process && process->status == -1 &&
	       report->analysis->processes_count > 1;
}

/* Sums one kind of command over all devices shown. */
static bool sum_copies(const struct report *report, uint32_t command, struct analysis_copy *ret_sum)
{
	const struct analysis *analysis = report->analysis;
	struct analysis_copy sum = {.command = command};

	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];

		if (copy->command != command || !report_shows_device(report, copy->device))
			continue;
		sum.count += copy->count;
		sum.timed += copy->timed;
		sum.bytes += copy->bytes;
		sum.moved_bytes += copy->moved_bytes;
		sum.moved_ns += copy->moved_ns;
		sum.total_ns += copy->total_ns;
		sum.share_ns += copy->share_ns;
	}
	*ret_sum = sum;
	return sum.count > 0;
}

double report_copy_rate(const struct report *report, const struct analysis_copy *copy)
{
	if (copy->moved_ns <= report->analysis->clock_error_ns)
		return 0;
	return (double)copy->moved_bytes * 1e9 / (double)copy->moved_ns;
}

static int compare_sums(const void *left, const void *right)
{
	const struct analysis_copy *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->command > b->command) - (a->command < b->command);
}

size_t report_list_copies(const struct report *report, enum account_class class,
			  struct analysis_copy *ret_copies)
{
	size_t all = 0;

	for (uint32_t command = 0; command < ANALYSIS_COMMAND_COUNT; command++) {
		if (analysis_class(command) == class &&
		    sum_copies(report, command, &ret_copies[all]))
			all++;
	}
	qsort(ret_copies, all, sizeof(*ret_copies), compare_sums);
	return all;
}

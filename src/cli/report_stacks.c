/* SPDX-License-Identifier: MIT
 *
 * cli/report_stacks.c - busy time by the stack that launched
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames   Gives: a table on stdout, stacks as JSON
 * Owns:     the order of the paths
 * Fails:    -ENOMEM; without memory for names frames are left out
 * Why sorted once: a document with 10^4 kernels asks for the stacks of each
 */
#include "cli/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "base/json.h"
#include "cli/table.h"

enum { NAME_WIDTH = 45, FRAMES_SHOWN = 12 };

static bool is_shown(const struct report *report, const struct analysis_path *path)
{
	return path->name && path->count && report_shows_device(report, path->device);
}

static int compare_shares(const void *left, const void *right)
{
	const struct analysis_path *a = *(const struct analysis_path *const *)left;
	const struct analysis_path *b = *(const struct analysis_path *const *)right;

	if (a->share_ns != b->share_ns)
		return a->share_ns < b->share_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static int compare_names(const struct analysis_path *a, enum account_class class, const char *name)
{
	return a->class != class ? (a->class > class ? 1 : -1) : strcmp(a->name, name);
}

static int compare_by_name(const void *left, const void *right)
{
	const struct analysis_path *a = *(const struct analysis_path *const *)left;
	const struct analysis_path *b = *(const struct analysis_path *const *)right;
	int order = compare_names(a, b->class, b->name);

	return order ? order : compare_shares(left, right);
}

int report_sort_paths(const struct report *report, struct report_paths *ret_paths)
{
	const struct analysis *analysis = report->analysis;
	struct report_paths paths = {
		.by_share = calloc(analysis->paths_count + 1, sizeof(*paths.by_share)),
		.by_name = calloc(analysis->paths_count + 1, sizeof(*paths.by_name)),
	};

	if (!paths.by_share || !paths.by_name) {
		report_paths_fini(&paths);
		return -ENOMEM;
	}
	for (size_t i = 0; i < analysis->paths_count; i++)
		if (is_shown(report, &analysis->paths[i]))
			paths.by_share[paths.count++] = &analysis->paths[i];
	memcpy(paths.by_name, paths.by_share, paths.count * sizeof(*paths.by_name));
	qsort(paths.by_share, paths.count, sizeof(*paths.by_share), compare_shares);
	qsort(paths.by_name, paths.count, sizeof(*paths.by_name), compare_by_name);
	*ret_paths = paths;
	return 0;
}

void report_paths_fini(struct report_paths *paths)
{
	if (!paths)
		return;
	free(paths->by_share);
	free(paths->by_name);
	*paths = (struct report_paths){0};
}

void report_put_numbers(const struct report *report, size_t device,
			const struct report_numbers *numbers)
{
	table_put_cell(format_count(numbers->count));
	if (numbers->timed) {
		table_put_cell(format_duration(numbers->total_ns));
		table_put_cell(format_percent(numbers->share_ns,
					      report->analysis->devices[device].account.busy_ns));
		table_put_cell(format_duration(numbers->total_ns / numbers->timed));
	} else {
		table_put_right("not timed", TABLE_CELL);
	}
	putchar('\n');
}

static struct report_numbers numbers_of(const struct analysis_path *path)
{
	return (struct report_numbers){path->count, path->timed, path->total_ns, path->share_ns};
}

static const char *const columns[] = {"count", "total", "of busy", "mean", NULL};

/* ---- text -------------------------------------------------------------------------------------- */

static void put_frame(const struct frame_name *name)
{
	const char *slash = name->file ? strrchr(name->file, '/') : NULL;

	printf("    ");
	table_put_text(name->function, 90);
	if (name->file && name->line) {
		printf(" (");
		table_put_text(slash ? slash + 1 : name->file, 60);
		printf(":%" PRIu32 ")", name->line);
	}
	putchar('\n');
}

/* Innermost first: that is where to look. */
static void put_stack(const struct report *report, uint32_t stack)
{
	const struct frame_name *names;
	size_t count;

	if (frames_of_stack(report->frames, stack, &names, &count))
		return;
	for (size_t i = 0; i < count && i < FRAMES_SHOWN; i++)
		put_frame(&names[count - 1 - i]);
	if (count > FRAMES_SHOWN)
		printf("    … %zu more\n", count - FRAMES_SHOWN);
	if (!count)
		printf("    %s\n", frames_none(report->frames));
}

void report_put_stacks(const struct report *report)
{
	const struct report_paths *paths = &report->paths;
	size_t shown;

	for (shown = 0; shown < paths->count && !report_is_over_top(report, shown); shown++) {
		const struct analysis_path *path = paths->by_share[shown];
		const struct report_numbers numbers = numbers_of(path);

		if (!shown)
			table_put_title("STACKS", NAME_WIDTH, columns);
		table_put_name(path->name[0] ? path->name : "[unknown command]", NAME_WIDTH);
		report_put_numbers(report, path->device, &numbers);
		put_stack(report, path->stack);
	}
	table_put_rest(shown, paths->count, "stack", "stacks");
}

/* ---- JSON -------------------------------------------------------------------------------------- */

void report_write_frames(const struct report *report, uint32_t stack, struct json_writer *json)
{
	const struct frame_name *names;
	size_t count;

	json_key(json, "frames"); /* root first */
	json_array_begin(json);
	if (frames_of_stack(report->frames, stack, &names, &count))
		count = 0;
	for (size_t i = 0; i < count; i++) {
		json_object_begin(json);
		json_key(json, "function");
		json_string(json, names[i].function);
		if (names[i].file) {
			json_key(json, "file");
			json_string(json, names[i].file);
		}
		if (names[i].line)
			json_pair_u64(json, "line", names[i].line);
		json_object_end(json);
	}
	json_array_end(json);
}

void report_write_numbers(const struct report_numbers *numbers, struct json_writer *json)
{
	json_pair_u64(json, "count", numbers->count);
	json_pair_u64(json, "timed", numbers->timed);
	json_pair_u64(json, "total_ns", numbers->total_ns);
	json_pair_u64(json, "share_ns", numbers->share_ns);
}

/* The first of the paths of that name. */
static size_t find_first(const struct report_paths *paths, enum account_class class,
			 const char *name)
{
	size_t low = 0, high = paths->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_names(paths->by_name[middle], class, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void report_write_stacks(const struct report *report, enum account_class class, const char *name,
			 size_t device, struct json_writer *json)
{
	const struct report_paths *paths = &report->paths;
	size_t shown = 0;

	json_array_begin(json);
	for (size_t i = find_first(paths, class, name);
	     i < paths->count && compare_names(paths->by_name[i], class, name) == 0; i++) {
		const struct analysis_path *path = paths->by_name[i];
		const struct report_numbers numbers = numbers_of(path);

		if ((device != ALL_DEVICES && path->device != device) ||
		    report_is_over_top(report, shown))
			continue;
		shown++;
		json_object_begin(json);
		report_write_numbers(&numbers, json);
		report_write_frames(report, path->stack, json);
		json_object_end(json);
	}
	json_array_end(json);
}

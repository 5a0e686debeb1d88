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
#include "base/string.h"
#include "cli/table.h"
#include "export/json_about.h"

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
	printf("    ");
	table_put_text(name->function, 90);
	if (name->file && name->line) {
		printf(" (");
		table_put_text(path_base(name->file), 60);
		printf(":%" PRIu32 ")", name->line);
	}
	putchar('\n');
}

/* Innermost first: that is where to look. */
static void put_stack(const struct report *report, uint32_t stack)
{
	const struct frame_name *names;
	size_t count = report_frames(report, stack, &names);

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

/* A recursion of 20,000 calls that launches at each depth is 20,000 stacks: of each both ends, and shorter ones the more was
 * written. The largest come first. */
static size_t frames_kept(uint64_t written_bytes)
{
	static const struct {
		uint64_t below_bytes;
		size_t frames;
	} steps[] = {{UINT64_C(32) << 20, 512}, {UINT64_C(64) << 20, 32}};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (written_bytes < steps[i].below_bytes)
			return steps[i].frames;
	return 0;
}

/* Returns about how many bytes it takes. */
static uint64_t write_frame(const struct frame_name *name, struct json_writer *json)
{
	json_about_frame(json, name);
	return 48 + strlen(name->function) + (name->file ? strlen(name->file) : 0);
}

static void write_left_out(size_t count, struct json_writer *json)
{
	char text[64];

	snprintf(text, sizeof(text), "[truncated: %zu %s]", count,
		 table_noun(count, "frame", "frames"));
	json_object_begin(json);
	json_pair_text(json, "function", text);
	json_pair_u64(json, "left_out", count);
	json_object_end(json);
}

void report_write_frames(const struct report *report, uint32_t stack, struct json_writer *json)
{
	size_t most = frames_kept(report->state->frames_bytes), first, last;
	const struct frame_name *names;
	size_t count = report_frames(report, stack, &names);

	json_key(json, "frames"); /* root first */
	json_array_begin(json);
	/* [first, last) is left out, of one frame never: that takes as much room. */
	first = last = count;
	if (count > most + 1) {
		first = most / 2;
		last = count - most / 2;
	}
	for (size_t i = 0; i < first; i++)
		report->state->frames_bytes += write_frame(&names[i], json);
	if (first < last)
		write_left_out(last - first, json);
	for (size_t i = last; i < count; i++)
		report->state->frames_bytes += write_frame(&names[i], json);
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

/* SPDX-License-Identifier: MIT
 *
 * report/stacks.c - busy time by the stack that launched
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames
 * Gives:    a table on stdout, stacks as JSON
 * Owns:     the order of the paths
 * Fails:    -ENOMEM; leaves out frames if there is no memory for their names
 * Why the paths are sorted once: a JSON document with 10^4 kernels looks up the stacks of each
 *           kernel
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "analyze/text/about_json.h"
#include "base/array.h"
#include "base/json.h"
#include "base/number.h"
#include "base/string.h"
#include "report/table.h"

enum { FRAMES_SHOWN = 12, FRAME_INDENT = 4, MIN_FUNCTION = 20 };

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

/* ---- text ------------------------------------------------------------------------------------ */

/* The function gets the columns that its place leaves. */
static void put_frame(const struct report *report, const struct frame_name *name)
{
	struct string_builder place = {0};
	size_t room = report_columns(report) - FRAME_INDENT;

	if (name->file && name->line)
		string_builder_appendf(&place, " (%.60s:%" PRIu32 ")", path_base(name->file),
				       name->line);
	if (place.error)
		report->state->error = place.error;
	room -= smaller(room - MIN_FUNCTION, table_width(string_builder_text(&place)));
	printf("%*s", FRAME_INDENT, "");
	table_put_text(name->function, room);
	table_put_text(string_builder_text(&place), SIZE_MAX);
	putchar('\n');
	string_builder_fini(&place);
}

/* Innermost first, because these frames matter most. */
static void put_frames(const struct report *report, const void *row)
{
	const struct analysis_path *path = row;
	const struct frame_name *names;
	size_t count = report_frames(report, path->stack, &names);

	for (size_t i = 0; i < count && i < FRAMES_SHOWN; i++)
		put_frame(report, &names[count - 1 - i]);
	if (count > FRAMES_SHOWN)
		printf("    … %zu more\n", count - FRAMES_SHOWN);
	if (!count)
		printf("    %s\n", frames_none(report->frames));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Limits the size of the document: a recursion of 20,000 calls that launches at each depth has
 * 20,000 stacks. Each stack keeps its two ends, which get shorter with the number of bytes written.
 * Stacks with the largest share come first. */
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

/* Returns the approximate number of bytes written. */
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

	json_pair_array(json, "frames"); /* root first */
	/* Leaves out the frames [first, last), but never a single one, because its replacement
	 * takes as much room. */
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

/* The index of the first path with this name. */
static size_t find_first(const struct report_paths *paths, enum account_class class,
			 const char *name)
{
	return LOWER_BOUND(paths->count, i, compare_names(paths->by_name[i], class, name) < 0);
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

		if ((device != ALL_DEVICES && path->device != device) ||
		    report_is_over_top(report, shown))
			continue;
		shown++;
		json_object_begin(json);
		json_pair_u64(json, "count", path->count);
		json_pair_u64(json, "timed", path->timed);
		json_pair_u64(json, "total_ns", path->total_ns);
		json_pair_u64(json, "share_ns", path->share_ns);
		report_write_frames(report, path->stack, json);
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- the table ------------------------------------------------------------------------------- */

static struct table_cell path_class(const struct report *report, const void *row)
{
	static const char *const classes[ACCOUNT_CLASS_COUNT] = {
		[ACCOUNT_KERNEL] = "kernel", [ACCOUNT_COPY] = "copy", [ACCOUNT_OTHER] = "other"};

	return (struct table_cell){.text = classes[((const struct analysis_path *)row)->class]};
}

static void write_frames(const struct report *report, const void *row, struct json_writer *json)
{
	report_write_frames(report, ((const struct analysis_path *)row)->stack, json);
}

#define PATH(member) TABLE_MEMBER(struct analysis_path, member)

static const struct table stacks_table = {
	.title = "STACKS",
	.one = "stack",
	.many = "stacks",
	.width = 45,
	.is_cut_inside = true,
	.put_below = put_frames,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME, .value = PATH(name),
			 .empty = "[unknown command]"},
			{"class", NULL, TABLE_TEXT, .get = path_class},
			{"device", NULL, TABLE_TEXT, .device = PATH(device)},
			{"count", "count", TABLE_COUNT, .value = PATH(count)},
			{"timed", NULL, TABLE_COUNT, .value = PATH(timed)},
			{"total_ns", "total", TABLE_TIME, .value = PATH(total_ns),
			 .needs = PATH(timed), .in_json = BLANK_HAS_VALUE, .blank = "not timed"},
			{NULL, "of busy", TABLE_PERCENT, .value = PATH(share_ns),
			 .device = PATH(device), .needs = PATH(timed), .blank = ""},
			{NULL, "mean", TABLE_TIME, .value = PATH(total_ns), .per = PATH(timed),
			 .needs = PATH(timed), .blank = ""},
			{"share_ns", NULL, TABLE_TIME, .value = PATH(share_ns)},
			{.write = write_frames},
			{0},
		},
};

int report_by_stack(const struct report *report, struct json_writer *json)
{
	return table_print(report, &stacks_table, &stacks_table,
			   TABLE_POINTERS(report->paths.by_share, report->paths.count), json);
}

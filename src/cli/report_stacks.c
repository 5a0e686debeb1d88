/* SPDX-License-Identifier: MIT
 *
 * cli/report_stacks.c - busy time by the stack, or the line of code, that launched
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames   Gives: a table on stdout, or the stacks of a kernel as JSON
 * Owns:     nothing
 * Fails:    without memory for names the table ends early
 * Why:      a line is where the program's own code stands: the innermost frame that has a file which is not the
 *           runtime's; what has none is shown by its function
 */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "base/array.h"
#include "base/json.h"
#include "cli/table.h"

enum { NAME_WIDTH = 45, FRAMES_SHOWN = 12 };

static bool is_shown(const struct report *report, const struct analysis_path *path)
{
	return path->name && path->count && report_shows_device(report, path->device);
}

static int compare_paths(const void *left, const void *right)
{
	const struct analysis_path *a = *(const struct analysis_path *const *)left;
	const struct analysis_path *b = *(const struct analysis_path *const *)right;

	if (a->share_ns != b->share_ns)
		return a->share_ns < b->share_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* The paths that are shown, the largest share first; to be freed. */
static const struct analysis_path **sort_paths(const struct report *report, size_t *ret_count)
{
	const struct analysis *analysis = report->analysis;
	const struct analysis_path **paths = calloc(analysis->paths_count + 1, sizeof(*paths));

	*ret_count = 0;
	for (size_t i = 0; paths && i < analysis->paths_count; i++)
		if (is_shown(report, &analysis->paths[i]))
			paths[(*ret_count)++] = &analysis->paths[i];
	if (paths)
		qsort(paths, *ret_count, sizeof(*paths), compare_paths);
	return paths;
}

static void put_numbers(const struct report *report, size_t device, uint64_t count, uint64_t timed,
			uint64_t total_ns, uint64_t share_ns)
{
	table_put_cell(format_count(count));
	if (timed) {
		table_put_cell(format_duration(total_ns));
		table_put_cell(format_percent(share_ns,
					      report->analysis->devices[device].account.busy_ns));
		table_put_cell(format_duration(total_ns / timed));
	} else {
		table_put_right("not timed", TABLE_CELL);
	}
	putchar('\n');
}

static const char *const columns[] = {"count", "total", "of busy", "mean", NULL};

/* ---- by stack ---------------------------------------------------------------------------------- */

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
	size_t count, shown;
	const struct analysis_path **paths = sort_paths(report, &count);

	for (shown = 0; paths && shown < count && !report_is_over_top(report, shown); shown++) {
		const struct analysis_path *path = paths[shown];

		if (!shown)
			table_put_title("STACKS", NAME_WIDTH, columns);
		table_put_name(path->name[0] ? path->name : "[unknown command]", NAME_WIDTH);
		put_numbers(report, path->device, path->count, path->timed, path->total_ns,
			    path->share_ns);
		put_stack(report, path->stack);
	}
	table_put_rest(shown, count, "stack", "stacks");
	free(paths);
}

/* ---- by line ----------------------------------------------------------------------------------- */

struct line {
	char *place; /* owned */
	size_t device;
	uint64_t count, timed, total_ns, share_ns;
};

/* What stands below or above every program's own code. */
static bool is_of_runtime(const char *file)
{
	static const char *const parts[] = {"/pyopencl/", "<pyopencl", "/csu/",
					    "libc_start_call_main"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

static void name_place(const struct frame_name *name, char *text, size_t size)
{
	const char *slash = strrchr(name->file, '/');

	snprintf(text, size, "%s:%" PRIu32 " %s", slash ? slash + 1 : name->file, name->line,
		 name->function);
}

static void find_place(const struct report *report, uint32_t stack, char *text, size_t size)
{
	const struct frame_name *names;
	size_t count;

	snprintf(text, size, "[unknown line]");
	if (frames_of_stack(report->frames, stack, &names, &count) || !count)
		return;
	for (size_t i = count; i-- > 0;) {
		if (!names[i].file || !names[i].line || is_of_runtime(names[i].file))
			continue;
		name_place(&names[i], text, size);
		return;
	}
	snprintf(text, size, "%s", names[count - 1].function);
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	if (a->share_ns != b->share_ns)
		return a->share_ns < b->share_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->place, b->place);
}

static struct line *find_line(struct line *lines, size_t count, const char *place, size_t device)
{
	for (size_t i = 0; i < count; i++)
		if (lines[i].device == device && strcmp(lines[i].place, place) == 0)
			return &lines[i];
	return NULL;
}

static size_t gather_lines(const struct report *report, struct line *lines)
{
	const struct analysis *analysis = report->analysis;
	size_t count = 0;

	for (size_t i = 0; i < analysis->paths_count; i++) {
		const struct analysis_path *path = &analysis->paths[i];
		char place[1024];
		struct line *line;

		if (!is_shown(report, path))
			continue;
		find_place(report, path->stack, place, sizeof(place));
		line = find_line(lines, count, place, path->device);
		if (!line) {
			line = &lines[count];
			*line = (struct line){.place = strdup(place), .device = path->device};
			if (!line->place)
				break;
			count++;
		}
		line->count += path->count;
		line->timed += path->timed;
		line->total_ns += path->total_ns;
		line->share_ns += path->share_ns;
	}
	return count;
}

void report_put_lines(const struct report *report)
{
	struct line *lines = calloc(report->analysis->paths_count + 1, sizeof(*lines));
	size_t count = lines ? gather_lines(report, lines) : 0, shown;

	if (count)
		qsort(lines, count, sizeof(*lines), compare_lines);
	for (shown = 0; shown < count && !report_is_over_top(report, shown); shown++) {
		if (!shown)
			table_put_title("LINES", NAME_WIDTH, columns);
		table_put_name(lines[shown].place, NAME_WIDTH);
		put_numbers(report, lines[shown].device, lines[shown].count, lines[shown].timed,
			    lines[shown].total_ns, lines[shown].share_ns);
	}
	table_put_rest(shown, count, "line", "lines");
	for (size_t i = 0; i < count; i++)
		free(lines[i].place);
	free(lines);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static void write_u64(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void write_frames(const struct report *report, uint32_t stack, struct json_writer *json)
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
			write_u64(json, "line", names[i].line);
		json_object_end(json);
	}
	json_array_end(json);
}

void report_write_stacks(const struct report *report, const char *name, size_t device,
			 struct json_writer *json)
{
	size_t count, shown = 0;
	const struct analysis_path **paths = sort_paths(report, &count);

	json_array_begin(json);
	for (size_t i = 0; paths && i < count; i++) {
		const struct analysis_path *path = paths[i];

		if (path->class != ACCOUNT_KERNEL || path->device != device ||
		    strcmp(path->name, name) != 0 || report_is_over_top(report, shown))
			continue;
		shown++;
		json_object_begin(json);
		write_u64(json, "count", path->count);
		write_u64(json, "total_ns", path->total_ns);
		write_u64(json, "share_ns", path->share_ns);
		write_frames(report, path->stack, json);
		json_object_end(json);
	}
	json_array_end(json);
	free(paths);
}

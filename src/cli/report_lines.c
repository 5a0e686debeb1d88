/* SPDX-License-Identifier: MIT
 *
 * cli/report_lines.c - busy time by the line of code that launched, waits by the line that waited
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames   Gives: lines, the largest share first; tables on stdout
 * Owns:     the lines
 * Fails:    -ENOMEM
 * Why that line: it is where the program's own code stands. That is Python's innermost function, else the innermost
 *           one of the executable, else of a library with debug information: with python3-dbg every launch of
 *           ctypes would be callproc.c:923. What has no line is shown by its function.
 */
#include "cli/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/string.h"
#include "cli/table.h"

enum { NAME_WIDTH = 45 };

/* What stands below or above every program's own code. */
static bool is_of_runtime(const char *file)
{
	static const char *const parts[] = {"/site-packages/pyopencl/", "/dist-packages/pyopencl/",
					    "<pyopencl", "csu/libc-start", "libc_start_call_main"};

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

/* The smaller, the better; 0: no place in the program. */
static unsigned int rank_of(const struct frame_name *name)
{
	if (!name->file || !name->line || is_of_runtime(name->file))
		return 0;
	return name->class == FRAME_CLASS_PYTHON ? 1 : name->is_program ? 2 : 3;
}

static const struct frame_name *find_frame(const struct frame_name *names, size_t count)
{
	const struct frame_name *best = NULL;
	unsigned int best_rank = 4;

	for (size_t i = count; i-- > 0;) {
		unsigned int rank = rank_of(&names[i]);

		if (rank && rank < best_rank) {
			best_rank = rank;
			best = &names[i];
		}
	}
	return best;
}

static struct report_line find_place(const struct report *report, uint32_t stack)
{
	struct report_line line = {.function = "[unknown line]"};
	const struct frame_name *names, *best;
	size_t count = report_frames(report, stack, &names);

	best = find_frame(names, count);
	if (best) {
		line.file = best->file;
		line.line = best->line;
	}
	if (count)
		line.function = best ? best->function : names[count - 1].function;
	else
		line.function = frames_none(report->frames);
	return line;
}

static int find_line(struct report_lines *lines, const struct report_line *place,
		     struct report_line **ret_line)
{
	char key[8192];
	int length = snprintf(key, sizeof(key), "%zu %s %s:%" PRIu32 " %s", place->device,
			      place->call ? place->call : "", place->file ? place->file : "",
			      place->line, place->function);
	size_t size = length < (int)sizeof(key) ? (size_t)length : sizeof(key) - 1;
	uint32_t id = string_table_add(&lines->keys, key, size);

	if (!id || array_grow(lines->rows, lines->capacity, id))
		return -ENOMEM;
	if (id > lines->count) {
		lines->rows[id - 1] = *place;
		lines->count = id;
	}
	*ret_line = &lines->rows[id - 1];
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	const struct report_line *a = left, *b = right;
	int order;

	if (a->numbers.share_ns != b->numbers.share_ns)
		return a->numbers.share_ns < b->numbers.share_ns ? 1 : -1;
	if (a->numbers.count != b->numbers.count)
		return a->numbers.count < b->numbers.count ? 1 : -1;
	order = strcmp(a->file ? a->file : "", b->file ? b->file : "");
	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	if (!order)
		order = strcmp(a->function, b->function);
	return order || !a->call ? order : strcmp(a->call, b->call);
}

static int intern(struct string_table *texts, const char *text, uint32_t *ret_id)
{
	*ret_id = string_table_add(texts, text, strlen(text));
	return *ret_id || !*text ? 0 : -ENOMEM;
}

/* files: id of a name -> id of the first file of that name; 0: several, and no file has it. */
static int note_file(struct string_table *names, struct hash_map *files, struct report_line *line)
{
	uint32_t name, file;
	uint64_t first;
	int error = intern(names, path_base(line->file), &name);

	if (!error)
		error = intern(names, line->file, &file);
	if (error)
		return error;
	first = hash_map_get(files, name, file);
	line->is_ambiguous = first != file;
	return hash_map_put(files, name, first == file ? file : 0);
}

/* Files of one name in several folders are shown with their path. The first of them is known to be one of several in
 * the second turn. */
static int mark_ambiguous(struct report_lines *lines)
{
	struct string_table names;
	struct hash_map files;
	int error = 0;

	string_table_init(&names);
	hash_map_init(&files);
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < lines->count && !error; i++)
			if (lines->rows[i].file)
				error = note_file(&names, &files, &lines->rows[i]);
	string_table_fini(&names);
	hash_map_fini(&files);
	return error;
}

static int add_to_line(struct report_lines *lines, const struct report_line *place,
		       const struct report_numbers *numbers)
{
	struct report_line *line;
	int error = find_line(lines, place, &line);

	if (error)
		return error;
	line->numbers.count += numbers->count;
	line->numbers.timed += numbers->timed;
	line->numbers.total_ns += numbers->total_ns;
	line->numbers.share_ns += numbers->share_ns;
	return 0;
}

static int finish_lines(struct report_lines *lines, int error, struct report_lines *ret_lines)
{
	if (!error)
		error = mark_ambiguous(lines);
	if (error) {
		report_lines_fini(lines);
		return error;
	}
	if (lines->count)
		qsort(lines->rows, lines->count, sizeof(*lines->rows), compare_lines);
	*ret_lines = *lines;
	return 0;
}

int report_find_lines(const struct report *report, struct report_lines *ret_lines)
{
	struct report_lines lines = {0};
	int error = 0;

	string_table_init(&lines.keys);
	for (size_t i = 0; i < report->paths.count && !error; i++) {
		const struct analysis_path *path = report->paths.by_share[i];
		const struct report_numbers numbers = {path->count, path->timed, path->total_ns,
						       path->share_ns};
		struct report_line place = find_place(report, path->stack);

		place.device = path->device;
		error = add_to_line(&lines, &place, &numbers);
	}
	return finish_lines(&lines, error, ret_lines);
}

int report_find_waits(const struct report *report, struct report_lines *ret_lines)
{
	const struct analysis *analysis = report->analysis;
	struct report_lines lines = {0};
	int error = 0;

	string_table_init(&lines.keys);
	for (size_t i = 0; i < analysis->waits_count && !error; i++) {
		const struct analysis_wait *wait = &analysis->waits[i];
		const struct report_numbers numbers = {wait->count, wait->count, wait->total_ns,
						       wait->total_ns};
		struct report_line place = find_place(report, wait->stack);

		place.call = wait->name;
		error = add_to_line(&lines, &place, &numbers);
	}
	return finish_lines(&lines, error, ret_lines);
}

void report_lines_fini(struct report_lines *lines)
{
	if (!lines)
		return;
	string_table_fini(&lines->keys);
	free(lines->rows);
	*lines = (struct report_lines){0};
}

void report_name_line(const struct report_line *line, char *ret_name, size_t size)
{
	if (line->file)
		snprintf(ret_name, size, "%s:%" PRIu32 " %s",
			 line->is_ambiguous ? line->file : path_base(line->file), line->line,
			 line->function);
	else
		snprintf(ret_name, size, "%s", line->function);
}

int report_put_lines(const struct report *report)
{
	static const char *const columns[] = {"count", "total", "of busy", "mean", NULL};
	struct report_lines lines = {0};
	size_t shown = 0;

	if (report_find_lines(report, &lines))
		return -ENOMEM;
	for (; shown < lines.count && !report_is_over_top(report, shown); shown++) {
		const struct report_line *line = &lines.rows[shown];
		char name[4096];

		if (!shown)
			table_put_title("LINES", NAME_WIDTH, columns);
		report_name_line(line, name, sizeof(name));
		table_put_name(name, NAME_WIDTH);
		report_put_numbers(report, line->device, &line->numbers);
	}
	table_put_rest(shown, lines.count, "line", "lines");
	report_lines_fini(&lines);
	return 0;
}

int report_put_waits(const struct report *report)
{
	static const char *const columns[] = {"count", "total", "mean", NULL};
	struct report_lines lines = {0};
	size_t shown = 0;

	if (report_find_waits(report, &lines))
		return -ENOMEM;
	for (; shown < lines.count && !report_is_over_top(report, shown); shown++) {
		const struct report_line *line = &lines.rows[shown];
		char name[4096];

		if (!shown)
			table_put_title("WAITS", NAME_WIDTH - 5, columns);
		report_name_line(line, name, sizeof(name));
		table_put_name(name, NAME_WIDTH - 5);
		table_put_cell(format_count(line->numbers.count));
		table_put_cell(format_duration(line->numbers.total_ns));
		table_put_cell(format_duration(line->numbers.total_ns / line->numbers.count));
		fputs("  ", stdout);
		table_put_text(line->call, 24);
		putchar('\n');
	}
	table_put_rest(shown, lines.count, "line", "lines");
	report_lines_fini(&lines);
	return 0;
}

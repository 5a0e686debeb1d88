/* SPDX-License-Identifier: MIT
 *
 * report/lines.c - busy time by the line of code that launched, waits by the line that waited
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames
 * Gives:    lines, the largest share first; tables on stdout
 * Owns:     the lines
 * Fails:    -ENOMEM
 * Why not the innermost line of a stack: the user needs the line of the program's own code. That is
 *           the innermost line of Python, otherwise of the executable, otherwise of a library with
 *           debug information. With python3-dbg the innermost line of each launch by ctypes would
 *           be callproc.c:923. A stack without a line is shown by its function.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/string.h"
#include "report/table.h"

struct numbers {
	uint64_t count, timed; /* timed: commands with device times */
	uint64_t total_ns, share_ns;
};

struct line {
	const char *call;            /* the waiting call; NULL: a line that launched */
	const char *file, *function; /* file NULL: only the function is known */
	uint32_t line;
	size_t device;
	bool is_ambiguous; /* another file has the same name */
	struct numbers numbers;
};

struct lines {
	struct line *rows;
	size_t capacity, count;
	struct string_table keys;
};

/* Files of PyOpenCL and of libc's start code, which are on every stack. */
static bool is_of_runtime(const char *file)
{
	static const char *const parts[] = {"/site-packages/pyopencl/", "/dist-packages/pyopencl/",
					    "<pyopencl", "csu/libc-start", "libc_start_call_main"};

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

/* Preference of a frame, 1 is best; 0: no line of the program. */
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

static struct line find_place(const struct report *report, uint32_t stack)
{
	struct line line = {.function = "[unknown line]"};
	const struct frame_name *names, *best;
	size_t count = report_frames(report, stack, &names);

	best = find_frame(names, count);
	if (best) {
		line.file = best->file;
		line.line = best->line;
	}
	if (count)
		line.function = best ? best->function : names[count - 1].place;
	else
		line.function = frames_none(report->frames);
	return line;
}

static int find_line(struct lines *lines, const struct line *place, struct line **ret_line)
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
	const struct line *a = left, *b = right;
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

/* files: id of a base name -> id of the only file with it, or 0 if there are several. */
static int note_file(struct string_table *names, struct hash_map *files, struct line *line)
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

/* Marks files with one base name in several folders, which are shown with their path. The second
 * pass marks the first file of each name too. */
static int mark_ambiguous(struct lines *lines)
{
	struct string_table names = {0};
	struct hash_map files = {0};
	int error = 0;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < lines->count && !error; i++)
			if (lines->rows[i].file)
				error = note_file(&names, &files, &lines->rows[i]);
	string_table_fini(&names);
	hash_map_fini(&files);
	return error;
}

static int add_to_line(struct lines *lines, const struct line *place, const struct numbers *numbers)
{
	struct line *line;
	int error = find_line(lines, place, &line);

	if (error)
		return error;
	line->numbers.count += numbers->count;
	line->numbers.timed += numbers->timed;
	line->numbers.total_ns += numbers->total_ns;
	line->numbers.share_ns += numbers->share_ns;
	return 0;
}

static void lines_fini(struct lines *lines)
{
	string_table_fini(&lines->keys);
	free(lines->rows);
	*lines = (struct lines){0};
}

static int finish_lines(struct lines *lines, int error, struct lines *ret_lines)
{
	if (!error)
		error = mark_ambiguous(lines);
	if (error) {
		lines_fini(lines);
		return error;
	}
	if (lines->count)
		qsort(lines->rows, lines->count, sizeof(*lines->rows), compare_lines);
	*ret_lines = *lines;
	return 0;
}

static int find_lines(const struct report *report, struct lines *ret_lines)
{
	struct lines lines = {0};
	int error = 0;

	for (size_t i = 0; i < report->paths.count && !error; i++) {
		const struct analysis_path *path = report->paths.by_share[i];
		const struct numbers numbers = {path->count, path->timed, path->total_ns,
						path->share_ns};
		struct line place = find_place(report, path->stack);

		place.device = path->device;
		error = add_to_line(&lines, &place, &numbers);
	}
	return finish_lines(&lines, error, ret_lines);
}

static int find_waits(const struct report *report, struct lines *ret_lines)
{
	const struct analysis *analysis = report->analysis;
	struct lines lines = {0};
	int error = 0;

	for (size_t i = 0; i < analysis->program.waits_count && !error; i++) {
		const struct analysis_wait *wait = &analysis->program.waits[i];
		const struct numbers numbers = {wait->count, wait->count, wait->total_ns,
						wait->total_ns};
		struct line place = find_place(report, wait->stack);

		place.call = wait->name;
		error = add_to_line(&lines, &place, &numbers);
	}
	return finish_lines(&lines, error, ret_lines);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void format_line_name(const struct report *report, const void *row, char *ret_name,
			     size_t size)
{
	const struct line *line = row;

	if (line->file)
		snprintf(ret_name, size, "%s:%" PRIu32 " %s",
			 line->is_ambiguous ? line->file : path_base(line->file), line->line,
			 line->function);
	else
		snprintf(ret_name, size, "%s", line->function);
}

#define LINE(member) TABLE_MEMBER(struct line, member)

static const struct table lines_table = {
	.title = "LINES",
	.one = "line",
	.many = "lines",
	.width = 45,
	.format_name = format_line_name,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME},
			{"function", NULL, TABLE_TEXT, .value = LINE(function)},
			{"file", NULL, TABLE_TEXT, .value = LINE(file), .needs = LINE(file)},
			{"line", NULL, TABLE_COUNT, .value = LINE(line), .needs = LINE(file)},
			{"device", NULL, TABLE_TEXT, .device = LINE(device)},
			{"count", "count", TABLE_COUNT, .value = LINE(numbers.count)},
			{"timed", NULL, TABLE_COUNT, .value = LINE(numbers.timed)},
			{"total_ns", "total", TABLE_TIME, .value = LINE(numbers.total_ns),
			 .needs = LINE(numbers.timed), .in_json = BLANK_HAS_VALUE,
			 .blank = "not timed"},
			{NULL, "of busy", TABLE_PERCENT, .value = LINE(numbers.share_ns),
			 .device = LINE(device), .needs = LINE(numbers.timed), .blank = ""},
			{NULL, "mean", TABLE_TIME, .value = LINE(numbers.total_ns),
			 .per = LINE(numbers.timed), .needs = LINE(numbers.timed), .blank = ""},
			{"share_ns", NULL, TABLE_TIME, .value = LINE(numbers.share_ns)},
			{0},
		},
};

/* Host times, so there is no share of a device's time. */
static const struct table waits_table = {
	.title = "WAITS",
	.one = "line",
	.many = "lines",
	.width = 40,
	.format_name = format_line_name,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME},
			{"call", NULL, TABLE_TEXT, .value = LINE(call)},
			{"function", NULL, TABLE_TEXT, .value = LINE(function)},
			{"file", NULL, TABLE_TEXT, .value = LINE(file), .needs = LINE(file)},
			{"line", NULL, TABLE_COUNT, .value = LINE(line), .needs = LINE(file)},
			{"count", "count", TABLE_COUNT, .value = LINE(numbers.count)},
			{"total_ns", "total", TABLE_TIME, .value = LINE(numbers.total_ns)},
			{NULL, "mean", TABLE_TIME, .value = LINE(numbers.total_ns),
			 .per = LINE(numbers.count)},
			{NULL, "", TABLE_REMARK, .value = LINE(call), .width = 24},
			{0},
		},
};

int report_by_line(const struct report *report, struct json_writer *json)
{
	struct lines lines = {0};

	if (find_lines(report, &lines))
		return -ENOMEM;
	table_print(report, &lines_table, &lines_table, TABLE_ROWS(lines.rows, lines.count), json);
	lines_fini(&lines);
	return 0;
}

int report_by_wait(const struct report *report, struct json_writer *json)
{
	struct lines lines = {0};

	if (find_waits(report, &lines))
		return -ENOMEM;
	table_print(report, &waits_table, &waits_table, TABLE_ROWS(lines.rows, lines.count), json);
	if (!lines.count && !json)
		report_put_note(report, "no call waited for a device; see CAUSES OF IDLE TIME in "
					"the report without --by");
	lines_fini(&lines);
	return 0;
}

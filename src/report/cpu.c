/* SPDX-License-Identifier: MIT
 *
 * report/cpu.c - CPU samples by function: those in the function itself, and those in the function
 * and its callees
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames
 * Gives:    tables on stdout, rows as JSON
 * Owns:     the rows
 * Fails:    -ENOMEM
 * Why one table per source of samples: nanoseconds, cycles and page faults cannot be added up, and
 *           a function with many page faults need not take much time
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
#include "base/json.h"
#include "base/number.h"
#include "report/table.h"

enum { MAX_SOURCES = 16 };

/* One function. Sums of weights saturate, because a file may contain any weight. */
struct row {
	const char *function; /* owned by keys */
	uint64_t self, total; /* weight of its samples; of these and its callees' */
	uint64_t samples;     /* in the function itself */
	uint32_t last;        /* last sample counted in total, plus one: recursion counts once */
	const struct source *source;
};

struct rows {
	struct row *rows;
	size_t count, capacity;
	struct string_table keys;
};

struct source {
	const char *name;
	uint64_t samples, weight;
};

/* Samples of an imported file without a unit, which are taken as exact counts. */
static bool is_counted(const struct source *source)
{
	return strcmp(source->name, "samples") == 0;
}

/* Whether one sample represents several events, for example each 250th page fault. */
static bool is_estimate(const struct source *source)
{
	return !is_counted(source) && source->weight > source->samples;
}

static int compare_sources(const void *left, const void *right)
{
	const struct source *a = left, *b = right;
	bool is_time = analysis_source_is_time(a->name);

	if (is_time != analysis_source_is_time(b->name))
		return is_time ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The sources of samples, those that measure time first. */
static size_t find_sources(const struct analysis *analysis, struct source *ret_sources)
{
	size_t count = 0;

	for (size_t i = 0; i < analysis->samples_count; i++) {
		const struct analysis_sample *sample = &analysis->samples[i];
		size_t k = 0;

		while (k < count && strcmp(ret_sources[k].name, sample->source) != 0)
			k++;
		if (k == MAX_SOURCES)
			continue;
		if (k == count)
			ret_sources[count++] = (struct source){.name = sample->source};
		ret_sources[k].samples += sample->count;
		ret_sources[k].weight = add_saturated(ret_sources[k].weight, sample->weight);
	}
	qsort(ret_sources, count, sizeof(*ret_sources), compare_sources);
	return count;
}

/* The length without the offset of unnamed code: "[libfoo.so]+0x1234" would be a row for each
 * instruction. */
static size_t length_of(const char *function)
{
	const char *offset = function[0] == '[' ? strstr(function, "]+0x") : NULL;

	return offset ? (size_t)(offset - function) + 1 : strlen(function);
}

static int find_row(struct rows *rows, const char *function, struct row **ret_row)
{
	uint32_t id;

	if (!*function)
		function = "[unknown]";
	id = string_table_add(&rows->keys, function, length_of(function));
	if (!id || array_grow(rows->rows, rows->capacity, id))
		return -ENOMEM;
	if (id > rows->count) {
		rows->rows[id - 1].function = string_table_text(&rows->keys, id, NULL);
		rows->count = id;
	}
	*ret_row = &rows->rows[id - 1];
	return 0;
}

static int add_sample(const struct report *report, const struct analysis_sample *sample,
		      uint32_t number, struct rows *rows)
{
	const struct frame_name *names = NULL;
	struct row *row = NULL;
	size_t count = report_frames(report, sample->stack, &names);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		error = find_row(rows, names[i].place, &row);
		if (!error && row->last != number + 1) {
			row->last = number + 1;
			row->total = add_saturated(row->total, sample->weight);
		}
	}
	if (!error && !count) {
		error = find_row(rows, frames_none(report->frames), &row);
		if (!error)
			row->total = add_saturated(row->total, sample->weight);
	}
	if (error)
		return error;
	row->self = add_saturated(row->self, sample->weight);
	row->samples += sample->count;
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return strcmp(a->function, b->function);
}

static void rows_fini(struct rows *rows)
{
	string_table_fini(&rows->keys);
	free(rows->rows);
	*rows = (struct rows){0};
}

/* The functions of one source, the largest self weight first. */
static int find_rows(const struct report *report, const struct source *source,
		     struct rows *ret_rows)
{
	const struct analysis *analysis = report->analysis;
	struct rows rows = {0};
	int error = 0;

	for (size_t i = 0; i < analysis->samples_count && !error; i++)
		if (strcmp(analysis->samples[i].source, source->name) == 0)
			error = add_sample(report, &analysis->samples[i], (uint32_t)i, &rows);
	if (error) {
		rows_fini(&rows);
		return error;
	}
	for (size_t i = 0; i < rows.count; i++)
		rows.rows[i].source = source;
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_rows);
	*ret_rows = rows;
	return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void write_source(const struct source *source, struct json_writer *json)
{
	json_pair_text(json, "source", source->name);
	json_pair_text(json, "unit", analysis_source_unit(source->name));
	json_pair_bool(json, "estimate", is_estimate(source));
}

static void write_row_source(const struct report *report, const void *row, struct json_writer *json)
{
	write_source(((const struct row *)row)->source, json);
}

static struct table_cell row_share(const struct report *report, const void *row)
{
	const struct row *function = row;

	return (struct table_cell){.value = function->self, .whole = function->source->weight};
}

#define ROW(member) TABLE_MEMBER(struct row, member)

/* unit: the unit of the weights. */
/* clang-format off */
#define COLUMNS(unit) {                                                                            \
	{"key", NULL, TABLE_NAME, .value = ROW(function)},                                         \
	{.write = write_row_source},                                                               \
	{"count", NULL, TABLE_COUNT, .value = ROW(samples)},                                       \
	{"self", "self", unit, .value = ROW(self)},                                                \
	{NULL, "of all", TABLE_PERCENT, .get = row_share},                                         \
	{"total", "with below", unit, .value = ROW(total)},                                        \
	{NULL, "samples", TABLE_COUNT, .value = ROW(samples)},                                     \
	{0}}
/* clang-format on */

static const struct table_column time_columns[] = COLUMNS(TABLE_TIME);
static const struct table_column count_columns[] = COLUMNS(TABLE_COUNT);

/* The title of a source's table, printable. */
static struct shown name_source(const struct source *source)
{
	char title[128];

	if (analysis_source_is_time(source->name))
		snprintf(title, sizeof(title), "PROCESSOR TIME (%s)", source->name);
	else
		snprintf(title, sizeof(title), "%s",
			 strcmp(source->name, "page-faults") == 0 ? "PAGE FAULTS" : source->name);
	return format_text(title);
}

static bool is_in_ns(const struct source *source)
{
	return strcmp(analysis_source_unit(source->name), "ns") == 0;
}

static struct table make_table(const struct source *source, const char *title)
{
	return (struct table){.title = title,
			      .one = "function",
			      .many = "functions",
			      .width = 52,
			      .columns = is_in_ns(source) ? time_columns : count_columns};
}

static struct number format_weight(const struct source *source, uint64_t weight)
{
	return is_in_ns(source) ? format_duration(weight) : format_count(weight);
}

static void put_sum(const struct report *report, const struct source *source)
{
	char count[64] = "", each[64] = "", text[256];

	if (!is_counted(source))
		snprintf(count, sizeof(count), "%s %" PRIu64 " %s",
			 is_estimate(source) ? ", estimated from" : " of", source->samples,
			 table_noun(source->samples, "sample", "samples"));
	if (is_estimate(source))
		snprintf(each, sizeof(each), ": one sample stands for %s",
			 format_weight(source, source->weight / source->samples).text);
	snprintf(text, sizeof(text), "total %s%s%s", format_weight(source, source->weight).text,
		 count, each);
	report_put_hint(report, text);
}

static int print_source(const struct report *report, const struct source *source,
			struct json_writer *json)
{
	const struct shown title = name_source(source);
	const struct table table = make_table(source, title.text);
	struct rows rows;

	if (find_rows(report, source, &rows))
		return -ENOMEM;
	table_print(report, &table, &table, TABLE_ROWS(rows.rows, rows.count), json);
	if (!json)
		put_sum(report, source);
	rows_fini(&rows);
	return 0;
}

int report_by_cpu(const struct report *report, struct json_writer *json)
{
	struct source sources[MAX_SOURCES];
	size_t count = find_sources(report->analysis, sources);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = print_source(report, &sources[i], json);
	if (count || json)
		return error;
	if (model_imported_from(report->model))
		report_put_note(report, "no CPU samples; an imported trace has those of its file");
	else if (model_has_recorded(report->model, "cpu") && !report_is_of_all(report))
		report_put_note(report,
				"no CPU samples, because the run ended before the first one was "
				"due or its threads only waited; duet record -F HZ samples more "
				"often");
	else
		report_put_note(report, "no CPU samples; the collector cpu records them (duet "
					"record --collect cpu), but not with -a");
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void report_write_sources(const struct report *report, struct json_writer *json)
{
	struct source sources[MAX_SOURCES];
	size_t count = find_sources(report->analysis, sources);

	json_line_array(json, "cpu");
	for (size_t i = 0; i < count; i++) {
		json_line_begin(json);
		write_source(&sources[i], json);
		json_pair_bool(json, "tells_time", analysis_source_is_time(sources[i].name));
		json_pair_u64(json, "samples", sources[i].samples);
		json_pair_u64(json, "weight", sources[i].weight);
		json_object_end(json);
	}
	json_array_end(json);
}

/* SPDX-License-Identifier: MIT
 *
 * cli/report_cpu.c - CPU samples by function: where threads were found, and how often below whom
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames   Gives: tables on stdout, rows as JSON
 * Owns:     the rows
 * Fails:    -ENOMEM
 * Why by source: nanoseconds, cycles and page faults have no common sum, and a function that faults often need not be
 *           one in which time goes
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
#include "base/json.h"
#include "base/number.h"
#include "cli/table.h"

enum { NAME_WIDTH = 52, SOURCES_MOST = 16 };

/* Sums of weights are saturated: weights are what a file says. */
struct row {
	const char *function; /* the keys' */
	uint64_t self, total; /* weight of the samples in it; and of those below it */
	uint64_t samples;     /* in it */
	uint32_t last;        /* stack that was counted in total, plus one: recursion counts once */
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

/* Counts that a foreign file has without a unit: exact, as far as anybody knows. */
static bool is_counted(const struct source *source)
{
	return strcmp(source->name, "samples") == 0;
}

/* A sample stands for more than itself: a page fault for the 250 before it that were not looked at. */
static bool is_estimate(const struct source *source)
{
	return !is_counted(source) && source->weight > source->samples;
}

static int compare_sources(const void *left, const void *right)
{
	const struct source *a = left, *b = right;
	bool tells_time = analysis_tells_time(a->name);

	if (tells_time != analysis_tells_time(b->name))
		return tells_time ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Those that tell time first. */
static size_t find_sources(const struct analysis *analysis, struct source *ret_sources)
{
	size_t count = 0;

	for (size_t i = 0; i < analysis->samples_count; i++) {
		const struct analysis_sample *sample = &analysis->samples[i];
		size_t k = 0;

		while (k < count && strcmp(ret_sources[k].name, sample->source) != 0)
			k++;
		if (k == SOURCES_MOST)
			continue;
		if (k == count)
			ret_sources[count++] = (struct source){.name = sample->source};
		ret_sources[k].samples += sample->count;
		ret_sources[k].weight = add_saturated(ret_sources[k].weight, sample->weight);
	}
	qsort(ret_sources, count, sizeof(*ret_sources), compare_sources);
	return count;
}

/* Code without a name is told by its file alone: "[libfoo.so]+0x1234" would be a row for each instruction. */
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
		error = find_row(rows, names[i].function, &row);
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

/* The functions of one source, the most in itself first. */
static int find_rows(const struct report *report, const char *source, struct rows *ret_rows)
{
	const struct analysis *analysis = report->analysis;
	struct rows rows = {0};
	int error = 0;

	string_table_init(&rows.keys);
	for (size_t i = 0; i < analysis->samples_count && !error; i++)
		if (strcmp(analysis->samples[i].source, source) == 0)
			error = add_sample(report, &analysis->samples[i], (uint32_t)i, &rows);
	if (error) {
		rows_fini(&rows);
		return error;
	}
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_rows);
	*ret_rows = rows;
	return 0;
}

/* ---- text -------------------------------------------------------------------------------------- */

static struct number format_weight(const struct source *source, uint64_t weight)
{
	return strcmp(analysis_source_unit(source->name), "ns") == 0 ? format_duration(weight)
								     : format_count(weight);
}

static int put_source(const struct report *report, const struct source *source)
{
	static const char *const columns[] = {"self", "of all", "with below", "samples", NULL};
	struct rows rows;
	char title[128];
	size_t shown = 0;

	if (find_rows(report, source->name, &rows))
		return -ENOMEM;
	if (analysis_tells_time(source->name))
		snprintf(title, sizeof(title), "PROCESSOR TIME (%s)", source->name);
	else
		snprintf(title, sizeof(title), "%s",
			 strcmp(source->name, "page-faults") == 0 ? "PAGE FAULTS" : source->name);
	table_put_title(format_text(title).text, NAME_WIDTH, columns);
	for (; shown < rows.count && !report_is_over_top(report, shown); shown++) {
		const struct row *row = &rows.rows[shown];

		table_put_name(row->function, NAME_WIDTH);
		table_put_cell(format_weight(source, row->self));
		table_put_cell(format_percent(row->self, source->weight));
		table_put_cell(format_weight(source, row->total));
		table_put_cell(format_count(row->samples));
		putchar('\n');
	}
	table_put_rest(shown, rows.count, "function", "functions");
	printf("  in all %s", format_weight(source, source->weight).text);
	if (!is_counted(source))
		printf("%s %" PRIu64 " %s", is_estimate(source) ? ", estimated from" : " of",
		       source->samples, table_noun(source->samples, "sample", "samples"));
	if (is_estimate(source))
		printf(": one sample stands for %s",
		       format_weight(source, source->weight / source->samples).text);
	putchar('\n');
	rows_fini(&rows);
	return 0;
}

int report_put_cpu(const struct report *report)
{
	struct source sources[SOURCES_MOST];
	size_t count = find_sources(report->analysis, sources);

	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = put_source(report, &sources[i]);
	if (!count && model_has_recorded(report->model, "cpu"))
		printf("\nno CPU sample was taken, although the collector cpu was on: the run was "
		       "over before one was due, or its threads waited (duet record -F HZ samples "
		       "more often)\n");
	else if (!count)
		printf("\nno CPU samples were recorded: recordings of all programs (-a) and "
		       "without the collector cpu have none\n");
	return error;
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static void write_source(const struct source *source, struct json_writer *json)
{
	json_pair_text(json, "source", source->name);
	json_pair_text(json, "unit", analysis_source_unit(source->name));
	json_pair_bool(json, "estimate", is_estimate(source));
}

void report_write_sources(const struct report *report, struct json_writer *json)
{
	struct source sources[SOURCES_MOST];
	size_t count = find_sources(report->analysis, sources);

	json_newline(json);
	json_key(json, "cpu");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		json_newline(json);
		json_object_begin(json);
		write_source(&sources[i], json);
		json_pair_bool(json, "tells_time", analysis_tells_time(sources[i].name));
		json_pair_u64(json, "samples", sources[i].samples);
		json_pair_u64(json, "weight", sources[i].weight);
		json_object_end(json);
	}
	json_array_end(json);
}

int report_write_cpu(const struct report *report, struct json_writer *json)
{
	struct source sources[SOURCES_MOST];
	size_t count = find_sources(report->analysis, sources);

	for (size_t i = 0; i < count; i++) {
		struct rows rows;

		if (find_rows(report, sources[i].name, &rows))
			return -ENOMEM;
		for (size_t k = 0; k < rows.count && !report_is_over_top(report, k); k++) {
			const struct row *row = &rows.rows[k];

			json_newline(json);
			json_object_begin(json);
			json_pair_text(json, "key", row->function);
			write_source(&sources[i], json);
			json_pair_u64(json, "count", row->samples);
			json_pair_u64(json, "self", row->self);
			json_pair_u64(json, "total", row->total);
			json_object_end(json);
		}
		rows_fini(&rows);
	}
	return 0;
}

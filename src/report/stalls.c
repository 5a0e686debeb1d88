/* SPDX-License-Identifier: MIT
 *
 * report/stalls.c - stall reasons of sampled device instructions, as a table and as JSON
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    a row for each reason, with its meaning and the usual remedy
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why a table apart from instructions.c: the most frequent reason of the whole recording shows the
 *           kind of problem to look for. The instructions show its places.
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sample/stalls.h"
#include "base/array.h"
#include "base/json.h"
#include "report/table.h"

enum { SENTENCE_WIDTH = 96 };

struct row {
	const char *stall;  /* "": the sample has none */
	const char *kernel; /* the kernel with most of its samples; "": not known */
	uint64_t samples, estimated, of_kernel;
	uint64_t all; /* samples of all rows */
};

struct rows {
	struct row *rows;
	size_t count, capacity;
	uint64_t samples;
};

/* Order for merging: by reason, then by kernel. */
static int compare_names(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = strcmp(a->stall, b->stall);

	return order ? order : strcmp(a->kernel, b->kernel);
}

static int compare_samples(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return compare_names(left, right);
}

static int list_rows(const struct report *report, struct rows *rows)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->instructions_count; i++) {
		const struct analysis_instruction *from = &analysis->instructions[i];

		if (!report_shows_instruction(report, from))
			continue;
		if (array_append(rows->rows, rows->capacity, rows->count,
				 (struct row){.stall = from->stall,
					      .kernel = from->kernel,
					      .samples = from->samples,
					      .estimated = from->estimated}))
			return -ENOMEM;
		rows->samples += from->samples;
	}
	return 0;
}

/* Merges sorted rows to one for each reason and kernel (by_kernel), or to one for each reason,
 * which keeps the kernel with most samples. */
static void merge_rows(struct rows *rows, bool by_kernel)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct row *last = kept ? &rows->rows[kept - 1] : NULL, from = rows->rows[i];

		if (!last || strcmp(last->stall, from.stall) != 0 ||
		    (by_kernel && strcmp(last->kernel, from.kernel) != 0)) {
			from.of_kernel = from.samples;
			rows->rows[kept++] = from;
			continue;
		}
		if (!by_kernel && from.samples > last->of_kernel) {
			last->of_kernel = from.samples;
			last->kernel = from.kernel;
		}
		last->samples += from.samples;
		last->estimated += from.estimated;
	}
	rows->count = kept;
}

static int find_rows(const struct report *report, struct rows *ret_rows)
{
	struct rows rows = {0};

	if (list_rows(report, &rows)) {
		free(rows.rows);
		return -ENOMEM;
	}
	if (rows.count) {
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_names);
		merge_rows(&rows, true);
		merge_rows(&rows, false);
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_samples);
	}
	for (size_t i = 0; i < rows.count; i++)
		rows.rows[i].all = rows.samples;
	*ret_rows = rows;
	return 0;
}

/* Prints a text wrapped between words; the first line starts with `begin`. */
static void put_sentence(const char *begin, const char *text)
{
	while (*text) {
		size_t room = SENTENCE_WIDTH - strlen(begin), length = strlen(text);

		if (length > room) {
			for (length = room; length > 1 && text[length] != ' '; length--)
				;
		}
		printf("%s%.*s\n", begin, (int)length, text);
		text += length;
		text += *text == ' ';
		begin = "       ";
	}
}

static void put_reason(const struct report *report, const void *row)
{
	const struct stall_reason *reason = stall_reason_find(((const struct row *)row)->stall);

	if (!reason)
		return;
	put_sentence("    ", reason->meaning);
	put_sentence("    -> ", reason->remedy);
}

static void write_reason(const struct report *report, const void *row, struct json_writer *json)
{
	const struct stall_reason *reason = stall_reason_find(((const struct row *)row)->stall);

	if (!reason)
		return;
	json_pair_text(json, "meaning", reason->meaning);
	json_pair_text(json, "remedy", reason->remedy);
}

static struct table_cell row_kernel(const struct report *report, const void *row)
{
	const char *kernel = ((const struct row *)row)->kernel;

	return (struct table_cell){.text = *kernel ? report_kernel_name(report, kernel)
						   : "[unknown code]"};
}

#define ROW(member) TABLE_MEMBER(struct row, member)

static const struct table stalls_table = {
	.title = "STALLS",
	.one = "reason",
	.many = "reasons",
	.width = 34,
	.put_below = put_reason,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME, .value = ROW(stall),
			 .empty = "[no reason reported]"},
			{"count", "samples", TABLE_COUNT, .value = ROW(samples)},
			{"estimated", NULL, TABLE_COUNT, .value = ROW(estimated)},
			{NULL, "of all", TABLE_PERCENT, .value = ROW(samples), .whole = ROW(all)},
			{"kernel", "  most in", TABLE_REMARK, .get = row_kernel, .width = 40},
			{.write = write_reason},
			{0},
		},
};

int report_by_stall(const struct report *report, struct json_writer *json)
{
	struct rows rows;

	if (find_rows(report, &rows))
		return -ENOMEM;
	if (!rows.count && !json)
		report_put_no_instructions(report);
	table_print(report, &stalls_table, &stalls_table, TABLE_ROWS(rows.rows, rows.count), json);
	if (!json)
		report_put_doubts(report);
	free(rows.rows);
	return 0;
}

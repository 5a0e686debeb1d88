/* SPDX-License-Identifier: MIT
 *
 * cli/report_stalls.c - what the sampled device instructions waited for, as a table and as JSON
 *
 * Runs in:  our own process
 * Gets:     an analysis   Gives: a row for each reason, with its meaning and the usual remedy
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why apart from the instructions: which reason is the most of all says what to look for before one looks for where.
 */
#include "cli/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stalls.h"
#include "base/array.h"
#include "base/json.h"
#include "cli/table.h"

enum { NAME_WIDTH = 34, SENTENCE_WIDTH = 96 };

struct row {
	const char *stall;  /* "": none was told */
	const char *kernel; /* that has the most of them; "": not known */
	uint64_t samples, estimated, of_kernel;
};

struct rows {
	struct row *rows;
	size_t count, capacity;
	uint64_t samples;
};

/* In rows: of one reason and kernel, then of one reason. */
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

static int list(const struct report *report, struct rows *rows)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->instructions_count; i++) {
		const struct analysis_instruction *from = &analysis->instructions[i];

		if (!report_shows_instruction(report, from))
			continue;
		if (array_grow(rows->rows, rows->capacity, rows->count + 1))
			return -ENOMEM;
		rows->rows[rows->count++] = (struct row){.stall = from->stall,
							 .kernel = from->kernel,
							 .samples = from->samples,
							 .estimated = from->estimated};
		rows->samples += from->samples;
	}
	return 0;
}

/* by_kernel: one row for each reason and kernel is left, else one for each reason, which keeps its first kernel with the most. */
static void merge(struct rows *rows, bool by_kernel)
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

static int find(const struct report *report, struct rows *ret_rows)
{
	struct rows rows = {0};

	if (list(report, &rows)) {
		free(rows.rows);
		return -ENOMEM;
	}
	if (rows.count) {
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_names);
		merge(&rows, true);
		merge(&rows, false);
		qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_samples);
	}
	*ret_rows = rows;
	return 0;
}

static const char *name_of(const struct row *row)
{
	return *row->stall ? row->stall : "[no reason told]";
}

/* In lines of whole words. */
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

static void put_row(const struct rows *rows, const struct row *row)
{
	const struct stall_reason *reason = stall_reason_find(row->stall);

	table_put_name(name_of(row), NAME_WIDTH);
	table_put_cell(format_count(row->samples));
	table_put_cell(format_percent(row->samples, rows->samples));
	fputs("  ", stdout);
	table_put_text(*row->kernel ? row->kernel : "[unknown code]", 40);
	putchar('\n');
	if (!reason)
		return;
	put_sentence("    ", reason->meaning);
	put_sentence("    -> ", reason->remedy);
}

int report_put_stalls(const struct report *report)
{
	static const char *const columns[] = {"samples", "of all", "  most in", NULL};
	struct rows rows;
	size_t shown = 0;

	if (find(report, &rows))
		return -ENOMEM;
	if (!rows.count)
		report_put_no_instructions(report);
	for (; shown < rows.count && !report_is_over_top(report, shown); shown++) {
		if (!shown)
			table_put_title("STALLS", NAME_WIDTH, columns);
		put_row(&rows, &rows.rows[shown]);
	}
	table_put_rest(shown, rows.count, "reason", "reasons");
	report_put_doubts(report);
	free(rows.rows);
	return 0;
}

int report_write_stalls(const struct report *report, struct json_writer *json)
{
	struct rows rows;

	if (find(report, &rows))
		return -ENOMEM;
	for (size_t i = 0; i < rows.count && !report_is_over_top(report, i); i++) {
		const struct row *row = &rows.rows[i];
		const struct stall_reason *reason = stall_reason_find(row->stall);

		json_newline(json);
		json_object_begin(json);
		json_pair_text(json, "key", name_of(row));
		json_pair_u64(json, "count", row->samples);
		json_pair_u64(json, "estimated", row->estimated);
		json_pair_text(json, "kernel", *row->kernel ? row->kernel : "[unknown code]");
		if (reason) {
			json_pair_text(json, "meaning", reason->meaning);
			json_pair_text(json, "remedy", reason->remedy);
		}
		json_object_end(json);
	}
	free(rows.rows);
	return 0;
}

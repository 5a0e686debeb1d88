/* SPDX-License-Identifier: MIT
 *
 * report/series/text.c - prints the history of a program as text
 *
 * Runs in:  our own process
 * Gets:     a history
 * Gives:    a row with a sparkline for each quantity, and its changes below, on stdout
 * Owns:     nothing
 * Fails:    never
 * Why executions only where their number changes: most kernels run equally often in each recording,
 *           and their rows would double the table
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/compare/history/history.h"
#include "base/number.h"
#include "base/string.h"
#include "report/diff/diff.h"
#include "report/series/series.h"
#include "report/table.h"
#include "report/verdict/sentence.h"

enum {
	COLUMNS = 100,
	CELLS = 3,
	NAME_MIN = 30,
	NAME_MAX = 44,
	SPARK_MIN = 12,
	SKIPPED_SHOWN = 5,
	NAMINGS_SHOWN = 3
};

struct layout {
	size_t columns, name, spark;
};

static struct layout layout_of(const struct series_report *report)
{
	const size_t columns = report->columns ? report->columns : COLUMNS;
	const size_t room = columns - CELLS * TABLE_CELL - 1; /* at least 60 columns */
	size_t spark = room > NAME_MIN + SPARK_MIN ? room - NAME_MIN : SPARK_MIN;

	spark = smaller(smaller(spark, SPARK_MAX), report->history->count);
	return (struct layout){columns, smaller(room - smaller(spark, room / 2), NAME_MAX), spark};
}

static void put_sentence(const struct series_report *report, const char *begin, size_t indent,
			 const struct sentence *sentence)
{
	printf("%s", begin);
	sentence_put_wrapped(sentence->text, strlen(begin), indent, layout_of(report).columns);
	printf("\n");
}

/* ---- head ------------------------------------------------------------------------------------ */

static const char *name_of(const struct history *history, size_t recording)
{
	return path_base(history->records[recording].path);
}

static void say_date(const struct history_record *record, struct sentence *sentence)
{
	if (record->realtime_ns)
		say(sentence, "%s", format_realtime(record->realtime_ns).text);
	else
		say(sentence, "no date");
}

static void put_commands(const struct series_report *report)
{
	const struct history *history = report->history;
	struct sentence sentence = {0};
	size_t others = 0;

	for (size_t i = 1; i < history->count; i++)
		others += strcmp(history->records[i].command, history->records[0].command) != 0;
	say(&sentence, "%.300s", history->records[0].command);
	if (others)
		say(&sentence, "; %zu recordings have another command", others);
	if (sentence.length)
		put_sentence(report, "COMMAND ", 2, &sentence);
}

static void put_incomplete(const struct series_report *report)
{
	const struct history *history = report->history;
	size_t count = 0;

	for (size_t i = 0; i < history->count; i++)
		count += !history->records[i].is_complete;
	if (count)
		printf("! %zu of %zu recordings are incomplete: their values may be too small\n",
		       count, history->count);
}

static void put_skipped(const struct series_report *report)
{
	struct sentence sentence = {0};

	if (!report->skipped_count)
		return;
	say(&sentence, "%zu skipped, because they cannot be read: ", report->skipped_count);
	for (size_t i = 0; i < report->skipped_count && i < SKIPPED_SHOWN; i++)
		say(&sentence, "%s%.200s", i ? ", " : "", report->skipped[i]);
	if (report->skipped_count > SKIPPED_SHOWN)
		say(&sentence, " and %zu more", report->skipped_count - SKIPPED_SHOWN);
	put_sentence(report, "! ", 2, &sentence);
}

static void put_heading(const struct series_report *report)
{
	const struct history *history = report->history;
	struct sentence sentence = {0};

	say(&sentence, "%zu %s, ", history->count,
	    format_noun(history->count, "recording", "recordings"));
	say_date(&history->records[0], &sentence);
	if (history->count > 1) {
		say(&sentence, " to ");
		say_date(&history->records[history->count - 1], &sentence);
	}
	put_sentence(report, "HISTORY ", 2, &sentence);
	put_commands(report);
	if (report->range)
		printf("ONLY the range %s of each run\n", report->range);
	put_skipped(report);
	put_incomplete(report);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct number format_amount(double value, bool is_time)
{
	struct number number;

	if (is_time)
		return format_duration(round_saturated(value + 0.5));
	snprintf(number.text, sizeof(number.text), "%.*f", value == floor(value) ? 0 : 2, value);
	return number;
}

/* A number that is too wide for its cell keeps a blank before it. */
static void put_cell(const char *text)
{
	printf(" ");
	table_put_right(text, TABLE_CELL - 1);
}

static void put_title(const struct series_report *report, const char *title)
{
	const struct layout layout = layout_of(report);

	printf("\n");
	table_put_left(title, layout.name);
	printf(" ");
	table_put_left("", layout.spark);
	put_cell("first");
	put_cell("last");
	put_cell("change");
	printf("\n");
}

static void put_change(const struct series_report *report, const struct history_line *line,
		       const struct change_point *change, bool is_time)
{
	const struct history *history = report->history;
	const size_t recording = line->values[change->index].recording;
	struct sentence sentence = {0};

	say(&sentence, "from %.200s (", name_of(history, recording));
	say_date(&history->records[recording], &sentence);
	say(&sentence, "): %s -> %s (%s), p %.2g", format_amount(change->before, is_time).text,
	    format_amount(change->after, is_time).text,
	    diff_signed_percent(change->after - change->before, change->before).text, change->p);
	put_sentence(report, "    ", 6, &sentence);
}

static void put_line(const struct series_report *report, const char *name,
		     const struct history_line *line, bool is_time)
{
	const struct layout layout = layout_of(report);
	char spark[SPARK_BYTES];
	double first, last;

	if (!line->count)
		return;
	first = line->values[0].value;
	last = line->values[line->count - 1].value;
	spark_format(line, report->history->count, layout.spark, report->is_ascii, spark);
	table_put_left(name, layout.name);
	printf(" ");
	table_put_left(spark, layout.spark);
	put_cell(format_amount(first, is_time).text);
	put_cell(format_amount(last, is_time).text);
	put_cell(diff_signed_percent(last - first, first).text);
	printf("\n");
	for (size_t i = 0; i < line->changes_count; i++)
		put_change(report, line, &line->changes[i], is_time);
}

static void put_naming(const struct series_report *report, const struct history_naming *naming)
{
	struct sentence sentence = {0};

	say(&sentence, "from %.200s: was %.*s; %s (%.0f %% sure)",
	    name_of(report->history, naming->recording), SENTENCE_NAME, naming->was,
	    match_reason_text(naming->reason), naming->confidence * 100);
	put_sentence(report, "    ", 6, &sentence);
}

/* The latest names. */
static void put_namings(const struct series_report *report, const struct history_item *item)
{
	const size_t count = item->namings_count;
	const size_t left_out = count > NAMINGS_SHOWN ? count - NAMINGS_SHOWN : 0;

	if (left_out)
		printf("    %zu earlier changes of the name\n", left_out);
	for (size_t i = left_out; i < count; i++)
		put_naming(report, &item->namings[i]);
}

static bool is_constant(const struct history_line *line)
{
	for (size_t i = 1; i < line->count; i++)
		if (line->values[i].value != line->values[0].value)
			return false;
	return true;
}

static void put_kernel(const struct series_report *report, const struct history_item *item)
{
	char name[TABLE_NAME_BYTES];

	snprintf(name, sizeof(name), "  %s%s%s", item->label,
		 item->is_kernel || strcmp(item->label, item->group) == 0 ? "" : ": ",
		 item->is_kernel || strcmp(item->label, item->group) == 0 ? "" : item->group);
	put_line(report, name, &item->value, true);
	put_namings(report, item);
	if (!is_constant(&item->executions))
		put_line(report, "    executions", &item->executions, false);
}

static void put_kernels(const struct series_report *report)
{
	const struct history *history = report->history;
	size_t shown = 0;

	if (!history->kernels_count)
		return;
	put_title(report, "KERNELS AND COPIES, mean");
	for (; shown < history->kernels_count && (!report->top || shown < report->top); shown++)
		put_kernel(report, &history->kernels[shown]);
	if (shown < history->kernels_count)
		printf("  %zu more (--top)\n", history->kernels_count - shown);
}

static void put_causes(const struct series_report *report)
{
	const struct history *history = report->history;
	char name[128];

	if (!history->causes_count)
		return;
	put_title(report, "IDLE TIME BY CAUSE");
	for (size_t i = 0; i < history->causes_count; i++) {
		snprintf(name, sizeof(name), "  %s", history->causes[i].label);
		put_line(report, name, &history->causes[i].value, true);
	}
}

static void put_legend(const struct series_report *report)
{
	const struct history *history = report->history;
	struct sentence text = {0};

	say(&text,
	    "%zu %s searched for changes; at most %.3g %% of the reported changes are expected to "
	    "be noise. ",
	    history->tests, format_noun(history->tests, "line was", "lines were"),
	    history->options.alpha * 100);
	if (history->count < 6)
		say(&text, "Changes are found from 6 recordings on. ");
	say(&text, "A blank is a recording without the line.");
	put_sentence(report, "\n", 2, &text);
}

void series_print_text(const struct series_report *report)
{
	const struct history *history = report->history;
	const bool is_iteration = history->options.is_per_iteration;

	put_heading(report);
	put_title(report, is_iteration ? "PER ITERATION" : "PER RECORDING");
	put_line(report, "wall time", &history->wall, true);
	put_line(report, "iteration (median)", &history->iteration, true);
	put_line(report, "busy", &history->busy, true);
	put_line(report, "idle", &history->idle, true);
	put_kernels(report);
	put_causes(report);
	put_legend(report);
}

/* SPDX-License-Identifier: MIT
 *
 * report/diff/text.c - prints a comparison as text
 *
 * Runs in:  our own process
 * Gets:     a comparison
 * Gives:    conditions, the verdict, and the account of the difference on stdout
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why conditions first: if the driver differs too, the reader must know before the first number
 */
#include "report/diff/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "report/table.h"
#include "report/verdict/sentence.h"

enum { COLUMNS = 100, NAME_WIDTH = 38, NAME_MIN = 20, REMARK_INDENT = 4, PATHS_SHOWN = 3 };

static size_t columns_of(const struct diff_report *report)
{
	return report->columns ? report->columns : COLUMNS;
}

static size_t name_width(const struct diff_report *report)
{
	const size_t cells = 4 * TABLE_CELL, columns = columns_of(report);

	return columns > cells + NAME_MIN + 10 ? larger(columns - cells - 10, NAME_MIN) : NAME_MIN;
}

static void put_sentence(const struct diff_report *report, const char *begin,
			 const struct sentence *sentence)
{
	printf("%s", begin);
	sentence_put_wrapped(sentence->text, strlen(begin), 2, columns_of(report));
	printf("\n");
}

/* ---- head ------------------------------------------------------------------------------------ */

static void put_side(const struct diff_report *report, const char *name,
		     const struct comparison_sides *sides)
{
	struct sentence sentence = {0};

	for (size_t i = 0; i < sides->count && i < PATHS_SHOWN; i++)
		say(&sentence, "%s%s", i ? ", " : "", sides->runs[i]->path);
	if (sides->count > PATHS_SHOWN)
		say(&sentence, " and %zu more", sides->count - PATHS_SHOWN);
	if (*sides->runs[0]->facts.command)
		say(&sentence, ": %.200s", sides->runs[0]->facts.command);
	put_sentence(report, name, &sentence);
}

static void put_notes(const struct diff_report *report)
{
	const struct comparison *comparison = report->comparison;

	for (size_t i = 0; i < comparison->notes_count; i++) {
		struct sentence sentence = {0};

		say(&sentence, "%s%s",
		    comparison->notes[i].weight == NOTE_REFUSAL ? "not comparable: " : "",
		    comparison->notes[i].text);
		put_sentence(report, comparison->notes[i].weight == NOTE_INFO ? "  " : "! ",
			     &sentence);
	}
}

static void put_verdict(const struct diff_report *report)
{
	static const char *const begins[DIFF_REASONS] = {"Largest reason: ", "Next: ", "Next: "};
	const struct comparison_row *rows[DIFF_REASONS];
	const size_t count = comparison_reasons(report->comparison, rows, DIFF_REASONS);
	struct sentence verdict = {0};

	printf("\n");
	diff_say_verdict(report, &verdict);
	put_sentence(report, "", &verdict);
	for (size_t i = 0; i < count; i++) {
		struct sentence reason = {0};

		diff_say_reason(report, rows[i], &reason);
		put_sentence(report, begins[i], &reason);
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_head(const struct diff_report *report, const char *title)
{
	printf("\n");
	table_put_left(title, name_width(report));
	table_put_right("base", TABLE_CELL);
	table_put_right("new", TABLE_CELL);
	table_put_right("change", TABLE_CELL);
	table_put_right("change", TABLE_CELL);
	printf("\n");
}

static void put_cells(double base, double changed, int64_t change)
{
	table_put_right(format_duration(round_saturated(base)).text, TABLE_CELL);
	table_put_right(format_duration(round_saturated(changed)).text, TABLE_CELL);
	table_put_right(diff_signed_duration(change).text, TABLE_CELL);
	table_put_right(diff_signed_percent((double)change, base).text, TABLE_CELL);
}

static const char *mark_of(const struct comparison_row *row)
{
	return row->value_noise.proof == PROOF_PROVED      ? "  proved"
	       : row->value_noise.proof == PROOF_SMALL     ? "  small"
	       : row->value_noise.proof == PROOF_NO_CHANGE ? "  same"
	       : row->value_noise.proof == PROOF_WITHIN    ? "  within"
							   : "";
}

static struct number plain_number(double value)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), "%.*f", fabs(value) < 100 ? 2 : 0, value);
	return number;
}

/* Metrics are thousandths; samples have the unit of their source. */
static void put_other_cells(const struct comparison *comparison, enum compare_table table,
			    const struct comparison_row *row)
{
	const double scale = table == COMPARE_METRIC ? 1e-3 : 1;
	const double base = (double)row->base.value / (double)comparison->base.units * scale;
	const double changed =
		(double)row->changed.value / (double)comparison->changed.units * scale;

	table_put_right(plain_number(base).text, TABLE_CELL);
	table_put_right(plain_number(changed).text, TABLE_CELL);
	table_put_right(plain_number(changed - base).text, TABLE_CELL);
	table_put_right(diff_signed_percent(changed - base, base).text, TABLE_CELL);
}

static bool is_time(enum compare_table table)
{
	return table != COMPARE_METRIC && table != COMPARE_INSTRUCTION && table != COMPARE_STALL;
}

static void put_row(const struct diff_report *report, enum compare_table table,
		    const struct comparison_row *row)
{
	const struct comparison *comparison = report->comparison;
	const size_t width = name_width(report);
	struct sentence how = {0};

	printf("  ");
	table_put_left(row->label, width - 2);
	if (is_time(table))
		put_cells((double)row->base.value / (double)comparison->base.units,
			  (double)row->changed.value / (double)comparison->changed.units,
			  row->change.value);
	else
		put_other_cells(comparison, table, row);
	printf("%s\n", mark_of(row));
	diff_say_how(report, row, &how);
	if (how.length) {
		printf("%*s", REMARK_INDENT, "");
		sentence_put_wrapped(how.text, REMARK_INDENT, REMARK_INDENT, columns_of(report));
		printf("\n");
	}
}

/* Sums of a hostile recording may exceed an integer. */
static int64_t add_clamped(int64_t left, int64_t right)
{
	int64_t sum;

	return __builtin_add_overflow(left, right, &sum) ? left : sum;
}

/* The rows that are not shown, as one row; so the column still adds up. */
static void put_rest(const struct diff_report *report, const struct comparison_table *table,
		     uint32_t device, const char *group, size_t shown)
{
	const struct comparison *comparison = report->comparison;
	struct comparison_amount base = {0}, changed = {0};
	int64_t change = 0;
	size_t count = 0, seen = 0;
	char name[64];

	for (size_t i = 0; i < table->count; i++) {
		const struct comparison_row *row = &table->rows[i];

		if (row->device != device || strcmp(row->group, group) != 0 || seen++ < shown)
			continue;
		base.value += row->base.value;
		changed.value += row->changed.value;
		change = add_clamped(change, row->change.value);
		count++;
	}
	if (!count)
		return;
	snprintf(name, sizeof(name), "  %zu more", count);
	table_put_left(name, name_width(report));
	put_cells((double)base.value / (double)comparison->base.units,
		  (double)changed.value / (double)comparison->changed.units, change);
	printf("\n");
}

static void put_group_head(const struct diff_report *report, const struct comparison_table *table,
			   uint32_t device, const char *group, bool is_idle)
{
	const struct comparison *comparison = report->comparison;
	uint64_t base = 0, changed = 0;
	int64_t change = 0;
	char name[128];

	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].device == device && strcmp(table->rows[i].group, group) == 0) {
			base += table->rows[i].base.value;
			changed += table->rows[i].changed.value;
			change = add_clamped(change, table->rows[i].change.value);
		}
	snprintf(name, sizeof(name), "%s%s", is_idle ? "idle: " : "busy: ", group);
	table_put_left(name, name_width(report));
	put_cells((double)base / (double)comparison->base.units,
		  (double)changed / (double)comparison->changed.units, change);
	printf("\n");
}

/* Rows of one group of one device, up to --top. */
static void put_group(const struct diff_report *report, enum compare_table of, uint32_t device,
		      const char *group)
{
	const struct comparison_table *table = &report->comparison->tables[of];
	size_t shown = 0;

	put_group_head(report, table, device, group, of == COMPARE_IDLE);
	for (size_t i = 0; i < table->count; i++) {
		const struct comparison_row *row = &table->rows[i];

		if (row->device != device || strcmp(row->group, group) != 0)
			continue;
		if (report->top && shown == report->top)
			break;
		put_row(report, of, row);
		shown++;
	}
	put_rest(report, table, device, group, shown);
}

/* Whether an earlier row of the device has the same group. */
static bool is_group_seen(const struct comparison_table *table, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (table->rows[i].device == table->rows[index].device &&
		    strcmp(table->rows[i].group, table->rows[index].group) == 0)
			return true;
	return false;
}

static void put_groups(const struct diff_report *report, enum compare_table of, uint32_t device)
{
	const struct comparison_table *table = &report->comparison->tables[of];

	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].device == device && !is_group_seen(table, i))
			put_group(report, of, device, table->rows[i].group);
}

static void put_device(const struct diff_report *report, uint32_t index)
{
	const struct comparison *comparison = report->comparison;
	const struct comparison_device *device = &comparison->devices[index];
	struct sentence title = {0};

	say(&title, "DEVICE %" PRIu32 " ", index);
	if (device->name && device->base_name && strcmp(device->name, device->base_name) != 0)
		say(&title, "%.40s -> ", device->base_name);
	say(&title, "%.60s", device->name ? device->name : device->base_name);
	put_head(report, title.text);
	put_groups(report, COMPARE_BUSY, index);
	put_groups(report, COMPARE_IDLE, index);
	table_put_left("wall time: the sum", name_width(report));
	put_cells((double)device->base_wall_ns / (double)comparison->base.units,
		  (double)device->changed_wall_ns / (double)comparison->changed.units,
		  device->wall_change_ns);
	printf("\n");
}

static void put_account(const struct diff_report *report)
{
	const struct comparison *comparison = report->comparison;

	printf("\nACCOUNT OF THE DIFFERENCE%s%s%s\n", *diff_per_unit(comparison) ? " (mean" : "",
	       diff_per_unit(comparison), *diff_per_unit(comparison) ? ")" : "");
	for (size_t i = 0; i < comparison->devices_count; i++)
		put_device(report, (uint32_t)i);
	if (!comparison->is_exact)
		printf("! the parts do not add up to the change: report this as a fault of duet\n");
}

static void put_by(const struct diff_report *report)
{
	const struct comparison_table *table = &report->comparison->tables[report->by];
	char title[64];
	size_t shown = 0;

	snprintf(title, sizeof(title), "BY %s", compare_table_name(report->by));
	put_head(report, title);
	for (; shown < table->count && (!report->top || shown < report->top); shown++)
		put_row(report, report->by, &table->rows[shown]);
	if (shown < table->count)
		printf("  %zu more\n", table->count - shown);
	if (!table->count)
		printf("  no rows: the recordings have no such data\n");
}

static void put_legend(const struct diff_report *report)
{
	const struct comparison *comparison = report->comparison;
	struct sentence text = {0};

	if (comparison->base.count == 1 && comparison->changed.count == 1) {
		say(&text, "within: more than the noise within these two runs. Other runs of the "
			   "same programs may differ as much: record several runs a side");
		put_sentence(report, "\n", &text);
		return;
	}
	say(&text,
	    "proved: more than noise, with %.4g %% confidence after the correction for many tests, "
	    "and at least %.4g %% of the base's wall time; small: proved, but below that; same: "
	    "proved to be below that; otherwise unproved",
	    comparison->options.confidence * 100, comparison->options.min_effect * 100);
	put_sentence(report, "\n", &text);
}

int diff_print_text(const struct diff_report *report)
{
	put_side(report, "BASE ", &report->comparison->base);
	put_side(report, "NEW  ", &report->comparison->changed);
	if (report->range)
		printf("ONLY the range %s of each run\n", report->range);
	put_notes(report);
	if (report->comparison->options.is_per_iteration)
		printf("  --per run compares whole runs\n");
	if (report->comparison->is_refused && !report->is_forced)
		return 0;
	put_verdict(report);
	if (report->by == COMPARE_TABLES)
		put_account(report);
	else
		put_by(report);
	put_legend(report);
	return 0;
}

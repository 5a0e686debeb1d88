/* SPDX-License-Identifier: MIT
 *
 * report/ranges.c - the ranges that the program named: a table as a tree, rows as JSON
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    a table on stdout, rows as JSON
 * Owns:     the order of the rows while they are printed
 * Fails:    -ENOMEM
 * Why the longest first, and then as a tree: a range is never shorter than the ranges within it. So
 *           a table that --top cuts still contains all parents of its rows.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/units.h"
#include "base/json.h"
#include "base/number.h"
#include "base/string.h"
#include "report/table.h"

enum {
	NAME_WIDTH = 40,
	MIN_NAME = 24, /* numbers without room beside it are left out */
	NUMBERS = 8,
	DEPTH_SHOWN = 8
};

/* The first child and the next sibling of a row; NULL: none. */
struct links {
	const struct analysis_range *first, *next;
};

struct tree {
	const struct analysis_range **rows; /* owned; the longest first */
	struct links *links;                /* owned; by index of the analysis */
	const struct analysis_range *first;
	size_t count;
	bool has_ranks; /* the ranges are of several ranks of a job */
};

/* Longest first. If equal, the first in the trace comes first, which puts parents before their
 * children. */
static int compare(const void *left, const void *right)
{
	const struct analysis_range *const *a = left, *const *b = right;

	if ((*a)->total_ns != (*b)->total_ns)
		return (*a)->total_ns < (*b)->total_ns ? 1 : -1;
	return (*a > *b) - (*a < *b);
}

static int tree_init(struct tree *tree, const struct analysis *analysis)
{
	*tree = (struct tree){
		.rows = calloc(analysis->program.ranges_count + 1, sizeof(*tree->rows)),
		.links = calloc(analysis->program.ranges_count + 1, sizeof(*tree->links))};
	if (!tree->rows || !tree->links)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->program.ranges_count; i++) {
		const struct analysis_range *range = &analysis->program.ranges[i];

		if (range->count)
			tree->rows[tree->count++] = range;
		tree->has_ranks |= range->rank != analysis->program.ranges[0].rank;
	}
	qsort(tree->rows, tree->count, sizeof(*tree->rows), compare);
	return 0;
}

static void tree_fini(struct tree *tree)
{
	free(tree->rows);
	free(tree->links);
}

static struct links *links_of(const struct tree *tree, const struct analysis *analysis,
			      const struct analysis_range *range)
{
	return &tree->links[range - analysis->program.ranges];
}

static const struct analysis_range *parent_of(const struct analysis *analysis,
					      const struct analysis_range *range)
{
	return range->parent == ANALYSIS_NO_RANGE ? NULL : &analysis->program.ranges[range->parent];
}

/* Links the first `count` rows to a tree, the longest first among siblings. */
static void tree_link(struct tree *tree, const struct analysis *analysis, size_t count)
{
	for (size_t i = count; i > 0; i--) {
		const struct analysis_range *range = tree->rows[i - 1],
					    *parent = parent_of(analysis, range);
		const struct analysis_range **first =
			parent ? &links_of(tree, analysis, parent)->first : &tree->first;

		links_of(tree, analysis, range)->next = *first;
		*first = range;
	}
}

static const struct analysis_range *tree_next(const struct tree *tree,
					      const struct analysis *analysis,
					      const struct analysis_range *range)
{
	if (links_of(tree, analysis, range)->first)
		return links_of(tree, analysis, range)->first;
	while (range && !links_of(tree, analysis, range)->next)
		range = parent_of(analysis, range);
	return range ? links_of(tree, analysis, range)->next : NULL;
}

static unsigned int depth_of(const struct analysis *analysis, const struct analysis_range *range)
{
	unsigned int depth = 0;

	while (depth < DEPTH_SHOWN && (range = parent_of(analysis, range)))
		depth++;
	return depth;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_name(const struct report *report, const struct tree *tree,
		     const struct analysis_range *range, size_t width)
{
	const struct analysis *analysis = report->analysis;
	const struct analysis_range *parent = parent_of(analysis, range);
	bool is_own = !parent || strcmp(parent->domain, range->domain) != 0;
	struct string_builder name = {0};

	string_builder_appendf(&name, "%*s", 2 * (int)depth_of(analysis, range), "");
	if (is_own && range->domain[0])
		string_builder_appendf(&name, "%s: ", range->domain);
	string_builder_append(&name, range->name);
	if (!parent && range->rank && tree->has_ranks)
		string_builder_appendf(&name, ", rank %" PRIu32, range->rank - 1);
	if (range->type != RANGE_PUSH)
		string_builder_append(&name, range->type == RANGE_MARK ? " (mark)" : " (started)");
	table_put_name(string_builder_text(&name), width);
	string_builder_fini(&name);
}

static struct number range_number(const struct report *report, const struct analysis_range *range,
				  size_t index)
{
	const struct analysis_within *within = &range->within;
	const struct number none = {"-"};

	switch (index) {
	case 0:
		return format_count(range->count);
	case 1:
		return format_duration(range->total_ns);
	case 2:
		return format_duration(range->total_ns / range->count);
	case 3:
		return format_duration(range->max_ns);
	case 4:
		return format_duration(range->self_ns);
	case 5:
		return within->launches ? format_duration(within->device_ns) : none;
	case 6:
		return report->analysis->program.has_range_idle ? format_duration(range->idle_ns)
								: none;
	default:
		return within->cpu_ns ? format_duration(within->cpu_ns) : none;
	}
}

static void put_range(const struct report *report, const struct tree *tree,
		      const struct analysis_range *range, const struct report_widths *widths)
{
	const size_t numbers = range->type == RANGE_MARK ? 1 : widths->numbers;

	put_name(report, tree, range, widths->name);
	for (size_t i = 0; i < numbers; i++)
		table_put_cell(range_number(report, range, i));
	putchar('\n');
}

static void put_ranges_title(const struct report_widths *widths)
{
	static const char *const titles[NUMBERS] = {"count", "total",  "mean", "max",
						    "self",  "device", "idle", "CPU"};
	const char *columns[NUMBERS + 1] = {NULL};

	memcpy(columns, titles, widths->numbers * sizeof(*columns));
	table_put_title("RANGES", widths->name, columns);
}

static void put_metric(const struct report *report, const struct analysis_range_metric *metric)
{
	struct unit_shown unit = unit_shown_of(report->model, metric->series);
	struct string_builder name = {0};

	string_builder_append(&name, "    ");
	report_name_series(report, metric->series, &unit, report_name_width(report, NAME_WIDTH) - 6,
			   &name);
	table_put_name(string_builder_text(&name), report_name_width(report, NAME_WIDTH));
	string_builder_fini(&name);
	table_put_cell(format_value(analysis_range_mean(metric, &unit)));
	table_put_cell(format_value(analysis_range_max(metric, &unit)));
	table_put_cell(format_count(metric->readings));
	putchar('\n');
}

/* Counters of the machine during each range of the table. */
static void put_metrics(const struct report *report, const struct tree *tree)
{
	static const char *const columns[] = {"mean", "max", "readings", NULL};
	const struct analysis *analysis = report->analysis;

	if (!analysis->program.range_metrics_count || !report->values->by)
		return;
	table_put_title("METRICS WITHIN RANGES", report_name_width(report, NAME_WIDTH), columns);
	for (const struct analysis_range *range = tree->first; range;
	     range = tree_next(tree, analysis, range)) {
		size_t count;
		const struct analysis_range_metric *metrics =
			analysis_metrics_of(analysis, range, &count);

		if (!count)
			continue;
		put_name(report, tree, range, report_name_width(report, NAME_WIDTH));
		putchar('\n');
		for (size_t i = 0; i < count; i++)
			put_metric(report, &metrics[i]);
	}
}

/* Notes on ranges without an end or without a start. */
static void put_notes(const struct analysis *analysis)
{
	uint64_t open = 0;

	for (size_t i = 0; i < analysis->program.ranges_count; i++)
		open += analysis->program.ranges[i].open;
	if (open)
		printf("  %" PRIu64 " %s without an end: counted to the end of %s thread, process "
		       "or recording\n",
		       open, table_noun(open, "range", "ranges"), table_noun(open, "its", "their"));
	if (analysis->program.ranges_unbegun)
		printf("  %" PRIu64 " %s without a start: in no row\n",
		       analysis->program.ranges_unbegun,
		       table_noun(analysis->program.ranges_unbegun, "range", "ranges"));
}

int report_put_ranges(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const struct report_widths widths =
		report_find_widths(report, (struct report_widths){NAME_WIDTH, NUMBERS}, MIN_NAME);
	struct tree tree;
	size_t shown = 0;

	if (tree_init(&tree, analysis)) {
		tree_fini(&tree);
		return -ENOMEM;
	}
	while (shown < tree.count && !report_is_over_top(report, shown))
		shown++;
	tree_link(&tree, analysis, shown);
	if (shown)
		put_ranges_title(&widths);
	for (const struct analysis_range *range = tree.first; range;
	     range = tree_next(&tree, analysis, range))
		put_range(report, &tree, range, &widths);
	table_put_rest(shown, tree.count, "range", "ranges");
	if (!tree.count && report->values->by)
		report_put_note(report,
				"no ranges were recorded; a program names them by roctx, NVTX, ITT "
				"or libduet, and the collector ranges records them (of a program "
				"that another one starts, roctx needs ranges:roctx)");
	put_notes(analysis);
	put_metrics(report, &tree);
	tree_fini(&tree);
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The names of the range and its parents, the outermost first. */
static void write_path(const struct analysis *analysis, const struct analysis_range *range,
		       const struct analysis_range **around, struct json_writer *json)
{
	size_t count = 0;

	for (; range; range = parent_of(analysis, range))
		around[count++] = range;
	json_pair_array(json, "path");
	while (count)
		json_string(json, around[--count]->name);
	json_array_end(json);
}

static void write_sums(const struct report *report, const struct analysis_range *range,
		       struct json_writer *json)
{
	json_pair_u64(json, "count", range->count);
	json_pair_u64(json, "open", range->open);
	if (range->type == RANGE_MARK)
		return;
	json_pair_u64(json, "total_ns", range->total_ns);
	json_pair_u64(json, "mean_ns", range->total_ns / range->count);
	json_pair_u64(json, "min_ns", range->min_ns);
	json_pair_u64(json, "max_ns", range->max_ns);
	json_pair_u64(json, "self_ns", range->self_ns);
	json_pair_u64(json, "launches", range->within.launches);
	json_pair_u64(json, "device_ns", range->within.device_ns);
	if (report->analysis->program.has_range_idle)
		json_pair_u64(json, "idle_ns", range->idle_ns);
	if (!model_has(report->model, EVENT_CPU_SAMPLE))
		return;
	json_pair_u64(json, "samples", range->within.samples);
	if (range->within.cpu_ns || !range->within.samples)
		json_pair_u64(json, "cpu_ns", range->within.cpu_ns);
}

static void write_metrics(const struct report *report, const struct analysis_range *range,
			  struct json_writer *json)
{
	size_t count;
	const struct analysis_range_metric *metrics =
		analysis_metrics_of(report->analysis, range, &count);

	if (!count)
		return;
	json_pair_array(json, "metrics");
	for (size_t i = 0; i < count; i++) {
		struct unit_shown unit = unit_shown_of(report->model, metrics[i].series);

		json_object_begin(json);
		report_write_series(report, metrics[i].series, json);
		json_pair_text(json, "unit", unit.text);
		json_pair_double(json, "mean", analysis_range_mean(&metrics[i], &unit));
		json_pair_double(json, "max", analysis_range_max(&metrics[i], &unit));
		json_pair_u64(json, "readings", metrics[i].readings);
		json_object_end(json);
	}
	json_array_end(json);
}

static int write_rows(const struct report *report, bool is_by, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	const struct analysis_range **around =
		calloc(analysis->program.ranges_count + 1, sizeof(*around));
	struct tree tree;
	int error = tree_init(&tree, analysis);

	if (!around)
		error = -ENOMEM;
	for (size_t i = 0; i < tree.count && !error && !report_is_over_top(report, i); i++) {
		const struct analysis_range *range = tree.rows[i];

		json_line_begin(json);
		if (is_by)
			json_pair_text(json, "key", range->name);
		else
			json_pair_text(json, "name", range->name);
		json_pair_text(json, "domain", range->domain);
		json_pair_text(json, "type", analysis_range_type(range->type));
		if (range->rank)
			json_pair_u64(json, "rank", range->rank - 1);
		write_path(analysis, range, around, json);
		write_sums(report, range, json);
		write_metrics(report, range, json);
		json_object_end(json);
	}
	tree_fini(&tree);
	free(around);
	return error;
}

int report_write_ranges(const struct report *report, struct json_writer *json)
{
	return write_rows(report, false, json);
}

int report_by_range(const struct report *report, struct json_writer *json)
{
	return json ? write_rows(report, true, json) : report_put_ranges(report);
}

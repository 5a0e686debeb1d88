/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_diff.c - duet diff: the changes between recordings, as an account that adds up
 *
 * Runs in:  our own process
 * Gets:     recordings of two sides
 * Gives:    text or JSON on stdout
 * Owns:     the summaries of the recordings, the comparison
 * Fails:    status 2 for a file that cannot be read, 3 if the recordings cannot be compared
 * Why:      docs/design/compare.md
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/comparison.h"
#include "analyze/compare/match/map.h"
#include "analyze/compare/history/history.h"
#include "base/error.h"
#include "cli/compare/html.h"
#include "cli/compare/pair.h"
#include "cli/compare/series.h"
#include "cli/selection.h"
#include "report/diff/diff.h"
#include "report/terminal.h"

#define DEFAULT_TOP        5
#define DEFAULT_SERIES_TOP 20

struct diff_values {
	const char *by, *per, *range, *map, *device, *confidence, *html;
	uint64_t top;
	bool json, force, series;
	double level; /* --confidence as a part of 1 */
};

static const struct option_row diff_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.diff/1)",
	 offsetof(struct diff_values, json)},
	{"by", 0, OPTION_TEXT, "TABLE",
	 "table instead of the account: kernel, stack, line, queue, range, api, instruction, stall "
	 "or metric",
	 offsetof(struct diff_values, by)},
	{"per", 0, OPTION_TEXT, "UNIT",
	 "means per run, or per iteration, which compares the main loops only (default: run, "
	 "unless "
	 "the numbers of iterations differ by more than 5 %)",
	 offsetof(struct diff_values, per)},
	{"range", 0, OPTION_TEXT, "NAME[:N]",
	 "compare only the N-th range of this name, or iteration:N",
	 offsetof(struct diff_values, range)},
	{"map", 0, OPTION_TEXT, "FILE", "file of 'OLD => NEW' lines that correct the matching",
	 offsetof(struct diff_values, map)},
	{"device", 0, OPTION_TEXT, "D", "only this device: its key, name or number",
	 offsetof(struct diff_values, device)},
	{"top", 0, OPTION_NUMBER, "N", "rows of each table; 0: all (default 5; 20 with --series)",
	 offsetof(struct diff_values, top)},
	{"confidence", 0, OPTION_TEXT, "PERCENT", "confidence of intervals (default 99)",
	 offsetof(struct diff_values, confidence)},
	{"html", 0, OPTION_OUTPUT, "FILE", "write the comparison as a page too",
	 offsetof(struct diff_values, html)},
	{"series", 0, OPTION_FLAG, NULL,
	 "history of all recordings, in the order of their dates; a folder stands for its *.duet",
	 offsetof(struct diff_values, series)},
	{"force", 0, OPTION_FLAG, NULL, "compare recordings that are not comparable",
	 offsetof(struct diff_values, force)},
	{NULL},
};

static bool is_per_iteration(const struct diff_values *values)
{
	return values->per && strcmp(values->per, "iteration") == 0;
}

static int print_comparison(const struct cli_command *command, const struct diff_values *values,
			    enum compare_table by, const struct comparison *comparison)
{
	const struct diff_report report = {.comparison = comparison,
					   .by = by,
					   .range = values->range,
					   .top = values->top,
					   .columns = terminal_columns(),
					   .is_forced = values->force};
	int error;

	progress_stop();
	if (values->html && diff_html_write(command, &report, values->html) != STATUS_DONE)
		return STATUS_FAILED;
	error = values->json ? diff_print_json(&report) : diff_print_text(&report);
	if (error) {
		print_error(command->name, "out of memory");
		return STATUS_FAILED;
	}
	return comparison->is_refused && !values->force ? STATUS_INCONCLUSIVE : STATUS_DONE;
}

static int compare(const struct cli_command *command, const struct diff_values *values,
		   enum compare_table by, const struct compare_pair *pair)
{
	const struct comparison_sides base = compare_sides_of(&pair->base);
	const struct comparison_sides changed = compare_sides_of(&pair->changed);
	struct comparison_options options = {.confidence = values->level,
					     .min_effect = COMPARISON_MIN_EFFECT,
					     .is_per_iteration = pair->is_per_iteration,
					     .tables = by < COMPARE_TABLES ? 1u << by : 0};
	struct match_map *map = NULL;
	struct comparison *comparison = NULL;
	int error, status;

	if (values->map && match_map_read(values->map, &map)) {
		print_error(command->name, NULL);
		return STATUS_USAGE;
	}
	options.map = map;
	error = comparison_new(&base, &changed, &options, &comparison);
	if (error) {
		print_error(command->name, "out of memory");
		status = STATUS_FAILED;
	} else {
		status = print_comparison(command, values, by, comparison);
	}
	comparison_free(comparison);
	match_map_free(map);
	return status;
}

/* The page must not replace a recording. */
static int check_page(const struct cli_command *command, const char *html,
		      const struct compare_files *files)
{
	int error = 0;

	for (size_t i = 0; i < files->base_count && !error; i++)
		error = selection_check_output(html, files->base[i]);
	for (size_t i = 0; i < files->changed_count && !error; i++)
		error = selection_check_output(html, files->changed[i]);
	return error ? print_failure(command) : STATUS_DONE;
}

static int diff_files(const struct cli_command *command, const struct diff_values *values,
		      enum compare_table by, const struct compare_files *files)
{
	const struct sides_request request = {.device = values->device,
					      .range = values->range,
					      .tables = by < COMPARE_TABLES ? 1u << by : 0};
	const enum compare_unit unit = !values->per               ? COMPARE_PER_BEST
				       : is_per_iteration(values) ? COMPARE_PER_ITERATION
								  : COMPARE_PER_RUN;
	struct compare_pair pair;
	int status = check_page(command, values->html, files);

	if (status != STATUS_DONE)
		return status;
	status = compare_pair_read(command, files, &request, unit, &pair);
	if (status == STATUS_DONE)
		status = compare(command, values, by, &pair);
	compare_pair_fini(&pair);
	return status;
}

static int run_series(const struct cli_command *command, const struct diff_values *values,
		      const char *const *operands, int count)
{
	const struct series_request request = {
		.device = values->device,
		.range = values->range,
		.map = values->map,
		.html = values->html,
		.alpha = 1 - values->level,
		.top = values->top == OPTION_UNSET ? DEFAULT_SERIES_TOP : values->top,
		.is_per_iteration = is_per_iteration(values),
		.is_json = values->json};

	if (values->by)
		return usage_error(command, "--series has one table: leave out --by");
	return series_run(command, &request, operands, count);
}

/* ret_by: COMPARE_TABLES without --by. */
static int check_values(const struct cli_command *command, struct diff_values *values,
			enum compare_table *ret_by)
{
	*ret_by = values->by ? compare_table_find(values->by) : COMPARE_TABLES;
	if (values->by && *ret_by == COMPARE_TABLES)
		return usage_error(command,
				   "--by takes kernel, stack, line, queue, range, api, "
				   "instruction, stall or metric, not '%s'",
				   values->by);
	if (values->per && !is_per_iteration(values) && strcmp(values->per, "run") != 0)
		return usage_error(command, "--per takes run or iteration, not '%s'", values->per);
	if (values->range && is_per_iteration(values))
		return usage_error(command, "--per iteration compares all iterations: leave out "
					    "--range");
	values->level = values->series ? 1 - HISTORY_ALPHA : COMPARISON_CONFIDENCE;
	return compare_confidence_parse(command, values->confidence, &values->level);
}

static int run_parsed(const struct cli_command *command, int argc, char **argv,
		      struct compare_files *files)
{
	struct diff_values values = {.top = OPTION_UNSET};
	enum compare_table by;
	int first = options_parse(command, argc, argv, false, &values), status;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	status = check_values(command, &values, &by);
	if (status != STATUS_DONE)
		return status;
	if (values.series && files->changed_count)
		return usage_error(command, "--series has no sides: leave out --new");
	if (values.series)
		return run_series(command, &values, (const char *const *)argv + first,
				  argc - first);
	if (values.top == OPTION_UNSET)
		values.top = DEFAULT_TOP;
	status = compare_files_take(command, files, argc, argv, first);
	return status == STATUS_DONE ? diff_files(command, &values, by, files) : status;
}

static int run_diff(const struct cli_command *command, int argc, char **argv)
{
	struct compare_files files = {0};
	int kept = compare_files_split(&files, argc, argv), status = STATUS_FAILED;

	if (kept < 0)
		print_error(command->name, "out of memory");
	else
		status = run_parsed(command, kept, argv, &files);
	compare_files_fini(&files);
	return finish_output(command->name, status);
}

const struct cli_command command_diff = {
	.name = "diff",
	.arguments = "[options] BASE… --new NEW…",
	.summary = "compare recordings: the changes, as an account that adds up",
	.writes_files = true,
	.reads_trace = true,
	.run = run_diff,
	.options = diff_options,
};

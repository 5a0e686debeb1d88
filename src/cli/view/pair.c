/* SPDX-License-Identifier: MIT
 *
 * cli/view/pair.c - duet view --diff: one page with two runs
 *
 * Runs in:  our own process
 * Gets:     two trace files
 * Gives:    an HTML file with both timelines and the account of the difference
 * Owns:     the comparison, both runs
 * Fails:    status 3 if the recordings cannot be compared; otherwise as duet view and duet diff
 * Why each trace is read twice: the comparison reads runs one after the other, as duet diff does,
 *           so the numbers of the page are exactly those of duet diff.
 */
#include "cli/view/pair.h"

#include <string.h>

#include "analyze/analysis.h"
#include "analyze/compare/comparison.h"
#include "analyze/compare/match/map.h"
#include "base/error.h"
#include "base/format.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/compare/pair.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/view/run.h"
#include "page/pair/pair.h"
#include "page/view/view.h"
#include "report/diff/diff.h"
#include "report/diff/page.h"

struct two_runs {
	const struct view_pair_request *request;
	const struct comparison *comparison;
	struct view_run base, changed;
};

/* ---- the page -------------------------------------------------------------------------------- */

static int write_comparison(void *context, struct json_writer *json)
{
	const struct two_runs *runs = context;
	const struct diff_report report = {.comparison = runs->comparison,
					   .by = COMPARE_TABLES,
					   .is_forced = runs->request->is_forced};

	diff_write_page(&report, json);
	return json_error(json);
}

static int write_page(void *context, FILE *out)
{
	struct two_runs *runs = context;
	struct view_about base, changed;
	const struct pair_page page = {
		.base = {runs->base.view, runs->base.analysis, &base},
		.changed = {runs->changed.view, runs->changed.analysis, &changed},
		.write_comparison = write_comparison,
		.context = runs,
	};

	view_run_describe(&runs->base, NULL, VIEW_MAX_BYTES / 2, &base);
	view_run_describe(&runs->changed, runs->request->title, VIEW_MAX_BYTES / 2, &changed);
	base.prefix = PAIR_BASE_PREFIX;
	return pair_write(&page, out);
}

static int make_page(struct two_runs *runs)
{
	int error = view_run_analyze(&runs->base);

	if (!error)
		error = view_run_analyze(&runs->changed);
	return error ? error : output_write(runs->request->output, write_page, runs);
}

static void init_run(struct view_run *run, const struct view_pair_request *request,
		     const char *path)
{
	*run = (struct view_run){.path = path,
				 .output = request->output,
				 .to_ns = UINT64_MAX,
				 .full_names = request->full_names};
}

static int show_runs(const struct cli_command *command, struct two_runs *runs)
{
	const struct view_pair_request *request = runs->request;
	int error = make_page(runs);

	if (output_is_cut(request->output, error))
		return STATUS_DONE;
	if (error) {
		if (!*error_text())
			error_set(error, "view '%s' and '%s': %s", request->base, request->changed,
				  strerror(-error));
		return print_failure(command);
	}
	view_run_print_notes(command, &runs->base);
	view_run_print_notes(command, &runs->changed);
	output_announce(
		request->output, "timelines of %s and %s",
		format_duration(runs->base.analysis->to_ns - runs->base.analysis->from_ns).text,
		format_duration(runs->changed.analysis->to_ns - runs->changed.analysis->from_ns)
			.text);
	return STATUS_DONE;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static int refuse(const struct cli_command *command, const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->notes_count; i++) {
		if (comparison->notes[i].weight == NOTE_REFUSAL)
			print_error(command->name, comparison->notes[i].text);
	}
	print_error(command->name, "not comparable: no page written; --force writes it");
	return STATUS_INCONCLUSIVE;
}

static int show_comparison(const struct cli_command *command,
			   const struct view_pair_request *request,
			   const struct comparison *comparison)
{
	struct two_runs runs = {.request = request, .comparison = comparison};
	int status;

	if (comparison->is_refused && !request->is_forced)
		return refuse(command, comparison);
	init_run(&runs.base, request, request->base);
	init_run(&runs.changed, request, request->changed);
	status = show_runs(command, &runs);
	view_run_fini(&runs.base);
	view_run_fini(&runs.changed);
	return status;
}

static int compare(const struct cli_command *command, const struct view_pair_request *request,
		   const struct compare_pair *pair)
{
	const struct comparison_sides base = compare_sides_of(&pair->base);
	const struct comparison_sides changed = compare_sides_of(&pair->changed);
	struct comparison_options options = {.min_effect = COMPARISON_MIN_EFFECT,
					     .is_per_iteration = pair->is_per_iteration,
					     .confidence = COMPARISON_CONFIDENCE};
	struct match_map *map = NULL;
	struct comparison *comparison = NULL;
	int status = STATUS_FAILED;

	if (request->map && match_map_read(request->map, &map)) {
		print_error(command->name, NULL);
		return STATUS_USAGE;
	}
	options.map = map;
	if (comparison_new(&base, &changed, &options, &comparison))
		print_error(command->name, "out of memory");
	else
		status = show_comparison(command, request, comparison);
	comparison_free(comparison);
	match_map_free(map);
	return status;
}

int view_pair_show(const struct cli_command *command, const struct view_pair_request *request)
{
	const char *base = request->base, *changed = request->changed;
	const struct compare_files files = {&base, &changed, 1, 1};
	struct compare_pair pair;
	int status;

	if (selection_check_output(request->output, request->base) ||
	    selection_check_output(request->output, request->changed))
		return print_failure(command);
	status = compare_pair_read(command, &files, &(struct sides_request){0}, COMPARE_PER_BEST,
				   &pair);
	if (status == STATUS_DONE)
		status = compare(command, request, &pair);
	compare_pair_fini(&pair);
	return status;
}

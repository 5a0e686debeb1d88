/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_view.c - duet view: one HTML page with timeline, flame graphs, tables and findings
 *
 * Runs in:  our own process
 * Gets:     a trace file
 * Gives:    an HTML file that needs no network and no server
 * Owns:     the run
 * Fails:    with a message and the statuses of the other verbs; the page of a damaged trace shows
 *           a warning
 * Why two kinds of page in one verb: a page of two runs shows the same things as that of one
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/view/pair.h"
#include "cli/view/run.h"
#include "page/view/view.h"

struct view_values {
	const char *output, *title;
	uint64_t from_ns, to_ns;
	const char *base, *map;
	bool full_names, force;
};

static const struct option_row view_rows[] = {
	{"output", 'o', OPTION_TEXT, "FILE",
	 "output file, - for stdout (default: the trace's name with .html)",
	 offsetof(struct view_values, output)},
	OPTION_WINDOW(struct view_values),
	{"title", 0, OPTION_TEXT, "TEXT", "title of the page", offsetof(struct view_values, title)},
	{"full-names", 0, OPTION_FLAG, NULL, "show kernels with their full C++ names",
	 offsetof(struct view_values, full_names)},
	{"diff", 0, OPTION_TEXT, "BASE",
	 "show FILE below the recording BASE, with the account of the difference between them",
	 offsetof(struct view_values, base)},
	{"map", 0, OPTION_TEXT, "MAP",
	 "with --diff: file of 'OLD => NEW' lines that correct the matching",
	 offsetof(struct view_values, map)},
	{"force", 0, OPTION_FLAG, NULL, "with --diff: show recordings that are not comparable",
	 offsetof(struct view_values, force)},
	{NULL},
};

/* One page. */
struct page {
	const struct view_values *values;
	struct view_run run;
};

static int write_page(void *context, FILE *out)
{
	struct page *page = context;
	struct view_about about;

	view_run_describe(&page->run, page->values->title, VIEW_MAX_BYTES, &about);
	return view_write(page->run.view, page->run.analysis, &about, out);
}

static int make_page(const struct cli_command *command, struct page *page)
{
	struct view_run *run = &page->run;
	int error = selection_check_output(run->output, run->path), status;

	if (!error)
		error = view_run_analyze(run);
	if (!error) {
		status = selection_check_window(command, run->from_ns,
						run->analysis->end_ns - run->analysis->begin_ns);
		if (status != STATUS_DONE)
			return status;
		error = output_write(run->output, write_page, page);
	}
	if (output_is_cut(run->output, error))
		return STATUS_DONE;
	if (error) {
		if (!*error_text())
			error_set(error, "view '%s': %s", run->path, strerror(-error));
		return print_failure(command);
	}
	view_run_print_notes(command, run);
	output_announce(run->output, "timeline of %s",
			format_duration(run->analysis->to_ns - run->analysis->from_ns).text);
	return STATUS_DONE;
}

static int show_run(const struct cli_command *command, const struct view_values *values,
		    const char *path, const char *output)
{
	struct page page = {.values = values,
			    .run = {.path = path,
				    .output = output,
				    .from_ns = values->from_ns,
				    .to_ns = values->to_ns,
				    .full_names = values->full_names}};
	int status = make_page(command, &page);

	view_run_fini(&page.run);
	return status;
}

static int show(const struct cli_command *command, const struct view_values *values,
		const char *path, const char *output)
{
	const struct view_pair_request request = {.base = values->base,
						  .changed = path,
						  .output = output,
						  .title = values->title,
						  .map = values->map,
						  .full_names = values->full_names,
						  .is_forced = values->force};

	return values->base ? view_pair_show(command, &request)
			    : show_run(command, values, path, output);
}

/* Returns STATUS_DONE, or STATUS_USAGE with a message. */
static int check_values(const struct cli_command *command, const struct view_values *values)
{
	if (values->output && !*values->output)
		return usage_error(command, "--output needs a file name");
	if (values->to_ns < values->from_ns)
		return usage_error(command, "--to is before --from");
	if (!values->base && (values->map || values->force))
		return usage_error(command, "--map and --force need --diff BASE");
	if (values->base && (values->from_ns || values->to_ns != UINT64_MAX))
		return usage_error(command, "--diff shows whole recordings: leave out --from and "
					    "--to");
	return STATUS_DONE;
}

static int run_view(const struct cli_command *command, int argc, char **argv)
{
	struct view_values values = {.to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values), status;
	const char *path, *output;
	auto_free char *made = NULL;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	status = check_values(command, &values);
	if (status != STATUS_DONE)
		return status;
	path = first < argc ? argv[first] : SELECTION_FILE;
	made = output_beside(path, ".html");
	if (!made)
		return print_failure(command);
	output = values.output ? values.output : made;
	status = show(command, &values, path, strcmp(output, "-") == 0 ? NULL : output);
	return finish_output(command->name, status);
}

const struct cli_command command_view = {
	.name = "view",
	.arguments = "[options] [FILE]",
	.summary = "write one HTML page with timeline, flame graphs, tables and findings",
	.writes_files = true,
	.reads_trace = true,
	.run = run_view,
	.options = view_rows,
	.remote = &(const struct remote_way){.kind = REMOTE_WRITE, .output = ".html"},
};

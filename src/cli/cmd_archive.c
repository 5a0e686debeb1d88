/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_archive.c - keep the symbol files of this machine with a trace
 *
 * Runs in:  our own process
 * Gets:     a trace file   Gives: FILE.symbols, which the other verbs find by themselves
 * Owns:     nothing
 * Fails:    with a message and the statuses of the other verbs; a file that is gone is told and is no failure
 * Why:      names are looked up when a report is made: on another machine, or after the next build, the files
 *           they come from are others
 */
#include "cli/archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/selection.h"
#include "cli/table.h"

static const struct option_row archive_options[] = {{NULL}};

static void say_missing(void *context, const char *path)
{
	(void)context;
	fprintf(stderr, "duet archive: '%s' is not here any more, or is another file now\n",
		format_text(path).text);
}

static int run_archive(const struct command *command, int argc, char **argv)
{
	struct archive_result result;
	char none;
	int first = options_parse(command, argc, argv, false, &none);
	const char *trace;
	int error;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	trace = first < argc ? argv[first] : SELECTION_FILE;
	error = archive_trace(trace, say_missing, NULL, &result);
	if (error) {
		selection_explain(trace, error);
		print_error(command->name, NULL);
		return STATUS_FAILED;
	}
	printf("%zu files (%s) copied to %s.symbols, %zu there already, %zu missing\n",
	       result.copied, format_size((double)result.bytes).text, trace, result.kept,
	       result.missing);
	return finish_output(command->name, STATUS_DONE);
}

const struct command command_archive = {
	.name = "archive",
	.arguments = "[FILE]",
	.summary = "keep the symbol files of this machine with a trace",
	.writes_files = true,
	.run = run_archive,
	.options = archive_options,
};

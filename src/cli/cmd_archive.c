/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_archive.c - duet archive: copy the symbol files of this machine beside a trace
 *
 * Runs in:  our own process
 * Gets:     a trace file
 * Gives:    the folder FILE.symbols, which the other commands of duet search automatically
 * Owns:     nothing
 * Fails:    with a message and the statuses of the other verbs; a missing file is only reported
 * Why:      symbols are looked up when a report is made. At that time the trace may be on another
 *           machine, or the program may have been rebuilt
 */
#include "cli/archive.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/format.h"
#include "cli/command.h"
#include "cli/selection.h"
#include "report/terminal.h"

static const struct option_row archive_options[] = {{NULL}};

static void print_missing(void *context, const char *path)
{
	progress_stop();
	fprintf(stderr, "duet archive: '%s' was removed or replaced since the recording\n",
		format_text(path).text);
}

static int run_archive(const struct cli_command *command, int argc, char **argv)
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
	error = archive_trace(trace, print_missing, NULL, &result);
	if (error) {
		selection_explain(trace, error);
		return print_failure(command);
	}
	progress_stop();
	printf("%zu files (%s) copied to %s.symbols, %zu were already there, %zu missing\n",
	       result.copied, format_size((double)result.bytes).text, trace, result.kept,
	       result.missing);
	return finish_output(command->name, STATUS_DONE);
}

const struct cli_command command_archive = {
	.name = "archive",
	.arguments = "[FILE]",
	.summary = "copy this machine's symbol files beside a trace",
	.writes_files = true,
	.reads_trace = true,
	.run = run_archive,
	.options = archive_options,
};

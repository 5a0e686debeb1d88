/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_import.c - duet import: convert another program's recordings into a trace
 *
 * Runs in:  our own process
 * Gets:     foreign files of one job and their format
 * Gives:    a trace, which every other command of duet accepts
 * Owns:     nothing
 * Fails:    an unknown format is a usage error that lists the formats. A file that is invalid or
 * that no importer recognizes is status 1; the message contains the place, the expected and the
 * found text, and no trace is written Why left-out rows are reported on stderr: the user must learn
 * that the trace does not contain the whole file Why the data that the format lacks are listed: the
 * report of an imported trace has gaps that duet's own recordings do not have, and readers must not
 * take the gaps for results
 */
#include "cli/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/selection.h"
#include "import/importer.h"
#include "report/table.h"
#include "report/terminal.h"

struct import_values {
	const char *format, *output;
};

static const struct option_row import_options[] = {
	{"format", 'f', OPTION_TEXT, "NAME",
	 "input format: one of the list below (default auto: by content)",
	 offsetof(struct import_values, format)},
	{"output", 'o', OPTION_OUTPUT, "FILE", "trace file to write (default " SELECTION_FILE ")",
	 offsetof(struct import_values, output)},
	{NULL},
};

static int wrong_format(const struct cli_command *command, const char *name)
{
	char list[512] = "auto";
	size_t used = strlen(list);

	for (size_t i = 0; importers[i] && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, ", %s",
					 importers[i]->name);
	return usage_error(command, "unknown import format '%s'; formats are: %s", name, list);
}

/* Prints each note on a line. */
static void print_notes(char *notes)
{
	char *rest = notes, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			printf("%s\n", format_text(line).text);
}

static void print_faults(const struct cli_command *command, char *faults)
{
	char *rest = faults, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			print_error(command->name, line);
}

static int import_all(const struct cli_command *command, const struct importer *importer,
		      char *const *paths, size_t count, const char *output)
{
	struct import_result result = {0};
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = selection_check_output(output, paths[i]);
	if (!error)
		error = import_files(importer, paths, count, output, &result);
	if (error)
		return print_failure(command);
	progress_stop();
	printf("%" PRIu64 " %s in %s\n", result.rows, table_noun(result.rows, "row", "rows"),
	       format_text(output).text);
	print_faults(command, result.faults);
	print_notes(result.notes);
	free(result.faults);
	free(result.notes);
	return finish_output(command->name, STATUS_DONE);
}

static int run_import(const struct cli_command *command, int argc, char **argv)
{
	struct import_values values = {.format = "auto", .output = SELECTION_FILE};
	int first = options_parse(command, argc, argv, false, &values);
	const struct importer *importer;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc == first)
		return usage_error(command, "name the FILE to import");
	importer = importer_find(values.format);
	if (!importer && strcmp(values.format, "auto") != 0)
		return wrong_format(command, values.format);
	return import_all(command, importer, argv + first, (size_t)(argc - first), values.output);
}

/* Printed after the options in --help, in 80 columns. */
static void print_formats(void)
{
	size_t used = 80;

	printf("\nformats:");
	for (size_t i = 0; importers[i]; i++) {
		const size_t length = strlen(importers[i]->name) + 2;

		if (used + length > 79) {
			printf("\n ");
			used = 1;
		}
		used += (size_t)printf(" %s%s", importers[i]->name, importers[i + 1] ? "," : "");
	}
	printf("\n");
}

const struct cli_command command_import = {
	.name = "import",
	.arguments = "[--format NAME] [-o FILE] FILE...",
	.summary = "convert another program's recordings into a trace",
	.writes_files = true,
	.reads_trace = true,
	.run = run_import,
	.options = import_options,
	.print_more_help = print_formats,
};

/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_import.c - make a trace of what another program recorded
 *
 * Runs in:  our own process
 * Gets:     a foreign file and its format   Gives: a trace, on which every other verb works
 * Owns:     nothing
 * Fails:    an unknown format is wrong usage with the list of those that exist; a file that is not of its format is
 *           status 1, with where, what was expected and what was found, and leaves no trace behind
 * Why on stderr what of the file was left out: it is a fault, and the trace is not all that the file was
 * Why it says what the file lacks: a report of it has gaps that no recording of duet's has, and whoever reads it
 *           should not take them for an answer
 */
#include "cli/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/selection.h"
#include "cli/table.h"
#include "import/importer.h"

struct import_values {
	const char *format, *output;
};

static const struct option_row import_options[] = {
	{"format", 'f', OPTION_TEXT, "NAME",
	 "which format: folded, perf-script, chrome, rocm-trace-lite, iaprof",
	 offsetof(struct import_values, format)},
	{"output", 'o', OPTION_OUTPUT, "FILE", "the trace to write (default " SELECTION_FILE ")",
	 offsetof(struct import_values, output)},
	{NULL},
};

static int wrong_format(const struct command *command, const char *name)
{
	char list[512] = "";
	size_t used = 0;

	for (size_t i = 0; importers[i] && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 importers[i]->name);
	if (!name)
		return usage_error(command, "name the format with --format; there are: %s", list);
	return usage_error(command, "there is no format '%s' to import; there are: %s", name, list);
}

/* Each has its line. */
static void print_notes(char *notes)
{
	char *rest = notes, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			printf("%s\n", format_text(line).text);
}

static void print_faults(const struct command *command, char *faults)
{
	char *rest = faults, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			print_error(command->name, line);
}

static int import_one(const struct command *command, const struct importer *importer,
		      const char *path, const char *output)
{
	struct import_result result = {0};
	int error = selection_check_output(output, path);

	if (!error)
		error = import_file(importer, path, output, &result);
	if (error) {
		print_error(command->name, NULL);
		return STATUS_FAILED;
	}
	printf("%" PRIu64 " %s in %s\n", result.rows, table_noun(result.rows, "row", "rows"),
	       format_text(output).text);
	print_faults(command, result.faults);
	print_notes(result.notes);
	free(result.faults);
	free(result.notes);
	return finish_output(command->name, STATUS_DONE);
}

static int run_import(const struct command *command, int argc, char **argv)
{
	struct import_values values = {.output = SELECTION_FILE};
	int first = options_parse(command, argc, argv, false, &values);
	const struct importer *importer;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first != 1)
		return usage_error(command, argc == first ? "name the FILE to import"
							  : "one FILE at a time");
	importer = values.format ? importer_find(values.format) : NULL;
	if (!importer)
		return wrong_format(command, values.format);
	return import_one(command, importer, argv[first], values.output);
}

const struct command command_import = {
	.name = "import",
	.arguments = "--format NAME [-o FILE] FILE",
	.summary = "make a trace of what another program recorded",
	.writes_files = true,
	.run = run_import,
	.options = import_options,
};

/* SPDX-License-Identifier: MIT
 *
 * cli/compare/gate_output.c - writes the result of a gate to stdout and to files of other tools
 *
 * Runs in:  our own process
 * Gets:     a report, and the outputs that the command line names
 * Gives:    text or JSON on stdout, and files
 * Owns:     files until they are complete
 * Fails:    STATUS_USAGE with a message
 * Why the files come before the text: if a file cannot be written, the text does not claim a result
 *           that the exit status denies
 */
#include "cli/compare/gate_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "report/gate/gate.h"
#include "report/terminal.h"

#define GITHUB "github"
#define GITLAB "gitlab:"

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static bool is_github(const struct gate_outputs *outputs)
{
	return outputs->annotations && strcmp(outputs->annotations, GITHUB) == 0;
}

/* The file of GitLab's annotations; NULL: none. */
static const char *gitlab_file(const struct gate_outputs *outputs)
{
	const char *annotations = outputs->annotations;

	return annotations && strncmp(annotations, GITLAB, strlen(GITLAB)) == 0
		       ? annotations + strlen(GITLAB)
		       : NULL;
}

enum { FILES = 3 };

/* The files; NULL: not wanted, or stdout. */
static void list_files(const struct gate_outputs *outputs, const char *ret_files[FILES])
{
	ret_files[0] = outputs->junit;
	ret_files[1] = outputs->markdown;
	ret_files[2] = gitlab_file(outputs);
	for (size_t i = 0; i < FILES; i++)
		if (is_stdout(ret_files[i]))
			ret_files[i] = NULL;
}

/* The folder and the last part of a path, in which ret_name points into it. */
static int stat_folder(const char *path, struct stat *ret_folder, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	*ret_name = slash ? slash + 1 : path;
	return folder ? stat(folder, ret_folder) : -1;
}

/* Whether two paths name one file, also one that is not there yet. Devices take any number. */
static bool is_one_file(const char *left, const char *right)
{
	struct stat first, second;
	const char *left_name, *right_name;

	if (stat(left, &first) == 0 && stat(right, &second) == 0)
		return S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
		       first.st_ino == second.st_ino;
	if (stat_folder(left, &first, &left_name) < 0 ||
	    stat_folder(right, &second, &right_name) < 0)
		return strcmp(left, right) == 0;
	return first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
	       strcmp(left_name, right_name) == 0;
}

static int check_files(const struct cli_command *command, const struct gate_outputs *outputs)
{
	const char *files[FILES];

	list_files(outputs, files);
	for (size_t i = 0; i < FILES; i++)
		for (size_t k = 0; k < i; k++)
			if (files[i] && files[k] && is_one_file(files[i], files[k]))
				return usage_error(command,
						   "two outputs go to '%s': name another file",
						   files[i]);
	return STATUS_DONE;
}

int gate_outputs_check_input(const struct cli_command *command, const struct gate_outputs *outputs,
			     const char *path)
{
	const char *files[FILES];

	list_files(outputs, files);
	for (size_t i = 0; i < FILES; i++)
		if (selection_check_output(files[i], path)) {
			print_error(command->name, NULL);
			return STATUS_USAGE;
		}
	return STATUS_DONE;
}

int gate_outputs_check(const struct cli_command *command, const struct gate_outputs *outputs)
{
	const char *gitlab = gitlab_file(outputs);
	const int others = outputs->json + is_stdout(outputs->junit) +
			   is_stdout(outputs->markdown) + is_stdout(gitlab);

	if (outputs->annotations && !is_github(outputs) && (!gitlab || !*gitlab))
		return usage_error(command, "--annotations takes github or gitlab:FILE, not '%s'",
				   outputs->annotations);
	if (others > 1 || (others && is_github(outputs)))
		return usage_error(command,
				   "only one of --json, --junit -, --markdown - and --annotations "
				   "can be on stdout; write the others to files");
	return check_files(command, outputs);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct gate_writing {
	const struct gate_report *report;
	int (*write)(const struct gate_report *report, FILE *out);
};

static int write_report(void *context, FILE *out)
{
	const struct gate_writing *writing = context;

	return writing->write(writing->report, out);
}

static int write_file(const struct cli_command *command, const char *path,
		      struct gate_writing writing)
{
	int error;

	if (!path)
		return STATUS_DONE;
	error = output_write(is_stdout(path) ? NULL : path, write_report, &writing);
	if (!error)
		return STATUS_DONE;
	if (!*error_text())
		error_set(error, "write '%s': %s", path, strerror(-error));
	print_error(command->name, NULL);
	return STATUS_USAGE;
}

static int write_stdout(const struct cli_command *command, const struct gate_outputs *outputs,
			const struct gate_report *report)
{
	if (is_stdout(outputs->junit) || is_stdout(outputs->markdown) ||
	    is_stdout(gitlab_file(outputs)))
		return STATUS_DONE;
	if (outputs->json && gate_print_json(report)) {
		print_error(command->name, "the JSON document could not be written");
		return STATUS_USAGE;
	}
	if (!outputs->json)
		gate_print_text(report);
	if (is_github(outputs))
		gate_print_github(report);
	return STATUS_DONE;
}

int gate_outputs_write(const struct cli_command *command, const struct gate_outputs *outputs,
		       const struct gate_report *report)
{
	int status;

	progress_stop();
	status = write_file(command, outputs->junit,
			    (struct gate_writing){report, gate_write_junit});
	if (status == STATUS_DONE)
		status = write_file(command, outputs->markdown,
				    (struct gate_writing){report, gate_write_markdown});
	if (status == STATUS_DONE)
		status = write_file(command, gitlab_file(outputs),
				    (struct gate_writing){report, gate_write_gitlab});
	return status == STATUS_DONE ? write_stdout(command, outputs, report) : status;
}

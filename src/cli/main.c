/* SPDX-License-Identifier: MIT
 *
 * cli/main.c - the table of verbs, and the exit of the program
 *
 * Runs in:  our own process
 * Gets:     the command line
 * Gives:    the exit status of the command it names
 * Owns:     nothing
 * Fails:    a usage error is status 2 and lists the verbs
 * Why:      the table is explicit, so `duet --help` lists exactly the linked verbs, in the order of
 *           use
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file/unfinished.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/remote/remote.h"
#include "report/table.h"
#include "report/terminal.h"

struct verb {
	const char *name;
	const struct cli_command *command;
};

static const struct verb verbs[] = {
	{"record", &command_record},
	{"report", &command_report},
	{"top", &command_top},
	{"export", &command_export},
	{"info", &command_info},
	{"list", &command_list},
	{"doctor", &command_doctor},
	{"install", &command_install},
	{"agent", &command_agent},
	{"flame", &command_flame},
	{"flamescope", &command_flamescope},
	{"view", &command_view},
	{"diff", &command_diff},
	{"gate", &command_gate},
	{"archive", &command_archive},
	{"import", &command_import},
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (strcmp(verbs[i].name, name) == 0)
			return verbs[i].command;
	}
	return NULL;
}

static void print_usage(FILE *file)
{
	fprintf(file, "usage: duet VERB [options] [FILE]\n"
		      "       duet -- PROGRAM [ARGUMENT ...]    record, then report\n"
		      "\nverbs:\n");
	for (size_t i = 0; i < VERB_COUNT; i++)
		fprintf(file, "  %-10s %s\n", verbs[i].name, verbs[i].command->summary);
	fprintf(file, "\n'duet VERB --help' prints the options of a verb; "
		      "'duet --version' prints the version.\n"
		      "Manual pages: 'man duet-VERB'; before 'make install' "
		      "'man -l build/docs/man/duet-VERB.1'.\n");
}

static bool is_executable(const char *folder, size_t length, const char *name)
{
	struct stat status;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s%s%s", (int)length, folder, length ? "/" : "", name);
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Whether a shell would find a program of this name. */
static bool is_program(const char *word)
{
	const char *path = getenv("PATH");

	if (strchr(word, '/'))
		return is_executable("", 0, word);
	while (path && *path) {
		size_t length = strcspn(path, ":");

		if (length && is_executable(path, length, word))
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

/* The user forgot the "--": prints the corrected command line. */
static int no_verb_but_program(int argc, char **argv)
{
	fprintf(stderr, "duet: '%s' is a program, not a verb; to record and report it: duet --",
		argv[0]);
	for (int i = 0; i < argc; i++)
		fprintf(stderr, " %s", format_text(argv[i]).text);
	fprintf(stderr, "\n");
	return STATUS_USAGE;
}

static int unknown_verb(const char *word)
{
	const char *near = suggest_name(word, verbs, VERB_COUNT, sizeof(verbs[0]));

	fprintf(stderr, "duet: unknown verb '%s'", format_text(word).text);
	if (near)
		fprintf(stderr, "; did you mean '%s'?", near);
	fprintf(stderr, "\nVerbs:");
	for (size_t i = 0; i < VERB_COUNT; i++)
		fprintf(stderr, " %s", verbs[i].name);
	fprintf(stderr, "\n");
	return STATUS_USAGE;
}

static int run_help(int argc, char **argv)
{
	char option[] = "--help";
	char *help[] = {argc > 1 ? argv[1] : NULL, option, NULL};
	const struct cli_command *command;

	if (argc < 2) {
		print_usage(stdout);
		return STATUS_DONE;
	}
	command = find_command(argv[1]);
	return command ? command->run(command, 2, help) : unknown_verb(argv[1]);
}

/* argv[0] is "--". Each command gets its own vector, because option parsing may reorder it. */
static int record_and_report(int argc, char **argv)
{
	const struct cli_command *record = find_command("record"), *report = find_command("report");
	char name[] = "report";
	char *arguments[] = {name, NULL};
	int status;
	bool recorded;

	if (!record || !report)
		return unknown_verb("--");
	if (argc < 2)
		return usage_error(NULL, "'--' needs a program to run");
	/* argv - 1 is duet's own name instead of "record"; record does not read it. */
	status = record_program(record, argc + 1, argv - 1, &recorded);
	if (!recorded)
		return status;
	error_forget_memory();             /* the trace contains the recorder's failures */
	report->run(report, 1, arguments); /* report prints its own errors */
	return status;
}

static int run(int argc, char **argv)
{
	const struct cli_command *command;
	int status;

	if (argc < 2) {
		print_usage(stderr);
		return STATUS_USAGE;
	}
	if (strcmp(argv[1], "--") == 0)
		return record_and_report(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0) {
		printf("duet %s\n", DUET_VERSION);
		return STATUS_DONE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return run_help(argc - 1, argv + 1);
	if (argv[1][0] == '-')
		return usage_error(NULL, "unknown option '%s' before the verb", argv[1]);
	command = find_command(argv[1]);
	if (command && remote_run(command, argc - 1, argv + 1, &status))
		return status;
	if (command && command->writes_files)
		unfinished_catch_signals();
	if (command && command->reads_trace)
		progress_start(command->name);
	if (command)
		return command->run(command, argc - 1, argv + 1);
	return is_program(argv[1]) ? no_verb_but_program(argc - 1, argv + 1)
				   : unknown_verb(argv[1]);
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	return status == STATUS_DONE ? finish_output(NULL, status) : status;
}

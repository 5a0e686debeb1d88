/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_remote.c - command lines with --host, archives, versions of glibc
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/string.h"
#include "cli/remote/arguments.h"
#include "cli/remote/glibc.h"
#include "cli/remote/tar.h"

static const struct option_row rows[] = {{"output", 'o', OPTION_TEXT, "FILE", NULL, 0},
					 {"config", 'c', OPTION_TEXT, "FILE", NULL, 0},
					 {"archive", 0, OPTION_SWITCH, NULL, NULL, 0},
					 {"verbose", 'v', OPTION_FLAG, NULL, NULL, 0},
					 {"frequency", 'F', OPTION_NUMBER, "HZ", NULL, 0},
					 {NULL}};

/* The verb prints nothing here: the test asks which word it would explain. */
static int run_verb(const struct cli_command *command, int argc, char **argv)
{
	return STATUS_USAGE;
}

static const struct remote_way ways[] = {{.kind = REMOTE_RECORD, .stops_at_operand = true},
					 {.kind = REMOTE_PRINT}};
static const struct cli_command record = {
	.name = "record", .run = run_verb, .options = rows, .remote = &ways[0]};
static const struct cli_command report = {
	.name = "report", .run = run_verb, .options = rows, .remote = &ways[1]};

/* The words for the other side, each followed by a space, with a | before the operands; or the
 * refused word behind a '!'. */
static const char *split(const struct cli_command *command, struct remote_arguments *arguments,
			 const char *line)
{
	static char text[512], words[512]; /* the arguments point into the words */
	char *argv[32] = {"verb"}, *rest = NULL, *refused;
	int argc = 1, status;

	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	text[0] = '\0';
	if (!remote_arguments_read(arguments, command, argc, argv, &refused, &status)) {
		snprintf(text, sizeof(text), "!%s", refused ? refused : "");
		return text;
	}
	for (size_t i = 0; i <= arguments->count; i++) {
		if (i == arguments->options_count)
			strcat(text, "|");
		if (i < arguments->count)
			strcat(strcat(text, arguments->words[i]), " ");
	}
	return text;
}

#define CHECK_SPLIT(command, line, want) CHECK_TEXT(split(&command, &arguments, line), want)

TEST(options_of_this_side_are_taken_out)
{
	struct remote_arguments arguments;

	CHECK_SPLIT(record, "--host m -o x -vF 5 -- prog --host y -o z",
		    "--verbose --frequency=5 |prog --host y -o z ");
	CHECK_TEXT(arguments.values.host, "m");
	CHECK_TEXT(arguments.output, "x");
	CHECK(arguments.has_target && !arguments.has_archive);
	remote_arguments_fini(&arguments);
	CHECK_SPLIT(record, "-vox --no-archive -cfile --ssh=a=b prog -v",
		    "--verbose --no-archive |prog -v ");
	CHECK_TEXT(arguments.values.ssh, "a=b");
	CHECK_TEXT(arguments.output, "x");
	CHECK_TEXT(arguments.config, "file");
	CHECK(arguments.has_archive && arguments.values.host == NULL);
	remote_arguments_fini(&arguments);
	CHECK_SPLIT(record, "--frequency --host m", "--frequency=--host |m ");
	remote_arguments_fini(&arguments);
	CHECK_SPLIT(report, "file -v --host m -- -v", "--verbose |file -v ");
	CHECK_TEXT(arguments.trace, "file");
	remote_arguments_fini(&arguments);
	CHECK_SPLIT(record, "-- -- x", "|-- x ");
	remote_arguments_fini(&arguments);
	CHECK_SPLIT(record, "--host m --forget-bundle", "|");
	CHECK(arguments.values.forget_bundle && !arguments.has_target);
	remote_arguments_fini(&arguments);
}

TEST(mistakes_are_left_to_the_verb)
{
	struct remote_arguments arguments;

	CHECK_SPLIT(record, "--host m --nothing prog", "!--nothing");
	CHECK_SPLIT(record, "--host m -vx prog", "!-vx");
	CHECK_SPLIT(record, "--host", "!--host");
	CHECK_SPLIT(record, "-o", "!-o");
	CHECK_SPLIT(record, "--verbose=yes", "!--verbose=yes");
	CHECK_SPLIT(record, "--no-verbose", "!--no-verbose");
	CHECK_SPLIT(record, "--host m -h", "!-h");
}

TEST(an_archive_is_what_tar_reads)
{
	struct string_builder tar = {0};
	char folder[] = "/tmp/test_remote.XXXXXX", path[64], command[256], *bytes = NULL;
	FILE *file;

	CHECK_EQUAL(tar_append(&tar, "a/b", 0755, "text", 4, NULL), 0);
	CHECK_EQUAL(tar_append(&tar, "a/link", 0777, "", 0, "b"), 0);
	tar_end(&tar);
	CHECK_EQUAL(tar.length, 512 * 5);
	CHECK(tar_append(&tar, memset((char[102]){0}, 'x', 101), 0644, "", 0, NULL) != 0);
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/tar", folder);
	file = fopen(path, "w");
	CHECK(file && fwrite(tar.text, 1, tar.length, file) == tar.length && fclose(file) == 0);
	snprintf(command, sizeof(command),
		 "cd %s && tar -xf tar && test -x a/b -a -L a/link && cat a/link >out", folder);
	CHECK_EQUAL(system(command), 0);
	snprintf(path, sizeof(path), "%s/out", folder);
	CHECK_EQUAL(read_file(path, 0, &bytes, NULL), 0);
	CHECK_TEXT(bytes ? bytes : "", "text");
	free(bytes);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQUAL(system(command), 0);
	string_builder_fini(&tar);
}

TEST(versions_of_glibc)
{
	char *bytes = NULL;
	size_t size = 0;

	CHECK_EQUAL(glibc_parse("ldd (Debian GLIBC 2.36-9+deb12u10) 2.36"), 36);
	CHECK_EQUAL(glibc_parse("ldd (GNU libc) 2.28"), 28);
	CHECK_EQUAL(glibc_parse("glibc 2.9"), 9);
	CHECK_EQUAL(glibc_parse("musl libc (x86_64) 2.1"), 0);
	CHECK_EQUAL(glibc_parse(""), 0);
	CHECK_EQUAL(read_file("/proc/self/exe", 0, &bytes, &size), 0);
	/* __libc_start_main is older than duet on every platform, and newer than 2.0. */
	CHECK(glibc_needed(bytes, size) >= 2);
	CHECK_EQUAL(glibc_needed(bytes, 100), 0);
	CHECK_EQUAL(glibc_needed("#!/bin/sh", 9), 0);
	free(bytes);
}

int main(void)
{
	RUN(options_of_this_side_are_taken_out);
	RUN(mistakes_are_left_to_the_verb);
	RUN(an_archive_is_what_tar_reads);
	RUN(versions_of_glibc);
	return harness_end();
}

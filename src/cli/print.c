/* SPDX-License-Identifier: MIT
 *
 * cli/print.c - error messages of all verbs on stderr, and the final check of stdout
 *
 * Runs in:  our own process
 * Gets:     texts and the error chain
 * Gives:    lines on stderr, an exit status
 * Owns:     nothing
 * Fails:    finish_output turns an incomplete stdout and a failed allocation into STATUS_FAILED; a
 *           reader that closes the pipe is not a failure
 * Why:      stdio keeps the last 4096 bytes until exit, so "duet list > /dev/full" would exit with
 *           0 unless the final flush is checked
 */
#include "cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "report/terminal.h"

/* Prints a message with control characters escaped: its paths and names may come from a trace and
 * could contain terminal commands. */
static void put_message(const char *text)
{
	char piece[2048];

	fputs(string_make_printable(text, piece, sizeof(piece)), stderr);
}

void print_error(const char *verb, const char *text)
{
	bool chain = !text;

	if (chain)
		text = error_text();
	if (!*text)
		text = "failed without a reason (this is a bug in duet)";
	progress_stop();
	fflush(stdout);
	fprintf(stderr, "duet%s%s: ", verb ? " " : "", verb ? verb : "");
	put_message(text);
	/* the failed function may report another reason although memory ran out */
	if (error_had_no_memory() && !strstr(text, "out of memory"))
		fputs(" (out of memory)", stderr);
	putc('\n', stderr);
	if (chain)
		error_clear();
}

int print_failure(const struct cli_command *command)
{
	print_error(command->name, NULL);
	return STATUS_FAILED;
}

int usage_error(const struct cli_command *command, const char *format, ...)
{
	const char *verb = command ? command->name : NULL;
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	print_error(verb, text);
	fprintf(stderr, "Try 'duet%s%s --help'.\n", verb ? " " : "", verb ? verb : "");
	return STATUS_USAGE;
}

int finish_output(const char *verb, int status)
{
	char text[256];
	bool failed_before = ferror(stdout);

	progress_stop();
	if (verb && status != STATUS_FAILED && error_had_no_memory()) {
		print_error(verb, "out of memory: the output is not complete");
		status = STATUS_FAILED;
	}
	/* the failed write has been reported */
	if (failed_before && status == STATUS_FAILED)
		return status;
	errno = 0;
	if (fflush(stdout) == 0 && !failed_before)
		return status;
	if (errno == EPIPE)
		return status;
	snprintf(text, sizeof(text), "cannot write all of the output: %s",
		 errno ? strerror(errno) : "an earlier write failed");
	print_error(verb, text);
	return STATUS_FAILED;
}

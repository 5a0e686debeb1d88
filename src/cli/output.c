/* SPDX-License-Identifier: MIT
 *
 * cli/output.c - the file that a verb writes: its name by default, and what is said of it
 *
 * Runs in:  our own process
 * Gets:     a name and who writes   Gives: a file that is whole, or says that it is not
 * Owns:     the open file for the time of a call
 * Fails:    -errno with a text
 */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/string.h"
#include "cli/table.h"

char *output_beside(const char *trace, const char *end)
{
	static const char own[] = ".duet";
	size_t length = strlen(trace);
	char *output;

	if (strlen(path_base(trace)) > strlen(own) &&
	    strcmp(trace + length - strlen(own), own) == 0)
		length -= strlen(own);
	if (asprintf(&output, "%.*s%s", (int)length, trace, end) >= 0)
		return output;
	error_set(-ENOMEM, "name a file beside '%s': out of memory", trace);
	return NULL;
}

int output_write(const char *path, int (*write)(void *context, FILE *out), void *context)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int error;

	if (!out)
		return create_refused(path);
	error = write(context, out);
	if (path && error && ferror(out))
		error_note(error, "'%s' is not whole", path);
	if (path && fclose(out) && !error)
		error = error_set(-errno, "write '%s': %s", path, strerror(errno));
	if (path && !error && isatty(STDERR_FILENO))
		fprintf(stderr, "duet: wrote %s\n", format_text(path).text);
	return error;
}

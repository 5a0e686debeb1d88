/* SPDX-License-Identifier: MIT
 *
 * cli/output.c - write a verb's output file: default name, temporary file, message
 *
 * Runs in:  our own process
 * Gets:     a name and a callback that writes
 * Gives:    a complete file, or an error
 * Owns:     the open file during a call
 * Fails:    -errno with a text
 * Why a temporary file: a run that fails must not leave an empty file or destroy the good file of
 *           an earlier run
 */
#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file/output_file.h"
#include "base/file/unfinished.h"
#include "base/io.h"
#include "base/format.h"
#include "base/string.h"
#include "report/terminal.h"

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
	error_set(-ENOMEM, "out of memory while making a file name from '%s'", trace);
	return NULL;
}

/* ---- a file that is complete or absent ---- */

/* Gives the new file the mode of the file that it replaces, otherwise the default mode. */
static void copy_mode(int fd, const struct stat *existing)
{
	mode_t mask;

	if (existing) {
		fchmod(fd, existing->st_mode & 0777);
		return;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

/* existing: the file at the path; NULL: none. */
static int open_part(struct whole_file *output, const struct stat *existing)
{
	const struct output_place *place = &output->place;
	int fd, error = unfinished_create(place->above, place->name, &output->part, &fd);

	if (error) {
		/* the file is writable, but its folder is not: write in place */
		if (existing && (error == -EACCES || error == -EROFS || error == -EPERM))
			return 0;
		errno = -error;
		return create_refused(output->path);
	}
	copy_mode(fd, existing);
	output->file = fdopen(fd, "w");
	if (output->file)
		return 0;
	close(fd);
	unfinished_finish(place->above, output->part, NULL);
	return error_set(-ENOMEM, "write '%s': out of memory", output->path);
}

int whole_file_open(struct whole_file *output, const char *path)
{
	struct stat about;
	bool exists;
	int error = 0;

	*output = (struct whole_file){.path = path, .file = path ? NULL : stdout};
	if (!path)
		return 0;
	error = output_place_open(path, &output->place);
	if (error)
		return error;
	/* Checked once. If another user puts a link there afterwards, rename replaces it and does
	 * not follow it. */
	exists = output_place_find(&output->place, &about);
	if (output_place_is_replaceable(&output->place, exists ? &about : NULL))
		error = open_part(output, exists ? &about : NULL);
	if (!error && !output->file)
		output->file = output_file_stream(path, &error);
	if (!error)
		return 0;
	free(output->part);
	output_place_close(&output->place);
	return error;
}

int whole_file_close(struct whole_file *output, int error)
{
	int renamed;

	if (!output->path)
		return error;
	if (error && !output->part && ferror(output->file))
		error_note(error, "'%s' is incomplete", output->path);
	if (fclose(output->file) && !error)
		error = error_set(-errno, "write '%s': %s", output->path, strerror(errno));
	if (output->part) {
		renamed = unfinished_finish(output->place.above, output->part,
					    error ? NULL : output->place.name);
		if (renamed)
			error = error_set(renamed, "write '%s': %s", output->path,
					  strerror(-renamed));
	}
	free(output->part);
	output_place_close(&output->place);
	return error;
}

int output_write(const char *path, int (*write)(void *context, FILE *out), void *context)
{
	struct whole_file output;
	int error = whole_file_open(&output, path);

	if (error)
		return error;
	return whole_file_close(&output, write(context, output.file));
}

void output_announce(const char *path, const char *format, ...)
{
	struct stat about;
	char text[256];
	va_list arguments;

	if (!path || !isatty(STDERR_FILENO))
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	progress_stop();
	fprintf(stderr, "duet: wrote %s", format_text(path).text);
	if (stat(path, &about) == 0 && S_ISREG(about.st_mode))
		fprintf(stderr, " (%s)", format_size((double)about.st_size).text);
	fprintf(stderr, ": %s\n", text);
}

bool output_is_cut(const char *path, int error)
{
	if (path || error != -EPIPE)
		return false;
	clearerr(stdout);
	error_clear();
	return true;
}

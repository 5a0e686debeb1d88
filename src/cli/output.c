/* SPDX-License-Identifier: MIT
 *
 * cli/output.c - the file that a verb writes: its name by default, and what is said of it
 *
 * Runs in:  our own process
 * Gets:     a name and who writes   Gives: a file that is whole, or says that it is not
 * Owns:     the open file for the time of a call
 * Fails:    -errno with a text
 * Why a part: a run that fails must not leave an empty file, nor destroy the good one of a run before
 */
#include "cli/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/output_file.h"
#include "base/string.h"
#include "base/unfinished.h"
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

/* ---- a file that is whole or not there ---- */

/* What lies at the path itself; a link is not followed. */
struct place {
	struct stat about;
	bool exists;
};

/* Whether a new file may take the name: it is free, or has a regular file of the user's own, with one name, whose owner and
 * group the new one can have. Anything else is written in place: links, pipes, devices, files of others. */
static bool is_replaceable(const char *path, const struct place *place)
{
	const struct stat *about = &place->about;

	if (output_file_is_descriptor(path))
		return false;
	return !place->exists ||
	       (S_ISREG(about->st_mode) && about->st_nlink == 1 && about->st_uid == geteuid() &&
		about->st_gid == getegid() && access(path, W_OK) == 0);
}

/* As the file that is replaced, or as one that is made now. */
static void copy_mode(int fd, const struct place *place)
{
	mode_t mask;

	if (place->exists) {
		fchmod(fd, place->about.st_mode & 0777);
		return;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

static int open_part(struct whole_file *output, const struct place *place)
{
	int fd, error = unfinished_create(output->path, &output->part, &fd);

	if (error) {
		/* a file that may be written in a folder that may not */
		if (place->exists && (error == -EACCES || error == -EROFS || error == -EPERM))
			return 0;
		errno = -error;
		return create_refused(output->path);
	}
	copy_mode(fd, place);
	output->file = fdopen(fd, "w");
	if (output->file)
		return 0;
	close(fd);
	unfinished_finish(output->part, NULL);
	return error_set(-ENOMEM, "write '%s': out of memory", output->path);
}

int whole_file_open(struct whole_file *output, const char *path)
{
	struct place place;
	int error = 0;

	*output = (struct whole_file){.path = path, .file = path ? NULL : stdout};
	if (!path)
		return 0;
	/* One look decides. What another user puts there afterwards is replaced by the rename, and not followed. */
	place.exists = lstat(path, &place.about) == 0;
	if (is_replaceable(path, &place))
		error = open_part(output, &place);
	if (!error && !output->file)
		output->file = output_file_stream(path, &error);
	if (error)
		free(output->part);
	return error;
}

int whole_file_close(struct whole_file *output, int error)
{
	int renamed;

	if (!output->path)
		return error;
	if (error && !output->part && ferror(output->file))
		error_note(error, "'%s' is not whole", output->path);
	if (fclose(output->file) && !error)
		error = error_set(-errno, "write '%s': %s", output->path, strerror(errno));
	if (output->part) {
		renamed = unfinished_finish(output->part, error ? NULL : output->path);
		if (renamed)
			error = error_set(renamed, "write '%s': %s", output->path,
					  strerror(-renamed));
	}
	free(output->part);
	return error;
}

int output_write(const char *path, int (*write)(void *context, FILE *out), void *context)
{
	struct whole_file output;
	int error = whole_file_open(&output, path);

	if (error)
		return error;
	error = whole_file_close(&output, write(context, output.file));
	if (path && !error && isatty(STDERR_FILENO))
		fprintf(stderr, "duet: wrote %s\n", format_text(path).text);
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * import/part.c - the temporary file that an import writes until its trace is complete
 *
 * Runs in:  our own process
 * Gets:     the path of a trace
 * Gives:    a file in the same folder, which replaces the output at the end
 * Owns:     the temporary file; while it is copied, also the output, which is locked
 * Fails:    -errno with a text. The output then has its old content, unless the copy itself fails
 *           after its disk space was reserved.
 * Why a temporary file: a failed import leaves the old trace unchanged.
 * Why not always a rename: it would replace a symbolic link, separate one of several hard links, or
 *           change the group of a file. The inode of such a file is kept and the temporary file is
 *           copied into it. The disk space is reserved first, and signals are blocked until the
 *           copy is complete.
 */
#include "import/part.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file/copy.h"
#include "base/file/output_file.h"
#include "base/file/unfinished.h"
#include "base/string.h"

/* ---- opening ---- */

static bool is_folder_refused(int error)
{
	return error == -EACCES || error == -EPERM || error == -EROFS;
}

/* The writer opens the part by its path. It refuses links of other users, too. */
static int set_path(struct import_part *part)
{
	const char *name = path_base(part->output);
	int length = part->above >= 0 ? (int)(name - part->output) : 0;

	if (asprintf(&part->path, "%.*s%s", length, part->output, part->name) >= 0)
		return 0;
	part->path = NULL;
	unfinished_finish(part->above, part->name, NULL);
	close(part->fd);
	free(part->name);
	return -ENOMEM;
}

static int create(struct import_part *part, int above, const char *path)
{
	int error = unfinished_create(above, path, &part->name, &part->fd);

	part->above = above;
	return error ? error : set_path(part);
}

/* Creates the part beside the file to which the output's link leads, or in the folder for temporary
 * files if that folder is not writable. */
static int make_beside_target(struct import_part *part)
{
	const char *temporary = getenv("TMPDIR");
	char *path = realpath(part->output, NULL);
	int error = path ? create(part, AT_FDCWD, path) : -errno;

	free(path);
	if (!is_folder_refused(error))
		return error;
	if (asprintf(&path, "%s/duet-import", temporary && *temporary ? temporary : "/tmp") < 0)
		return -ENOMEM;
	error = create(part, AT_FDCWD, path);
	free(path);
	return error;
}

static int lock_target(const struct import_part *part)
{
	struct stat about;

	if (fstat(part->target, &about))
		return error_set(-errno, "stat '%s': %s", part->output, strerror(errno));
	if (!S_ISREG(about.st_mode))
		return error_set(-EINVAL,
				 "'%s' is not a regular file: choose another name for the trace",
				 part->output);
	if (flock(part->target, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return error_set(-EBUSY,
				 "'%s' is in use by another recording of duet; choose another "
				 "name or stop that recording",
				 part->output);
	return 0;
}

static void close_target(struct import_part *part, bool is_kept)
{
	if (part->made && !is_kept)
		unlink(part->made);
	if (part->made)
		unfinished_forget(AT_FDCWD, part->made);
	free(part->made);
	close(part->target);
}

static int open_for_copy(struct import_part *part)
{
	bool is_new = false;
	int error;

	part->target = output_file_open(part->output, O_WRONLY, 0600, &is_new);
	if (part->target < 0)
		return part->target;
	part->made = is_new ? realpath(part->output, NULL) : NULL;
	if (part->made)
		unfinished_watch(AT_FDCWD, part->made);
	error = lock_target(part);
	if (!error) {
		error = make_beside_target(part);
		if (error)
			error_set(error, "write beside '%s': %s", part->output, strerror(-error));
	}
	if (error)
		close_target(part, false);
	return error;
}

static int open_in_place(struct import_part *part)
{
	const char *output = part->output;
	struct stat named, followed;
	bool exists = output_place_find(&part->place, &named);
	int error;

	if (stat(output, &followed) == 0 && !S_ISREG(followed.st_mode))
		return error_set(-EINVAL,
				 "'%s' is not a regular file: choose another name for the trace",
				 output);
	if (!output_place_is_replaceable(&part->place, exists ? &named : NULL))
		return open_for_copy(part);
	error = create(part, part->place.above, part->place.name);
	if (exists && is_folder_refused(error))
		return open_for_copy(part);
	return error ? error_set(error, "write beside '%s': %s", output, strerror(-error)) : 0;
}

int import_part_open(struct import_part *part, const char *output)
{
	int error;

	*part = (struct import_part){.output = output, .fd = -1, .target = -1};
	error = output_place_open(output, &part->place);
	if (error)
		return error;
	error = open_in_place(part);
	if (error)
		output_place_close(&part->place);
	return error;
}

/* ---- closing ---- */

/* If the file system does not reserve space in advance, a write fails when it is full. */
static int take_room(int fd, off_t before, off_t size)
{
	int error;

	if (size <= 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size) == 0)
		return 0;
	error = -errno;
	if (error == -EOPNOTSUPP || error == -ENOSYS)
		return 0;
	if (ftruncate(fd, before)) {
		/* some of the reserved space remains allocated */
	}
	return error;
}

static int copy_part(const struct import_part *part)
{
	struct stat from, to;
	uint64_t bytes;
	int error;

	if (fstat(part->fd, &from) || fstat(part->target, &to))
		return error_set(-errno, "stat '%s': %s", part->output, strerror(errno));
	error = take_room(part->target, to.st_size, from.st_size);
	if (error)
		return error_set(error, "write '%s': %s", part->output, strerror(-error));
	/* only its owner may read a trace: writer.c */
	if (to.st_uid == geteuid() && (to.st_mode & 07777) != 0600)
		fchmod(part->target, 0600);
	error = copy_content(part->fd, part->target, part->output, UINT64_MAX, &bytes);
	if (!error && ftruncate(part->target, (off_t)bytes))
		error = error_set(-errno, "write '%s': %s", part->output, strerror(errno));
	return error ? error_note(error, "'%s' is incomplete", part->output) : 0;
}

static int finish_copy(struct import_part *part, int error)
{
	sigset_t before;

	unfinished_block_signals(&before);
	if (!error)
		error = copy_part(part);
	close_target(part, !error);
	unfinished_finish(part->above, part->name, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static int finish_rename(struct import_part *part, int error)
{
	int renamed = unfinished_finish(part->above, part->name, error ? NULL : part->place.name);

	return renamed ? error_set(renamed, "write '%s': %s", part->output, strerror(-renamed))
		       : error;
}

int import_part_close(struct import_part *part, int error)
{
	error = part->target < 0 ? finish_rename(part, error) : finish_copy(part, error);
	close(part->fd);
	free(part->path);
	free(part->name);
	output_place_close(&part->place);
	return error;
}

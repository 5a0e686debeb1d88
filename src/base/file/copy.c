/* SPDX-License-Identifier: MIT
 *
 * base/file/copy.c - copy files together with their modification time
 *
 * Runs in:  the recorder, and all commands that read a trace, any thread; no state
 * Gets:     an open file, a path below a folder
 * Gives:    a file of the same bytes and time at the path
 * Owns:     PATH.part until it is complete
 * Fails:    -errno with the path; a copy that failed is removed
 * Why:      a program without a build id is identified by size and modification time. A rebuilt
 *           program often has another size, but not always. So a copy must keep the modification
 *           time
 */
#include "base/file/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/output_file.h"
#include "base/file/unfinished.h"
#include "base/io.h"

int copy_content(int from, int to, const char *path, uint64_t max_bytes, uint64_t *ret_bytes)
{
	char buffer[65536];
	uint64_t at = 0;
	ssize_t got = 0;

	while (at < max_bytes) {
		uint64_t left = max_bytes - at;
		size_t wanted = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
		int error;

		got = pread(from, buffer, wanted, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		error = write_all(to, buffer, (size_t)got);
		if (error)
			return error_set(error, "write '%s': %s", path, strerror(-error));
		at += (uint64_t)got;
	}
	*ret_bytes = at;
	return got < 0 ? error_set(-errno, "read for '%s': %s", path, strerror(errno)) : 0;
}

/* Last: each write changes the time. */
static int keep_time(int from, int to, const char *path)
{
	struct stat about;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

	if (fstat(from, &about) == 0) {
		times[1] = about.st_mtim;
		if (futimens(to, times) == 0)
			return 0;
	}
	return error_set(-errno, "time of '%s': %s", path, strerror(errno));
}

/* A copy in progress; shown: the folder and the path, for messages. */
struct copy {
	int from, above;
	char part[NAME_MAX + 8], shown[PATH_MAX];
	mode_t mode;
	uint64_t max_bytes;
};

static int fill_part(const struct copy *copy, uint64_t *ret_bytes)
{
	int out, error;

	/* a new file: the existing one may be a link of another user */
	unlinkat(copy->above, copy->part, 0);
	out = openat(copy->above, copy->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     copy->mode);
	if (out < 0)
		return error_set(-errno, "write '%s': %s", copy->shown, strerror(errno));
	error = copy_content(copy->from, out, copy->shown, copy->max_bytes, ret_bytes);
	if (!error)
		error = keep_time(copy->from, out, copy->shown);
	if (close(out) < 0 && !error)
		error = error_set(-errno, "write '%s': %s", copy->shown, strerror(errno));
	return error;
}

static int copy_into(const struct copy *copy, const char *name, uint64_t *ret_bytes)
{
	uint64_t bytes = 0;
	int error;

	unfinished_watch(copy->above, copy->part);
	error = fill_part(copy, &bytes);
	if (!error && renameat(copy->above, copy->part, copy->above, name) < 0)
		error = error_set(-errno, "rename '%s.part': %s", copy->shown, strerror(errno));
	unfinished_forget(copy->above, copy->part);
	if (error)
		unlinkat(copy->above, copy->part, 0);
	else
		*ret_bytes = bytes;
	return error;
}

int copy_file(int from, struct output_folder *folder, const char *path, mode_t mode,
	      uint64_t max_bytes, uint64_t *ret_bytes)
{
	char name[NAME_MAX + 1];
	auto_close int above = output_folder_enter(folder, path, true, name);
	struct copy copy = {.from = from, .above = above, .mode = mode, .max_bytes = max_bytes};

	if (above < 0)
		return output_folder_fail(folder, path, above);
	snprintf(copy.part, sizeof(copy.part), "%s.part", name);
	snprintf(copy.shown, sizeof(copy.shown), "%s/%s", folder->path, path);
	return copy_into(&copy, name, ret_bytes);
}

bool copy_is_there(int from, struct output_folder *folder, const char *path)
{
	struct stat left, right;

	return fstat(from, &left) == 0 && output_folder_find(folder, path, &right) &&
	       S_ISREG(right.st_mode) && left.st_size == right.st_size &&
	       left.st_mtim.tv_sec == right.st_mtim.tv_sec &&
	       left.st_mtim.tv_nsec == right.st_mtim.tv_nsec;
}

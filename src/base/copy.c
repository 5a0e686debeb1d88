/* SPDX-License-Identifier: MIT
 *
 * base/copy.c - copies of files that can be told from copies of other files
 *
 * Runs in:  the recorder and the readers, any thread; no state
 * Gets:     an open file, a path   Gives: a file of the same bytes and time at the path
 * Owns:     PATH.part until it is whole
 * Fails:    -errno with the path; nothing of a copy that failed is left
 * Why:      a program without build id that is built again mostly has another size, but not always: its time of
 *           modification is what is left to tell the two apart, so that a copy keeps it
 */
#include "base/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/unfinished.h"

static int copy_bytes(int from, int to, const char *path, uint64_t most_bytes, uint64_t *ret_bytes)
{
	char buffer[65536];
	uint64_t at = 0;
	ssize_t got = 0;

	while (at < most_bytes) {
		uint64_t left = most_bytes - at;
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

/* Last: each write sets it anew. */
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

int copy_file(int from, char *to, mode_t mode, uint64_t most_bytes, uint64_t *ret_bytes)
{
	char part[PATH_MAX + 8];
	uint64_t bytes = 0;
	int out, error = make_folders_of(to);

	if (error)
		return error;
	snprintf(part, sizeof(part), "%s.part", to);
	unfinished_watch(part);
	/* anew: what lies there may be a link of another user */
	unlink(part);
	out = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (out < 0) {
		error = error_set(-errno, "write '%s': %s", part, strerror(errno));
		unfinished_forget(part);
		return error;
	}
	error = copy_bytes(from, out, part, most_bytes, &bytes);
	if (!error)
		error = keep_time(from, out, part);
	if (close(out) < 0 && !error)
		error = error_set(-errno, "write '%s': %s", part, strerror(errno));
	if (!error && rename(part, to) < 0)
		error = error_set(-errno, "rename '%s': %s", part, strerror(errno));
	unfinished_forget(part);
	if (error)
		unlink(part);
	else
		*ret_bytes = bytes;
	return error;
}

bool copy_is_there(int from, const char *to)
{
	struct stat left, right;

	return fstat(from, &left) == 0 && stat(to, &right) == 0 && S_ISREG(right.st_mode) &&
	       left.st_size == right.st_size && left.st_mtim.tv_sec == right.st_mtim.tv_sec &&
	       left.st_mtim.tv_nsec == right.st_mtim.tv_nsec;
}

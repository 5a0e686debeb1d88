/* SPDX-License-Identifier: MIT
 *
 * base/file/regular_file.c - open regular files whose paths come from other users
 *
 * Runs in:  the recorder, and all commands that read a trace, any thread; no state
 * Gets:     a path from a process, a trace or a folder of another user
 * Gives:    a descriptor for reading
 * Owns:     nothing that outlives a call
 * Fails:    -errno
 * Why:      open(2) of a FIFO waits until another process writes, and open(2) of some devices acts
 *           on them (tapes, watchdogs). O_PATH does neither. The type is checked on that
 *           descriptor, and the same inode is opened through /proc/self/fd, so a file that another
 *           user exchanges in between is not opened.
 */
#include "base/file/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int regular_file_open(const char *path)
{
	auto_close int place = open(path, O_PATH | O_CLOEXEC);
	struct stat about;
	char link[32];
	int fd;

	if (place < 0 || fstat(place, &about) < 0)
		return -errno;
	if (!S_ISREG(about.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

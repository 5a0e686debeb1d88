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
 *           on them (tapes, watchdogs). An open with O_PATH does neither. The type is checked on
 *           the O_PATH descriptor, and the same inode is opened through /proc/self/fd, so a file
 *           that another user exchanges in between is not opened.
 */
#include "base/file/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { MAX_RACES = 8 };

/* place: a descriptor with O_PATH. */
static int open_place(int place)
{
	struct stat about;
	char link[32];
	int fd;

	if (fstat(place, &about) < 0)
		return -errno;
	if (!S_ISREG(about.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int regular_file_open(const char *path)
{
	auto_close int place = open(path, O_PATH | O_CLOEXEC);

	return place < 0 ? -errno : open_place(place);
}

int regular_file_open_in(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	auto_close int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	/* a folder was renamed or mounted meanwhile */
	for (int i = 0; i < MAX_RACES && place < 0 && errno == EAGAIN; i++)
		place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	/* seccomp filters of some containers refuse unknown calls with EPERM */
	if (place < 0 && (errno == ENOSYS || errno == EPERM))
		place = openat(root, path + strspn(path, "/"), O_PATH | O_CLOEXEC);
	return place < 0 ? -errno : open_place(place);
}

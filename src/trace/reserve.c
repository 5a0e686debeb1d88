/* SPDX-License-Identifier: MIT
 *
 * trace/reserve.c - disk space that is kept for the end of a file
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     the file's path; gives the space back when the file is closed
 * Owns:     a file without a name in the same folder
 * Fails:    quietly: a file system without such files or without space keeps no reserve
 * Why:      a disk that fills takes some kinds of rows and not others, and a trace that cannot say what
 *           is missing shows commands that ended as still in flight. 64 KiB are room for the loss rows,
 *           the last descriptions and the index of some hundred chunks; a second file, because blocks
 *           behind the end of the first go with its next ftruncate.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "trace/writer_private.h"

enum { RESERVE_BYTES = 64 << 10 };

/* No more than a quarter of what is there: the rows come first. */
static off_t affordable_bytes(int fd)
{
	struct statvfs about;
	uint64_t most;

	if (fstatvfs(fd, &about) < 0)
		return 0;
	most = (uint64_t)about.f_bavail * about.f_frsize / 4;
	return most < RESERVE_BYTES ? (off_t)most : RESERVE_BYTES;
}

void reserve_take(struct trace_writer *writer)
{
	char link[64], folder[PATH_MAX];
	off_t size = affordable_bytes(writer->fd);
	ssize_t length;

	if (!writer->is_regular || writer->reserve_fd >= 0 || !size)
		return;
	/* where the file is, which a link to it does not tell */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", writer->fd);
	length = readlink(link, folder, sizeof(folder) - 1);
	folder[length > 0 ? length : 0] = '\0';
	if (folder[0] != '/')
		return;
	strrchr(folder, '/')[1] = '\0';
	writer->reserve_fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC | O_EXCL, 0600);
	if (writer->reserve_fd >= 0 && fallocate(writer->reserve_fd, 0, 0, size) < 0)
		reserve_release(writer);
}

void reserve_release(struct trace_writer *writer)
{
	if (writer->reserve_fd >= 0)
		close(writer->reserve_fd);
	writer->reserve_fd = -1;
}

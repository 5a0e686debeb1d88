/* SPDX-License-Identifier: MIT
 *
 * trace/reserve.c - disk space that is kept free for the end of a file
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     the file's path; frees the reserved space when the file is closed
 * Owns:     an unnamed file (O_TMPFILE) in the same folder
 * Fails:    silently: no reserve is kept if the file system has no unnamed files or no space
 * Why:      a full disk loses rows of some kinds and not of others. Without the final loss rows a
 *           trace would show commands that ended as still in flight. 64 KiB hold the loss rows, the
 *           last descriptions and the index of some hundred chunks. The reserve is a second file
 *           because the next ftruncate frees blocks that are allocated beyond the end of the trace
 *           file.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "trace/writer_private.h"

enum { RESERVE_BYTES = 64 << 10 };

/* At most a quarter of the free space: rows come first. */
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
	off_t size = affordable_bytes(writer->file.fd);
	ssize_t length;

	if (!writer->file.is_regular || writer->file.reserve_fd >= 0 || !size)
		return;
	/* the folder of the file itself; the given path may be a symbolic link */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", writer->file.fd);
	length = readlink(link, folder, sizeof(folder) - 1);
	folder[length > 0 ? length : 0] = '\0';
	if (folder[0] != '/')
		return;
	strrchr(folder, '/')[1] = '\0';
	writer->file.reserve_fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC | O_EXCL, 0600);
	if (writer->file.reserve_fd >= 0 && fallocate(writer->file.reserve_fd, 0, 0, size) < 0)
		reserve_release(writer);
}

void reserve_release(struct trace_writer *writer)
{
	if (writer->file.reserve_fd >= 0)
		close(writer->file.reserve_fd);
	writer->file.reserve_fd = -1;
}

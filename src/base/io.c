/* SPDX-License-Identifier: MIT
 *
 * base/io.c - whole reads and whole writes
 *
 * Runs in:  the recorder, and all commands that read a trace, any thread; no state
 * Gets:     descriptors and paths
 * Gives:    bytes
 * Owns:     nothing that outlives a call; returned buffers are the caller's
 * Fails:    -errno; a write that fails half-way has written an unknown part
 * Why no fstat in read_fd: files of /proc have size 0 and a log grows while it is read. Reading
 *           until the end, doubling from 4 KiB, is right for all of them
 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#define READ_FIRST ((size_t)4096)

/* offset NULL: at the descriptor's own position. */
static int write_from(int fd, const char *bytes, size_t size, const uint64_t *offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t written =
			offset ? pwrite(fd, bytes + done, size - done, (off_t)(*offset + done))
			       : write(fd, bytes + done, size - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		done += (size_t)written;
	}
	return 0;
}

static int read_to(int fd, char *bytes, size_t size, const uint64_t *offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = offset ? pread(fd, bytes + done, size - done, (off_t)(*offset + done))
				     : read(fd, bytes + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		done += (size_t)got;
	}
	return 0;
}

int write_all(int fd, const void *bytes, size_t size)
{
	return write_from(fd, bytes, size, NULL);
}

int pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset)
{
	return write_from(fd, bytes, size, &offset);
}

int read_all(int fd, void *bytes, size_t size)
{
	return read_to(fd, bytes, size, NULL);
}

int pread_all(int fd, void *bytes, size_t size, uint64_t offset)
{
	return read_to(fd, bytes, size, &offset);
}

/* Doubles *bytes; room for a NUL is always kept. */
static int double_buffer(char **bytes, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity * 2 : READ_FIRST;
	char *moved = wanted > *capacity ? realloc(*bytes, wanted) : NULL;

	if (!moved)
		return -ENOMEM;
	*bytes = moved;
	*capacity = wanted;
	return 0;
}

int read_fd(int fd, size_t max_size, char **ret_bytes, size_t *ret_size)
{
	auto_free char *bytes = NULL;
	size_t size = 0, capacity = 0;
	ssize_t got;

	do {
		if (size + 1 >= capacity && double_buffer(&bytes, &capacity))
			return -ENOMEM;
		got = read(fd, bytes + size, capacity - size - 1);
		if (got < 0 && errno != EINTR)
			return -errno;
		size += got > 0 ? (size_t)got : 0;
		if (max_size && size > max_size)
			return -EFBIG;
	} while (got != 0);
	bytes[size] = '\0';
	*ret_bytes = take_ptr(bytes);
	if (ret_size)
		*ret_size = size;
	return 0;
}

int read_file(const char *path, size_t max_size, char **ret_bytes, size_t *ret_size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int error;

	if (fd < 0)
		return error_set(-errno, "open '%s': %s", path, strerror(errno));
	error = read_fd(fd, max_size, ret_bytes, ret_size);
	if (error)
		return error_set(error, "read '%s': %s", path, strerror(-error));
	return 0;
}

int create_refused(const char *path)
{
	int error = -errno;
	const char *slash = strrchr(path, '/');
	auto_free char *folder =
		slash && slash != path ? strndup(path, (size_t)(slash - path)) : NULL;

	if (error == -ENOENT && folder && access(folder, F_OK))
		return error_set(error, "create '%s': %s: make the folder '%s' first", path,
				 strerror(-error), folder);
	return error_set(error, "create '%s': %s", path, strerror(-error));
}

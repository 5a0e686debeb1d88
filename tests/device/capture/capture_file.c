/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_file.c - writes capture files
 *
 * Runs in:  the captured program (capture_agent.c) and the sampling programs beside it
 * Gets:     chunks in parts   Gives: one file
 * Owns:     its descriptor
 * Fails:    by writing no more; what was written stays readable
 */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct capture_file {
	pthread_mutex_t lock;
	int descriptor; /* -1: the disk is full */
};

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t capture_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static bool write_all(int descriptor, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t written = write(descriptor, at, bytes);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += written;
		bytes -= (size_t)written;
	}
	return true;
}

int capture_open(const char *path, const char *what, uint32_t cupti_version,
		 uint32_t driver_version, struct capture_file **ret_file)
{
	struct capture_header header = {.magic = CAPTURE_MAGIC,
					.header_bytes = sizeof(header),
					.pid = (uint32_t)getpid(),
					.cupti_version = cupti_version,
					.driver_version = driver_version,
					.monotonic_ns = capture_now_ns(),
					.realtime_ns = read_clock(CLOCK_REALTIME)};
	struct capture_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	pthread_mutex_init(&file->lock, NULL);
	snprintf(header.what, sizeof(header.what), "%s", what);
	file->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file->descriptor < 0 || !write_all(file->descriptor, &header, sizeof(header))) {
		int error = errno;

		if (file->descriptor >= 0)
			close(file->descriptor);
		free(file);
		return -error;
	}
	*ret_file = file;
	return 0;
}

void capture_write(struct capture_file *file, enum capture_type type, uint32_t number,
		   const struct capture_part *parts, uint32_t count)
{
	static const char zeros[8];
	struct capture_chunk chunk = {
		.type = type, .number = number, .monotonic_ns = capture_now_ns()};
	off_t begin;
	bool written;

	if (!file)
		return;
	for (uint32_t i = 0; i < count; i++)
		chunk.bytes += parts[i].bytes;
	pthread_mutex_lock(&file->lock);
	begin = lseek(file->descriptor, 0, SEEK_CUR);
	written = write_all(file->descriptor, &chunk, sizeof(chunk));
	for (uint32_t i = 0; i < count; i++)
		written = written && write_all(file->descriptor, parts[i].data, parts[i].bytes);
	written = written && write_all(file->descriptor, zeros, -chunk.bytes & 7);
	if (!written && file->descriptor >= 0) {
		if (ftruncate(file->descriptor, begin) != 0)
			begin = 0;
		close(file->descriptor);
		file->descriptor = -1;
	}
	pthread_mutex_unlock(&file->lock);
}

void capture_fact(struct capture_file *file, const char *key, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	int used, more;

	if (!file)
		return;
	used = snprintf(line, sizeof(line), "%s=", key);
	va_start(arguments, format);
	more = vsnprintf(line + used, sizeof(line) - (size_t)used, format, arguments);
	va_end(arguments);
	used = used + more < (int)sizeof(line) - 1 ? used + more : (int)sizeof(line) - 2;
	for (int i = 0; i < used; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	line[used++] = '\n';
	capture_write(file, CAPTURE_FACTS, 0, &(struct capture_part){line, (size_t)used}, 1);
}

void capture_close(struct capture_file *file)
{
	if (!file)
		return;
	if (file->descriptor >= 0)
		close(file->descriptor);
	pthread_mutex_destroy(&file->lock);
	free(file);
}

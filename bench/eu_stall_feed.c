/* SPDX-License-Identifier: MIT
 *
 * bench/eu_stall_feed.c - a GPU that there is none of: rows of EU stalls for a recorder, at a rate
 * that does not depend on it
 *
 * Preloaded into `duet record`: /dev/dri/renderD128 is of the driver xe, has one GT of Xe2, and its
 * stream hands out EU_STALL_FEED_RATE rows a second (a million otherwise) of instructions spread
 * uniformly over EU_STALL_FEED_KERNELS kernels (10,000) of 4 KiB, 32 instructions each, one reason
 * of ten a row. What is not read while the stream has waited for a second is dropped, as the
 * hardware does. How many rows were handed out and dropped is said at the end, on standard error.
 */
/* both open and open64 are ours */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "abi/xe.h"

/* An answer is the driver's head with what belongs to it, one behind the other. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-variable-sized-type-not-at-end"
#endif

enum { ROW_BYTES = 64, HOT = 32, KERNEL_BYTES = 4096, BUFFER_BYTES = 1 << 19, REASONS = 10 };

static struct {
	_Atomic int node, stream; /* descriptors; 0: there is none */
	uint64_t begin_ns, handed, dropped;
	uint64_t rate, kernels, state;
} feed = {.state = 88172645463325252u};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t random_number(void)
{
	feed.state ^= feed.state << 13;
	feed.state ^= feed.state >> 7;
	feed.state ^= feed.state << 17;
	return feed.state;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static int open_node(const char *path)
{
	int fd = -1;

	if (strcmp(path, "/dev/dri/renderD128") == 0) {
		fd = eventfd(0, EFD_CLOEXEC);
		feed.node = fd;
	}
	return fd;
}

static int answer(struct xe_device_query *query, const void *bytes, uint32_t size)
{
	if (query->data)
		memcpy((void *)(uintptr_t)query->data, bytes, size);
	query->size = size;
	return 0;
}

static int answer_query(struct xe_device_query *query)
{
	static const struct {
		struct xe_query_gt_list head;
		struct xe_gt gt;
	} gts = {{.num_gt = 1}, {.type = 0, .gt_id = 0, .ip_ver_major = 20, .ip_ver_minor = 1}};
	static const struct {
		struct xe_query_eu_stall head;
		uint64_t rates[1];
	} stall = {{.record_size = ROW_BYTES, .num_sampling_rates = 1}, {1004}};

	if (query->query == XE_QUERY_GT_LIST)
		return answer(query, &gts, sizeof(gts));
	if (query->query == XE_QUERY_EU_STALL)
		return answer(query, &stall, sizeof(stall));
	errno = EINVAL;
	return -1;
}

static int open_stream(void)
{
	feed.stream = eventfd(1, EFD_CLOEXEC);
	feed.rate = number_of("EU_STALL_FEED_RATE", 1000000);
	feed.kernels = number_of("EU_STALL_FEED_KERNELS", 10000);
	feed.begin_ns = now_ns();
	return feed.stream;
}

static int answer_node(unsigned long request, void *argument)
{
	struct xe_version *version = argument;

	switch (request) {
	case XE_IOCTL_VERSION:
		snprintf(version->name, version->name_length + 1, "xe");
		return 0;
	case XE_IOCTL_DEVICE_QUERY:
		return answer_query(argument);
	case XE_IOCTL_OBSERVATION:
		return open_stream();
	default:
		errno = EINVAL;
		return -1;
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void make_row(uint8_t *row)
{
	const uint64_t number = random_number();
	const uint64_t address =
		0x10000000 + number % feed.kernels * 2 * KERNEL_BYTES + (number >> 32) % HOT * 16;
	const unsigned int shift = 29 + (unsigned int)(number >> 48) % REASONS * 8;
	uint64_t words[8] = {address >> 3};

	words[shift / 64] |= (uint64_t)1 << shift % 64;
	memcpy(row, words, ROW_BYTES);
}

static ssize_t read_rows(uint8_t *buffer, size_t size)
{
	const uint64_t due = (now_ns() - feed.begin_ns) * feed.rate / 1000000000u;
	uint64_t waiting = due - feed.handed - feed.dropped, count;

	if (waiting > feed.rate) {
		feed.dropped += waiting - feed.rate;
		waiting = feed.rate;
	}
	count = waiting < size / ROW_BYTES ? waiting : size / ROW_BYTES;
	if (count > BUFFER_BYTES / ROW_BYTES)
		count = BUFFER_BYTES / ROW_BYTES;
	if (!count) {
		errno = EAGAIN;
		return -1;
	}
	for (uint64_t i = 0; i < count; i++)
		make_row(buffer + i * ROW_BYTES);
	feed.handed += count;
	return (ssize_t)(count * ROW_BYTES);
}

__attribute__((destructor)) static void say(void)
{
	if (feed.stream)
		fprintf(stderr, "eu_stall_feed: %lu rows handed out, %lu dropped\n", feed.handed,
			feed.dropped);
}

/* ---- in front of the C library's ------------------------------------------------------------- */

static int open_other(const char *name, const char *path, int flags, mode_t mode)
{
	int (*next)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
	const int fd = open_node(path);

	return fd >= 0 ? fd : next(path, flags, mode);
}

static mode_t mode_of(int flags, va_list arguments)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_other("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_other("open64", path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*next)(int, unsigned long, ...) =
		(int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (fd > 0 && fd == feed.node)
		return answer_node(request, argument);
	return fd > 0 && fd == feed.stream ? 0 : next(fd, request, argument);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t (*next)(int, void *, size_t) =
		(ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");

	return fd > 0 && fd == feed.stream ? read_rows(buffer, size) : next(fd, buffer, size);
}

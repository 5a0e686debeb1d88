/* SPDX-License-Identifier: MIT
 *
 * base/order/record_sort.c - sort records of one size, more than fit into memory
 *
 * Runs in:  our own process
 * Gets:     records in any order
 * Gives:    records in order
 * Owns:     a buffer of at most 4 MiB; an unnamed temporary file (in TMPDIR or /tmp) if the records
 *           do not fit into it
 * Fails:    -ENOMEM, -errno of the temporary file
 * Why runs: the slices of a file of a gigabyte take 200 MB as records. Sorted runs of one buffer
 *           are written one after the other, and read back in parallel through a small buffer each.
 */
#include "base/order/record_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "base/order/heap.h"

enum { BUFFER_BYTES = 4 << 20, MIN_RECORDS = 64 };

/* A sorted run in the file, and the part of it that is in memory. */
struct run {
	uint64_t at, end;    /* rest of the run in the file, bytes */
	char *records;       /* part of the sort's buffer */
	size_t next, loaded; /* records */
	uint32_t number;
};

struct record_sort {
	size_t record_bytes;
	size_t capacity, max_capacity; /* size of the buffer, records */
	record_compare *compare;
	char *buffer;
	size_t count, given; /* records in the buffer; without runs: already returned */
	int fd;
	uint64_t size; /* bytes in the file */
	struct run *runs;
	size_t runs_count, runs_capacity;
	uint32_t *heap; /* indices of the runs with a record, the least first */
	size_t heap_count;
	bool has_current; /* the record of heap[0] was returned */
};

int record_sort_new(size_t record_bytes, record_compare *compare, struct record_sort **ret_sort)
{
	struct record_sort *sort = calloc(1, sizeof(*sort));

	if (!sort)
		return -ENOMEM;
	sort->record_bytes = record_bytes;
	sort->max_capacity = BUFFER_BYTES / record_bytes;
	sort->compare = compare;
	sort->fd = -1;
	*ret_sort = sort;
	return 0;
}

void record_sort_free(struct record_sort *sort)
{
	if (!sort)
		return;
	if (sort->fd >= 0)
		close(sort->fd);
	free(sort->buffer);
	free(sort->runs);
	free(sort->heap);
	free(sort);
}

static int fail_file(int error, const char *what)
{
	return error_set(error, "temporary file: %s: %s; set TMPDIR to a folder with more space",
			 what, strerror(-error));
}

static int open_file(struct record_sort *sort)
{
	FILE *file;
	const char *folder = getenv("TMPDIR");

	sort->fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (sort->fd >= 0)
		return 0;
	file = tmpfile(); /* the file system has no O_TMPFILE */
	if (!file)
		return fail_file(-errno, "cannot create it");
	sort->fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
	fclose(file);
	return sort->fd >= 0 ? 0 : fail_file(-errno, "cannot create it");
}

static int write_bytes(struct record_sort *sort, const char *bytes, size_t size)
{
	while (size) {
		const ssize_t done = pwrite(sort->fd, bytes, size, (off_t)sort->size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return fail_file(-errno, "cannot write");
		bytes += done;
		size -= (size_t)done;
		sort->size += (uint64_t)done;
	}
	return 0;
}

static int read_bytes(const struct record_sort *sort, char *bytes, size_t size, uint64_t at)
{
	while (size) {
		const ssize_t done = pread(sort->fd, bytes, size, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return fail_file(done ? -errno : -EIO, "cannot read");
		bytes += done;
		size -= (size_t)done;
		at += (uint64_t)done;
	}
	return 0;
}

/* qsort of glibc is a merge sort if memory suffices, so equal records keep their order only then.
 * The callers' keys are unique. */
static void sort_buffer(struct record_sort *sort)
{
	if (sort->count)
		qsort(sort->buffer, sort->count, sort->record_bytes, sort->compare);
}

static int write_run(struct record_sort *sort)
{
	const struct run run = {.at = sort->size,
				.end = sort->size + sort->count * sort->record_bytes,
				.number = (uint32_t)sort->runs_count};
	int error = sort->fd < 0 ? open_file(sort) : 0;

	if (error)
		return error;
	sort_buffer(sort);
	error = write_bytes(sort, sort->buffer, sort->count * sort->record_bytes);
	sort->count = 0;
	return error ? error : array_append(sort->runs, sort->runs_capacity, sort->runs_count, run);
}

/* Makes room for a record. */
static int grow(struct record_sort *sort)
{
	const size_t capacity = sort->capacity ? 2 * sort->capacity : MIN_RECORDS;
	char *buffer;

	if (sort->capacity == sort->max_capacity)
		return write_run(sort);
	buffer = realloc(sort->buffer, smaller(capacity, sort->max_capacity) * sort->record_bytes);
	if (!buffer)
		return -ENOMEM;
	sort->buffer = buffer;
	sort->capacity = smaller(capacity, sort->max_capacity);
	return 0;
}

int record_sort_add(struct record_sort *sort, const void *record)
{
	int error = sort->count == sort->capacity ? grow(sort) : 0;

	if (error)
		return error;
	memcpy(sort->buffer + sort->count++ * sort->record_bytes, record, sort->record_bytes);
	return 0;
}

/* Reads the next part of a run. Returns false in *ret_has if the run is over. */
static int load(struct record_sort *sort, struct run *run, bool *ret_has)
{
	const size_t part = sort->capacity / sort->runs_count;
	const uint64_t left = (run->end - run->at) / sort->record_bytes;
	int error;

	run->next = 0;
	run->loaded = left < part ? (size_t)left : part;
	*ret_has = run->loaded != 0;
	error = read_bytes(sort, run->records, run->loaded * sort->record_bytes, run->at);
	run->at += run->loaded * sort->record_bytes;
	return error;
}

static bool is_less(const struct record_sort *sort, uint32_t left, uint32_t right)
{
	const struct run *a = &sort->runs[left], *b = &sort->runs[right];
	const int order = sort->compare(a->records + a->next * sort->record_bytes,
					b->records + b->next * sort->record_bytes);

	return order ? order < 0 : left < right;
}

static int start_merge(struct record_sort *sort)
{
	int error = 0;

	if (sort->runs_count > sort->capacity)
		return error_set(-EFBIG, "temporary file: more than %zu sorted parts",
				 sort->capacity);
	sort->heap = calloc(sort->runs_count, sizeof(*sort->heap));
	if (!sort->heap)
		return -ENOMEM;
	for (size_t i = 0; i < sort->runs_count && !error; i++) {
		bool has_record;

		sort->runs[i].records =
			sort->buffer + i * (sort->capacity / sort->runs_count) * sort->record_bytes;
		error = load(sort, &sort->runs[i], &has_record);
		sort->heap[sort->heap_count++] = (uint32_t)i;
		HEAP_LIFT(sort->heap, sort->heap_count, is_less(sort, *a, *b));
	}
	return error;
}

int record_sort_finish(struct record_sort *sort)
{
	int error = 0;

	if (!sort->runs_count)
		sort_buffer(sort);
	else if (sort->count)
		error = write_run(sort);
	return error || !sort->runs_count ? error : start_merge(sort);
}

/* Takes the returned record out of the heap. */
static int pass_current(struct record_sort *sort)
{
	struct run *run;
	bool has_record = true;
	uint32_t index = HEAP_POP(sort->heap, sort->heap_count, is_less(sort, *a, *b));
	int error = 0;

	run = &sort->runs[index];
	if (++run->next == run->loaded)
		error = load(sort, run, &has_record);
	if (error || !has_record)
		return error;
	sort->heap[sort->heap_count++] = index;
	HEAP_LIFT(sort->heap, sort->heap_count, is_less(sort, *a, *b));
	return 0;
}

int record_sort_next(struct record_sort *sort, const void **ret_record)
{
	const struct run *run;
	int error;

	*ret_record = NULL;
	if (!sort->runs_count) {
		if (sort->given < sort->count)
			*ret_record = sort->buffer + sort->given++ * sort->record_bytes;
		return 0;
	}
	error = sort->has_current ? pass_current(sort) : 0;
	sort->has_current = !error && sort->heap_count;
	if (!sort->has_current)
		return error;
	run = &sort->runs[sort->heap[0]];
	*ret_record = run->records + run->next * sort->record_bytes;
	return 0;
}

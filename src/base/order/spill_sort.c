/* SPDX-License-Identifier: MIT
 *
 * base/order/spill_sort.c - sort any number of rows in a fixed amount of memory
 *
 * Runs in:  our own process
 * Gets:     rows of one size
 * Gives:    the rows, sorted
 * Owns:     one buffer of rows, an unnamed temporary file if they do not fit into it
 * Fails:    -ENOMEM, -errno of the temporary file with a message
 * Why a file: a join of calls and commands needs both at hand, and a recording of 10^8 of them has
 *           30 GB. Sorted runs in a file are merged with one small buffer each
 */
#include "base/order/spill_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order/heap.h"

/* A sorted part of the rows in the file. */
struct sorted_run {
	uint64_t next, end; /* rows of the file that are not in memory yet */
	size_t used, count; /* rows of its buffer: those given, all */
};

struct run_head {
	struct sort_key key; /* row: number of the run */
};

struct spill_sort {
	size_t row_bytes, rows_max;
	spill_sort_key *key;
	char *rows;
	struct sort_key *keys, *sorted; /* twice rows_max; the sorted ones among them */
	size_t count, given;            /* rows in memory */
	int fd;                         /* -1: all rows are in memory */
	struct sorted_run *runs;
	size_t run_count, runs_capacity, run_rows; /* run_rows: rows in the buffer of a run */
	struct run_head *heads;                    /* a heap */
	size_t head_count;
	uint64_t file_rows;
	bool is_complete;
};

int spill_sort_new(size_t row_bytes, size_t memory_bytes, spill_sort_key *key,
		   struct spill_sort **ret_sort)
{
	struct spill_sort *sort = calloc(1, sizeof(*sort));

	if (!sort)
		return -ENOMEM;
	sort->row_bytes = row_bytes;
	sort->rows_max = memory_bytes / (row_bytes + 2 * sizeof(*sort->keys)) + 1;
	sort->key = key;
	sort->fd = -1;
	sort->rows = malloc(sort->rows_max * row_bytes);
	sort->keys = malloc(2 * sort->rows_max * sizeof(*sort->keys));
	if (!sort->rows || !sort->keys) {
		spill_sort_free(sort);
		return -ENOMEM;
	}
	*ret_sort = sort;
	return 0;
}

void spill_sort_free(struct spill_sort *sort)
{
	if (!sort)
		return;
	if (sort->fd >= 0)
		close(sort->fd);
	free(sort->rows);
	free(sort->keys);
	free(sort->runs);
	free(sort->heads);
	free(sort);
}

/* ---- the file ---- */

static int open_file(struct spill_sort *sort)
{
	const char *folder = getenv("TMPDIR");
	char path[] = "/tmp/duet-sort-XXXXXX";

	/* /var/tmp is a disk where /tmp is memory */
	sort->fd =
		open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (sort->fd >= 0)
		return 0;
	sort->fd = mkostemp(path, O_CLOEXEC);
	if (sort->fd < 0)
		return error_set(-errno, "create a temporary file in /tmp: %s", strerror(errno));
	unlink(path);
	return 0;
}

static int write_bytes(struct spill_sort *sort, const char *bytes, size_t size)
{
	while (size) {
		ssize_t given = write(sort->fd, bytes, size);

		if (given < 0 && errno == EINTR)
			continue;
		if (given <= 0)
			return error_set(given ? -errno : -EIO,
					 "write a temporary file: %s; set TMPDIR to a folder with "
					 "more room",
					 strerror(given ? errno : EIO));
		bytes += given;
		size -= (size_t)given;
	}
	return 0;
}

static int read_rows(struct spill_sort *sort, void *rows, size_t count, uint64_t first)
{
	char *bytes = rows;
	size_t size = count * sort->row_bytes;
	off_t at = (off_t)(first * sort->row_bytes);

	while (size) {
		ssize_t given = pread(sort->fd, bytes, size, at);

		if (given < 0 && errno == EINTR)
			continue;
		if (given <= 0)
			return error_set(given ? -errno : -EIO, "read a temporary file: %s",
					 strerror(given ? errno : EIO));
		bytes += given;
		at += given;
		size -= (size_t)given;
	}
	return 0;
}

/* ---- runs ---- */

static char *row_at(const struct spill_sort *sort, size_t place)
{
	return sort->rows + place * sort->row_bytes;
}

static void sort_rows(struct spill_sort *sort)
{
	for (size_t i = 0; i < sort->count; i++) {
		sort->key(row_at(sort, i), &sort->keys[i]);
		sort->keys[i].row = (uint32_t)i;
	}
	sort->sorted = key_sort(sort->keys, sort->count, NULL, NULL);
}

/* Writes the rows in memory to the file, sorted. */
static int spill_rows(struct spill_sort *sort)
{
	char block[65536];
	size_t used = 0;
	int error = sort->fd < 0 ? open_file(sort) : 0;

	if (!error)
		error = array_append(
			sort->runs, sort->runs_capacity, sort->run_count,
			(struct sorted_run){sort->file_rows, sort->file_rows + sort->count, 0, 0});
	if (error)
		return error;
	sort_rows(sort);
	for (size_t i = 0; i < sort->count && !error; i++) {
		if (used + sort->row_bytes > sizeof(block)) {
			error = write_bytes(sort, block, used);
			used = 0;
		}
		memcpy(block + used, row_at(sort, sort->sorted[i].row), sort->row_bytes);
		used += sort->row_bytes;
	}
	sort->file_rows += sort->count;
	sort->count = 0;
	return error ? error : write_bytes(sort, block, used);
}

int spill_sort_add(struct spill_sort *sort, const void *row)
{
	int error = sort->count == sort->rows_max ? spill_rows(sort) : 0;

	if (!error)
		memcpy(row_at(sort, sort->count++), row, sort->row_bytes);
	return error;
}

/* ---- the merge ---- */

static bool comes_before(const struct sort_key *a, const struct sort_key *b)
{
	for (size_t i = SORT_WORDS; i-- > 0;)
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i];
	return a->row < b->row;
}

static char *run_row(const struct spill_sort *sort, size_t run)
{
	return row_at(sort, run * sort->run_rows + sort->runs[run].used);
}

/* Reads the next rows of a run if all of its buffer were given. */
static int fill_run(struct spill_sort *sort, size_t number)
{
	struct sorted_run *run = &sort->runs[number];
	uint64_t left = run->end - run->next;
	int error;

	if (run->used < run->count || !left)
		return 0;
	run->used = 0;
	run->count = left < sort->run_rows ? (size_t)left : sort->run_rows;
	error = read_rows(sort, run_row(sort, number), run->count, run->next);
	run->next += run->count;
	return error;
}

static void set_head(struct spill_sort *sort, struct run_head *head, size_t run)
{
	sort->key(run_row(sort, run), &head->key);
	head->key.row = (uint32_t)run;
}

/* The buffer of rows becomes the buffers of the runs. */
static int begin_merge(struct spill_sort *sort)
{
	int error = spill_rows(sort);

	if (error)
		return error;
	sort->run_rows = sort->rows_max / sort->run_count;
	if (!sort->run_rows) {
		char *rows = realloc(sort->rows, sort->run_count * sort->row_bytes);

		if (!rows)
			return -ENOMEM;
		sort->rows = rows;
		sort->run_rows = 1;
	}
	sort->heads = calloc(sort->run_count, sizeof(*sort->heads));
	if (!sort->heads)
		return -ENOMEM;
	for (size_t run = 0; run < sort->run_count && !error; run++) {
		error = fill_run(sort, run);
		if (error)
			return error;
		set_head(sort, &sort->heads[sort->head_count++], run);
		HEAP_LIFT(sort->heads, sort->head_count, comes_before(&a->key, &b->key));
	}
	return 0;
}

static int complete_rows(struct spill_sort *sort)
{
	sort->is_complete = true;
	if (sort->fd >= 0) /* the row after the last run is in memory */
		return begin_merge(sort);
	sort_rows(sort);
	return 0;
}

static int next_merged(struct spill_sort *sort, void *ret_row)
{
	size_t run;
	int error;

	if (!sort->head_count)
		return 0;
	run = sort->heads[0].key.row;
	memcpy(ret_row, run_row(sort, run), sort->row_bytes);
	sort->runs[run].used++;
	error = fill_run(sort, run);
	if (error)
		return error;
	if (sort->runs[run].used < sort->runs[run].count) {
		set_head(sort, &sort->heads[0], run);
		HEAP_SINK(sort->heads, sort->head_count, comes_before(&a->key, &b->key));
	} else {
		(void)HEAP_POP(sort->heads, sort->head_count, comes_before(&a->key, &b->key));
	}
	return 1;
}

int spill_sort_next(struct spill_sort *sort, void *ret_row)
{
	int error = sort->is_complete ? 0 : complete_rows(sort);

	if (error)
		return error;
	if (sort->fd >= 0)
		return next_merged(sort, ret_row);
	if (sort->given == sort->count)
		return 0;
	memcpy(ret_row, row_at(sort, sort->sorted[sort->given++].row), sort->row_bytes);
	return 1;
}

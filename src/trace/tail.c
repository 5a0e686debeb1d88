/* SPDX-License-Identifier: MIT
 *
 * trace/tail.c - find the segments of a file that is still being written, and read the newest ones
 *
 * Runs in:  our own process: duet top, the agent's endpoints, the watcher of triggers
 * Gets:     a descriptor; the bytes are untrusted
 * Gives:    the last segments as a trace in memory
 * Owns:     the descriptor, a buffer, the list of segments
 * Fails:    -errno; a chunk that is not complete yet is read with the next update
 * Why the whole file is read once: the head of a chunk names its kind, and heads are 20 KB apart.
 *           Reading everything costs 0.1 ms per MB from the page cache.
 */
#include "trace/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "event/event.h"
#include "trace/chunk.h"
#include "trace/format.h"
#include "trace/segment_head.h"

#define BUFFER_BYTES ((size_t)TRACE_MESSAGE_LIMIT + 16)
#define COPY_BYTES   ((size_t)1 << 20)

struct tail_segment {
	struct segment_head head;
	uint64_t offset;
};

/* The file at the time of an update: chunks before `offset` have rows before `time_ns` only. */
struct tail_mark {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t offset;
};
enum { MARKS = 128 };

struct trace_tail {
	int fd;
	uint64_t offset; /* the next chunk starts here */
	uint64_t size;   /* file size at the last update */
	uint64_t newest_ns;
	uint32_t first; /* lower segments are dropped */
	bool has_ended;
	bool is_gone; /* no more chunks will come */
	struct tail_segment *segments;
	size_t capacity, count;
	uint8_t *buffer; /* BUFFER_BYTES from buffer_offset on */
	uint64_t buffer_offset;
	size_t buffer_size;
	struct tail_mark marks[MARKS]; /* a ring; the newest is at (marks_count - 1) % MARKS */
	uint64_t marks_count;
};

int trace_tail_new(int fd, struct trace_tail **ret_tail)
{
	struct trace_tail *tail = calloc(1, sizeof(*tail));

	if (tail)
		tail->buffer = malloc(BUFFER_BYTES);
	if (!tail || !tail->buffer) {
		free(tail);
		close(fd);
		return -ENOMEM;
	}
	tail->fd = fd;
	*ret_tail = tail;
	return 0;
}

void trace_tail_free(struct trace_tail *tail)
{
	if (!tail)
		return;
	close(tail->fd);
	free(tail->segments);
	free(tail->buffer);
	free(tail);
}

static void start_anew(struct trace_tail *tail)
{
	tail->offset = tail->newest_ns = 0;
	tail->first = 0;
	tail->count = tail->buffer_size = 0;
	tail->marks_count = 0;
	tail->has_ended = false;
}

/* Returns the bytes from the present offset on, at least `wanted` of them; NULL: there are fewer.
 */
static const uint8_t *view(struct trace_tail *tail, size_t wanted, size_t *ret_size)
{
	uint64_t end = tail->buffer_offset + tail->buffer_size, left = tail->size - tail->offset;

	if (wanted > left)
		return NULL;
	if (tail->offset < tail->buffer_offset || tail->offset + wanted > end) {
		tail->buffer_offset = tail->offset;
		tail->buffer_size = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
		if (pread_all(tail->fd, tail->buffer, tail->buffer_size, tail->offset)) {
			tail->buffer_size = 0;
			return NULL;
		}
		end = tail->buffer_offset + tail->buffer_size;
	}
	*ret_size = (size_t)(end - tail->offset);
	return tail->buffer + (tail->offset - tail->buffer_offset);
}

/* ---- chunks ---- */

static int add_segment(struct trace_tail *tail, const uint8_t *message, size_t size)
{
	struct tail_segment segment = {.offset = tail->offset};
	size_t dropped = 0;

	if (segment_head_read(message, size, &segment.head))
		return 0;
	if (segment.head.first_segment > tail->first)
		tail->first = segment.head.first_segment;
	/* a second head of a segment only drops others */
	if (!tail->count || tail->segments[tail->count - 1].head.number != segment.head.number) {
		if (segment.head.begin_ns > tail->newest_ns)
			tail->newest_ns = segment.head.begin_ns;
		if (array_append(tail->segments, tail->capacity, tail->count, segment))
			return -ENOMEM;
	}
	while (dropped < tail->count && tail->segments[dropped].head.number < tail->first)
		dropped++;
	tail->count -= dropped;
	memmove(tail->segments, tail->segments + dropped, tail->count * sizeof(*tail->segments));
	return 0;
}

static int note_chunk(struct trace_tail *tail, const uint8_t *message, size_t size)
{
	struct chunk_head head;

	tail->has_ended = false;
	if (chunk_head(message, size, &head))
		return 0;
	if (head.kind == TRACE_SEGMENT)
		return add_segment(tail, message, size);
	tail->has_ended = head.kind == TRACE_END;
	if (head.kind < EVENT_KIND_COUNT && head.kind != EVENT_CLOCK_PAIR &&
	    head.kind > EVENT_ENTITY_LAST && head.clock == CLOCK_ID_MONOTONIC &&
	    !(head.flags & (TRACE_BY_SEEN | TRACE_REPEATED)) && head.last > tail->newest_ns)
		tail->newest_ns = head.last;
	return 0;
}

/* Skips a hole or zero bytes; false: no data follow. */
static bool skip_zeros(struct trace_tail *tail)
{
	off_t data = lseek(tail->fd, (off_t)tail->offset, SEEK_DATA);
	size_t size;
	const uint8_t *at;

	if (data < 0 && errno == ENXIO) /* nothing but a hole follows */
		tail->offset = tail->size;
	else if (data > (off_t)tail->offset)
		tail->offset = (uint64_t)data;
	while (tail->offset < tail->size && (at = view(tail, 1, &size)) != NULL) {
		const uint8_t *end = at + size;

		while (at < end && !*at)
			at++;
		tail->offset += size - (size_t)(end - at);
		if (at < end)
			return true;
	}
	return false;
}

/* Reads the next chunk. Returns 1; 0: it is not complete; -EBADMSG: there is none here. */
static int read_chunk(struct trace_tail *tail)
{
	size_t size = 0, available, before;
	const uint8_t *at = view(tail, 1, &available);
	int error;

	if (!at)
		return 0;
	if (!*at)
		return skip_zeros(tail);
	before = chunk_length(at, at + available, &size);
	if (!before)
		return available < 5 ? 0 : -EBADMSG;
	at = view(tail, before + size, &available);
	if (!at)
		return 0;
	if (!chunk_has_prefix(at + before, size))
		return -EBADMSG;
	error = note_chunk(tail, at + before, size);
	tail->offset += before + size;
	return error ? error : 1;
}

static bool read_head_at(const struct trace_tail *tail, uint64_t offset,
			 struct segment_head *ret_head)
{
	uint8_t bytes[128];
	ssize_t count = pread(tail->fd, bytes, sizeof(bytes), (off_t)offset);
	size_t size = 0, before = count > 0 ? chunk_length(bytes, bytes + count, &size) : 0;

	return before && before + size <= (size_t)count &&
	       !segment_head_read(bytes + before, size, ret_head);
}

/* Whether the newest segment is still where it was. */
static bool is_in_place(const struct trace_tail *tail)
{
	const struct tail_segment *last;
	struct segment_head head;

	if (!tail->count)
		return true;
	last = &tail->segments[tail->count - 1];
	return read_head_at(tail, last->offset, &head) && head.number == last->head.number;
}

void trace_tail_start_at(struct trace_tail *tail, uint64_t offset)
{
	struct segment_head head;

	if (!tail->offset && read_head_at(tail, offset, &head))
		tail->offset = offset;
}

void trace_tail_set_gone(struct trace_tail *tail)
{
	tail->is_gone = true;
}

static void add_mark(struct trace_tail *tail)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	tail->marks[tail->marks_count++ % MARKS] = (struct tail_mark){
		(uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec, tail->offset};
}

int trace_tail_update_part(struct trace_tail *tail, uint64_t max_bytes)
{
	struct stat status;
	uint64_t begin;
	int result;

	if (fstat(tail->fd, &status))
		return -errno;
	if ((uint64_t)status.st_size < tail->offset || !is_in_place(tail))
		start_anew(tail);
	tail->size = (uint64_t)status.st_size;
	tail->buffer_size = 0;
	begin = tail->offset;
	do
		result = read_chunk(tail);
	while (result > 0 && tail->offset - begin < max_bytes);
	/* The file was damaged, or moved during the reading: the next update starts anew. */
	if (result == -EBADMSG)
		start_anew(tail);
	else
		add_mark(tail);
	return result == -EBADMSG ? 0 : result;
}

int trace_tail_update(struct trace_tail *tail)
{
	int result = trace_tail_update_part(tail, UINT64_MAX);

	return result > 0 ? 0 : result;
}

uint64_t trace_tail_newest_ns(const struct trace_tail *tail)
{
	return tail->newest_ns;
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

/* The file system has the time of CLOCK_REALTIME, which may have been set since then. */
uint64_t trace_tail_written_ns(const struct trace_tail *tail)
{
	struct timespec real, monotonic;
	struct stat status;
	uint64_t age_ns = 0;

	if (fstat(tail->fd, &status) || clock_gettime(CLOCK_REALTIME, &real) ||
	    clock_gettime(CLOCK_MONOTONIC, &monotonic))
		return 0;
	if (ns_of(&real) > ns_of(&status.st_mtim))
		age_ns = ns_of(&real) - ns_of(&status.st_mtim);
	return ns_of(&monotonic) > age_ns ? ns_of(&monotonic) - age_ns : 0;
}

uint64_t trace_tail_start_ns(const struct trace_tail *tail)
{
	return tail->count ? tail->segments[0].head.begin_ns : 0;
}

bool trace_tail_has_ended(const struct trace_tail *tail)
{
	return tail->has_ended;
}

/* A writer holds a lock on its file until it ends. */
bool trace_tail_is_abandoned(const struct trace_tail *tail)
{
	if (flock(tail->fd, LOCK_SH | LOCK_NB))
		return false;
	flock(tail->fd, LOCK_UN);
	return true;
}

/* The segment to begin with: an index into the list. */
static size_t find_first(const struct trace_tail *tail, uint64_t from_ns, uint64_t max_bytes)
{
	size_t first = 0;

	while (first + 1 < tail->count && (tail->segments[first + 1].head.begin_ns <= from_ns ||
					   tail->offset - tail->segments[first].offset > max_bytes))
		first++;
	return first;
}

/* Copies the bytes from a segment's start to `end`. */
static int read_range(const struct trace_tail *tail, const struct tail_segment *first, uint64_t end,
		      uint8_t **ret_bytes, size_t *ret_size)
{
	struct segment_head head = first->head;
	const size_t size = (size_t)(end - first->offset);
	auto_free uint8_t *bytes = malloc(SEGMENT_HEAD_BYTES + size);
	size_t start;
	int error;

	if (!bytes)
		return -ENOMEM;
	head.first_segment = head.number;
	error = segment_head_write(&head, bytes, &start);
	if (!error)
		error = pread_all(tail->fd, bytes + start, size, first->offset);
	if (error)
		return error;
	*ret_bytes = take_ptr(bytes);
	*ret_size = start + size;
	return 0;
}

/* Offset up to which all rows are older than from_ns; 0: not known. A file that has ended may be
 * from another machine, whose clock has other times. */
static uint64_t old_offset(const struct trace_tail *tail, uint64_t from_ns)
{
	const uint64_t kept = tail->marks_count < MARKS ? tail->marks_count : MARKS;
	uint64_t offset = 0;

	if (tail->has_ended)
		return 0;
	for (uint64_t i = tail->marks_count - kept; i < tail->marks_count; i++)
		if (tail->marks[i % MARKS].time_ns <= from_ns)
			offset = tail->marks[i % MARKS].offset;
	return offset;
}

static bool has_rows(const uint8_t *message, size_t size)
{
	struct chunk_head head;

	return !chunk_head(message, size, &head) && head.kind > EVENT_ENTITY_LAST &&
	       head.kind < EVENT_KIND_COUNT && head.kind != EVENT_CLOCK_PAIR &&
	       head.kind != EVENT_LOSS && !(head.flags & TRACE_REPEATED);
}

/* Takes chunks of rows out of bytes[at … end). Returns the new size of all. */
static size_t drop_rows(uint8_t *bytes, size_t at, size_t end, size_t all)
{
	size_t to = at, size = 0;

	while (at < end && bytes[at]) {
		const size_t before = chunk_length(bytes + at, bytes + all, &size);

		if (!before || before + size > end - at)
			break;
		if (!has_rows(bytes + at + before, size)) {
			memmove(bytes + to, bytes + at, before + size);
			to += before + size;
		}
		at += before + size;
	}
	memmove(bytes + to, bytes + at, all - at);
	return all - (at - to);
}

int trace_tail_read(struct trace_tail *tail, uint64_t from_ns, uint64_t max_bytes,
		    uint8_t **ret_bytes, size_t *ret_size)
{
	const uint64_t old = old_offset(tail, from_ns);
	const struct tail_segment *first;
	size_t start;
	int error;

	if (!tail->count)
		return -ENODATA;
	first = &tail->segments[find_first(tail, from_ns, max_bytes)];
	error = read_range(tail, first, tail->offset, ret_bytes, ret_size);
	if (error || old <= first->offset)
		return error;
	start = *ret_size - (size_t)(tail->offset - first->offset);
	*ret_size = drop_rows(*ret_bytes, start, start + (size_t)(old - first->offset), *ret_size);
	return 0;
}

uint32_t trace_tail_first(const struct trace_tail *tail, uint64_t from_ns, uint64_t max_bytes,
			  uint64_t *ret_begin_ns)
{
	const struct tail_segment *first =
		tail->count ? &tail->segments[find_first(tail, from_ns, max_bytes)] : NULL;

	*ret_begin_ns = first ? first->head.begin_ns : 0;
	return first ? first->head.number : 0;
}

/* The end of a segment's bytes. */
static uint64_t end_of(const struct trace_tail *tail, size_t index)
{
	return index + 1 < tail->count ? tail->segments[index + 1].offset : tail->offset;
}

static size_t find_after(const struct trace_tail *tail, uint32_t after)
{
	size_t first = 0;

	while (first < tail->count && tail->segments[first].head.number <= after)
		first++;
	return first;
}

int trace_tail_read_ended(struct trace_tail *tail, uint32_t after, uint64_t max_bytes,
			  uint8_t **ret_bytes, size_t *ret_size, uint32_t *ret_last)
{
	const bool is_whole = tail->has_ended || tail->is_gone || !tail->count;
	const size_t ended = is_whole ? tail->count : tail->count - 1;
	const size_t first = find_after(tail, after);
	size_t last;
	int error;

	if (first >= ended)
		return -ENODATA;
	for (last = first; last + 1 < ended; last++)
		if (end_of(tail, last + 1) - tail->segments[first].offset > max_bytes)
			break;
	error = read_range(tail, &tail->segments[first], end_of(tail, last), ret_bytes, ret_size);
	if (!error)
		*ret_last = tail->segments[last].head.number;
	return error;
}

uint32_t trace_tail_segment_at(const struct trace_tail *tail, uint64_t time_ns)
{
	return tail->count ? tail->segments[find_first(tail, time_ns, UINT64_MAX)].head.number : 0;
}

uint32_t trace_tail_next(const struct trace_tail *tail, uint32_t after)
{
	const size_t next = find_after(tail, after);

	return next < tail->count ? tail->segments[next].head.number : 0;
}

uint64_t trace_tail_begin_of(const struct trace_tail *tail, uint32_t number)
{
	const size_t place = number ? find_after(tail, number - 1) : 0;

	return place < tail->count ? tail->segments[place].head.begin_ns : 0;
}

uint32_t trace_tail_present(const struct trace_tail *tail, uint64_t *ret_begin_ns)
{
	const struct tail_segment *last = tail->count ? &tail->segments[tail->count - 1] : NULL;

	*ret_begin_ns = last ? last->head.begin_ns : 0;
	return last ? last->head.number : 0;
}

int trace_tail_copy(struct trace_tail *tail, uint64_t from_ns, int fd, uint64_t *ret_bytes)
{
	auto_free uint8_t *bytes = malloc(COPY_BYTES);
	uint8_t head_bytes[SEGMENT_HEAD_BYTES];
	struct tail_segment first;
	struct segment_head head;
	size_t size;
	int error;

	if (!tail->count)
		return -ENODATA;
	if (!bytes)
		return -ENOMEM;
	first = tail->segments[find_first(tail, from_ns, UINT64_MAX)];
	head = first.head;
	head.first_segment = head.number;
	error = segment_head_write(&head, head_bytes, &size);
	if (!error)
		error = write_all(fd, head_bytes, size);
	*ret_bytes = error ? 0 : size;
	for (uint64_t at = first.offset; !error && at < tail->offset; at += size) {
		size = tail->offset - at < COPY_BYTES ? (size_t)(tail->offset - at) : COPY_BYTES;
		error = pread_all(tail->fd, bytes, size, at);
		if (!error)
			error = write_all(fd, bytes, size);
		*ret_bytes += size;
	}
	return error;
}

int trace_tail_trim(struct trace_tail *tail, uint64_t from_ns)
{
	uint64_t offset;

	if (!tail->count)
		return -ENODATA;
	offset = tail->segments[find_first(tail, from_ns, UINT64_MAX)].offset;
	return offset && fallocate(tail->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				   (off_t)offset)
		       ? -errno
		       : 0;
}

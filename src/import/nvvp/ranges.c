/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/ranges.c - ranges of NVTX, and time that the driver and the profiler took
 *
 * Runs in:  our own process
 * Gets:     MARKER, MARKER_DATA, OVERHEAD
 * Gives:    ranges
 * Owns:     a cursor for each table
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why a merge: the start and the end of a range are two rows with the same id, and its colour and
 *           its value a third one in another table
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "import/common/merge.h"
#include "import/nvvp/import.h"
#include "import/overhead.h"
#include "import/target.h"

enum { DATA, MARKERS, TABLES_COUNT };
enum {
	MARKER_ID,
	MARKER_TIME,
	MARKER_FLAGS,
	MARKER_KIND,
	MARKER_OBJECT,
	MARKER_NAME,
	MARKER_DOMAIN
};
static const char *const marker_columns[] = {
	"id", "timestamp", "flags", "objectKind", "objectId", "name", "domain",
};
enum { DATA_ID, DATA_FLAGS, DATA_KIND, DATA_PAYLOAD, DATA_COLOUR, DATA_CATEGORY };
static const char *const data_columns[] = {
	"id", "flags", "payloadKind", "payload", "color", "category",
};

/* CUpti_ActivityFlag */
enum { FLAG_MARK = 1, FLAG_START = 2, FLAG_END = 4, FLAG_COLOUR = 2 };

/* CUpti_MetricValueKind */
enum { VALUE_DOUBLE, VALUE_UINT64, VALUE_INT64 = 4 };

struct ranges {
	struct nvvp *nvvp;
	struct import_merge merge;
	/* colour, category and payload of this id; the start */
	struct event_range data, row;
	bool has_start;
	uint64_t open, unbegun;
};

static int64_t key_of(void *context, size_t table, const struct sqlite_cursor *row)
{
	return sqlite_cursor_number(row, 0);
}

/* ---- values ---- */

static void format_payload(int64_t kind, const uint8_t *bytes, char *text, size_t size)
{
	uint64_t number;
	double real;

	memcpy(&number, bytes, sizeof(number));
	memcpy(&real, bytes, sizeof(real));
	if (!number) /* also of a range without a value */
		*text = '\0';
	else if (kind == VALUE_DOUBLE)
		snprintf(text, size, "%.9g", real);
	else if (kind == VALUE_INT64)
		snprintf(text, size, "%" PRId64, (int64_t)number);
	else
		snprintf(text, size, "%" PRIu64, number);
}

static int take_data(struct ranges *ranges, const struct sqlite_cursor *row)
{
	struct import_target *target = ranges->nvvp->target;
	const int64_t category = sqlite_cursor_number(row, DATA_CATEGORY);
	char text[40] = "";
	size_t size;
	const uint8_t *payload = sqlite_cursor_bytes(row, DATA_PAYLOAD, &size);
	int error;

	if (sqlite_cursor_number(row, DATA_FLAGS) & FLAG_COLOUR)
		ranges->data.colour = (uint32_t)sqlite_cursor_number(row, DATA_COLOUR);
	if (size >= sizeof(uint64_t))
		format_payload(sqlite_cursor_number(row, DATA_KIND), payload, text, sizeof(text));
	error = import_target_text(target, text, &ranges->data.payload_string);
	if (error || !category)
		return error;
	snprintf(text, sizeof(text), "%" PRId64, category);
	return import_target_text(target, text, &ranges->data.category_string);
}

/* ---- markers ---- */

static int find_owner(struct nvvp *nvvp, const struct sqlite_cursor *row, struct event_range *range)
{
	struct nvvp_object object;
	const bool is_known = nvvp_read_object(row, MARKER_KIND, MARKER_OBJECT, &object);
	const bool has_pid = is_known && object.kind <= NVVP_THREAD;
	const uint32_t pid = has_pid ? object.first : nvvp->machine.pid;
	int error = nvvp_machine_process(nvvp, pid, &range->process);

	range->thread = 0;
	return error || !has_pid || object.kind != NVVP_THREAD
		       ? error
		       : nvvp_machine_thread(nvvp, pid, object.second, &range->thread);
}

static int read_marker(struct ranges *ranges, const struct sqlite_cursor *row,
		       struct event_range *range)
{
	struct nvvp *nvvp = ranges->nvvp;
	const char *name, *domain;
	int64_t time;
	int error = sqlite_cursor_take_number(row, MARKER_TIME, "a time", 0, INT64_MAX, &time);

	*range = ranges->data;
	range->begin = range->end = (uint64_t)time;
	if (!error)
		error = find_owner(nvvp, row, range);
	if (!error)
		error = import_strings_find(&nvvp->strings, sqlite_cursor_number(row, MARKER_NAME),
					    &name);
	if (!error)
		error = import_target_text(nvvp->target, name, &range->name_string);
	if (!error)
		error = import_strings_find(&nvvp->strings,
					    sqlite_cursor_number(row, MARKER_DOMAIN), &domain);
	return error ? error
		     : import_target_text(nvvp->target, *domain ? domain : "NVTX",
					  &range->domain_string);
}

static int write_range(struct ranges *ranges, const struct event_range *range)
{
	ranges->nvvp->rows++;
	return import_target_range(ranges->nvvp->target, range);
}

/* A range that has no end in the file. */
static int write_open(struct ranges *ranges)
{
	const uint64_t last_ns = import_target_end(ranges->nvvp->target);

	if (!ranges->has_start)
		return 0;
	ranges->has_start = false;
	ranges->open++;
	ranges->row.flags = RANGE_OPEN;
	ranges->row.type = RANGE_START;
	if (ranges->row.end < last_ns)
		ranges->row.end = last_ns;
	return write_range(ranges, &ranges->row);
}

/* A range of one thread was pushed and popped, or might have been. */
static int end_range(struct ranges *ranges, const struct event_range *end)
{
	struct event_range *row = &ranges->row;

	if (!ranges->has_start) {
		ranges->unbegun++;
		return 0;
	}
	ranges->has_start = false;
	row->type = row->thread && row->thread == end->thread ? RANGE_PUSH : RANGE_START;
	row->end = end->end > row->begin ? end->end : row->begin;
	return write_range(ranges, row);
}

static int take_marker(struct ranges *ranges, const struct sqlite_cursor *row)
{
	const int64_t flags = sqlite_cursor_number(row, MARKER_FLAGS);
	struct event_range range;
	int error = read_marker(ranges, row, &range);

	if (error)
		return error;
	if (flags & FLAG_END)
		return end_range(ranges, &range);
	error = write_open(ranges);
	if (error)
		return error;
	if (flags & FLAG_START) {
		ranges->row = range;
		ranges->has_start = true;
		return 0;
	}
	range.type = RANGE_MARK;
	return write_range(ranges, &range);
}

static int on_row(void *context, size_t table, const struct sqlite_cursor *row)
{
	struct ranges *ranges = context;
	int error = table == DATA ? take_data(ranges, row) : take_marker(ranges, row);

	if (error && !ranges->nvvp->file.has_failed)
		error = import_faults_add(&ranges->nvvp->faults, error);
	return error;
}

static int read_markers(struct ranges *ranges)
{
	static const struct sqlite_query queries[TABLES_COUNT] = {
		[DATA] = {"CUPTI_ACTIVITY_KIND_MARKER_DATA", SQLITE_COLUMNS(data_columns, 1), NULL,
			  "CAST(id AS INTEGER)"},
		[MARKERS] = {"CUPTI_ACTIVITY_KIND_MARKER", SQLITE_COLUMNS(marker_columns, 2), NULL,
			     "CAST(id AS INTEGER), timestamp"},
	};
	struct nvvp *nvvp = ranges->nvvp;
	int64_t key = 0;
	bool has;
	int error = 0;

	for (size_t i = 0; i < TABLES_COUNT && !error; i++) {
		error = sqlite_file_can_read(&nvvp->file, &queries[i], &nvvp->faults, &has);
		if (!error && has)
			error = import_merge_open(&ranges->merge, i, &nvvp->file, &queries[i]);
	}
	while (!error && import_merge_find(&ranges->merge, &key)) {
		ranges->data = (struct event_range){0};
		for (size_t i = 0; i < TABLES_COUNT && !error; i++)
			error = import_merge_each_row(&ranges->merge, i, key, on_row);
		if (!error)
			error = write_open(ranges);
	}
	import_merge_close(&ranges->merge);
	return error;
}

/* ---- overheads ---- */

enum { OVERHEAD_START, OVERHEAD_END, OVERHEAD_TYPE, OVERHEAD_KIND, OVERHEAD_OBJECT };
static const char *const overhead_columns[] = {
	"start", "end", "overheadKind", "objectKind", "objectId",
};

static int on_overhead(void *context, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = context;
	struct nvvp_object object;
	struct event_range range;
	uint64_t begin_ns, end_ns;
	uint32_t pid = nvvp->machine.pid, thread = 0;
	const char *name = import_overhead_name(sqlite_cursor_number(row, OVERHEAD_TYPE));
	int error = sqlite_cursor_take_times(row, OVERHEAD_START, &begin_ns, &end_ns);

	if (!error)
		error = import_overhead_make(nvvp->target, name, import_overhead_is_profiler(name),
					     begin_ns, end_ns, &range);
	if (nvvp_read_object(row, OVERHEAD_KIND, OVERHEAD_OBJECT, &object) &&
	    object.kind <= NVVP_THREAD) {
		pid = object.first;
		thread = object.second;
	}
	if (!error)
		error = nvvp_machine_process(nvvp, pid, &range.process);
	if (!error && thread)
		error = nvvp_machine_thread(nvvp, pid, thread, &range.thread);
	if (!error)
		error = import_target_range(nvvp->target, &range);
	nvvp->rows += !error;
	return error;
}

int nvvp_read_ranges(struct nvvp *nvvp)
{
	static const struct sqlite_query overheads = {"CUPTI_ACTIVITY_KIND_OVERHEAD",
						      SQLITE_COLUMNS(overhead_columns, 3)};
	struct ranges ranges = {.nvvp = nvvp, .merge = {.count = TABLES_COUNT, .key_of = key_of}};
	int error = nvvp_each_row(nvvp, &overheads, on_overhead, nvvp);

	ranges.merge.context = &ranges;
	if (!error)
		error = read_markers(&ranges);
	import_target_note_count(nvvp->target, ranges.open, "range", "ranges",
				 "without an end: open until the end of the recording");
	import_target_note_count(nvvp->target, ranges.unbegun, "end of a range", "ends of ranges",
				 "without a start, left out");
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * import/nsys/ranges.c - ranges of NVTX, and time that the driver and the profiler took
 *
 * Runs in:  our own process
 * Gets:     NVTX_EVENTS, tables of overheads
 * Gives:    ranges, names of threads
 * Owns:     names of domains and categories
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why names first: the row that names a domain may lie behind its ranges
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "import/nsys/import.h"
#include "import/nsys/operators.h"
#include "import/overhead.h"
#include "import/target.h"

enum {
	TYPE_CATEGORY = 33,
	TYPE_MARK = 34,
	TYPE_THREAD = 39,
	TYPE_PUSH = 59,
	TYPE_START = 60,
	TYPE_DOMAIN = 75,
};

enum {
	NVTX_START,
	NVTX_END,
	NVTX_TYPE,
	NVTX_THREAD,
	NVTX_DOMAIN,
	NVTX_TEXT,
	NVTX_TEXT_ID,
	NVTX_CATEGORY,
	NVTX_COLOUR,
	NVTX_JSON,
	NVTX_JSON_ID,
	NVTX_VALUE,
	NVTX_VALUE_END = NVTX_VALUE + 6,
	NVTX_BINARY = NVTX_VALUE_END
};
static const char *const nvtx_columns[] = {
	"start",      "end",         "eventType",  "globalTid",   "domainId",   "text",
	"textId",     "category",    "color",      "jsonText",    "jsonTextId", "uint64Value",
	"int64Value", "uint32Value", "int32Value", "doubleValue", "floatValue", "binaryData",
};

struct ranges {
	struct nsys *nsys;
	struct string_table
		keys;    /* process, domain, category; category -1: the domain's own name */
	uint32_t *names; /* by id of a key - 1: string of the trace */
	size_t names_capacity;
	uint64_t open;
	struct nsys_operators operators;
};

/* ---- texts ---- */

static int read_text(struct nsys *nsys, const struct sqlite_cursor *row, const char **ret_text)
{
	*ret_text = sqlite_cursor_text(row, NVTX_TEXT);
	return **ret_text || !sqlite_cursor_has(row, NVTX_TEXT_ID)
		       ? 0
		       : nsys_texts_get(nsys, sqlite_cursor_number(row, NVTX_TEXT_ID), ret_text);
}

static uint32_t find_name(const struct ranges *ranges, const struct sqlite_cursor *row,
			  int64_t category)
{
	const int64_t key[] = {sqlite_cursor_number(row, NVTX_THREAD) >> 24,
			       sqlite_cursor_number(row, NVTX_DOMAIN), category};
	const uint32_t id = string_table_find(&ranges->keys, key, sizeof(key));

	return id ? ranges->names[id - 1] : 0;
}

static int on_name(void *context, const struct sqlite_cursor *row)
{
	struct ranges *ranges = context;
	const bool is_domain = sqlite_cursor_number(row, NVTX_TYPE) == TYPE_DOMAIN;
	const int64_t key[] = {sqlite_cursor_number(row, NVTX_THREAD) >> 24,
			       sqlite_cursor_number(row, NVTX_DOMAIN),
			       is_domain ? -1 : sqlite_cursor_number(row, NVTX_CATEGORY)};
	const uint32_t id = string_table_add(&ranges->keys, key, sizeof(key));
	const char *text;
	int error = read_text(ranges->nsys, row, &text);

	if (!id || array_grow(ranges->names, ranges->names_capacity, id))
		return -ENOMEM;
	return error ? error
		     : import_target_text(ranges->nsys->target, text, &ranges->names[id - 1]);
}

/* The domain's name; "NVTX" for the default domain. */
static int find_domain(struct ranges *ranges, const struct sqlite_cursor *row, uint32_t *ret_string)
{
	const int64_t domain = sqlite_cursor_number(row, NVTX_DOMAIN);
	char made[40];

	*ret_string = find_name(ranges, row, -1);
	if (*ret_string)
		return 0;
	snprintf(made, sizeof(made), domain ? "NVTX %" PRId64 : "NVTX", domain);
	return import_target_text(ranges->nsys->target, made, ret_string);
}

/* The value that the program attached to the range. */
static void read_payload(const struct sqlite_cursor *row, struct string_builder *payload)
{
	for (size_t i = NVTX_VALUE; i < NVTX_VALUE_END && !payload->length; i++)
		string_builder_append(payload, sqlite_cursor_text(row, i));
}

/* PyTorch appends numbers to the name: "aten::view, op_id = 314290". */
static size_t bare_length(const char *name)
{
	static const char *const marks[] = {", seq = ", ", op_id = ", ", sizes = "};
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
		const char *at = strstr(name, marks[i]);

		if (at && at > name && (size_t)(at - name) < length)
			length = (size_t)(at - name);
	}
	return length;
}

/* A range of NCCL, "ncclAllReduce". */
static int note_nccl(struct ranges *ranges, const struct sqlite_cursor *row,
		     const struct event_range *range, const char *name, const char *json)
{
	struct nsys_payload payload = {0};
	size_t size;
	const void *bytes = sqlite_cursor_bytes(row, NVTX_BINARY, &size);
	int error = 0;

	if (size)
		nsys_payloads_decode(&ranges->nsys->collectives.payloads, bytes, size, &payload);
	else
		error = nsys_payloads_parse(json, &payload);
	return error ? error : nsys_collectives_add_range(ranges->nsys, range, name, &payload);
}

static int name_range(struct ranges *ranges, const struct sqlite_cursor *row,
		      struct event_range *range)
{
	struct import_target *target = ranges->nsys->target;
	struct string_builder name = {0}, payload = {0};
	const char *text;
	size_t length;
	int error = read_text(ranges->nsys, row, &text);

	if (error)
		return error;
	length = bare_length(text);
	string_builder_append_bytes(&name, text, length);
	if (text[length])
		string_builder_append(&payload, text + length + 2);
	if (sqlite_cursor_has(row, NVTX_JSON)) {
		string_builder_append(&payload, sqlite_cursor_text(row, NVTX_JSON));
	} else if (sqlite_cursor_has(row, NVTX_JSON_ID)) {
		error = nsys_texts_get(ranges->nsys, sqlite_cursor_number(row, NVTX_JSON_ID),
				       &text);
		string_builder_append(&payload, error ? "" : text);
	}
	if (!error && strncmp(string_builder_text(&name), "nccl", 4) == 0 &&
	    isupper((unsigned char)string_builder_text(&name)[4]))
		error = note_nccl(ranges, row, range, string_builder_text(&name),
				  string_builder_text(&payload));
	read_payload(row, &payload);
	if (!error)
		error = name.error ? name.error : payload.error;
	if (!error)
		error = import_target_text(target, string_builder_text(&name), &range->name_string);
	if (!error)
		error = import_target_text(target, string_builder_text(&payload),
					   &range->payload_string);
	string_builder_fini(&name);
	string_builder_fini(&payload);
	return error;
}

/* ---- ranges ---- */

static int read_end(struct ranges *ranges, const struct sqlite_cursor *row,
		    struct event_range *range)
{
	const uint64_t last_ns = import_target_end(ranges->nsys->target);
	int64_t begin;

	if (sqlite_cursor_has(row, NVTX_END))
		return sqlite_cursor_take_times(row, NVTX_START, &range->begin, &range->end);
	if (sqlite_cursor_take_number(row, NVTX_START, "a start", 0, INT64_MAX, &begin))
		return -EBADMSG;
	range->begin = range->end = (uint64_t)begin;
	if (range->type == RANGE_MARK)
		return 0;
	range->flags = RANGE_OPEN;
	range->end = last_ns > range->begin ? last_ns : range->begin;
	ranges->open++;
	return 0;
}

static int write_range(struct ranges *ranges, const struct sqlite_cursor *row,
		       enum event_range_type type)
{
	struct nsys *nsys = ranges->nsys;
	const uint64_t global = (uint64_t)sqlite_cursor_number(row, NVTX_THREAD);
	struct event_range range = {.type = type,
				    .colour = (uint32_t)sqlite_cursor_number(row, NVTX_COLOUR)};
	int error = read_end(ranges, row, &range);

	if (!error)
		error = nsys_machine_process(nsys, global, &range.process);
	if (!error)
		error = nsys_machine_thread(nsys, global, &range.thread);
	if (!error)
		error = name_range(ranges, row, &range);
	if (!error)
		error = find_domain(ranges, row, &range.domain_string);
	if (!error && sqlite_cursor_number(row, NVTX_CATEGORY))
		range.category_string =
			find_name(ranges, row, sqlite_cursor_number(row, NVTX_CATEGORY));
	if (!error)
		error = import_target_range(nsys->target, &range);
	nsys->rows += !error;
	return error;
}

/* An operator of PyTorch: a push and pop range whose name has the operator's number. It becomes a
 * call, so that idle time outside of CUDA's calls has a place. */
static bool is_operator(const struct sqlite_cursor *row)
{
	return sqlite_cursor_has(row, NVTX_END) &&
	       strstr(sqlite_cursor_text(row, NVTX_TEXT), ", op_id = ");
}

static int write_operator(struct ranges *ranges, const struct sqlite_cursor *row)
{
	struct nsys *nsys = ranges->nsys;
	struct event_api call = {.type = API_TYPE_OPERATOR};
	const char *text = sqlite_cursor_text(row, NVTX_TEXT);
	struct string_builder name = {0};
	int error = sqlite_cursor_take_times(row, NVTX_START, &call.begin, &call.end);

	if (!error)
		error = nsys_machine_thread(nsys, (uint64_t)sqlite_cursor_number(row, NVTX_THREAD),
					    &call.thread);
	string_builder_append_bytes(&name, text, bare_length(text));
	if (!error)
		error = name.error;
	if (!error)
		error = import_target_text(nsys->target, string_builder_text(&name),
					   &call.function_string);
	if (!error)
		error = nsys_operators_add(&ranges->operators, nsys->target, &call,
					   string_builder_text(&name), &call.stack);
	string_builder_fini(&name);
	if (!error)
		error = import_target_call(nsys->target, &call);
	nsys->rows += !error;
	return error;
}

static int name_thread(struct ranges *ranges, const struct sqlite_cursor *row)
{
	struct nsys *nsys = ranges->nsys;
	struct event_thread thread;
	const char *text;
	uint32_t id;
	int error =
		nsys_machine_thread(nsys, (uint64_t)sqlite_cursor_number(row, NVTX_THREAD), &id);

	if (!error)
		error = import_target_get(nsys->target, EVENT_THREAD, id, &thread);
	if (!error)
		error = read_text(nsys, row, &text);
	if (error || !*text)
		return error;
	error = import_target_text(nsys->target, text, &thread.name_string);
	return error ? error : import_target_update(nsys->target, EVENT_THREAD, &thread);
}

static int on_range(void *context, const struct sqlite_cursor *row)
{
	switch (sqlite_cursor_number(row, NVTX_TYPE)) {
	case TYPE_PUSH:
		return is_operator(row) ? write_operator(context, row)
					: write_range(context, row, RANGE_PUSH);
	case TYPE_START:
		return write_range(context, row, RANGE_START);
	case TYPE_MARK:
		return write_range(context, row, RANGE_MARK);
	case TYPE_THREAD:
		return name_thread(context, row);
	default:
		return 0;
	}
}

/* ---- overheads ---- */

enum { OVERHEAD_START, OVERHEAD_END, OVERHEAD_THREAD, OVERHEAD_NAME, OVERHEAD_TYPE };
static const char *const overhead_columns[] = {
	"start", "end", "globalTid", "nameId", "overheadType",
};

/* CUPTI's kind of an nsys type, for rows without a name. */
static int64_t overhead_kind(int64_t type)
{
	return type == 2 ? 1 : type > 2 && type < 64 ? (type - 2) << 16 : 0;
}

/* The rows of one table. */
struct overheads {
	struct nsys *nsys;
	bool is_profiler; /* Nsight Systems itself took the time */
};

static int on_overhead(void *context, const struct sqlite_cursor *row)
{
	const struct overheads *overheads = context;
	struct nsys *nsys = overheads->nsys;
	const char *of_type =
		import_overhead_name(overhead_kind(sqlite_cursor_number(row, OVERHEAD_TYPE)));
	const uint64_t global = (uint64_t)sqlite_cursor_number(row, OVERHEAD_THREAD);
	struct event_range range;
	uint64_t begin_ns, end_ns;
	const char *name = "";
	int error = sqlite_cursor_take_times(row, OVERHEAD_START, &begin_ns, &end_ns);

	if (!error && sqlite_cursor_has(row, OVERHEAD_NAME))
		error = nsys_texts_get(nsys, sqlite_cursor_number(row, OVERHEAD_NAME), &name);
	if (strncmp(name, "CUPTI: ", 7) == 0) /* it is the domain, too */
		name += 7;
	if (!error && (!*name || strcmp(name, "Unknown") == 0))
		name = of_type;
	if (!error)
		error = import_overhead_make(nsys->target, name,
					     overheads->is_profiler ||
						     import_overhead_is_profiler(name) ||
						     import_overhead_is_profiler(of_type),
					     begin_ns, end_ns, &range);
	if (!error)
		error = nsys_machine_process(nsys, global, &range.process);
	if (!error && global & 0xffffff)
		error = nsys_machine_thread(nsys, global, &range.thread);
	if (!error)
		error = import_target_range(nsys->target, &range);
	nsys->rows += !error;
	return error;
}

static int read_overheads(struct nsys *nsys)
{
	static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"};
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(tables) && !error; i++) {
		const struct sqlite_query query = {tables[i], SQLITE_COLUMNS(overhead_columns, 3)};
		struct overheads overheads = {.nsys = nsys, .is_profiler = i == 1};

		error = nsys_each_row(nsys, &query, on_overhead, &overheads);
	}
	return error;
}

int nsys_read_ranges(struct nsys *nsys)
{
	static const struct sqlite_query names = {"NVTX_EVENTS", SQLITE_COLUMNS(nvtx_columns, 0),
						  "eventType IN (33, 75)", NULL};
	static const struct sqlite_query all = {"NVTX_EVENTS", SQLITE_COLUMNS(nvtx_columns, 3)};
	struct ranges ranges = {.nsys = nsys};
	int error = read_overheads(nsys);

	if (!error)
		error = nsys_payloads_open(&nsys->collectives.payloads, nsys);
	if (!error)
		error = nsys_each_row(nsys, &names, on_name, &ranges);
	if (!error)
		error = nsys_each_row(nsys, &all, on_range, &ranges);
	import_target_note_count(nsys->target, ranges.open, "range", "ranges",
				 "without an end: open until the end of the recording");
	nsys_operators_fini(&ranges.operators);
	string_table_fini(&ranges.keys);
	free(ranges.names);
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/trace_rows.h - rows for the tests of the trace room, made and compared by the
 * tables of trace/format.h
 */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/event.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* The largest row of event.h. */
union any_row {
	struct event_process process;
	struct event_launch launch;
	struct event_code code;
	char bytes[256];
};

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static inline bool is_happening(uint32_t kind)
{
	const struct trace_format *format = trace_format_find(kind);

	return kind < EVENT_KIND_COUNT && format && !format->is_entity;
}

static inline bool is_entity(uint32_t kind)
{
	const struct trace_format *format = trace_format_find(kind);

	return format && format->is_entity;
}

/* Fills every field but strings (0) with small, large and extreme values. */
static inline void fill_row(const struct trace_format *format, void *row)
{
	memset(row, 0, format->row_size);
	for (size_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];
		uint64_t value = random_next();

		switch (value >> 60) {
		case 0:
			value = 0;
			break;
		case 1:
			value = UINT64_MAX;
			break;
		case 2:
			value = (uint64_t)1 << 63;
			break;
		case 3:
			value = 0x7fffffffffffffff;
			break;
		case 4:
			value = 0x80000000;
			break;
		default:
			value &= ((uint64_t)1 << (value >> 58)) - 1;
		}
		if (column->type != FIELD_STRING)
			trace_field_write(row, column->offset, column->type, value);
	}
}

static inline bool is_same_row(const struct trace_format *format, const void *a, const void *b)
{
	for (size_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];

		if (trace_field_read(a, column->offset, column->type) !=
		    trace_field_read(b, column->offset, column->type))
			return false;
	}
	return true;
}

/* A file name that is free, in ret_path (64 bytes). */
static inline void make_path(char *ret_path)
{
	int fd;

	strcpy(ret_path, "/tmp/duet-test-trace-XXXXXX");
	fd = mkstemp(ret_path);
	if (fd >= 0)
		close(fd);
}

static inline struct event_api api_row(uint64_t time, uint32_t thread)
{
	return (struct event_api){.begin = time, .end = time + 90 + time % 13, .thread = thread};
}

/* SPDX-License-Identifier: MIT
 *
 * trace/format.h - the numbers and tables behind proto/duet_trace.proto; only trace/ includes this
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* "\xd5duet\r\n\xa7" in file order. A transfer in text mode changes these bytes, so it is
 * detected. */
#define TRACE_SYNC         0xa70a0d74657564d5u
#define TRACE_PREFIX_BYTES 18u /* tag and sync, tag and checksum */

#define TRACE_ROWS_LIMIT    4096u
/* Largest payload after decompression. 4096 rows of 21 columns with 10-byte varints are 0.9 MB. */
#define TRACE_RAW_LIMIT     ((size_t)4 << 20)
#define TRACE_MESSAGE_LIMIT (TRACE_RAW_LIMIT + 4096u)
/* Max size of a decompressed payload: TRACE_RATIO_FREE + TRACE_RATIO_LIMIT * its compressed size.
 * It keeps a small hostile file from filling the memory. */
#define TRACE_RATIO_FREE    ((size_t)64 << 10)
#define TRACE_RATIO_LIMIT   1024u
/* Max frames of a stack. Recorded stacks have at most 512. Printing all stacks of a chain of n
 * nodes prints n * n / 2 frames, so a hostile chain must be bounded. */
#define TRACE_STACK_LIMIT   4096u
#define TRACE_STRING_LIMIT  ((size_t)1 << 20)

enum trace_kind {
	TRACE_SEGMENT = 64,
	TRACE_STRINGS = 65,
	TRACE_CONTENT = 66,
	TRACE_INDEX = 67,
	TRACE_END = 68,
	TRACE_FRAMES = 69,
	TRACE_STACKS = 70
};

enum trace_flag { TRACE_BY_SEEN = 1, TRACE_REPEATED = 2 };

/* C type of a field in its row struct. */
enum field_type { FIELD_U32, FIELD_I32, FIELD_U64, FIELD_STRING };
/* Reference value that is subtracted from a field before it is written. */
enum column_reference { FROM_ZERO, FROM_PREVIOUS, FROM_FIELD };

struct trace_column {
	const char *name; /* the field's name in the schema */
	uint8_t number;   /* the field's number in the schema */
	uint8_t type;     /* enum field_type */
	uint8_t reference;
	bool is_signed;      /* sint64: zigzag */
	bool is_alternative; /* second encoding of the column before; the shorter is written */
	bool is_stack;       /* id of a stack */
	uint8_t target;  /* enum event_kind of the rows whose ids the values are; 0: not an id */
	uint16_t offset; /* in the row */
	uint16_t reference_offset; /* FROM_FIELD: offset of an earlier field of that type */
};

#define TRACE_COLUMNS_LIMIT 32

struct trace_format {
	const struct trace_column *columns;
	uint16_t column_count;
	uint16_t row_size;
	uint16_t key_offset;
	uint8_t key_type; /* FIELD_U32 or FIELD_U64 */
	bool is_entity;   /* id and end_ns as in the structs of event.h */
	uint16_t end_offset;
};

/* The table of a kind: an event_kind, TRACE_INDEX or TRACE_END. NULL for kinds without rows. */
const struct trace_format *trace_format_find(uint32_t kind);

/* Rows of TRACE_INDEX and TRACE_END. */
struct trace_index_row {
	uint64_t back, bytes;
	uint64_t first, last, sequence;
	uint32_t kind, source, clock, seen_clock, segment, rows, flags;
};
struct trace_end_row {
	uint64_t back, bytes;
};

/* Rows of TRACE_FRAMES and TRACE_STACKS. */
struct trace_frame_row {
	struct event_frame frame;
	uint32_t id;
};
struct trace_stack_row {
	struct event_stack stack;
	uint32_t id;
};

static inline uint64_t trace_field_read(const void *row, unsigned int offset, unsigned int type)
{
	const char *field = (const char *)row + offset;
	uint64_t wide;
	uint32_t narrow;

	if (type == FIELD_U64) {
		__builtin_memcpy(&wide, field, sizeof(wide));
		return wide;
	}
	__builtin_memcpy(&narrow, field, sizeof(narrow));
	return type == FIELD_I32 ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static inline void trace_field_write(void *row, unsigned int offset, unsigned int type,
				     uint64_t value)
{
	char *field = (char *)row + offset;
	uint32_t narrow = (uint32_t)value;

	if (type == FIELD_U64)
		__builtin_memcpy(field, &value, sizeof(value));
	else
		__builtin_memcpy(field, &narrow, sizeof(narrow));
}

/* SPDX-License-Identifier: MIT
 *
 * trace/format.c - one table per row kind: the column and the encoding of each field
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     a kind; gives its table. codec.c writes and reads all kinds with one loop each over
 *           these tables, so a new kind needs only a table and a message in the schema
 * Owns:     constants
 * Fails:    NULL for a kind without rows
 * Why a field is stored as the difference to a reference (another field or the row before): an API
 *           call with jittered times then takes 4.2 bytes of file (bench_trace), while its two
 *           times alone take 16 bytes in memory. A test compares names, numbers and types with the
 *           schema.
 */
#include "trace/format.h"

#include "base/array.h"
#include "event/event.h"

/* For each field type: column type, reference (value that is subtracted), whether the difference
 * may be negative, the subtracted member, whether a second column with the difference to the
 * previous row is an alternative. */
#define TYPE_TEXT                      STRING, ZERO, false, 0, NO
#define TYPE_U32                       U32, ZERO, false, 0, NO
#define TYPE_U32_DELTA                 U32, PREVIOUS, true, 0, NO
#define TYPE_U32_AROUND(base)          U32, FIELD, true, base, NO
#define TYPE_I32                       I32, ZERO, true, 0, NO
#define TYPE_U64                       U64, ZERO, false, 0, NO
#define TYPE_U64_DELTA                 U64, PREVIOUS, true, 0, NO
#define TYPE_U64_RISING                U64, PREVIOUS, false, 0, NO
#define TYPE_U64_AFTER(base)           U64, FIELD, false, base, NO
#define TYPE_U64_AROUND_OR_DELTA(base) U64, FIELD, true, base, YES
#define TYPE_I64                       U64, ZERO, true, 0, NO

#define BASE_ZERO(row, base)     0
#define BASE_PREVIOUS(row, base) 0
#define BASE_FIELD(row, base)    offsetof(row, base)

/* The kind of the rows whose ids the values are. */
#define TARGET_NUMBER
#define TARGET_TEXT
#define TARGET_TIME
#define TARGET_STACK .is_stack = true
#define TARGET_NEXT
#define TARGET_NAME(function)
#define TARGET_TEXT_OF(function)
#define TARGET_ID(kind) .target = EVENT_##kind

#define ALTERNATIVE_NO(row_, number_, name_, field_)
#define ALTERNATIVE_YES(row_, number_, name_, field_) \
	, [number_] = {.name = name_ "_previous",     \
		       .number = (number_) + 1,       \
		       .type = FIELD_U64,             \
		       .reference = FROM_PREVIOUS,    \
		       .is_signed = true,             \
		       .is_alternative = true,        \
		       .offset = offsetof(row_, field_)}

/* Indexed by field number; the members of a struct may be in another order. */
#define COLUMN_OF(row_, number_, name_, field_, target_, type_, from_, signed_, base_, \
		  alternative_)                                                        \
	[(number_)-1] = {.name = name_,                                                \
			 .number = (number_),                                          \
			 .type = FIELD_##type_,                                        \
			 .reference = FROM_##from_,                                    \
			 .is_signed = signed_,                                         \
			 .offset = offsetof(row_, field_),                             \
			 .reference_offset = BASE_##from_(row_, base_),                \
			 target_} ALTERNATIVE_##alternative_(row_, number_, name_, field_)
#define COLUMN(...) COLUMN_OF(__VA_ARGS__)

#define ENTITY(event, ...)    static const struct trace_column event##_columns[] = {
#define HAPPENING(event, ...) static const struct trace_column event##_columns[] = {
#define FIELD(event, number, name, member, type, value, ...) \
	COLUMN(struct event_##event, number, #name, member, TARGET_##value, TYPE_##type),
#define FIELD_3(event, number, name, member, type, ...)                                         \
	COLUMN(struct event_##event, number, #name "_x", member[0], , TYPE_##type),             \
		COLUMN(struct event_##event, number + 1, #name "_y", member[1], , TYPE_##type), \
		COLUMN(struct event_##event, number + 2, #name "_z", member[2], , TYPE_##type),
#define EVENT_END(event) \
	}                \
	;
#include "event/fields.def"

/* ---- rows of the file itself ----------------------------------------------------------------- */

#define ROW_FIELD(number, name, field, type) COLUMN(ROW, number, name, field, , TYPE_##type)

#define ROW struct trace_index_row
static const struct trace_column index_columns[] = {
	ROW_FIELD(1, "back", back, U64_RISING),
	ROW_FIELD(2, "bytes", bytes, U64),
	ROW_FIELD(3, "kind", kind, U32),
	ROW_FIELD(4, "source", source, U32),
	ROW_FIELD(5, "clock", clock, U32),
	ROW_FIELD(6, "seen_clock", seen_clock, U32),
	ROW_FIELD(7, "segment", segment, U32),
	ROW_FIELD(8, "rows", rows, U32),
	ROW_FIELD(9, "first", first, U64_DELTA),
	ROW_FIELD(10, "last", last, U64_AFTER(first)),
	ROW_FIELD(11, "sequence", sequence, U64_DELTA),
	ROW_FIELD(12, "flags", flags, U32),
};
#undef ROW

#define ROW struct trace_end_row
static const struct trace_column end_columns[] = {
	ROW_FIELD(1, "back", back, U64_RISING),
	ROW_FIELD(2, "bytes", bytes, U64),
};
#undef ROW

#define ROW struct trace_frame_row
static const struct trace_column frames_columns[] = {
	ROW_FIELD(1, "id", id, U32_DELTA),
	ROW_FIELD(2, "type", frame.type, U32),
	ROW_FIELD(3, "flags", frame.flags, U32),
	ROW_FIELD(4, "module", frame.module_string, TEXT),
	ROW_FIELD(5, "build_id", frame.build_id_string, TEXT),
	ROW_FIELD(6, "name", frame.name_string, TEXT),
	ROW_FIELD(7, "file", frame.file_string, TEXT),
	ROW_FIELD(8, "line", frame.line, U32),
	ROW_FIELD(9, "first_line", frame.first_line, U32),
	ROW_FIELD(10, "offset", frame.offset, U64_DELTA),
	ROW_FIELD(11, "file_size_bytes", frame.file_size_bytes, U64),
	ROW_FIELD(12, "file_modified_ns", frame.file_modified_ns, U64),
};
#undef ROW

#define ROW struct trace_stack_row
static const struct trace_column stacks_columns[] = {
	ROW_FIELD(1, "id", id, U32_DELTA),
	/* usually id - 1 */
	ROW_FIELD(2, "caller", stack.caller, U32_AROUND(id)),
	ROW_FIELD(3, "frame", stack.frame, U32_DELTA),
};
#undef ROW

#define ENTITY(event, kind, ...)                              \
	[EVENT_##kind] = {event##_columns,                    \
			  ARRAY_COUNT(event##_columns),       \
			  sizeof(struct event_##event),       \
			  offsetof(struct event_##event, id), \
			  FIELD_U32,                          \
			  true,                               \
			  offsetof(struct event_##event, end_ns)},
#define HAPPENING(event, kind, key, ...)                                                     \
	[EVENT_##kind] = {event##_columns, ARRAY_COUNT(event##_columns),                     \
			  sizeof(struct event_##event), offsetof(struct event_##event, key), \
			  FIELD_U64},
#define DICTIONARY(name, row)                                                    \
	{                                                                        \
		name##_columns, ARRAY_COUNT(name##_columns), sizeof(struct row), \
			offsetof(struct row, id), FIELD_U32, false, 0            \
	}
#define INTERNAL(name)                                                                          \
	{                                                                                       \
		name##_columns, ARRAY_COUNT(name##_columns), sizeof(struct trace_##name##_row), \
			offsetof(struct trace_##name##_row, back), FIELD_U64, false, 0          \
	}

static const struct trace_format formats[] = {
#include "event/fields.def"
	[TRACE_INDEX] = INTERNAL(index),
	[TRACE_END] = INTERNAL(end),
	[TRACE_FRAMES] = DICTIONARY(frames, trace_frame_row),
	[TRACE_STACKS] = DICTIONARY(stacks, trace_stack_row),
};

const struct trace_format *trace_format_find(uint32_t kind)
{
	if (kind >= ARRAY_COUNT(formats) || !formats[kind].columns)
		return NULL;
	return &formats[kind];
}

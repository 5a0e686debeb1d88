/* SPDX-License-Identifier: MIT
 *
 * trace/codec.c - encode rows as columns and decode them
 *
 * Runs in:  the recorder, and all commands that read a trace; pure functions
 * Gets:     an array of row structs and the kind's table; gives one protobuf message of packed
 *           columns. Decoding is the reverse; the bytes are untrusted then.
 * Owns:     nothing; the output buffer belongs to the caller and grows
 * Fails:    -ENOMEM, -EBADMSG
 * Why not protobuf-c: every row of a trace passes through this code. protobuf-c walks each value
 *           twice to pack it (size, then bytes) and allocates every column to unpack it. A test
 *           unpacks the output with protobuf-c, so the schema remains the contract.
 */
#include "trace/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/order/key_sort.h"

#define INLINE static inline __attribute__((always_inline))

enum { HEADER_MAX = 16 };

/* The compiler makes a specialised copy of this loop for each type and reference. */
INLINE void gather_as(const struct trace_column *column, const char *row, size_t row_size,
		      size_t count, unsigned int type, unsigned int reference, uint64_t *values)
{
	uint64_t previous = 0;

	for (size_t i = 0; i < count; i++, row += row_size) {
		uint64_t value = trace_field_read(row, column->offset, type);

		values[i] = value;
		if (reference == FROM_PREVIOUS)
			values[i] -= previous;
		else if (reference == FROM_FIELD)
			values[i] -= trace_field_read(row, column->reference_offset, type);
		previous = value;
	}
}

static void gather_column(const struct trace_column *column, const void *rows, size_t row_size,
			  size_t count, uint64_t *values)
{
#define CASE(type, reference)                                                      \
	case (type)*4 + (reference):                                               \
		gather_as(column, rows, row_size, count, type, reference, values); \
		break
	switch (column->type * 4 + column->reference) {
		CASE(FIELD_U32, FROM_ZERO);
		CASE(FIELD_U32, FROM_PREVIOUS);
		CASE(FIELD_U32, FROM_FIELD);
		CASE(FIELD_I32, FROM_ZERO);
		CASE(FIELD_U64, FROM_ZERO);
		CASE(FIELD_U64, FROM_PREVIOUS);
		CASE(FIELD_U64, FROM_FIELD);
		CASE(FIELD_STRING, FROM_ZERO);
	}
#undef CASE
}

/* Number of values to write: a reader repeats the last value and fills an absent column with
 * zeros. */
static size_t trim_values(const uint64_t *values, size_t count)
{
	while (count > 1 && values[count - 1] == values[count - 2])
		count--;
	return count == 1 && values[0] == 0 ? 0 : count;
}

static size_t varints_size(const uint64_t *values, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += (size_t)(70 - __builtin_clzll(values[i] | 1)) / 7;
	return size;
}

/* Fills values; returns how many of them must be written. */
static size_t make_column(const struct trace_format *format, const struct trace_column *column,
			  const void *rows, size_t count, const struct trace_translator *translator,
			  uint64_t *values)
{
	gather_column(column, rows, format->row_size, count, values);
	if (column->type == FIELD_STRING && translator) {
		/* neighbouring rows often have the same string */
		uint64_t last = 0, mapped = 0;

		for (size_t i = 0; i < count; i++) {
			if (values[i] != last) {
				last = values[i];
				mapped = translator->map(translator->context, (uint32_t)last);
			}
			values[i] = mapped;
		}
	}
	count = trim_values(values, count);
	for (size_t i = 0; column->is_signed && i < count; i++)
		values[i] = trace_zigzag(values[i]);
	return count;
}

/* at has room for count * MAX_VARINT + HEADER_MAX bytes. */
static uint8_t *write_column(const struct trace_column *column, const uint64_t *values,
			     size_t count, uint8_t *at)
{
	uint8_t *body = at + HEADER_MAX, *end = body;

	if (!count)
		return at;
	for (size_t i = 0; i < count; i++)
		end = varint_write(end, values[i]);
	/* the length is known only now: it takes 2 or 3 of the 16 bytes left for the header */
	at = varint_write(at, (uint64_t)column->number << 3 | 2);
	at = varint_write(at, (uint64_t)(end - body));
	memmove(at, body, (size_t)(end - body));
	return at + (end - body);
}

struct encoder {
	uint64_t values[2][TRACE_ROWS_LIMIT];
};

int trace_encode(const struct trace_format *format, const void *rows, size_t count,
		 const struct trace_translator *translator, struct trace_message *message)
{
	auto_free struct encoder *encoder = malloc(sizeof(*encoder));

	message->size = message->ends_count = 0;
	if (!encoder)
		return -ENOMEM;
	for (size_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];
		uint64_t *values = encoder->values[0], *others = encoder->values[1];
		size_t filled = make_column(format, column, rows, count, translator, values);

		for (; i + 1 < format->column_count && format->columns[i + 1].is_alternative; i++) {
			size_t other = make_column(format, &format->columns[i + 1], rows, count,
						   translator, others);

			if (varints_size(others, other) >= varints_size(values, filled))
				continue;
			column = &format->columns[i + 1];
			memcpy(values, others, sizeof(encoder->values[0]));
			/* an absent column would mean the first alternative */
			filled = other ? other : 1;
		}
		if (array_grow(message->bytes, message->capacity,
			       message->size + filled * MAX_VARINT + HEADER_MAX))
			return -ENOMEM;
		message->size = (size_t)(write_column(column, values, filled,
						      message->bytes + message->size) -
					 message->bytes);
		message->ends[message->ends_count++] = message->size;
	}
	return 0;
}

struct span {
	const uint8_t *begin, *end; /* begin NULL: absent */
};

/* Finds the columns; skips fields of unknown numbers or types, which a newer writer may write. */
static int find_columns(const uint8_t *at, const uint8_t *end, struct span *spans)
{
	uint64_t tag, length;

	while (at < end) {
		at = trace_varint_read(at, end, &tag);
		if (!at || tag >> 3 == 0)
			return -EBADMSG;
		switch (tag & 7) {
		case 0:
			at = trace_varint_read(at, end, &length);
			if (!at)
				return -EBADMSG;
			continue;
		case 1:
			length = 8;
			break;
		case 5:
			length = 4;
			break;
		case 2:
			at = trace_varint_read(at, end, &length);
			break;
		default:
			return -EBADMSG;
		}
		if (!at || length > (uint64_t)(end - at))
			return -EBADMSG;
		if ((tag & 7) == 2 && tag >> 3 < TRACE_COLUMNS_LIMIT)
			spans[tag >> 3] = (struct span){at, at + length};
		at += length;
	}
	return 0;
}

INLINE int scatter_as(const struct trace_column *column, struct span span, char *row,
		      size_t row_size, size_t count, unsigned int type, unsigned int reference)
{
	const uint8_t *at = span.begin, *end = span.end;
	uint64_t value = 0, previous = 0;

	for (size_t i = 0; i < count; i++, row += row_size) {
		uint64_t field;

		if (at != end) {
			if (*at < 0x80) {
				value = *at++;
			} else {
				at = trace_varint_read(at, end, &value);
				if (!at)
					return -EBADMSG;
			}
			if (column->is_signed)
				value = trace_unzigzag(value);
		}
		field = value;
		if (reference == FROM_PREVIOUS)
			field += previous;
		else if (reference == FROM_FIELD)
			field += trace_field_read(row, column->reference_offset, type);
		previous = field;
		trace_field_write(row, column->offset, type, field);
	}
	return at == end ? 0 : -EBADMSG;
}

static int scatter(const struct trace_column *column, struct span span, void *rows, size_t row_size,
		   size_t count)
{
#define CASE(type, reference)        \
	case (type)*4 + (reference): \
		return scatter_as(column, span, rows, row_size, count, type, reference)
	switch (column->type * 4 + column->reference) {
		CASE(FIELD_U32, FROM_ZERO);
		CASE(FIELD_U32, FROM_PREVIOUS);
		CASE(FIELD_U32, FROM_FIELD);
		CASE(FIELD_I32, FROM_ZERO);
		CASE(FIELD_U64, FROM_ZERO);
		CASE(FIELD_U64, FROM_PREVIOUS);
		CASE(FIELD_U64, FROM_FIELD);
		CASE(FIELD_STRING, FROM_ZERO);
	}
#undef CASE
	return -EBADMSG;
}

static void translate_column(const struct trace_column *column,
			     const struct trace_translator *translator, char *row, size_t row_size,
			     size_t count)
{
	uint32_t last = 0, mapped = 0;

	for (size_t i = 0; i < count; i++, row += row_size) {
		uint32_t id;

		memcpy(&id, row + column->offset, sizeof(id));
		if (id != last) {
			last = id;
			mapped = translator->map(translator->context, id);
		}
		memcpy(row + column->offset, &mapped, sizeof(mapped));
	}
}

int trace_decode(const struct trace_format *format, const uint8_t *bytes, size_t size,
		 const struct trace_translator *translator, void *rows, size_t count)
{
	struct span spans[TRACE_COLUMNS_LIMIT] = {0};

	if (find_columns(bytes, bytes + size, spans))
		return -EBADMSG;
	for (size_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i], *used = column;

		for (; i + 1 < format->column_count && format->columns[i + 1].is_alternative; i++) {
			if (spans[format->columns[i + 1].number].begin)
				used = &format->columns[i + 1];
		}
		/* without the column and a reference, the zeroed rows are correct already */
		if (!spans[used->number].begin && used->reference != FROM_FIELD)
			continue;
		if (scatter(used, spans[used->number], rows, format->row_size, count))
			return -EBADMSG;
		if (used->type == FIELD_STRING && translator)
			translate_column(used, translator, rows, format->row_size, count);
	}
	return 0;
}

int trace_sort(void *rows, size_t count, size_t row_size, unsigned int key_offset,
	       unsigned int key_type)
{
	auto_free struct sort_key *keys = calloc(2 * count + 1, sizeof(*keys));
	auto_free char *sorted = malloc(count * row_size + 1);
	const struct sort_key *order;

	if (count < 2)
		return 0;
	if (!keys || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		keys[i].words[0] =
			trace_field_read((char *)rows + i * row_size, key_offset, key_type);
		keys[i].row = (uint32_t)i;
	}
	order = key_sort(keys, count, NULL, NULL);
	for (size_t i = 0; i < count; i++)
		memcpy(sorted + i * row_size, (char *)rows + order[i].row * row_size, row_size);
	memcpy(rows, sorted, count * row_size);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * trace/codec.h - encode rows as columns and decode them
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct trace_translator {
	uint32_t (*map)(void *context, uint32_t id);
	void *context;
};

/* An encoded message. All zero: empty. bytes is freed by the owner. */
struct trace_message {
	uint8_t *bytes;
	size_t capacity, size;
	size_t ends[TRACE_COLUMNS_LIMIT]; /* offset of the end of each column */
	size_t ends_count;
};

/* Encodes count (1 … TRACE_ROWS_LIMIT) rows as the message of their kind. translator maps string
 * fields; it may be NULL. Errors: -ENOMEM. */
int trace_encode(const struct trace_format *format, const void *rows, size_t count,
		 const struct trace_translator *translator, struct trace_message *message);

/* Decodes untrusted bytes into rows, which holds count zeroed rows. Errors: -EBADMSG. */
int trace_decode(const struct trace_format *format, const uint8_t *bytes, size_t size,
		 const struct trace_translator *translator, void *rows, size_t count);

/* Sorts rows by the field at key_offset; the sort is stable. Errors: -ENOMEM. */
int trace_sort(void *rows, size_t count, size_t row_size, unsigned int key_offset,
	       unsigned int key_type);

static inline uint64_t trace_zigzag(uint64_t value)
{
	return value << 1 ^ (uint64_t)((int64_t)value >> 63);
}

static inline uint64_t trace_unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

/* Returns the end of the varint at `at`; NULL if it is cut off or longer than 10 bytes. */
static inline const uint8_t *trace_varint_read(const uint8_t *at, const uint8_t *end,
					       uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; at < end && shift < 70; shift += 7) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return at;
		}
	}
	return NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * export/common/protobuf.h - write one protobuf message field by field
 *
 *	size_t outer = protobuf_begin(&message, FIELD_TRACK);
 *	protobuf_u64(&message, FIELD_UUID, 7);
 *	protobuf_end(&message, outer);
 *	if (message.error)
 *		...
 *
 * -ENOMEM is kept in `error` and later fields are ignored, so that callers check once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

struct protobuf {
	uint8_t *bytes;
	size_t size, capacity;
	int error; /* 0 or -ENOMEM */
};

void protobuf_init(struct protobuf *message);
void protobuf_fini(struct protobuf *message);  /* NULL-safe */
void protobuf_clear(struct protobuf *message); /* keeps the memory and the error */

void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size);

/* A packed list; writes nothing if it is empty. */
void protobuf_packed(struct protobuf *message, unsigned int field, const uint64_t *values,
		     size_t count);

/* A string. Protobuf requires UTF-8; malformed bytes become U+FFFD, as in JSON. */
void protobuf_text(struct protobuf *message, unsigned int field, const char *text);

/* Appends encoded fields. */
void protobuf_append(struct protobuf *message, const void *fields, size_t size);

/* Writes the bytes of the message, possibly none; errors are left in the stream. */
void protobuf_write(const struct protobuf *message, FILE *file);

/* ---- Inline functions for every field: with a constant field number its tag is a constant too. */

enum { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2 };

/* Returns space for `size` bytes at the end of the message; NULL without memory. */
uint8_t *protobuf_grow(struct protobuf *message, size_t size);

static inline uint8_t *protobuf_reserve(struct protobuf *message, size_t size)
{
	if (__builtin_expect(message->capacity - message->size < size || message->error, 0))
		return protobuf_grow(message, size);
	return message->bytes + message->size;
}

/* For uint32, uint64, bool and enum, and for non-negative int32 and int64. */
static inline void protobuf_u64(struct protobuf *message, unsigned int field, uint64_t value)
{
	uint8_t *at = protobuf_reserve(message, 2 * MAX_VARINT);

	if (!at)
		return;
	at = varint_write(at, field << 3 | PROTOBUF_VARINT);
	at = varint_write(at, value);
	message->size = (size_t)(at - message->bytes);
}

static inline void protobuf_i64(struct protobuf *message, unsigned int field, int64_t value)
{
	protobuf_u64(message, field, (uint64_t)value);
}

static inline void protobuf_fixed64(struct protobuf *message, unsigned int field, uint64_t value)
{
	uint8_t *at = protobuf_reserve(message, MAX_VARINT + 8);

	if (!at)
		return;
	at = varint_write(at, field << 3 | PROTOBUF_FIXED64);
	for (unsigned int i = 0; i < 8; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	message->size = (size_t)(at - message->bytes);
}

static inline void protobuf_double(struct protobuf *message, unsigned int field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_fixed64(message, field, bits);
}

/* Ends an inner message above 127 bytes, whose length needs more than the one reserved byte. */
void protobuf_end_long(struct protobuf *message, size_t begin);

/* Starts an inner message; all fields up to protobuf_end belong to it. */
static inline size_t protobuf_begin(struct protobuf *message, unsigned int field)
{
	uint8_t *at = protobuf_reserve(message, MAX_VARINT + 1);

	if (!at)
		return 0;
	at = varint_write(at, field << 3 | PROTOBUF_BYTES);
	message->size = (size_t)(at - message->bytes) + 1;
	return message->size;
}

static inline void protobuf_end(struct protobuf *message, size_t begin)
{
	size_t size = message->size - begin;

	if (size < 0x80 && !message->error)
		message->bytes[begin - 1] = (uint8_t)size;
	else
		protobuf_end_long(message, begin);
}

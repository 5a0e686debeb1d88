/* SPDX-License-Identifier: MIT
 *
 * export/protobuf.h - write one protobuf message field by field
 *
 *	size_t outer = protobuf_begin(&message, FIELD_TRACK);
 *	protobuf_u64(&message, FIELD_UUID, 7);
 *	protobuf_end(&message, outer);
 *	if (message.error)
 *		...
 *
 * What runs out of memory is remembered and later fields are ignored, so that callers check once.
 */
#ifndef EXPORT_PROTOBUF_H
#define EXPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct protobuf {
	uint8_t *bytes;
	size_t size, capacity;
	int error; /* 0 or -ENOMEM */
};

void protobuf_init(struct protobuf *message);
void protobuf_fini(struct protobuf *message);  /* NULL-safe */
void protobuf_clear(struct protobuf *message); /* keeps the memory and the error */

void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size);

/* A packed list; nothing where it is empty. */
void protobuf_packed(struct protobuf *message, unsigned int field, const uint64_t *values,
		     size_t count);

/* A string, which protobuf wants to be UTF-8: what is malformed becomes U+FFFD, as in JSON. */
void protobuf_text(struct protobuf *message, unsigned int field, const char *text);

/* Fields that were written elsewhere. */
void protobuf_append(struct protobuf *message, const void *fields, size_t size);

/* What there is of it, which may be nothing; the stream keeps the error. */
void protobuf_write(const struct protobuf *message, FILE *file);

/* ---- What is done for every field stands here: where the field's number is a constant its tag is one, too. ---- */

enum { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_VARINT_MOST = 10 };

/* Room for `size` bytes behind the message; NULL without memory. */
uint8_t *protobuf_grow(struct protobuf *message, size_t size);

static inline uint8_t *protobuf_reserve(struct protobuf *message, size_t size)
{
	if (__builtin_expect(message->capacity - message->size < size || message->error, 0))
		return protobuf_grow(message, size);
	return message->bytes + message->size;
}

static inline uint8_t *protobuf_put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* uint32, uint64, bool and enum, and int32 and int64 of what is not negative. */
static inline void protobuf_u64(struct protobuf *message, unsigned int field, uint64_t value)
{
	uint8_t *at = protobuf_reserve(message, 2 * PROTOBUF_VARINT_MOST);

	if (!at)
		return;
	at = protobuf_put_varint(at, field << 3 | PROTOBUF_VARINT);
	at = protobuf_put_varint(at, value);
	message->size = (size_t)(at - message->bytes);
}

static inline void protobuf_i64(struct protobuf *message, unsigned int field, int64_t value)
{
	protobuf_u64(message, field, (uint64_t)value);
}

static inline void protobuf_fixed64(struct protobuf *message, unsigned int field, uint64_t value)
{
	uint8_t *at = protobuf_reserve(message, PROTOBUF_VARINT_MOST + 8);

	if (!at)
		return;
	at = protobuf_put_varint(at, field << 3 | PROTOBUF_FIXED64);
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

/* Of an inner message that has more than 127 bytes, whose length takes more than the one kept for it. */
void protobuf_end_long(struct protobuf *message, size_t begin);

/* A message inside the message: everything up to protobuf_end is in it. */
static inline size_t protobuf_begin(struct protobuf *message, unsigned int field)
{
	uint8_t *at = protobuf_reserve(message, PROTOBUF_VARINT_MOST + 1);

	if (!at)
		return 0;
	at = protobuf_put_varint(at, field << 3 | PROTOBUF_BYTES);
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

#endif

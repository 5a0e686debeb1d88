/* SPDX-License-Identifier: MIT
 *
 * export/protobuf.c - write one protobuf message field by field
 *
 * Runs in:  our own process
 * Gets:     fields   Gives: the bytes of a message
 * Owns:     the bytes
 * Fails:    remembers -ENOMEM
 * Why not protobuf-c: it wants the whole message as a tree of structs with pointers first. A trace is
 *           10^6 messages of 60 bytes each, of which one is in memory at a time. The length of an
 *           inner message takes one byte in advance, and only those above 127 bytes are moved.
 */
#include "export/protobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, VARINT_MOST = 10 };

void protobuf_init(struct protobuf *message)
{
	*message = (struct protobuf){0};
}

void protobuf_fini(struct protobuf *message)
{
	if (!message)
		return;
	free(message->bytes);
	protobuf_init(message);
}

void protobuf_clear(struct protobuf *message)
{
	message->size = 0;
}

static uint8_t *reserve(struct protobuf *message, size_t size)
{
	if (!message->error && message->size + size > message->capacity &&
	    array_grow(message->bytes, message->capacity, message->size + size))
		message->error = -ENOMEM;
	return message->error ? NULL : message->bytes + message->size;
}

static uint8_t *write_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static size_t varint_size(uint64_t value)
{
	uint8_t bytes[VARINT_MOST];

	return (size_t)(write_varint(bytes, value) - bytes);
}

void protobuf_u64(struct protobuf *message, unsigned int field, uint64_t value)
{
	uint8_t *at = reserve(message, 2 * VARINT_MOST);

	if (!at)
		return;
	at = write_varint(at, field << 3 | WIRE_VARINT);
	at = write_varint(at, value);
	message->size = (size_t)(at - message->bytes);
}

void protobuf_i64(struct protobuf *message, unsigned int field, int64_t value)
{
	protobuf_u64(message, field, (uint64_t)value);
}

void protobuf_fixed64(struct protobuf *message, unsigned int field, uint64_t value)
{
	uint8_t *at = reserve(message, VARINT_MOST + 8);

	if (!at)
		return;
	at = write_varint(at, field << 3 | WIRE_FIXED64);
	for (unsigned int i = 0; i < 8; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	message->size = (size_t)(at - message->bytes);
}

static void append(struct protobuf *message, const void *bytes, size_t size)
{
	uint8_t *at = reserve(message, size);

	if (!at || !size)
		return;
	memcpy(at, bytes, size);
	message->size += size;
}

void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size)
{
	uint8_t *at = reserve(message, 2 * VARINT_MOST + size);

	if (!at)
		return;
	at = write_varint(at, field << 3 | WIRE_BYTES);
	at = write_varint(at, size);
	message->size = (size_t)(at - message->bytes);
	append(message, bytes, size);
}

void protobuf_text(struct protobuf *message, unsigned int field, const char *text)
{
	size_t size = strlen(text), begin = protobuf_begin(message, field), start = 0, i = 0;

	while (i < size) {
		int length = utf8_length(text + i, size - i);

		if (length < 0) {
			append(message, text + start, i - start);
			append(message, "\xef\xbf\xbd", 3);
			start = i + (size_t)-length;
		}
		i += (size_t)abs(length);
	}
	append(message, text + start, size - start);
	protobuf_end(message, begin);
}

size_t protobuf_begin(struct protobuf *message, unsigned int field)
{
	uint8_t *at = reserve(message, VARINT_MOST + 1);

	if (!at)
		return 0;
	at = write_varint(at, field << 3 | WIRE_BYTES);
	message->size = (size_t)(at - message->bytes) + 1;
	return message->size;
}

void protobuf_end(struct protobuf *message, size_t begin)
{
	size_t size = message->size - begin, more;

	if (message->error)
		return;
	more = varint_size(size) - 1;
	if (more && !reserve(message, more))
		return;
	if (more)
		memmove(message->bytes + begin + more, message->bytes + begin, size);
	write_varint(message->bytes + begin - 1, size);
	message->size += more;
}

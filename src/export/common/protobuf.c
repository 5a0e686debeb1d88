/* SPDX-License-Identifier: MIT
 *
 * export/common/protobuf.c - write one protobuf message field by field
 *
 * Runs in:  our own process
 * Gets:     fields
 * Gives:    the bytes of a message
 * Owns:     the bytes
 * Fails:    -ENOMEM is kept in the message
 * Why not protobuf-c: it needs the complete message as a tree of structs first. A trace has 10^6
 *           messages of 60 bytes, and this writer holds one of them at a time. It reserves one byte
 *           for the length of an inner message and moves only messages above 127 bytes.
 */
#include "export/common/protobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"

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

uint8_t *protobuf_grow(struct protobuf *message, size_t size)
{
	if (!message->error && array_grow(message->bytes, message->capacity, message->size + size))
		message->error = -ENOMEM;
	return message->error ? NULL : message->bytes + message->size;
}

static void append_bytes(struct protobuf *message, const void *bytes, size_t size)
{
	uint8_t *at = protobuf_reserve(message, size);

	if (!at || !size)
		return;
	memcpy(at, bytes, size);
	message->size += size;
}

void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size)
{
	uint8_t *at = protobuf_reserve(message, 2 * MAX_VARINT + size);

	if (!at)
		return;
	at = varint_write(at, field << 3 | PROTOBUF_BYTES);
	at = varint_write(at, size);
	message->size = (size_t)(at - message->bytes);
	append_bytes(message, bytes, size);
}

void protobuf_append(struct protobuf *message, const void *fields, size_t size)
{
	append_bytes(message, fields, size);
}

void protobuf_write(const struct protobuf *message, FILE *file)
{
	if (message->size)
		fwrite(message->bytes, 1, message->size, file);
}

void protobuf_packed(struct protobuf *message, unsigned int field, const uint64_t *values,
		     size_t count)
{
	size_t begin = count ? protobuf_begin(message, field) : 0;
	uint8_t *at = count ? protobuf_reserve(message, count * MAX_VARINT) : NULL;

	if (!at)
		return;
	for (size_t i = 0; i < count; i++)
		at = varint_write(at, values[i]);
	message->size = (size_t)(at - message->bytes);
	protobuf_end(message, begin);
}

void protobuf_text(struct protobuf *message, unsigned int field, const char *text)
{
	size_t size = strlen(text), begin = protobuf_begin(message, field), start = 0, i = 0;

	while (i < size) {
		int length = utf8_length(text + i, size - i);

		if (length < 0) {
			append_bytes(message, text + start, i - start);
			append_bytes(message, "\xef\xbf\xbd", 3);
			start = i + (size_t)-length;
		}
		i += (size_t)abs(length);
	}
	append_bytes(message, text + start, size - start);
	protobuf_end(message, begin);
}

static size_t varint_size(uint64_t value)
{
	uint8_t bytes[MAX_VARINT];

	return (size_t)(varint_write(bytes, value) - bytes);
}

void protobuf_end_long(struct protobuf *message, size_t begin)
{
	size_t size = message->size - begin, more;

	if (message->error)
		return;
	more = varint_size(size) - 1;
	if (more && !protobuf_reserve(message, more))
		return;
	if (more)
		memmove(message->bytes + begin + more, message->bytes + begin, size);
	varint_write(message->bytes + begin - 1, size);
	message->size += more;
}

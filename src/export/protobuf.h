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

struct protobuf {
	uint8_t *bytes;
	size_t size, capacity;
	int error; /* 0 or -ENOMEM */
};

void protobuf_init(struct protobuf *message);
void protobuf_fini(struct protobuf *message);  /* NULL-safe */
void protobuf_clear(struct protobuf *message); /* keeps the memory and the error */

/* uint32, uint64, bool and enum, and int32 and int64 of what is not negative. */
void protobuf_u64(struct protobuf *message, unsigned int field, uint64_t value);
void protobuf_i64(struct protobuf *message, unsigned int field, int64_t value);
void protobuf_fixed64(struct protobuf *message, unsigned int field, uint64_t value);
void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size);

/* A string, which protobuf wants to be UTF-8: what is malformed becomes U+FFFD, as in JSON. */
void protobuf_text(struct protobuf *message, unsigned int field, const char *text);

/* A message inside the message: everything up to protobuf_end is in it. */
size_t protobuf_begin(struct protobuf *message, unsigned int field);
void protobuf_end(struct protobuf *message, size_t begin);

#endif

/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/wire.h - read the encoding of protobuf: fields of a message in memory, and the
 * packets of a file
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_source;

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* The unread part of a message. */
struct wire {
	const uint8_t *at, *end;
	bool is_bad; /* the rest is cut off or has an unknown type */
};

struct wire_field {
	uint64_t number;
	enum wire_type type;
	uint64_t value;       /* WIRE_VARINT, WIRE_FIXED64, WIRE_FIXED32 */
	const uint8_t *bytes; /* WIRE_BYTES */
	size_t size;
};

/* False at the end and at a bad field. */
bool wire_next(struct wire *wire, struct wire_field *field);

/* Returns the end of a varint; NULL if it is cut off or longer than 10 bytes. */
const uint8_t *wire_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret_value);

/* The fields of a message that is a field. */
static inline struct wire wire_inside(const struct wire_field *field)
{
	return (struct wire){.at = field->bytes, .end = field->bytes + field->size};
}

/* The value of a field with a number; `otherwise` if it is absent. The last one counts. */
uint64_t wire_number(struct wire message, uint64_t number, uint64_t otherwise);

/* ---- packets ---- */

#define WIRE_PACKET_BYTES_MAX ((size_t)16 << 20)

struct wire_packets {
	struct import_source *source; /* borrowed */
	uint8_t *buffer;
	size_t capacity, used, size;
	uint64_t byte; /* position of the current packet in the file */
	uint64_t next; /* position of the next one */
	uint64_t too_large;
	bool is_cut; /* the file ends inside of a packet */
};

void wire_packets_init(struct wire_packets *packets, struct import_source *source);
void wire_packets_fini(struct wire_packets *packets);

/* Reads the next packet, which is valid until the next call. Packets above 16 MiB are left out and
 * counted. Returns 1, 0 at the end, -EBADMSG with the byte, errors of the source, -ENOMEM. */
int wire_packets_next(struct wire_packets *packets, struct wire *ret_packet);

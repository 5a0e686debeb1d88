/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/wire.c - read the encoding of protobuf: fields of a message in memory, and the
 * packets of a file
 *
 * Runs in:  our own process
 * Gets:     bytes
 * Gives:    fields
 * Owns:     one packet, at most 16 MiB
 * Fails:    -EBADMSG with the byte of a packet that is none
 * Why not protobuf-c: it needs a message for each packet and all its fields, 12 allocations for a
 *           slice; most fields of a packet are never looked at
 */
#include "import/perfetto/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "import/source.h"
#include "perfetto_trace.numbers.h"

enum { READ_BYTES = 65536, MAX_HEAD = 2 * MAX_VARINT };

const uint8_t *wire_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; at < end && shift < 7 * MAX_VARINT; shift += 7) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return at;
		}
	}
	return NULL;
}

/* Returns the end of the field; NULL if it is bad. */
static const uint8_t *read_value(const uint8_t *at, const uint8_t *end, struct wire_field *field)
{
	const size_t left = (size_t)(end - at);

	switch (field->type) {
	case WIRE_VARINT:
		return wire_varint(at, end, &field->value);
	case WIRE_FIXED64:
		if (left < 8)
			return NULL;
		field->value = word_at(at, 0);
		return at + 8;
	case WIRE_FIXED32:
		if (left < 4)
			return NULL;
		field->value = half_at(at, 0);
		return at + 4;
	case WIRE_BYTES:
		at = wire_varint(at, end, &field->value);
		if (!at || field->value > (uint64_t)(end - at))
			return NULL;
		field->bytes = at;
		field->size = (size_t)field->value;
		return at + field->size;
	default:
		return NULL;
	}
}

bool wire_next(struct wire *wire, struct wire_field *field)
{
	const uint8_t *at;
	uint64_t key = 0;

	if (wire->is_bad || wire->at == wire->end)
		return false;
	at = wire_varint(wire->at, wire->end, &key);
	*field = (struct wire_field){.number = key >> 3, .type = (enum wire_type)(key & 7)};
	at = at ? read_value(at, wire->end, field) : NULL;
	wire->is_bad = !at;
	wire->at = at ? at : wire->end;
	return !wire->is_bad;
}

uint64_t wire_number(struct wire message, uint64_t number, uint64_t otherwise)
{
	struct wire_field field;

	while (wire_next(&message, &field))
		if (field.number == number && field.type != WIRE_BYTES)
			otherwise = field.value;
	return otherwise;
}

/* ---- packets ---- */

void wire_packets_init(struct wire_packets *packets, struct import_source *source)
{
	*packets = (struct wire_packets){.source = source};
}

void wire_packets_fini(struct wire_packets *packets)
{
	free(packets->buffer);
}

/* Reads until the buffer holds this many unread bytes, or the file ends. */
static int fill(struct wire_packets *packets, size_t wanted)
{
	ssize_t given = 1;

	if (packets->size - packets->used >= wanted)
		return 0;
	memmove(packets->buffer, packets->buffer + packets->used, packets->size - packets->used);
	packets->size -= packets->used;
	packets->used = 0;
	if (array_grow(packets->buffer, packets->capacity, wanted + READ_BYTES))
		return -ENOMEM;
	while (given > 0 && packets->size < wanted) {
		given = import_source_read(packets->source, packets->buffer + packets->size,
					   READ_BYTES);
		packets->size += given > 0 ? (size_t)given : 0;
	}
	return given < 0 ? (int)given : 0;
}

static int skip(struct wire_packets *packets, uint64_t size)
{
	while (size) {
		size_t held = packets->size - packets->used;
		size_t part = held < size ? held : (size_t)size;
		int error;

		packets->used += part;
		size -= part;
		error = size ? fill(packets, 1) : 0;
		if (error)
			return error;
		if (size && packets->size == packets->used) {
			packets->is_cut = true;
			return 0;
		}
	}
	return 0;
}

/* Reads the number and the size of the next field of the file. Returns 1, 0 at the end, -errno. */
static int read_head(struct wire_packets *packets, uint64_t *ret_number, uint64_t *ret_size)
{
	const uint8_t *at, *end;
	uint64_t key = 0;
	bool is_bad = false;
	int error = fill(packets, MAX_HEAD);

	if (error || packets->size == packets->used)
		return error;
	packets->byte = packets->next;
	end = packets->buffer + packets->size;
	at = wire_varint(packets->buffer + packets->used, end, &key);
	if (at && ((key & 7) != WIRE_BYTES || !(key >> 3)))
		is_bad = true;
	else if (at)
		at = wire_varint(at, end, ret_size);
	packets->is_cut =
		!at && !is_bad && packets->byte > 0 && packets->size - packets->used < MAX_HEAD;
	if (packets->is_cut)
		return 0;
	if (!at || is_bad)
		return error_set(-EBADMSG, "byte %llu: expected a packet of a Perfetto trace",
				 (unsigned long long)packets->byte);
	packets->next += (size_t)(at - (packets->buffer + packets->used)) + *ret_size;
	packets->used = (size_t)(at - packets->buffer);
	*ret_number = key >> 3;
	return 1;
}

int wire_packets_next(struct wire_packets *packets, struct wire *ret_packet)
{
	uint64_t number = 0, size = 0;
	int status;

	while (!packets->is_cut && (status = read_head(packets, &number, &size)) != 0) {
		bool is_large = size > WIRE_PACKET_BYTES_MAX;
		int error = status < 0 ? status : 0;

		if (!error && (number != PF_TRACE_PACKET || is_large)) {
			packets->too_large += number == PF_TRACE_PACKET;
			error = skip(packets, size);
			if (error)
				return error;
			continue;
		}
		if (!error)
			error = fill(packets, (size_t)size);
		if (error)
			return error;
		packets->is_cut = packets->size - packets->used < size;
		if (packets->is_cut)
			return 0;
		*ret_packet = (struct wire){.at = packets->buffer + packets->used,
					    .end = packets->buffer + packets->used + size};
		packets->used += (size_t)size;
		return 1;
	}
	return 0;
}

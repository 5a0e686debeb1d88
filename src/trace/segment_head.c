/* SPDX-License-Identifier: MIT
 *
 * trace/segment_head.c - the chunk with which a segment begins
 *
 * Runs in:  our own process: the recorder, and commands that follow its file
 * Gets:     a head, or the bytes of a message; gives the other
 * Owns:     nothing
 * Fails:    -EBADMSG for other or damaged bytes; -ENOMEM
 * Why first_segment: a head drops all segments with lower numbers, which makes any part of a file a
 *           complete recording that starts with that segment.
 */
#include "trace/segment_head.h"

#include <errno.h>
#include <string.h>

#include "event/event.h"
#include "trace/chunk.h"
#include "trace/format.h"
#include "trace/unpack.h"

#include "duet_trace.pb-c.h"

size_t segment_head_pack(const struct segment_head *head, uint8_t *ret_payload)
{
	Duet__SegmentHead message = DUET__SEGMENT_HEAD__INIT;

	message.has_schema_major = message.has_schema_minor = true;
	message.schema_major = EVENT_SCHEMA_MAJOR;
	message.schema_minor = EVENT_SCHEMA_MINOR;
	message.has_number = message.has_begin_ns = message.has_first_segment = true;
	message.number = head->number;
	message.begin_ns = head->begin_ns;
	message.first_segment = head->first_segment;
	return duet__segment_head__pack(&message, ret_payload);
}

static int unpack_head(const uint8_t *payload, size_t size, struct segment_head *ret_head)
{
	struct unpack unpack;
	Duet__SegmentHead *message =
		duet__segment_head__unpack(unpack_begin(&unpack), size, payload);

	if (!message)
		return unpack_error(&unpack);
	*ret_head = (struct segment_head){.number = message->number,
					  .first_segment = message->first_segment,
					  .begin_ns = message->begin_ns};
	duet__segment_head__free_unpacked(message, NULL);
	return 0;
}

int segment_head_read(const uint8_t *message, size_t size, struct segment_head *ret_head)
{
	struct chunk_opener opener;
	struct chunk_head head;
	const uint8_t *payload;
	size_t payload_size;
	int error;

	if (!chunk_has_prefix(message, size))
		return -EBADMSG;
	chunk_opener_init(&opener);
	error = chunk_open(&opener, message, size, &head, &payload, &payload_size);
	if (!error)
		error = head.kind == TRACE_SEGMENT ? unpack_head(payload, payload_size, ret_head)
						   : -EBADMSG;
	chunk_opener_fini(&opener);
	return error;
}

int segment_head_write(const struct segment_head *head, uint8_t *ret_bytes, size_t *ret_size)
{
	struct chunk_packer packer;
	struct chunk_head chunk = {.kind = TRACE_SEGMENT, .segment = head->number};
	uint8_t packed[64];
	struct chunk_payload payload = {packed, segment_head_pack(head, packed), NULL, 0};
	int error;

	chunk_packer_init(&packer, 1);
	error = chunk_pack(&packer, &chunk, &payload);
	if (!error && packer.size > SEGMENT_HEAD_BYTES)
		error = -EMSGSIZE;
	if (!error) {
		memcpy(ret_bytes, packer.bytes, packer.size);
		*ret_size = packer.size;
	}
	chunk_packer_fini(&packer);
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * export/ctf/stream.c - one data stream of a CTF trace: a file of packets
 *
 * Runs in:  our own process
 * Gets:     events ordered by time, and the numbers of lost ones
 * Gives:    packets
 * Owns:     the file, the packet that is being filled
 * Fails:    -ENOMEM, -errno of the file with a text
 * Why a loss ends the packet: readers compute the losses as the difference of the loss counts of
 *           two packets, and show them in the time between the two packets.
 */
#include "export/ctf/stream.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file/output_file.h"
#include "base/string.h"

enum {
	HEADER_BYTES = 4 + CTF_UUID_BYTES + 4 + 8,
	CONTEXT_BYTES = 6 * 8,
	HEAD_BYTES = HEADER_BYTES + CONTEXT_BYTES,
	CPU_BYTES = 4,
	PACKET_BYTES = 65536
};

/* ---- bytes ---- */

static void put_bytes(struct ctf_stream *stream, const void *bytes, size_t size)
{
	if (!stream->error && array_grow(stream->bytes, stream->capacity, stream->size + size))
		stream->error = -ENOMEM;
	if (stream->error)
		return;
	memcpy(stream->bytes + stream->size, bytes, size);
	stream->size += size;
}

void ctf_stream_u8(struct ctf_stream *stream, uint8_t value)
{
	put_bytes(stream, &value, sizeof(value));
}

void ctf_stream_u32(struct ctf_stream *stream, uint32_t value)
{
	value = htole32(value);
	put_bytes(stream, &value, sizeof(value));
}

void ctf_stream_i32(struct ctf_stream *stream, int32_t value)
{
	ctf_stream_u32(stream, (uint32_t)value);
}

void ctf_stream_u64(struct ctf_stream *stream, uint64_t value)
{
	value = htole64(value);
	put_bytes(stream, &value, sizeof(value));
}

void ctf_stream_text(struct ctf_stream *stream, const char *text)
{
	struct string_builder builder = {0};

	string_builder_append_utf8(&builder, text);
	if (builder.error)
		stream->error = builder.error;
	text = string_builder_text(&builder);
	put_bytes(stream, text, strlen(text) + 1);
	string_builder_fini(&builder);
}

/* ---- packets ---- */

static void begin_packet(struct ctf_stream *stream)
{
	static const uint8_t head[HEAD_BYTES + CPU_BYTES];

	stream->size = 0;
	stream->events = 0;
	put_bytes(stream, head, HEAD_BYTES + (stream->has_cpu ? CPU_BYTES : 0));
	stream->event = stream->size;
	stream->first_ns = stream->last_ns;
}

/* Fills in the head of a packet of `size` bytes. */
static void fill_head(struct ctf_stream *stream, size_t size)
{
	const uint64_t context[] = {stream->first_ns,   stream->last_ns, (uint64_t)size * 8,
				    (uint64_t)size * 8, stream->packets, stream->discarded};
	size_t end = stream->size;

	stream->size = 0;
	ctf_stream_u32(stream, CTF_MAGIC);
	put_bytes(stream, stream->uuid, CTF_UUID_BYTES);
	ctf_stream_u32(stream, stream->id);
	ctf_stream_u64(stream, stream->cpu); /* stream instance: other streams have one */
	for (size_t i = 0; i < ARRAY_COUNT(context); i++)
		ctf_stream_u64(stream, context[i]);
	if (stream->has_cpu)
		ctf_stream_u32(stream, stream->cpu);
	stream->size = end;
}

static int write_packet(struct ctf_stream *stream, size_t size)
{
	if (stream->error)
		return stream->error;
	fill_head(stream, size);
	errno = 0;
	if (fwrite(stream->bytes, 1, size, stream->file) != size)
		stream->error = error_set(errno ? -errno : -EIO, "write a stream: %s",
					  strerror(errno ? errno : EIO));
	stream->packets++;
	stream->has_discarded = false;
	return stream->error;
}

/* Writes the packet without its latest event, which starts the next packet. */
static int write_full(struct ctf_stream *stream, uint64_t event_ns, uint64_t before_ns)
{
	size_t size = stream->size - stream->event;
	uint8_t *kept = malloc(size);
	int error;

	if (!kept)
		return stream->error = -ENOMEM;
	memcpy(kept, stream->bytes + stream->event, size);
	stream->last_ns = before_ns;
	error = write_packet(stream, stream->event);
	begin_packet(stream);
	put_bytes(stream, kept, size);
	free(kept);
	stream->first_ns = stream->last_ns = event_ns;
	stream->events = 1;
	return error;
}

void ctf_stream_begin(struct ctf_stream *stream, uint16_t event_id, uint64_t time_ns)
{
	uint16_t id = htole16(event_id);

	stream->event = stream->size;
	put_bytes(stream, &id, sizeof(id));
	ctf_stream_u64(stream, time_ns);
}

static uint64_t event_time(const struct ctf_stream *stream)
{
	uint64_t time_ns;

	memcpy(&time_ns, stream->bytes + stream->event + sizeof(uint16_t), sizeof(time_ns));
	return le64toh(time_ns);
}

int ctf_stream_end(struct ctf_stream *stream)
{
	uint64_t time_ns, before_ns = stream->last_ns;

	if (stream->error)
		return stream->error;
	time_ns = event_time(stream);
	if (!stream->events)
		stream->first_ns = time_ns;
	stream->last_ns = time_ns;
	stream->events++;
	if (stream->size <= PACKET_BYTES || stream->events == 1)
		return 0;
	return write_full(stream, time_ns, before_ns);
}

int ctf_stream_discard(struct ctf_stream *stream, uint64_t time_ns, uint64_t count)
{
	int error = 0;

	if (stream->events || !stream->packets) {
		error = write_packet(stream, stream->size);
		begin_packet(stream);
	}
	if (stream->last_ns < time_ns)
		stream->last_ns = time_ns;
	stream->discarded += count;
	stream->has_discarded = true;
	return error;
}

/* ---- files ---- */

static int open_file(struct ctf_stream *stream, struct output_folder *folder, const char *name)
{
	stream->file = output_folder_stream(folder, name, &stream->error);
	if (!stream->error)
		begin_packet(stream);
	return stream->error;
}

int ctf_stream_open(struct ctf_stream *stream, struct output_folder *folder, const char *name,
		    uint32_t id, const uint8_t *uuid, uint64_t begin_ns)
{
	*stream = (struct ctf_stream){.id = id, .uuid = uuid, .last_ns = begin_ns};
	return open_file(stream, folder, name);
}

int ctf_stream_open_cpu(struct ctf_stream *stream, struct output_folder *folder, uint32_t cpu,
			uint32_t id, const uint8_t *uuid, uint64_t begin_ns)
{
	char name[32];

	snprintf(name, sizeof(name), "cpu_%" PRIu32, cpu);
	*stream = (struct ctf_stream){
		.id = id, .has_cpu = true, .cpu = cpu, .uuid = uuid, .last_ns = begin_ns};
	return open_file(stream, folder, name);
}

int ctf_stream_close(struct ctf_stream *stream)
{
	int error = stream->error;

	if (!stream->file)
		return error;
	if (!error && (stream->events || stream->has_discarded || !stream->packets))
		error = write_packet(stream, stream->size);
	errno = 0;
	if (fclose(stream->file) != 0 && !error)
		error = error_set(-errno, "write a stream: %s", strerror(errno));
	free(stream->bytes);
	*stream = (struct ctf_stream){0};
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * export/ctf/stream.h - one data stream of a CTF trace: a file of packets
 *
 * A packet is at most 64 KiB, unless one event alone is larger. Times never go back within a
 * stream. Fields are packed bytes in little-endian order, as ctf/metadata.c describes them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CTF_MAGIC      0xc1fc1fc1u
#define CTF_UUID_BYTES 16

struct output_folder;

struct ctf_stream {
	FILE *file;
	uint32_t id;
	bool has_cpu;        /* packets contain the number of a processor */
	uint32_t cpu;        /* also the stream's instance */
	const uint8_t *uuid; /* borrowed */
	uint8_t *bytes;      /* the packet so far */
	size_t size, capacity;
	size_t event; /* offset of the latest event in bytes */
	uint64_t first_ns, last_ns;
	uint64_t packets, events; /* packets written; events in this packet */
	uint64_t discarded;       /* lost events of the stream so far */
	bool has_discarded;       /* events were lost since the last packet */
	int error;
};

/* begin_ns: no event is earlier. Errors: -errno with a text. */
int ctf_stream_open(struct ctf_stream *stream, struct output_folder *folder, const char *name,
		    uint32_t id, const uint8_t *uuid, uint64_t begin_ns);

/* A stream of a processor. */
int ctf_stream_open_cpu(struct ctf_stream *stream, struct output_folder *folder, uint32_t cpu,
			uint32_t id, const uint8_t *uuid, uint64_t begin_ns);

/* Writes the last packet. A stream that was never opened is accepted. Errors: -errno with a text,
 * also of earlier writes. */
int ctf_stream_close(struct ctf_stream *stream);

/* An event: begin with id and time, then the fields, then end. The end returns all errors: -ENOMEM,
 * -errno with a text. */
void ctf_stream_begin(struct ctf_stream *stream, uint16_t event_id, uint64_t time_ns);
int ctf_stream_end(struct ctf_stream *stream);

void ctf_stream_u8(struct ctf_stream *stream, uint8_t value);
void ctf_stream_u32(struct ctf_stream *stream, uint32_t value);
void ctf_stream_i32(struct ctf_stream *stream, int32_t value);
void ctf_stream_u64(struct ctf_stream *stream, uint64_t value);
/* Invalid UTF-8 becomes U+FFFD. */
void ctf_stream_text(struct ctf_stream *stream, const char *text);

/* Records `count` lost events: ends the packet at time_ns and starts another. */
int ctf_stream_discard(struct ctf_stream *stream, uint64_t time_ns, uint64_t count);

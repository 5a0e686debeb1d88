/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/bench.h - a recording of this very process, into a file that is read back
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/guest/decode.h"
#include "collect/host_clocks.h"
#include "trace/reader.h"

struct bench {
	char path[64];
	struct trace_writer *writer;
	struct recording *recording;
	struct injected *injected;
	struct injected_ring *ring; /* the first */
	struct trace_reader *reader;
};

/* This process, as if it had said hello. */
static inline struct injected_peer bench_peer(void)
{
	return (struct injected_peer){.kind.collector = "opencl",
				      .guest = "opencl",
				      .pid = getpid(),
				      .ns_pid = (uint32_t)getpid(),
				      .uid = geteuid(),
				      .pid_fd = (int)syscall(SYS_pidfd_open, getpid(), 0)};
}

static inline void bench_open(struct bench *bench)
{
	struct trace_writer_options options = {0};
	struct injected_peer peer = bench_peer();
	int fd, region_fd = -1;

	*bench = (struct bench){.path = "/tmp/duet-decode-XXXXXX"};
	fd = mkstemp(bench->path);
	bench->recording = calloc(1, sizeof(*bench->recording));
	if (fd < 0 || !bench->recording ||
	    trace_writer_open(bench->path, &options, &bench->writer) < 0 ||
	    recording_init(bench->recording, bench->writer) < 0)
		abort();
	close(fd);
	recording_describe_host(bench->recording, host_clocks_now_ns(), 0);
	host_clocks_read(bench->writer, bench->recording->tsc, &bench->recording->first_tsc);
	bench->recording->last_tsc = bench->recording->first_tsc;
	if (injected_open(bench->recording, &peer, &bench->injected, &region_fd) < 0)
		abort();
	close(region_fd);
	bench->ring = &bench->injected->rings[0];
	bench->ring->thread.id = ++bench->recording->last_thread;
	bench->ring->thread.process = bench->injected->process->row.id;
	trace_writer_entity(bench->writer, EVENT_THREAD, &bench->ring->thread);
}

/* Ends the recording and opens what was written. */
static inline void bench_read(struct bench *bench)
{
	uint64_t now_ns = host_clocks_now_ns();

	decode_end_assembly(bench->injected, bench->ring);
	injected_count_losses(bench->injected, now_ns);
	injected_close(bench->injected);
	recording_fini(bench->recording);
	if (trace_writer_close(bench->writer, now_ns) < 0 ||
	    trace_reader_open(bench->path, &bench->reader) < 0)
		abort();
	bench->injected = NULL;
}

static inline void bench_close(struct bench *bench)
{
	trace_reader_close(bench->reader);
	free(bench->recording);
	unlink(bench->path);
}

/* All rows of a kind, of all chunks one after the other; the caller's. ret_chunk: the first chunk,
 * may be NULL. */
static inline void *bench_rows(struct bench *bench, enum event_kind kind, size_t row_size,
			       size_t *ret_count, struct trace_chunk *ret_chunk)
{
	char *all = calloc(1, row_size);
	size_t count = 0;

	for (size_t i = 0; i < trace_reader_chunk_count(bench->reader); i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(bench->reader, i);
		void *rows = NULL;
		size_t more = 0;

		if (chunk->kind != kind || trace_reader_rows(bench->reader, i, &rows, &more) < 0)
			continue;
		if (!count && ret_chunk)
			*ret_chunk = *chunk;
		all = realloc(all, (count + more + 1) * row_size);
		if (!all)
			abort();
		memcpy(all + count * row_size, rows, more * row_size);
		count += more;
		free(rows);
	}
	*ret_count = count;
	return all;
}

#define ROWS(bench, kind, type, ret_count, ret_chunk) \
	((type *)bench_rows(bench, kind, sizeof(type), ret_count, ret_chunk))

static inline const char *text_of(struct bench *bench, uint32_t id)
{
	return trace_reader_string(bench->reader, id, NULL);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Room for any record; `at` grows with what is appended. */
struct draft {
	uint32_t at; /* before the records, whose ends are open */
	union {
		struct record head;
		struct record_api api;
		struct record_launch launch;
		struct record_execution execution;
		struct record_device device;
		struct record_context context;
		struct record_queue queue;
		struct record_code code;
		struct record_bytes bytes;
		struct record_clock_pair pair;
		struct record_instruction instruction;
		struct record_samples samples;
		uint64_t words[8192];
	};
};

static inline void draft_begin(struct draft *draft, uint16_t kind, uint32_t detail, uint32_t size)
{
	memset(draft->words, 0, 1024);
	draft->head = (struct record){.kind = kind, .detail = detail};
	draft->at = size;
}

static inline void draft_add(struct draft *draft, const void *bytes, size_t size)
{
	memcpy((char *)draft->words + draft->at, bytes, size);
	draft->at += (uint32_t)size;
}

static inline void draft_text(struct draft *draft, const char *text)
{
	draft_add(draft, text, strlen(text) + 1);
}

static inline void draft_pad(struct draft *draft)
{
	while (draft->at % 8)
		((char *)draft->words)[draft->at++] = '\0';
	draft->head.size = (uint16_t)draft->at;
}

/* Decodes a copy of exactly the record's size, so that a sanitizer sees a byte too far. */
static inline void draft_decode(struct bench *bench, struct draft *draft)
{
	struct record *copy;

	draft_pad(draft);
	copy = malloc(draft->head.size);
	if (!copy)
		abort();
	memcpy(copy, draft->words, draft->head.size);
	decode_record(bench->injected, bench->ring, copy);
	free(copy);
}

static inline void put_device(struct bench *bench, uint32_t device, const char *key)
{
	struct draft draft;

	draft_begin(&draft, EVENT_DEVICE, DEVICE_GPU, offsetof(struct record_device, texts));
	draft.device.device = device;
	draft.device.compute_units = 7;
	draft.device.memory_bytes = 1 << 30;
	draft.device.frequency_hz = 19200000;
	draft_text(&draft, key);
	draft_text(&draft, "name");
	draft_text(&draft, "vendor");
	draft_text(&draft, "driver");
	draft_text(&draft, "platform");
	draft_decode(bench, &draft);
}

static inline void put_context(struct bench *bench, uint32_t context)
{
	struct draft draft;

	draft_begin(&draft, EVENT_CONTEXT, 0, sizeof(draft.context));
	draft.context.context = context;
	draft.context.handle = 0xc000 + context;
	draft_decode(bench, &draft);
}

static inline void put_queue(struct bench *bench, uint32_t queue, uint32_t context, uint32_t device)
{
	struct draft draft;

	draft_begin(&draft, EVENT_QUEUE, QUEUE_TIMED | 0x80, sizeof(draft.queue));
	draft.queue.queue = queue;
	draft.queue.context = context;
	draft.queue.device = device;
	draft.queue.handle = 0x9000 + queue;
	draft_decode(bench, &draft);
}

static inline void put_code(struct bench *bench, uint32_t code, uint32_t parent, uint32_t type,
			    const char *name, uint64_t content_bytes)
{
	struct draft draft;

	draft_begin(&draft, EVENT_CODE, type, offsetof(struct record_code, texts));
	draft.code.handle = 0xd000 + code;
	draft.code.size_bytes = content_bytes;
	draft.code.code = code;
	draft.code.parent = parent;
	draft_text(&draft, name);
	draft_text(&draft, type == CODE_KERNEL ? "" : "-O3");
	draft_decode(bench, &draft);
}

static inline void put_piece(struct bench *bench, uint32_t code, uint64_t offset, const char *text,
			     size_t size)
{
	struct draft draft;

	draft_begin(&draft, RECORD_BYTES, (uint32_t)size, sizeof(draft.bytes));
	draft.bytes.code = code;
	draft.bytes.offset = offset;
	draft_add(&draft, text, size);
	draft_decode(bench, &draft);
}

static inline void put_execution(struct bench *bench, uint32_t queue, uint64_t correlation)
{
	struct draft draft;

	draft_begin(&draft, EVENT_EXECUTION, EXECUTION_TIMED, sizeof(draft.execution));
	draft.execution.correlation = correlation;
	draft.execution.queued = 1000 + correlation;
	draft.execution.submitted = 2000 + correlation;
	draft.execution.started = 3000 + correlation;
	draft.execution.ended = 4000 + correlation;
	draft.execution.seen = 5000 + correlation;
	draft.execution.queue = queue;
	draft_decode(bench, &draft);
}

/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_decode.c - any bytes in a ring, drained, decoded and written
 *
 * Input: flags, then the ring's bytes. With flag 1 they are a list of records whose heads are made
 * here, so that the fields behind them are reached soon; with flag 2 they end at the ring's end and
 * go on at its beginning; with flag 4 the first eight bytes are the head's position. What was
 * written is read back now and then and must be whole.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/guest/decode.h"
#include "collect/host_clocks.h"
#include "collect/guest/ranges.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING_BYTES = 65536, RUNS_PER_FILE = 4096 };

static struct {
	char path[64];
	int fd;
	struct trace_writer *writer;
	struct recording recording;
	struct ring_region *region;
	uint32_t runs;
} fuzz;

static void begin_file(void)
{
	struct trace_writer_options options = {0};

	if (!fuzz.region) {
		fuzz.fd = memfd_create("trace", MFD_CLOEXEC);
		snprintf(fuzz.path, sizeof(fuzz.path), "/proc/self/fd/%d", fuzz.fd);
		fuzz.region = mmap(NULL, ring_region_bytes(1, RING_BYTES), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	if (fuzz.fd < 0 || fuzz.region == MAP_FAILED ||
	    trace_writer_open(fuzz.path, &options, &fuzz.writer) < 0 ||
	    recording_init(&fuzz.recording, fuzz.writer) < 0)
		abort();
	host_clocks_read(fuzz.writer, fuzz.recording.tsc, &fuzz.recording.first_tsc);
	fuzz.recording.last_tsc = fuzz.recording.first_tsc;
}

static void end_file(void)
{
	struct trace_reader *reader;
	struct trace_damage damage;

	recording_fini(&fuzz.recording);
	if (trace_writer_close(fuzz.writer, host_clocks_now_ns()) < 0 ||
	    trace_reader_open(fuzz.path, &reader) < 0)
		abort();
	for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
		void *rows;
		size_t count;

		if (trace_reader_rows(reader, i, &rows, &count) < 0)
			abort();
		free(rows);
	}
	trace_reader_damage(reader, &damage);
	if (damage.chunks || damage.bytes || damage.truncated)
		abort();
	trace_reader_close(reader);
	fuzz.writer = NULL;
}

static size_t make_records(const uint8_t *data, size_t size, uint8_t *ring)
{
	/* every kind that there is or will be: no list has to be kept */
	enum { RECORD_KINDS = RECORD_KIND_END - RECORD_BYTES };
	size_t at = 0;

	while (size >= 6 && at < RING_BYTES / 2) {
		struct record head = {
			.size = (uint16_t)(8 + 8 * data[1]),
		};
		size_t body = head.size - sizeof(head);
		unsigned int kind = data[0] % (RECORD_KINDS + EVENT_KIND_COUNT);

		head.kind =
			(uint16_t)(kind < RECORD_KINDS ? RECORD_BYTES + kind : kind - RECORD_KINDS);
		memcpy(&head.detail, data + 2, sizeof(head.detail));
		data += 6;
		size -= 6;
		memcpy(ring + at, &head, sizeof(head));
		memset(ring + at + sizeof(head), 0, body);
		memcpy(ring + at + sizeof(head), data, body < size ? body : size);
		data += body < size ? body : size;
		size -= body < size ? body : size;
		at += head.size;
	}
	return at;
}

static void take(void *context, const struct record *record)
{
	struct injected *injected = context;
	/* exactly as large as it says, so that a byte too far is seen */
	struct record *copy = malloc(record->size);

	if (!copy)
		return;
	memcpy(copy, record, record->size);
	decode_record(injected, &injected->rings[0], copy);
	free(copy);
}

static void run(struct injected *injected, uint8_t flags, const uint8_t *data, size_t size)
{
	static uint8_t records[RING_BYTES + 4096];
	struct ring_control *control = (struct ring_control *)((uint8_t *)fuzz.region + RING_PAGE);
	uint8_t *ring = (uint8_t *)control + RING_PAGE;
	uint64_t head, start = flags & 2 ? RING_BYTES - 64 : 0;
	struct ring_reader *reader = &injected->rings[0].reader;

	if (flags & 1) {
		size = make_records(data, size, records);
		data = records;
	}
	size = size > RING_BYTES ? RING_BYTES : size;
	head = start + (size & ~(size_t)7);
	for (size_t i = 0; i < size; i++)
		ring[(start + i) % RING_BYTES] = data[i];
	if (flags & 4 && size >= 8)
		memcpy(&head, data, sizeof(head));
	ring_reader_init(reader, fuzz.region, RING_BYTES, 0);
	reader->tail = start;
	atomic_store(&control->head, head);
	for (int i = 0; i < 3; i++) {
		size_t taken =
			ring_drain(reader, RING_BYTES, fuzz.recording.scratch, take, injected);

		if (taken > RING_BYTES || reader->tail % 8)
			abort();
	}
	if (reader->tail != (head & ~UINT64_C(7)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct injected *injected;

	if (size < 1)
		return 0;
	if (!fuzz.writer)
		begin_file();
	injected = calloc(1, sizeof(*injected));
	if (!injected)
		return 0;
	injected->recording = &fuzz.recording;
	injected->kind.collector = "opencl";
	injected->pid_fd = -1;
	guest_budget_init(&injected->budget, NULL);
	injected->rings = calloc(1, sizeof(*injected->rings));
	injected->region.ring_count = 1;
	injected->process = calloc(1, sizeof(*injected->process));
	if (!injected->rings || !injected->process)
		abort();
	injected->process->references = 1;
	injected->process->row.id = ++fuzz.recording.last_process;
	injected->rings[0].thread.id = ++fuzz.recording.last_thread;
	run(injected, data[0], data + 1, size - 1);
	decode_waiting(injected, false);
	decode_end_assembly(injected, &injected->rings[0]);
	ranges_end(injected);
	injected_close(injected);
	if (++fuzz.runs % RUNS_PER_FILE == 0)
		end_file();
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_io.c - /proc/PID/io: what each tracked process fetched from disks and sent to them
 *
 * Runs in:  a sampler's thread
 * Gets:     read_bytes and write_bytes   Gives: bytes
 * Owns:     nothing beside process_files.c
 * Fails:    as process_files.c: it is the same user's or root's alone to read
 * Why not rchar and wchar: they have what came from the page cache and from pipes. And why most_hz: the kernel adds up
 *           the threads to write it, 10 us for 50 of them
 */
#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/system/process_files.h"

enum { READ, WRITTEN };
static const struct metric metrics[] = {
	[READ] = {"process.io.read", "bytes", "read_bytes: fetched from disks",
		  .kind = METRIC_TOTAL},
	[WRITTEN] = {"process.io.write", "bytes", "write_bytes: sent to disks",
		     .kind = METRIC_TOTAL},
};

uint64_t io_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {{"read_bytes", 1}, {"write_bytes", 1}};

	return scan_fields(text, length, fields, ARRAY_COUNT(fields), values);
}

static uint64_t parse_io(struct source_state *state, struct tick *tick, size_t place, size_t length,
			 uint64_t *values)
{
	return io_parse(tick->text, length, values);
}

static bool open_io(struct source_state *state, const struct tick *tick)
{
	((struct process_files *)state->own)->refused =
		"bytes that the process read and wrote are absent: /proc/PID/io is another "
		"user's; record as root";
	return process_files_open(state, tick);
}

static void read_io(struct source_state *state, struct tick *tick)
{
	process_files_read(state, tick, parse_io);
}

extern const struct source process_io_source;
const struct source process_io_source = {
	.name = "io",
	.file = "/proc/[pid]/io",
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.most_hz = 10,
	.is_paced = true,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct process_files),
	.open = open_io,
	.read = read_io,
	.close = process_files_close,
};

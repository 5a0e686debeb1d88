/* SPDX-License-Identifier: MIT
 *
 * collect/system/disk.c - /proc/diskstats and /sys/block/DEVICE/inflight: what disks and partitions moved
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     cumulated requests, sectors of 512 bytes, ms   Gives: bytes, requests, ns; requests in flight
 * Owns:     a descriptor, and one for each whole disk
 * Fails:    a device that went has no row; the 129th of them is not counted
 * Why no row for the idle: loop and ram devices stand there by the dozen. One that has done nothing since the machine
 *           began has no series; when it does, all of it is counted, because 0 was read before.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"

enum {
	READ,
	WRITE,
	READS,
	WRITES,
	READ_TIME,
	WRITE_TIME,
	BUSY,
	WAITED,
	INFLIGHT,
	READ_INFLIGHT,
	WRITE_INFLIGHT
};
enum { DISKS = 128, SECTOR_BYTES = 512, MS = 1000000 };

struct own {
	struct one_file file;
	int inflight[DISKS]; /* by the thing's place; -1: none */
};

#define INFLIGHT_FILE .file = "/sys/block/*/inflight"
static const struct metric metrics[] = {
	[READ] = {"disk.read", "bytes", "sectors read, of 512 bytes", .kind = METRIC_TOTAL},
	[WRITE] = {"disk.write", "bytes", "sectors written", .kind = METRIC_TOTAL},
	[READS] = {"disk.read.requests", "requests", "reads that were done", .kind = METRIC_TOTAL},
	[WRITES] = {"disk.write.requests", "requests", "writes", .kind = METRIC_TOTAL},
	[READ_TIME] = {"disk.read.time", "ns", "of all reads together", .kind = METRIC_TOTAL},
	[WRITE_TIME] = {"disk.write.time", "ns", "… of writes", .kind = METRIC_TOTAL},
	[BUSY] = {"disk.busy", "ns", "there was a request", .kind = METRIC_TOTAL,
		  .limit = LIMIT_SECOND},
	[WAITED] = {"disk.waited", "ns", "of all requests: by the time it is how many there were",
		    .kind = METRIC_TOTAL},
	[INFLIGHT] = {"disk.inflight", "requests", "begun and not done"},
	[READ_INFLIGHT] = {"disk.read.inflight", "requests", "reads", INFLIGHT_FILE},
	[WRITE_INFLIGHT] = {"disk.write.inflight", "requests", "writes", INFLIGHT_FILE},
};

/* Behind the name: reads, merged, sectors, ms; the same of writes; in flight, ms busy, ms waited. */
static const struct {
	uint8_t value;
	uint32_t unit; /* 0: not of use */
} columns[] = {{READS, 1},    {0, 0},     {READ, SECTOR_BYTES},  {READ_TIME, MS},
	       {WRITES, 1},   {0, 0},     {WRITE, SECTOR_BYTES}, {WRITE_TIME, MS},
	       {INFLIGHT, 1}, {BUSY, MS}, {WAITED, MS}};

bool diskstats_next(struct scan *rest, struct format_row *ret_row)
{
	struct format_row row = {0};
	struct scan line, name;
	uint64_t number;

	if (!scan_line(rest, &line))
		return false;
	*ret_row = row;
	if (!scan_u64(&line, &number) || !scan_u64(&line, &number) || !scan_word(&line, &name))
		return true;
	row.name = name.at;
	row.name_length = (size_t)(name.end - name.at);
	for (size_t i = 0; i < ARRAY_COUNT(columns) && scan_u64(&line, &number); i++)
		if (columns[i].unit && !__builtin_mul_overflow(number, (uint64_t)columns[i].unit,
							       &row.values[columns[i].value]))
			row.valid |= 1u << columns[i].value;
	*ret_row = row;
	return true;
}

uint64_t inflight_parse(const char *text, size_t length, uint64_t *values)
{
	struct scan rest = scan_of(text, length);

	if (!scan_u64(&rest, &values[READ_INFLIGHT]) || !scan_u64(&rest, &values[WRITE_INFLIGHT]))
		return 0;
	return 1u << READ_INFLIGHT | 1u << WRITE_INFLIGHT;
}

static bool open_disks(struct source_state *state, const struct tick *tick)
{
	struct own *own = state->own;

	for (size_t i = 0; i < DISKS; i++)
		own->inflight[i] = -1;
	return one_file_open(state, tick);
}

/* "dm-0" says nothing: its maker's name stands beside it. */
static void name_mapped(const struct tick *tick, struct thing *thing)
{
	char name[SERIES_NAME_BYTES] = "";
	int fd = tick_open(tick, "/sys/block/%s/dm/name", thing->name);
	ssize_t got;

	if (fd < 0)
		return;
	got = read(fd, name, sizeof(name) - 1);
	close(fd);
	name[strcspn(name, "\n")] = '\0';
	if (got > 0 && *name)
		memcpy(thing->of.instance, name, sizeof(name));
}

/* A whole disk has a folder of its own in /sys/block, in whose name a '/' is a '!'. */
static void meet(struct source_state *state, const struct tick *tick, struct thing *thing)
{
	struct own *own = state->own;
	int *fd = &own->inflight[thing - state->things.all];
	char name[SERIES_NAME_BYTES];

	memcpy(name, thing->name, sizeof(name));
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '!';
	if (*fd >= 0)
		close(*fd);
	*fd = tick_open(tick, "/sys/block/%s/inflight", name);
	if (strncmp(name, "dm-", 3) == 0)
		name_mapped(tick, thing);
}

static bool is_idle(const struct format_row *row)
{
	uint64_t any = 0;

	for (size_t i = 0; i < METRICS_MOST; i++)
		any |= row->values[i];
	return !any;
}

/* Into a text of its own: the list is still being gone through. */
static void read_inflight(const struct source_state *state, const struct thing *thing,
			  struct format_row *row)
{
	const struct own *own = state->own;
	int fd = own->inflight[thing - state->things.all];
	char text[64];
	ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);

	if (got > 0)
		row->valid |= inflight_parse(text, (size_t)got, row->values);
}

static void read_disks(struct source_state *state, struct tick *tick)
{
	struct own *own = state->own;
	long length = tick_read(tick, own->file.fd);
	struct scan rest = scan_of(tick->text, length > 0 ? (size_t)length : 0);
	struct format_row row;

	things_begin_round(&state->things);
	while (diskstats_next(&rest, &row)) {
		struct thing *thing;
		bool is_new;

		if (!row.valid)
			continue;
		thing = things_named(&state->things, row.name, row.name_length, &is_new);
		if (!thing)
			continue;
		if (is_new)
			meet(state, tick, thing);
		if (is_idle(&row)) {
			thing_was_born(&state->things, thing, tick->time_ns);
			continue;
		}
		read_inflight(state, thing, &row);
		thing_sample(&state->things, thing, tick->time_ns, row.values, row.valid);
	}
	things_end_round(&state->things, tick->time_ns);
}

static void close_disks(struct source_state *state)
{
	const struct own *own = state->own;

	for (size_t i = 0; i < DISKS; i++)
		if (own->inflight[i] >= 0)
			close(own->inflight[i]);
	one_file_close(state);
}

extern const struct source disk_source;
const struct source disk_source = {
	.name = "disk",
	.file = "/proc/diskstats",
	SOURCE_METRICS(metrics),
	.most_hz = 100,
	.things_most = DISKS,
	.own_bytes = sizeof(struct own),
	.open = open_disks,
	.read = read_disks,
	.close = close_disks,
};

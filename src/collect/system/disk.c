/* SPDX-License-Identifier: MIT
 *
 * collect/system/disk.c - /proc/diskstats and /sys/block/DEVICE/inflight: traffic of disks and
 * partitions
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     cumulative requests, sectors of 512 bytes, ms
 * Gives:    bytes, requests, ns; requests in flight
 * Owns:     a descriptor, and one per whole disk
 * Fails:    a removed device has no row; the 129th device is not counted
 * Why:      Idle devices have no rows, because there are dozens of loop and ram devices. A device
 *           that was never used since boot has no series. Its first use is counted completely,
 *           because its counts were read as 0 before.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

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
	int inflight[DISKS]; /* indexed by the entity's place; -1: none */
};

#define INFLIGHT_FILE .file = "/sys/block/*/inflight"
static const struct metric metrics[] = {
	[READ] = {"disk.read", "bytes", "bytes read from one disk or partition",
		  .kind = METRIC_TOTAL},
	[WRITE] = {"disk.write", "bytes", "bytes written to one disk or partition",
		   .kind = METRIC_TOTAL},
	[READS] = {"disk.read.requests", "requests",
		   "completed read requests of one disk or partition", .kind = METRIC_TOTAL},
	[WRITES] = {"disk.write.requests", "requests",
		    "completed write requests of one disk or partition", .kind = METRIC_TOTAL},
	[READ_TIME] = {"disk.read.time", "ns",
		       "time that completed read requests of one disk or partition took, added up",
		       .kind = METRIC_TOTAL},
	[WRITE_TIME] =
		{"disk.write.time", "ns",
		 "time that completed write requests of one disk or partition took, added up",
		 .kind = METRIC_TOTAL},
	[BUSY] = {"disk.busy", "ns",
		  "time in which at least one request of one disk or partition was in flight",
		  .kind = METRIC_TOTAL, .limit = LIMIT_SECOND},
	[WAITED] = {"disk.waited", "ns",
		    "time of all requests of a disk, those in flight included; divided by the "
		    "interval: mean number",
		    .kind = METRIC_TOTAL},
	[INFLIGHT] = {"disk.inflight", "requests",
		      "requests of one disk or partition that are in flight"},
	[READ_INFLIGHT] = {"disk.read.inflight", "requests",
			   "read requests of one disk that are in flight", INFLIGHT_FILE},
	[WRITE_INFLIGHT] = {"disk.write.inflight", "requests",
			    "write requests of one disk that are in flight", INFLIGHT_FILE},
};

/* Columns behind the name: reads, merged, sectors, ms; the same of writes; in flight, ms busy, ms
 * waited. */
static const struct {
	uint8_t value;
	uint32_t unit; /* 0: not used */
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

/* Adds the mapper's name, because "dm-0" alone does not identify a device. */
static void name_mapped(const struct tick *tick, struct metric_instance *instance)
{
	char name[SERIES_NAME_BYTES] = "";
	int fd = tick_open(tick, "/sys/block/%s/dm/name", instance->name);
	ssize_t got;

	if (fd < 0)
		return;
	got = read(fd, name, sizeof(name) - 1);
	close(fd);
	name[strcspn(name, "\n")] = '\0';
	if (got > 0 && *name)
		memcpy(instance->of.instance, name, sizeof(name));
}

/* A whole disk has a folder in /sys/block, whose name has '!' for '/'. */
static void meet_disk(struct source_state *state, const struct tick *tick,
		      struct metric_instance *instance)
{
	struct own *own = state->own;
	int *fd = &own->inflight[instance - state->instances.all];
	char name[SERIES_NAME_BYTES];

	memcpy(name, instance->name, sizeof(name));
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '!';
	if (*fd >= 0)
		close(*fd);
	*fd = tick_open(tick, "/sys/block/%s/inflight", name);
	if (strncmp(name, "dm-", 3) == 0)
		name_mapped(tick, instance);
}

static bool is_idle(const struct format_row *row)
{
	uint64_t any = 0;

	for (size_t i = 0; i < MAX_METRICS; i++)
		any |= row->values[i];
	return !any;
}

/* Reads into a buffer of its own, because tick->text is still being parsed. */
static void read_inflight(const struct source_state *state, const struct metric_instance *instance,
			  struct format_row *row)
{
	const struct own *own = state->own;
	int fd = own->inflight[instance - state->instances.all];
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

	metric_instances_begin_round(&state->instances);
	while (diskstats_next(&rest, &row)) {
		struct metric_instance *instance;
		bool is_new;

		if (!row.valid || !tick_wants(&tick->choice->disks, row.name, row.name_length))
			continue;
		instance = metric_instances_named(&state->instances, row.name, row.name_length,
						  &is_new);
		if (!instance)
			continue;
		if (is_new)
			meet_disk(state, tick, instance);
		if (is_idle(&row)) {
			metric_instance_was_born(&state->instances, instance, tick->time_ns);
			continue;
		}
		read_inflight(state, instance, &row);
		metric_instance_sample(&state->instances, instance, tick->time_ns, row.values,
				       row.valid);
	}
	metric_instances_end_round(&state->instances, tick->time_ns);
}

static void close_disks(struct source_state *state)
{
	const struct own *own = state->own;

	for (size_t i = 0; i < DISKS; i++)
		if (own->inflight[i] >= 0)
			close(own->inflight[i]);
	one_file_close(state);
}

const struct source disk_source = {
	.name = "disk",
	.file = "/proc/diskstats",
	SOURCE_METRICS(metrics),
	.max_hz = 100,
	.max_instances = DISKS,
	.own_bytes = sizeof(struct own),
	.open = open_disks,
	.read = read_disks,
	.close = close_disks,
};

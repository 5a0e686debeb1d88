/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_io.c - /proc/PID/io: what each tracked process fetched from disks and sent to them
 *
 * Runs in:  a sampler's thread
 * Gets:     read_bytes and write_bytes   Gives: bytes
 * Owns:     a descriptor for each process
 * Fails:    it is the same user's or root's alone to read: absent otherwise, which is noted once for each process
 * Why not rchar and wchar: they have what came from the page cache and from pipes. And why most_hz: the kernel adds up
 *           the threads to write it, 10 us for 50 of them
 */
#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/source.h"
#include "collect/system/formats.h"
#include "collect/tracked.h"

enum { READ, WRITTEN };
static const struct metric metrics[] = {
	[READ] = {"process.io.read", "bytes", "read_bytes: fetched from disks",
		  .kind = METRIC_TOTAL},
	[WRITTEN] = {"process.io.write", "bytes", "write_bytes: sent to disks",
		     .kind = METRIC_TOTAL},
};

struct own {
	struct tracked_view view;
	int fds[TRACKED_MOST]; /* -1: not open */
	const struct tick *tick;
};

uint64_t io_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {{"read_bytes", 1}, {"write_bytes", 1}};

	return scan_fields(text, length, fields, ARRAY_COUNT(fields), values);
}

static void note(const struct own *own, size_t place)
{
	series_note(own->tick->series,
		    "bytes that the process read and wrote are absent: /proc/PID/io is another "
		    "user's; record as root",
		    own->view.places[place].generation);
}

static void meet(void *context, size_t place)
{
	struct own *own = context;
	uint32_t pid = own->view.places[place].pid;

	if (own->fds[place] >= 0)
		close(own->fds[place]);
	own->fds[place] = pid ? tick_open(own->tick, "/proc/%u/io", pid) : -1;
	if (pid && own->fds[place] < 0 && errno == EACCES)
		note(own, place);
}

/* Some kernels let anybody open it, and refuse to read. */
static long read_file_of(struct own *own, struct tick *tick, size_t place)
{
	long length = own->fds[place] < 0 ? -1 : tick_read(tick, own->fds[place]);

	if (own->fds[place] < 0 || length >= 0)
		return length;
	if (errno == EACCES)
		note(own, place);
	close(own->fds[place]);
	own->fds[place] = -1;
	return length;
}

static void read_place(struct source_state *state, struct tick *tick, size_t place)
{
	struct own *own = state->own;
	const struct tracked_place *who = &own->view.places[place];
	uint64_t values[METRICS_MOST] = {0}, valid;
	long length = read_file_of(own, tick, place);
	struct thing *thing;
	bool is_new;

	if (length <= 0)
		return;
	valid = io_parse(tick->text, (size_t)length, values);
	thing = things_numbered(&state->things, who->generation, &is_new);
	if (!thing)
		return;
	thing->of.generation = who->generation;
	if (is_new && who->since_ns)
		thing_was_born(&state->things, thing, who->since_ns);
	thing_sample(&state->things, thing, tick->time_ns, values, valid);
}

static bool open_io(struct source_state *state, const struct tick *tick)
{
	struct own *own = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		own->fds[i] = -1;
	return tick->tracked != NULL;
}

static void read_io(struct source_state *state, struct tick *tick)
{
	struct own *own = state->own;

	own->tick = tick;
	tracked_look(tick->tracked, &own->view, meet, own);
	things_begin_round(&state->things);
	for (size_t i = 0; i < own->view.count; i++)
		read_place(state, tick, i);
	things_end_round(&state->things, tick->time_ns);
}

static void close_io(struct source_state *state)
{
	const struct own *own = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		if (own->fds[i] >= 0)
			close(own->fds[i]);
}

extern const struct source process_io_source;
const struct source process_io_source = {
	.name = "io",
	.file = "/proc/[pid]/io",
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.most_hz = 10,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_io,
	.read = read_io,
	.close = close_io,
};

/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_memory.c - /proc/PID/status and smaps_rollup: what of a process is where in memory
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     lines in kB, which are KiB   Gives: levels in bytes
 * Owns:     a descriptor for each process and file
 * Fails:    absent where it is not ours to read
 * Why slow: smaps_rollup walks all pages with the lock that the process's own page faults take: 1 ms for each GiB of
 *           small ones. It is read by request alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"
#include "collect/tracked.h"

enum { PEAK, ANONYMOUS, SWAPPED, THREADS };
static const struct metric status_metrics[] = {
	[PEAK] = {"process.memory.peak", "bytes", "VmHWM: the most that was resident"},
	[ANONYMOUS] = {"process.memory.anonymous", "bytes", "RssAnon: of no file"},
	[SWAPPED] = {"process.memory.swap", "bytes", "VmSwap"},
	[THREADS] = {"process.threads", "tasks", "Threads"},
};

enum { PROPORTIONAL, SWAP_PROPORTIONAL, UNIQUE };
static const struct metric smaps_metrics[] = {
	[PROPORTIONAL] = {"process.memory.pss", "bytes",
			  "Pss: a page of n processes counts 1/n in each"},
	[SWAP_PROPORTIONAL] = {"process.memory.pss.swap", "bytes", "SwapPss"},
	[UNIQUE] = {"process.memory.uss", "bytes", "Private_Clean + Private_Dirty: its own alone"},
};

struct own {
	struct tracked_view view;
	int fds[TRACKED_MOST]; /* -1: none */
	const struct tick *tick;
	const char *name;
};

uint64_t status_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {[PEAK] = {"VmHWM", 1024},
						   [ANONYMOUS] = {"RssAnon", 1024},
						   [SWAPPED] = {"VmSwap", 1024},
						   [THREADS] = {"Threads", 1}};

	return scan_fields(text, length, fields, ARRAY_COUNT(fields), values);
}

uint64_t smaps_rollup_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {
		{"Pss", 1024}, {"SwapPss", 1024}, {"Private_Clean", 1024}, {"Private_Dirty", 1024}};
	uint64_t found[ARRAY_COUNT(fields)] = {0};
	uint64_t valid = scan_fields(text, length, fields, ARRAY_COUNT(fields), found);

	values[PROPORTIONAL] = found[0];
	values[SWAP_PROPORTIONAL] = found[1];
	if ((valid & 12) != 12 || __builtin_add_overflow(found[2], found[3], &values[UNIQUE]))
		return valid & 3;
	return (valid & 3) | 1u << UNIQUE;
}

static void meet(void *context, size_t place)
{
	struct own *own = context;
	uint32_t pid = own->view.places[place].pid;

	if (own->fds[place] >= 0)
		close(own->fds[place]);
	own->fds[place] = pid ? tick_open(own->tick, "/proc/%u/%s", pid, own->name) : -1;
}

static void read_all(struct source_state *state, struct tick *tick,
		     uint64_t (*parse)(const char *text, size_t length, uint64_t *values))
{
	struct own *own = state->own;

	own->tick = tick;
	tracked_look(tick->tracked, &own->view, meet, own);
	things_begin_round(&state->things);
	for (size_t i = 0; i < own->view.count; i++) {
		uint64_t values[METRICS_MOST] = {0}, valid;
		long length = own->fds[i] < 0 ? -1 : tick_read(tick, own->fds[i]);
		struct thing *thing;
		bool is_new;

		if (length <= 0)
			continue;
		valid = parse(tick->text, (size_t)length, values);
		thing = things_numbered(&state->things, own->view.places[i].generation, &is_new);
		if (!thing)
			continue;
		thing->of.generation = own->view.places[i].generation;
		thing_sample(&state->things, thing, tick->time_ns, values, valid);
	}
	things_end_round(&state->things, tick->time_ns);
}

static bool open_files(struct source_state *state, const struct tick *tick, const char *name)
{
	struct own *own = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		own->fds[i] = -1;
	own->name = name;
	return tick->tracked != NULL;
}

static bool open_status(struct source_state *state, const struct tick *tick)
{
	return open_files(state, tick, "status");
}

static bool open_smaps(struct source_state *state, const struct tick *tick)
{
	return open_files(state, tick, "smaps_rollup");
}

static void read_status(struct source_state *state, struct tick *tick)
{
	read_all(state, tick, status_parse);
}

static void read_smaps(struct source_state *state, struct tick *tick)
{
	read_all(state, tick, smaps_rollup_parse);
}

static void close_files(struct source_state *state)
{
	const struct own *own = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		if (own->fds[i] >= 0)
			close(own->fds[i]);
}

extern const struct source process_status_source, process_smaps_source;
const struct source process_status_source = {
	.name = "status",
	.file = "/proc/[pid]/status",
	SOURCE_METRICS(status_metrics),
	.group = GROUP_SLOW,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_status,
	.read = read_status,
	.close = close_files,
};
const struct source process_smaps_source = {
	.name = "smaps",
	.file = "/proc/[pid]/smaps_rollup",
	SOURCE_METRICS(smaps_metrics),
	.group = GROUP_SLOW,
	.by_request = true,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_smaps,
	.read = read_smaps,
	.close = close_files,
};

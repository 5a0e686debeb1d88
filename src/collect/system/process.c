/* SPDX-License-Identifier: MIT
 *
 * collect/system/process.c - /proc/PID: processor time and memory of each tracked process
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     the process's CPU clock, statm   Gives: ns on processors, bytes
 * Owns:     a descriptor for each process
 * Fails:    who has ended cannot be read: its series end
 * Why the CPU clock: it is the sum of what the scheduler counted for all threads, those that have ended too, in one
 *           call: 1 us with 50 threads, where to read schedstat of each takes 50. Where it is refused, threads.c does
 *           that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"
#include "collect/system/threads.h"
#include "collect/tracked.h"

enum { CPU, VIRTUAL, RESIDENT, SHARED, ALL_CPUS };

static const struct metric metrics[] = {
	[CPU] = {"process.cpu", "ns",
		 "sum_exec_runtime of all threads: 10^9 in a second is a processor",
		 "the process's CPU clock", METRIC_TOTAL, .limit = LIMIT_VALUE,
		 .limit_value = ALL_CPUS},
	[VIRTUAL] = {"process.memory.virtual", "bytes", "size pages", "/proc/[pid]/statm"},
	[RESIDENT] = {"process.memory.rss", "bytes", "resident pages", "/proc/[pid]/statm"},
	[SHARED] = {"process.memory.shared", "bytes", "shared pages", "/proc/[pid]/statm"},
	[ALL_CPUS] = {NULL},
};

struct own {
	struct tracked_view view;
	int statm[TRACKED_MOST]; /* -1: not open */
	struct threads threads;
	const struct tick *tick;
	uint64_t all_cpus_ns; /* in a second; to ask for it opens a file */
};

uint64_t statm_parse(const char *text, size_t length, uint64_t *values)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct scan rest = scan_of(text, length);
	uint64_t pages, valid = 0;

	for (unsigned int i = VIRTUAL; i <= SHARED; i++) {
		if (!scan_u64(&rest, &pages) || __builtin_mul_overflow(pages, page, &values[i]))
			return valid;
		valid |= 1u << i;
	}
	/* A zombie has no memory any more: that is not 0 bytes of it. */
	return values[VIRTUAL] ? valid : 0;
}

static bool read_clock(uint32_t pid, uint64_t *ret_ns)
{
	/* As clock_getcpuclockid(3) makes it, without asking first whether there is such a process. */
	clockid_t clock = (clockid_t)(~pid << 3) | 2;
	struct timespec now;

	if (clock_gettime(clock, &now))
		return false;
	*ret_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return true;
}

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void meet(void *context, size_t place)
{
	struct own *own = context;
	uint32_t pid = own->view.places[place].pid;

	close_file(&own->statm[place]);
	threads_take_place(&own->threads, place);
	if (pid)
		own->statm[place] = tick_open(own->tick, "/proc/%u/statm", pid);
}

/* The clock is found by the number, which may be somebody else's as soon as its process is gone; a file is the
 * process's own. */
static bool read_process(struct own *own, struct tick *tick, size_t place, struct format_row *row)
{
	uint32_t pid = own->view.places[place].pid;
	long length = tick_read(tick, own->statm[place]);

	if (length < 0)
		return false;
	row->valid |= statm_parse(tick->text, (size_t)length, row->values);
	if ((!*tick->root && read_clock(pid, &row->values[CPU])) ||
	    threads_read(&own->threads, tick, place, pid, &row->values[CPU]))
		row->valid |= 1u << CPU;
	row->values[ALL_CPUS] = own->all_cpus_ns;
	row->valid |= 1u << ALL_CPUS;
	return true;
}

static void read_place(struct source_state *state, struct tick *tick, size_t place)
{
	struct own *own = state->own;
	const struct tracked_place *who = &own->view.places[place];
	struct format_row row = {0};
	struct thing *thing;
	bool is_new;

	if (!who->pid || own->statm[place] < 0)
		return;
	if (!read_process(own, tick, place, &row)) {
		close_file(&own->statm[place]);
		return;
	}
	thing = things_numbered(&state->things, who->generation, &is_new);
	if (!thing)
		return;
	thing->of.generation = who->generation;
	if (is_new && who->since_ns)
		thing_was_born(&state->things, thing, who->since_ns);
	thing_sample(&state->things, thing, tick->time_ns, row.values, row.valid);
}

static bool open_processes(struct source_state *state, const struct tick *tick)
{
	struct own *own = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		own->statm[i] = -1;
	threads_init(&own->threads);
	own->all_cpus_ns = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000000000;
	return tick->tracked != NULL;
}

static void read_processes(struct source_state *state, struct tick *tick)
{
	struct own *own = state->own;

	own->tick = tick;
	tracked_look(tick->tracked, &own->view, meet, own);
	things_begin_round(&state->things);
	threads_begin_round(&own->threads);
	for (size_t i = 0; i < own->view.count; i++)
		read_place(state, tick, i);
	things_end_round(&state->things, tick->time_ns);
}

static void close_processes(struct source_state *state)
{
	struct own *own = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		close_file(&own->statm[i]);
	threads_fini(&own->threads);
}

extern const struct source process_source;
const struct source process_source = {
	.name = "process",
	.file = "/proc/[pid]",
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_processes,
	.read = read_processes,
	.close = close_processes,
};

/* SPDX-License-Identifier: MIT
 *
 * collect/system/process.c - /proc/PID: processor time and memory of each tracked process
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     the process's CPU clock, statm   Gives: ns on processors, bytes
 * Owns:     what threads.c remembers
 * Fails:    as process_files.c
 * Why the CPU clock: it is the sum of what the scheduler counted for all threads, those that have ended too, in one
 *           call: 1 us with 50 threads, where to read schedstat of each takes 50. Where it is refused, threads.c does
 *           that.
 * Why most_hz: of a thread that runs the sum grows in steps, one for each tick of the kernel, 4 ms mostly and up to 10.
 *           In 1 ms a thread would seem to use 0 or 4 processors; of 50 ms a step is 8 %.
 */
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/system/process_files.h"
#include "collect/system/threads.h"

enum { CPU, ALL_CPUS };
static const struct metric cpu_metrics[] = {
	[CPU] = {"process.cpu", "ns",
		 "sum_exec_runtime of all threads: 10^9 in a second is a processor",
		 "the process's CPU clock", METRIC_TOTAL, .limit = LIMIT_VALUE,
		 .limit_value = ALL_CPUS},
	[ALL_CPUS] = {NULL},
};

enum { VIRTUAL, RESIDENT, SHARED, PEAK };
static const struct metric memory_metrics[] = {
	[VIRTUAL] = {"process.memory.virtual", "bytes", "size pages"},
	[RESIDENT] = {"process.memory.rss", "bytes", "resident pages"},
	[SHARED] = {"process.memory.shared", "bytes", "shared pages"},
	[PEAK] = {"process.memory.peak", "bytes",
		  "VmHWM, or what was resident since that was read: the most",
		  "/proc/[pid]/status"},
};

struct own_cpu {
	struct process_files files; /* statm: that it can be read says whose the number is */
	struct threads threads;
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

static uint64_t parse_memory(struct source_state *state, struct tick *tick, size_t place,
			     size_t length, uint64_t *values)
{
	const struct process_files *files = state->own;
	uint64_t valid = statm_parse(tick->text, length, values);

	if (!(valid >> RESIDENT & 1))
		return valid;
	values[PEAK] = tracked_raise_peak(tick->tracked, &files->view, place, values[RESIDENT]);
	return valid | 1u << PEAK;
}

/* The clock is found by the number, the file is the process's own: what could not be read is not asked. */
static uint64_t parse_cpu(struct source_state *state, struct tick *tick, size_t place,
			  size_t length, uint64_t *values)
{
	struct own_cpu *own = state->own;
	const struct tracked_place *who = &own->files.view.places[place];
	uint64_t valid = 0;

	if ((!*tick->root && read_clock(who->pid, &values[CPU])) ||
	    threads_read(&own->threads, tick, place, who, &values[CPU]))
		valid = 1u << CPU;
	values[ALL_CPUS] = own->all_cpus_ns;
	return valid | 1u << ALL_CPUS;
}

static bool open_cpu(struct source_state *state, const struct tick *tick)
{
	struct own_cpu *own = state->own;

	threads_init(&own->threads);
	own->all_cpus_ns = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000000000;
	return process_files_open(state, tick);
}

static void read_cpu(struct source_state *state, struct tick *tick)
{
	threads_begin_round(&((struct own_cpu *)state->own)->threads);
	process_files_read(state, tick, parse_cpu);
}

static void close_cpu(struct source_state *state)
{
	threads_fini(&((struct own_cpu *)state->own)->threads);
	process_files_close(state);
}

static void read_memory(struct source_state *state, struct tick *tick)
{
	process_files_read(state, tick, parse_memory);
}

extern const struct source process_cpu_source, process_statm_source;
const struct source process_cpu_source = {
	.name = "process",
	.file = "/proc/[pid]/statm",
	SOURCE_METRICS(cpu_metrics),
	.group = GROUP_PROCESSES,
	.most_hz = 20,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct own_cpu),
	.open = open_cpu,
	.read = read_cpu,
	.close = close_cpu,
};
const struct source process_statm_source = {
	.name = "statm",
	.file = "/proc/[pid]/statm",
	SOURCE_METRICS(memory_metrics),
	.group = GROUP_PROCESSES,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct process_files),
	.open = process_files_open,
	.read = read_memory,
	.close = process_files_close,
};

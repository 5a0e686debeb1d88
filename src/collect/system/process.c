/* SPDX-License-Identifier: MIT
 *
 * collect/system/process.c - /proc/PID: CPU time and memory of each recorded process
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     the process's CPU clock, statm
 * Gives:    ns on processors, bytes
 * Owns:     the state of threads.c
 * Fails:    as process_files.c
 * Why:      The CPU clock is used, because one call returns the scheduler's sum over all threads,
 *           including ended ones: 1 us with 50 threads. Reading each thread's schedstat takes 50
 *           us, and threads.c does so if the clock is refused. max_hz limits the rate, because a
 *           running thread's sum grows in steps of the kernel's tick, usually 4 ms and up to 10 ms.
 *           With a reading every 1 ms a running thread would appear to use 0 or 4 processors; with
 *           one every 50 ms, a step of 4 ms is 8 % of a processor.
 */
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/system/process_files.h"
#include "collect/system/sources.h"
#include "collect/system/threads.h"

enum { CPU, ALL_CPUS };
static const struct metric cpu_metrics[] = {
	[CPU] = {"process.cpu", "ns",
		 "CPU time of the process, all threads added up; 10^9 ns per second is one busy "
		 "CPU",
		 "the process's CPU clock", METRIC_TOTAL, .limit = LIMIT_VALUE,
		 .limit_value = ALL_CPUS},
	[ALL_CPUS] = {NULL},
};

enum { VIRTUAL, RESIDENT, SHARED, PEAK };
static const struct metric memory_metrics[] = {
	[VIRTUAL] = {"process.memory.virtual", "bytes",
		     "address space of the process (size in statm)"},
	[RESIDENT] = {"process.memory.rss", "bytes",
		      "memory of the process in RAM (resident in statm)"},
	[SHARED] = {"process.memory.shared", "bytes",
		    "memory of the process in RAM that is shared or belongs to a file (shared in "
		    "statm)"},
	[PEAK] = {"process.memory.peak", "bytes",
		  "largest process.memory.rss so far (VmHWM, or a larger value that duet read "
		  "later)",
		  "/proc/[pid]/status"},
};

struct own_cpu {
	struct process_files files; /* statm; if it can be read, the pid is still the process's */
	struct threads threads;
	/* CPU time of all processors per second; cached, because asking opens a file. */
	uint64_t all_cpus_ns;
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
	/* A zombie has no memory, which differs from 0 bytes of it. */
	return values[VIRTUAL] ? valid : 0;
}

static bool read_clock(uint32_t pid, uint64_t *ret_ns)
{
	/* The id that clock_getcpuclockid(3) returns, without its check that the process exists. */
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

/* The clock is found by pid, which may be reused. The file belongs to the process, so the clock is
 * read only if the file can be read. */
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

const struct source process_cpu_source = {
	.name = "process",
	.file = "/proc/[pid]/statm",
	SOURCE_METRICS(cpu_metrics),
	.group = GROUP_PROCESSES,
	.max_hz = 20,
	.max_instances = MAX_TRACKED,
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
	.max_instances = MAX_TRACKED,
	.own_bytes = sizeof(struct process_files),
	.open = process_files_open,
	.read = read_memory,
	.close = process_files_close,
};

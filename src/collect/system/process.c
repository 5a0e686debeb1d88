/* SPDX-License-Identifier: MIT
 *
 * collect/system/process.c - /proc/PID: CPU time and memory of each recorded process
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     the process's CPU clock, statm; or the first field (sum_exec_runtime) of each thread's
 *           schedstat
 * Gives:    ns on processors, bytes
 * Owns:     the value of each thread in the last round
 * Fails:    as process_files.c
 * Why:      The CPU clock is used, because one call returns the scheduler's sum over all threads,
 *           including ended ones: 1 us with 50 threads. Reading each thread's schedstat takes 50
 *           us, and is done if the clock is refused. /proc/PID/schedstat is for the first thread
 *           only: a process with eight busy threads showed one processor. usual_max_hz
 *           limits the rate, because a running thread's sum grows in steps of the kernel's tick,
 *           usually 4 ms and up to 10 ms. With a reading every 1 ms a running thread would appear
 *           to use 0 or 4 processors; with one every 50 ms, a step of 4 ms is 8 % of a processor.
 *           A user who asks for a rate of this metric gets up to 100 Hz: a step of 4 ms is then
 *           40 % of a processor in one reading, and the sum over readings stays exact.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/system/formats.h"
#include "collect/system/process_files.h"
#include "collect/system/sources.h"

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

/* ---- CPU time as the sum over threads ----------------------------------------------------------
 */

struct threads {
	struct hash_map before,
		now; /* place << 32 | tid -> ns, in the last round and in this one */
	uint64_t totals[MAX_TRACKED];      /* sum per slot, including ended threads */
	uint32_t generations[MAX_TRACKED]; /* generation of the slot's process */
};

/* The layout of getdents64(2); readdir(3) would allocate memory. */
struct entry {
	uint64_t inode, offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void threads_init(struct threads *threads)
{
	hash_map_init(&threads->before);
	hash_map_init(&threads->now);
}

static void threads_fini(struct threads *threads)
{
	hash_map_fini(&threads->before);
	hash_map_fini(&threads->now);
}

static void threads_begin_round(struct threads *threads)
{
	struct hash_map last = threads->now;

	threads->now = threads->before;
	threads->before = last;
	hash_map_clear(&threads->now);
}

uint64_t schedstat_parse(const char *text, size_t length, uint64_t *values)
{
	return number_parse(text, length, values);
}

/* A thread that is new since the last round has used all of its time in this one; the last part of
 * an ended thread's time is lost. */
static void add_thread(struct threads *threads, size_t place, int folder, const char *tid)
{
	uint64_t key = (uint64_t)place << 32 | (uint32_t)strtoul(tid, NULL, 10), now, before;
	char path[32], text[128];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%.20s/schedstat", tid);
	fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	if (got <= 0 || !schedstat_parse(text, (size_t)got, &now))
		return;
	before = hash_map_get(&threads->before, key, 0);
	/* A smaller value belongs to a new thread with the same tid. */
	threads->totals[place] += now < before ? now : now - before;
	hash_map_put(&threads->now, key, now);
}

/* CPU time of all threads of the process in a slot since it was added. For a thread that ended
 * between two rounds, the time after the first of the two is missing. Call it once per round.
 * False: it cannot be read. */
static bool threads_read(struct threads *threads, struct tick *tick, size_t place,
			 const struct tracked_place *who, uint64_t *ret_ns)
{
	int folder = tick_open(tick, "/proc/%u/task", who->pid);
	long got;

	if (folder < 0)
		return false;
	if (threads->generations[place] != who->generation)
		threads->totals[place] = 0;
	threads->generations[place] = who->generation;
	while ((got = syscall(SYS_getdents64, folder, tick->text, tick->text_bytes)) > 0) {
		for (long at = 0; at < got;) {
			const struct entry *entry = (const void *)(tick->text + at);

			if (entry->name[0] != '.')
				add_thread(threads, place, folder, entry->name);
			at += entry->length;
		}
	}
	close(folder);
	*ret_ns = threads->totals[place];
	return got == 0;
}

/* ---- the sources ----------------------------------------------------------------------------- */

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

static uint64_t read_memory(struct source_state *state, struct tick *tick, size_t place,
			    uint64_t *values)
{
	const struct process_files *files = state->own;
	uint64_t valid = statm_parse(tick->text, tick->length, values);

	if (!(valid >> RESIDENT & 1))
		return valid;
	values[PEAK] = tracked_raise_peak(tick->tracked, &files->view, place, values[RESIDENT]);
	return valid | 1u << PEAK;
}

/* The clock is found by pid, which may be reused. The file belongs to the process, so the clock is
 * read only if the file can be read. */
static uint64_t read_cpu(struct source_state *state, struct tick *tick, size_t place,
			 uint64_t *values)
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

static void read_cpus(struct source_state *state, struct tick *tick)
{
	threads_begin_round(&((struct own_cpu *)state->own)->threads);
	process_files_read(state, tick);
}

static void close_cpu(struct source_state *state)
{
	threads_fini(&((struct own_cpu *)state->own)->threads);
	process_files_close(state);
}

const struct source process_cpu_source = {
	.name = "process",
	.file = "/proc/[pid]/statm",
	SOURCE_METRICS(cpu_metrics),
	.group = GROUP_PROCESSES,
	.max_hz = 100,
	.usual_max_hz = 20,
	.max_instances = MAX_TRACKED,
	.own_bytes = sizeof(struct own_cpu),
	.open = open_cpu,
	.read = read_cpus,
	.read_one = read_cpu,
	.close = close_cpu,
};
const struct source process_statm_source = {
	.name = "statm",
	.file = "/proc/[pid]/statm",
	SOURCE_METRICS(memory_metrics),
	.group = GROUP_PROCESSES,
	.read_one = read_memory,
	PROCESS_FILES_SOURCE,
};

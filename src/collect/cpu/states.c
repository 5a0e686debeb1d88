/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/states.c - polls the states of threads in /proc where perf events are refused
 *
 * Runs in:  the recorder, if the kernel refuses perf events
 * Gets:     /proc of the attached processes and their descendants
 * Gives:    the same rows as with perf: samples of running threads, with Python frames only;
 *           switches of waiting threads, with whole stacks
 * Owns:     the list of threads
 * Fails:    a thread that may not be inspected has waits without stacks. A process whose program is
 *           hidden from the user has no rows
 * Why:      a seccomp filter that refuses perf_event_open still lets users read /proc of their own
 *           processes. A poll every 5 ms finds each thread's state at the time of the poll; the
 *           scheduler's counters provide the sums of the times between two polls.
 */
#include "collect/cpu/cpu_private.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/stack/memory_map.h"

enum {
	LIST_NS = 200000000, /* time between two searches for new threads */
	/* max number of rounds in which a thread that stays in one wait is skipped */
	MAX_SKIP = 16,
	LOOKS_A_ROUND = 64,    /* each takes some 10 us */
	MAX_WEIGHT = 50000000, /* ns; max weight of one look */
	MAX_WATCHED = 1 << 16
};

/* ---- list of threads ------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	const struct polled_thread *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static void add_thread(struct cpu *cpu, size_t known, uint32_t pid, uint32_t tid)
{
	const struct polled_thread key = {.pid = pid, .tid = tid};
	struct polled_thread *found =
		known ? bsearch(&key, cpu->polled.threads, known, sizeof(key), compare) : NULL;

	if (found)
		found->is_there = true;
	else if (cpu->polled.count < MAX_WATCHED &&
		 array_grow(cpu->polled.threads, cpu->polled.capacity, cpu->polled.count + 1) == 0)
		cpu->polled.threads[cpu->polled.count++] =
			(struct polled_thread){.pid = pid, .tid = tid, .is_there = true};
}

static void list_threads(struct cpu *cpu, size_t known, uint32_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (tid)
			add_thread(cpu, known, pid, tid);
	}
	if (tasks)
		closedir(tasks);
}

static struct process_thread *thread_of(struct cpu *cpu, const struct polled_thread *watched,
					struct process **ret_process)
{
	*ret_process = processes_find(cpu->processes, watched->pid);
	return *ret_process ? hash_map_find_pointer(&(*ret_process)->threads, watched->tid) : NULL;
}

static void end_thread(struct cpu *cpu, const struct polled_thread *watched, uint64_t now_ns)
{
	struct process *process;
	struct process_thread *thread = thread_of(cpu, watched, &process);

	if (!thread)
		return;
	cpu_end_wait(cpu, thread, now_ns);
	process_thread_end(cpu->processes, process, watched->tid, now_ns);
	if (process->living)
		return;
	cpu_finish_code(cpu, process);
	processes_end(cpu->processes, watched->pid, now_ns);
}

static void list_members(struct cpu *cpu, size_t known, uint64_t now_ns)
{
	struct tree_process *member;
	size_t cursor = 0;

	while ((member = process_tree_next(&cpu->polled.process_tree, &cursor))) {
		if (!member->is_there)
			continue;
		if (member->has_changed)
			cpu_begin_image(cpu, member->pid, member->pid, "", now_ns);
		list_threads(cpu, known, member->pid);
	}
}

static void list_all(struct cpu *cpu, uint64_t now_ns)
{
	size_t known = cpu->polled.count, kept = 0;

	for (size_t i = 0; i < known; i++)
		cpu->polled.threads[i].is_there = false;
	process_tree_look(&cpu->polled.process_tree);
	list_members(cpu, known, now_ns);
	process_tree_forget(&cpu->polled.process_tree);
	for (size_t i = 0; i < cpu->polled.count; i++) {
		if (cpu->polled.threads[i].is_there)
			cpu->polled.threads[kept++] = cpu->polled.threads[i];
		else
			end_thread(cpu, &cpu->polled.threads[i], now_ns);
	}
	cpu->polled.count = kept;
	if (kept)
		qsort(cpu->polled.threads, kept, sizeof(*cpu->polled.threads), compare);
}

/* ---- polling a thread ------------------------------------------------------------------------ */

/* Writes a switch row. wait NULL: the thread runs again. */
static void put_state(struct cpu *cpu, struct process_thread *thread, uint64_t now_ns,
		      const struct cpu_wait *wait)
{
	struct event_switch row = {.time = now_ns};

	if (!wait)
		row.next = thread->row.id;
	else
		row = (struct event_switch){.time = now_ns,
					    .previous = thread->row.id,
					    .reason = SWITCH_BLOCKED,
					    .stack = wait->stack,
					    .wait_string = wait->wait_string,
					    .holder = wait->holder};

	cpu_put_switch(cpu, thread->row.id, &row);
}

/* Totals of a thread from /proc/PID/task/TID/schedstat. */
struct run_times {
	uint64_t ran_ns, delayed_ns; /* it waited for a processor; its state is R in both */
	uint64_t runs;               /* times that it got a processor */
};

static bool read_times(const struct polled_thread *watched, struct run_times *ret_times)
{
	char path[64];
	bool is_read;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", watched->pid, watched->tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	is_read = fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ret_times->ran_ns,
			 &ret_times->delayed_ns, &ret_times->runs) == 3;
	fclose(file);
	return is_read;
}

/* Writes the time in which the thread waited for a processor as directly before this look. */
static void put_preempted(struct cpu *cpu, const struct polled_thread *watched,
			  const struct process_thread *thread, uint64_t delayed_ns, uint64_t now_ns)
{
	const uint64_t since_ns = now_ns - watched->looked_ns;
	const uint64_t away_ns = delayed_ns < since_ns ? delayed_ns : since_ns - 1;
	struct event_switch row = {
		.time = now_ns - away_ns, .previous = thread->row.id, .reason = SWITCH_PREEMPTED};

	if (!away_ns)
		return;
	cpu_put_switch(cpu, thread->row.id, &row);
	row = (struct event_switch){.time = now_ns, .next = thread->row.id};
	cpu_put_switch(cpu, thread->row.id, &row);
}

/* Writes a sample. Its weight is the running time since the previous look. */
static void put_running(struct cpu *cpu, struct polled_thread *watched, struct process *process,
			const struct process_thread *thread, uint64_t now_ns)
{
	struct event_cpu_sample row = {
		.time = now_ns,
		.thread = thread->row.id,
		.source_string = cpu->source_string,
		.stack = cpu_python_stack(cpu, process, watched->tid, now_ns)};
	struct trace_source source = {.source = row.thread, .clock = CLOCK_ID_MONOTONIC};
	struct run_times times = {0};
	bool has_times = read_times(watched, &times);

	if (has_times && watched->ran_ns && watched->looked_ns) {
		row.weight = times.ran_ns - watched->ran_ns;
		put_preempted(cpu, watched, thread, times.delayed_ns - watched->delayed_ns, now_ns);
	} else if (!has_times && watched->looked_ns) {
		row.weight = now_ns - watched->looked_ns;
	}
	watched->ran_ns = times.ran_ns;
	watched->delayed_ns = times.delayed_ns;
	if (row.weight > MAX_WEIGHT)
		row.weight = MAX_WEIGHT;
	trace_writer_row(cpu->recording->writer, EVENT_CPU_SAMPLE, &source, &row);
}

/* Whether the thread is still in the wait of the previous look. A loop waits at one place again and
 * again; each wait ends with a run. */
static bool stays(struct polled_thread *watched, uint64_t ip, uint64_t sp)
{
	const uint64_t runs = watched->runs;
	struct run_times times = {0};

	if (ip && read_times(watched, &times))
		watched->runs = times.runs;
	return watched->ip == ip && watched->sp == sp && watched->runs == runs;
}

static void begin_away(struct cpu *cpu, struct polled_thread *watched, struct process *process,
		       struct process_thread *thread, uint64_t now_ns)
{
	struct cpu_wait wait = {0};
	bool is_blocked = cpu_look_at_blocked(cpu, process, watched->tid, &wait);

	/* new mappings are not reported here: reads them again if a thread waits in an unknown
	 * one */
	if (is_blocked &&
	    (!process->memory || !memory_map_find(process->memory, cpu->blocked.look.place.ip))) {
		cpu_read_memory(cpu, process);
		cpu_look_at_blocked(cpu, process, watched->tid, &wait);
	}
	put_state(cpu, thread, now_ns, &wait);
}

/* Finds the state of a thread that may not be inspected. Every user may read whether it waits, and
 * its number of voluntary switches. That number stands for ip: a new number means a new wait. */
static enum thread_place find_state(const struct polled_thread *watched,
				    struct blocked_place *ret_place)
{
	static const char runs[] = "\nState:\tR", count[] = "\nvoluntary_ctxt_switches:\t";
	auto_free char *text = NULL;
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", watched->pid, watched->tid);
	if (read_file(path, 1 << 16, &text, NULL)) {
		error_clear();
		return THREAD_GONE;
	}
	if (strstr(text, runs))
		return THREAD_RUNS;
	at = strstr(text, count);
	*ret_place =
		(struct blocked_place){.ip = 1 + (at ? strtoull(at + strlen(count), NULL, 10) : 0)};
	return THREAD_WAITS;
}

/* For a thread whose place may not be read. A process whose executable may not be read either is
 * left out; of any other, the public state in /proc is polled. */
static enum thread_place find_closed(struct cpu *cpu, struct process *process,
				     const struct polled_thread *watched,
				     struct blocked_place *ret_place)
{
	if (!process->is_closed && proc_try(watched->pid)) {
		cpu_lose_sight(cpu, process);
		return THREAD_REFUSED;
	}
	cpu_note_closed(cpu, process);
	return find_state(watched, ret_place);
}

static void look_at(struct cpu *cpu, struct polled_thread *watched)
{
	struct process *process;
	struct process_thread *thread = thread_of(cpu, watched, &process);
	struct blocked_place where = {0};
	enum thread_place place =
		blocked_find(&cpu->walker->reader, watched->pid, watched->tid, &where);
	uint64_t now_ns = host_clocks_now_ns(), sp, ip;
	bool is_same;

	if (place == THREAD_GONE)
		return;
	if (!process)
		process = processes_begin(cpu->processes, watched->pid, now_ns);
	if (process && process->is_paused) {
		watched->ip = watched->sp = watched->looked_ns = 0;
		return;
	}
	if (process && place == THREAD_REFUSED)
		place = find_closed(cpu, process, watched, &where);
	if (place == THREAD_REFUSED || place == THREAD_GONE)
		return;
	sp = where.sp;
	ip = where.ip;
	if (!thread && process)
		thread = process_thread(cpu->processes, process, watched->tid, now_ns);
	if (!thread)
		return;
	process_thread_describe(cpu->processes, process, thread);
	if (place == THREAD_RUNS)
		sp = ip = 0;
	is_same = stays(watched, ip, sp);
	if (watched->ip && !is_same)
		put_state(cpu, thread, now_ns, NULL);
	if (ip && !is_same)
		begin_away(cpu, watched, process, thread, now_ns);
	if (!ip)
		put_running(cpu, watched, process, thread, now_ns);
	watched->skip = ip && is_same ? 2 * watched->skip + 1 : 0;
	if (watched->skip > MAX_SKIP)
		watched->skip = MAX_SKIP;
	watched->ip = ip;
	watched->sp = sp;
	watched->looked_ns = now_ns;
}

void cpu_look_at_all(struct cpu *cpu, uint64_t now_ns)
{
	if (!cpu->polled.process_tree.is_open)
		return;
	if (now_ns >= cpu->polled.next_list_ns) {
		list_all(cpu, now_ns);
		cpu->polled.next_list_ns = host_clocks_now_ns() + LIST_NS;
	}
	for (size_t i = 0, looks = 0; i < cpu->polled.count && looks < LOOKS_A_ROUND; i++) {
		struct polled_thread *watched =
			&cpu->polled.threads[cpu->polled.next++ % cpu->polled.count];

		if (cpu->polled.count > LOOKS_A_ROUND / 2 && watched->skipped++ < watched->skip)
			continue;
		watched->skipped = 0;
		looks++;
		look_at(cpu, watched);
	}
}

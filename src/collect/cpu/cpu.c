/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu.c - what threads did: samples with stacks, switches, lifetimes
 *
 * Runs in:  the recorder
 * Gets:     the kernel's records   Gives: rows of samples and switches, processes, threads
 * Owns:     the rings, the files whose code runs
 * Fails:    opening; later what was lost is counted, and a stack that cannot be walked further ends marked
 * Why two ways: the kernel's records are exact and cheap, and a container or a service may refuse them (seccomp, a
 *           stricter kernel): then looks at the threads, 200 a second, tell where they are.
 */
#include "collect/cpu/cpu_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/memory_map.h"

enum {
	STACK_BYTES = 16 << 10, /* of each sample; deeper ones lose their outer end */
	THROTTLED_MOST = 1
};

/* What more rights would add. */
static void note_rights(struct cpu *cpu)
{
	if (!cpu->state.has_kernel)
		recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0,
			       "time inside the operating system's kernel has no samples: as root, "
			       "with 'sysctl kernel.perf_event_paranoid=1', or with the capability "
			       "cap_perfmon it has");
}

static bool is_refusal(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOSYS;
}

/* The second way; the first one's reason is in the error chain. */
static void use_states(struct cpu *cpu)
{
	char text[1200];

	snprintf(text, sizeof(text),
		 "threads are looked at 200 times a second instead of sampled, and have no stacks "
		 "where "
		 "they run: %s",
		 error_text());
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	error_clear();
	perf_rings_close(cpu->rings);
	cpu->rings = NULL;
	snprintf(cpu->state.source.name, sizeof(cpu->state.source.name), "thread-state");
}

int cpu_open(struct recording *recording, const struct cpu_options *options, struct cpu **ret_cpu)
{
	const struct perf_rings_options rings = {.source = options->source,
						 .frequency_hz = options->frequency_hz,
						 .stack_bytes = STACK_BYTES};
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	int error;

	if (!cpu)
		return error_set(-ENOMEM, "CPU samples: out of memory");
	cpu->recording = recording;
	cpu->processes = recording->processes;
	cpu->frequency_hz = options->frequency_hz ? options->frequency_hz : 1;
	error = perf_rings_open(&rings, &cpu->rings);
	if (error == 0) {
		perf_rings_state(cpu->rings, &cpu->state);
	} else if (is_refusal(error)) {
		use_states(cpu);
	} else {
		free(cpu);
		return error;
	}
	cpu->source_string = recording_string(recording, cpu->state.source.name);
	cpu->last_loss_ns = host_clocks_now_ns();
	code_files_init(&cpu->files, recording);
	identities_init(&cpu->python.notes);
	cpu->python.is_wanted = options->has_python;
	hash_map_init(&cpu->python.objects);
	if (cpu->rings)
		note_rights(cpu);
	*ret_cpu = cpu;
	return 0;
}

/* ---- records ----------------------------------------------------------------------------------- */

/* One that was never told of (its begin was lost) is read from /proc. */
static struct process *process_of(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process = processes_find(cpu->processes, record->pid);

	if (process || !record->pid)
		return process;
	process = processes_begin(cpu->processes, record->pid, record->time_ns);
	if (process)
		cpu_read_memory(cpu, process);
	return process;
}

/* The trace's id of the record's thread; 0: none. */
static uint32_t thread_of(struct cpu *cpu, struct process *process,
			  const struct perf_record *record)
{
	struct process_thread *thread =
		process ? process_thread(cpu->processes, process, record->tid, record->time_ns)
			: NULL;

	return thread ? process_thread_describe(cpu->processes, process, thread) : 0;
}

static void take_sample(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process = process_of(cpu, record);
	struct event_cpu_sample row = {.time = record->time_ns,
				       .weight = record->weight,
				       .thread = thread_of(cpu, process, record),
				       .cpu = record->cpu,
				       .source_string = cpu->source_string,
				       .mode = record->is_kernel ? MODE_KERNEL : MODE_USER};
	struct trace_source source = {.source = row.thread, .clock = CLOCK_ID_MONOTONIC};

	if (process)
		row.stack = cpu_sampled_stack(cpu, process, record);
	trace_writer_row(cpu->recording->writer, EVENT_CPU_SAMPLE, &source, &row);
}

static void take_switch(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process = process_of(cpu, record);
	struct process_thread *thread =
		process ? process_thread(cpu->processes, process, record->tid, record->time_ns)
			: NULL;
	struct event_switch row = {.time = record->time_ns, .cpu = record->cpu};

	if (!thread)
		return;
	process_thread_describe(cpu->processes, process, thread);
	if (record->kind == PERF_OUT && !record->is_preempted && !thread->row.end_ns) {
		cpu_begin_wait(cpu, process, thread, record->time_ns, record->cpu);
		return;
	}
	cpu_end_wait(cpu, thread, record->time_ns);
	if (record->kind == PERF_IN)
		row.next = thread->row.id;
	else
		row.previous = thread->row.id;
	row.reason = record->kind == PERF_IN ? SWITCH_NOT_KNOWN
		     : thread->row.end_ns    ? SWITCH_EXITED
					     : SWITCH_PREEMPTED;
	cpu_put_switch(cpu, thread->row.id, &row);
}

/* ---- lifetimes --------------------------------------------------------------------------------- */

/* A guest said hello, or its ring was read, before this record of its begin was. */
static bool is_known(uint64_t begin_ns, uint64_t end_ns, const struct perf_record *record)
{
	return !end_ns && begin_ns >= record->time_ns;
}

static void take_new_thread(struct cpu *cpu, struct process *process,
			    const struct perf_record *record)
{
	struct process_thread *there = hash_map_find_pointer(&process->threads, record->tid);

	if (!there || !is_known(there->row.begin_ns, there->row.end_ns, record))
		process_thread_begin(cpu->processes, process, record->tid, record->time_ns);
}

static void take_fork(struct cpu *cpu, const struct perf_record *record)
{
	struct process *parent = processes_find(cpu->processes, record->other_pid), *child;

	if (record->pid == record->other_pid) {
		if (parent)
			take_new_thread(cpu, parent, record);
		return;
	}
	child = processes_find(cpu->processes, record->pid);
	if (child && is_known(child->row.begin_ns, child->row.end_ns, record))
		return;
	child = processes_begin(cpu->processes, record->pid, record->time_ns);
	if (!child)
		return;
	process_thread_begin(cpu->processes, child, record->tid, record->time_ns);
	if (!parent)
		return;
	process_inherit(child, parent, true);
	child->memory_round = parent->memory_round;
	if (!parent->memory)
		return;
	child->memory = calloc(1, sizeof(*child->memory));
	if (child->memory)
		memory_map_copy(parent->memory, child->memory);
}

/* The first thread of the image has the process's number, whichever called exec. */
static void take_exec(struct cpu *cpu, const struct perf_record *record)
{
	struct process *before = processes_find(cpu->processes, record->pid), *process;
	struct process_thread *thread;

	if (before && is_known(before->row.begin_ns, before->row.end_ns, record))
		return;
	if (before)
		cpu_finish_code(cpu, process_get(before));
	process = processes_begin(cpu->processes, record->pid, record->time_ns);
	thread = process ? process_thread_begin(cpu->processes, process, record->tid,
						record->time_ns)
			 : NULL;
	if (process && before)
		process_inherit(process, before, false);
	if (process)
		process->memory_round = cpu->round;
	if (process)
		process_look(cpu->processes, process);
	if (thread)
		process_thread_rename(cpu->processes, process, thread, record->text,
				      record->time_ns);
	process_put(before);
}

static void take_name(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process = process_of(cpu, record);
	struct process_thread *thread =
		process ? process_thread(cpu->processes, process, record->tid, record->time_ns)
			: NULL;

	if (thread)
		process_thread_rename(cpu->processes, process, thread, record->text,
				      record->time_ns);
}

static void take_exit(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process = processes_find(cpu->processes, record->pid);
	struct process_thread *thread;

	if (!process)
		return;
	thread = hash_map_find_pointer(&process->threads, record->tid);
	if (thread)
		cpu_end_wait(cpu, thread, record->time_ns);
	process_thread_end(cpu->processes, process, record->tid, record->time_ns);
	if (process->living)
		return;
	cpu_finish_code(cpu, process);
	processes_end(cpu->processes, record->pid, record->time_ns);
}

static void for_each_process(struct cpu *cpu,
			     void (*what)(struct cpu *cpu, struct process *process))
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&cpu->processes->by_pid, &cursor, NULL, &value))
		what(cpu, (struct process *)(uintptr_t)value);
}

static void take_record(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process;

	switch (record->kind) {
	case PERF_SAMPLE:
		take_sample(cpu, record);
		break;
	case PERF_OUT:
	case PERF_IN:
		take_switch(cpu, record);
		break;
	case PERF_FORK:
		take_fork(cpu, record);
		break;
	case PERF_EXIT:
		take_exit(cpu, record);
		break;
	case PERF_EXEC:
		take_exec(cpu, record);
		break;
	case PERF_NAME:
		take_name(cpu, record);
		break;
	case PERF_MAP:
		process = process_of(cpu, record);
		if (process)
			cpu_put_piece(cpu, process, &record->map, record->text);
		break;
	case PERF_LOST:
		cpu->lost += record->count;
		break;
	case PERF_THROTTLED:
		cpu->throttled++;
		break;
	}
}

static void drain_until(struct cpu *cpu, uint64_t until_ns)
{
	struct perf_record record;

	while (cpu->rings && perf_rings_next(cpu->rings, until_ns, &record))
		take_record(cpu, &record);
}

void cpu_drain(struct cpu *cpu)
{
	uint64_t until_ns = host_clocks_now_ns() - PERF_RINGS_LATE_NS;

	if (cpu->rings && cpu->python.is_there)
		cpu_python_glance(cpu);
	drain_until(cpu, until_ns);
	cpu_look_at_waiting(cpu, until_ns);
	if (!cpu->rings)
		cpu_look_at_all(cpu, host_clocks_now_ns());
}

int cpu_wake_fd(struct cpu *cpu)
{
	return cpu->rings && cpu->python.is_there ? perf_rings_wake_fd(cpu->rings) : -1;
}

void cpu_drain_all(struct cpu *cpu)
{
	drain_until(cpu, host_clocks_now_ns());
}

static void put_loss(struct cpu *cpu, uint32_t kind, uint32_t reason, uint64_t count,
		     uint64_t now_ns)
{
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	const struct event_loss row = {.begin = cpu->last_loss_ns,
				       .end = now_ns,
				       .kind = kind,
				       .reason = reason,
				       .count = count};

	if (count)
		trace_writer_row(cpu->recording->writer, EVENT_LOSS, &source, &row);
}

/* The kernel counts what it could not write; of which kind it was, it does not say. */
void cpu_count_losses(struct cpu *cpu, uint64_t now_ns)
{
	uint64_t all = cpu->rings ? perf_rings_lost(cpu->rings) : 0;

	if (cpu->state.counts_lost) {
		cpu->lost = all > cpu->lost_before ? all - cpu->lost_before : 0;
		cpu->lost_before = all;
	}
	put_loss(cpu, EVENT_CPU_SAMPLE, LOSS_RING_FULL, cpu->lost, now_ns);
	cpu->round += cpu->lost != 0;
	put_loss(cpu, LOSS_KIND_STACK, LOSS_TRACKING, cpu->stacks_refused, now_ns);
	cpu->lost = cpu->stacks_refused = 0;
	cpu->stack_bytes = 0;
	cpu->last_loss_ns = now_ns;
	for_each_process(cpu, cpu_name_code);
}

static void note_throttled(struct cpu *cpu)
{
	char text[160];

	if (!cpu->throttled)
		return;
	snprintf(text, sizeof(text),
		 "the kernel held samples back %llu times, because taking them cost too much "
		 "(sysctl "
		 "kernel.perf_cpu_time_max_percent): ask for fewer with -F",
		 (unsigned long long)cpu->throttled);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

static void note_nameless(struct cpu *cpu)
{
	char text[160];

	if (!cpu->nameless)
		return;
	snprintf(text, sizeof(text),
		 "%llu places in code that programs made while they ran have no name: no perf map "
		 "and no jitdump tells one",
		 (unsigned long long)cpu->nameless);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

void cpu_close(struct cpu *cpu)
{
	if (!cpu)
		return;
	drain_until(cpu, UINT64_MAX);
	cpu_put_all_waits(cpu);
	for_each_process(cpu, cpu_finish_code);
	note_nameless(cpu);
	note_throttled(cpu);
	cpu_name_kernel(cpu);
	cpu_python_note(cpu);
	cpu_python_fini(cpu);
	free(cpu->waiting);
	free(cpu->watched);
	cpu_count_losses(cpu, host_clocks_now_ns());
	perf_rings_close(cpu->rings);
	free(cpu->kernel);
	code_files_fini(&cpu->files);
	free(cpu);
}

/* ---- attaching --------------------------------------------------------------------------------- */

int cpu_attach_program(struct cpu *cpu, pid_t pid)
{
	int error = cpu->rings ? perf_rings_attach(cpu->rings, pid, true) : 0;

	cpu->program = (uint32_t)pid;
	if (!is_refusal(error))
		return error;
	use_states(cpu);
	cpu->source_string = recording_string(cpu->recording, cpu->state.source.name);
	return 0;
}

/* Threads that start while the list is read are found in the next reading; the events of their starters are
 * inherited. */
int cpu_attach_process(struct cpu *cpu, pid_t pid)
{
	struct process *process;
	char folder[64];
	struct dirent *entry;
	int error = -ESRCH;
	DIR *tasks;

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
	tasks = opendir(folder);
	if (!tasks)
		return error_set(-ESRCH, "process %d: there is none", (int)pid);
	while ((entry = readdir(tasks))) {
		int tid = atoi(entry->d_name), one;

		one = tid > 0 ? perf_rings_attach(cpu->rings, tid, false) : -ESRCH;
		if (one == 0 || one != -ESRCH)
			error = one;
		if (one && one != -ESRCH)
			break;
	}
	closedir(tasks);
	process =
		error ? NULL : processes_begin(cpu->processes, (uint32_t)pid, host_clocks_now_ns());
	if (process)
		cpu_read_memory(cpu, process);
	return error;
}

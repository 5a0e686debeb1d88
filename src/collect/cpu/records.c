/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/records.c - turns perf records into rows of samples, switches, threads and processes
 *
 * Runs in:  the recorder
 * Gets:     perf records in the order of time
 * Gives:    trace rows; updates of the recording's lists of living processes and threads
 * Owns:     nothing
 * Fails:    never; a process that the kernel hides is counted and noted
 * Why:      a guest may report a process before perf does, and perf may lose the record of a fork.
 *           So each record first checks whether its process and thread already exist.
 */
#include "collect/cpu/cpu_private.h"

#include <stdio.h>
#include <string.h>

#include "collect/proc.h"
#include "collect/stack/memory_map.h"

/* max number of hidden processes that get a row of their own */
enum { UNWATCHED_DESCRIBED = 64 };

/* A process without a fork record (the record was lost) is created here, and its mappings are read
 * from /proc. */
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

/* The trace's id of the thread that the record is about; 0: none. */
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
				       .cpu = record->cpu,
				       .source_string = record->is_fault ? cpu->faults_string
									 : cpu->source_string,
				       .mode = record->is_kernel ? MODE_KERNEL : MODE_USER};
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};

	if (process && process->is_paused)
		return;
	row.thread = source.source = thread_of(cpu, process, record);
	if (!record->is_fault)
		cpu->blocked.sampled_ns += 1000000000 / cpu->frequency_hz;
	if (process)
		row.stack = cpu_sampled_stack(cpu, process, record);
	trace_writer_row(cpu->recording->writer, EVENT_CPU_SAMPLE, &source, &row);
	cpu->samples++;
	if (process && !record->is_fault)
		cpu_put_instruction(cpu, process, &row);
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
	if (process->is_paused) {
		thread->wait = (struct thread_wait){0};
		return;
	}
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
	if (record->kind == PERF_IN)
		switch_causes_came(cpu, thread, &row);
	else if (row.reason == SWITCH_PREEMPTED)
		switch_causes_took(cpu, process, thread, &row);
	cpu_put_switch(cpu, thread->row.id, &row);
}

/* ---- lifetimes ------------------------------------------------------------------------------- */

/* Whether the process or thread was already created before this record of its start was read: its
 * guest connected first, or the guest's ring was read first. */
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

/* A child has its parent's name until it calls exec. When its first row is written, /proc may
 * already show the new name, so the old one is copied here. */
static void name_child(struct process_thread *thread, const struct process *parent, uint32_t forker)
{
	const struct process_thread *from = hash_map_find_pointer(&parent->threads, forker);

	if (from && from->name[0])
		snprintf(thread->name, sizeof(thread->name), "%s", from->name);
	else if (forker == parent->row.pid)
		snprintf(thread->name, sizeof(thread->name), "%s", parent->name);
}

static void take_fork(struct cpu *cpu, const struct perf_record *record)
{
	struct process *parent = processes_find(cpu->processes, record->other_pid), *child;
	struct process_thread *thread;

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
	thread = process_thread_begin(cpu->processes, child, record->tid, record->time_ns);
	if (!parent)
		return;
	process_inherit(child, parent, true);
	switch_causes_begin_process(cpu, record->pid);
	if (thread)
		name_child(thread, parent, record->other_tid);
	child->memory_round = parent->memory_round;
	if (parent->memory)
		child->memory = memory_map_share(parent->memory);
}

/* After exec, the remaining thread has the pid as its tid, whichever thread called exec. */
void cpu_begin_image(struct cpu *cpu, uint32_t pid, uint32_t tid, const char *name,
		     uint64_t time_ns)
{
	struct process *before = processes_find(cpu->processes, pid), *process;
	struct process_thread *thread;

	if (before)
		cpu_finish_code(cpu, process_get(before));
	process = processes_begin(cpu->processes, pid, time_ns);
	thread = process ? process_thread_begin(cpu->processes, process, tid, time_ns) : NULL;
	if (process && before)
		process_inherit(process, before, false);
	if (process) {
		/* the program's own process is not known before its exec */
		switch_causes_begin_process(cpu, pid);
		process->memory_round = cpu->round;
		process->is_new_image = true;
		process_look(cpu->processes, process);
	}
	if (thread && *name)
		process_thread_rename(cpu->processes, process, thread, name, time_ns);
	process_put(before);
}

static void take_exec(struct cpu *cpu, const struct perf_record *record)
{
	struct process *before = processes_find(cpu->processes, record->pid);

	if (!before || !is_known(before->row.begin_ns, before->row.end_ns, record))
		cpu_begin_image(cpu, record->pid, record->tid, record->text, record->time_ns);
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

static void count_unwatched(struct unwatched *unwatched, const char *name)
{
	size_t i = 0;

	unwatched->count++;
	while (i < unwatched->names_count && strcmp(unwatched->names[i].name, name) != 0)
		i++;
	if (i == CPU_UNWATCHED_NAMES)
		return;
	if (i == unwatched->names_count)
		snprintf(unwatched->names[unwatched->names_count++].name,
			 sizeof(unwatched->names[i].name), "%s", name);
	unwatched->names[i].count++;
}

void cpu_lose_sight(struct cpu *cpu, struct process *process)
{
	char name[64] = "";

	if (process->is_unwatched)
		return;
	process->is_unwatched = true;
	if (!process->name[0])
		proc_thread_name(process->row.pid, process->row.pid, name);
	count_unwatched(&cpu->unwatched, process->name[0] ? process->name : name);
	if (cpu->unwatched.count <= UNWATCHED_DESCRIBED)
		process_describe(cpu->processes, process);
}

/* When exec gives a program other rights, or we may not read its file, the kernel removes its perf
 * events after the exec. It then writes an exit record before any mapping record, although the
 * process still runs. */
static bool is_taken_away(const struct cpu *cpu, const struct process *process)
{
	return process->is_new_image && process->memory_round == cpu->round && process->living <= 1;
}

static void take_exit(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process = processes_find(cpu->processes, record->pid);
	struct process_thread *thread;

	if (!process)
		return;
	if (is_taken_away(cpu, process)) {
		cpu_lose_sight(cpu, process);
		return;
	}
	thread = hash_map_find_pointer(&process->threads, record->tid);
	if (thread)
		cpu_end_wait(cpu, thread, record->time_ns);
	process_thread_end(cpu->processes, process, record->tid, record->time_ns);
	process_reader_remove(&cpu->walker->reader, record->pid, record->tid);
	if (process->living)
		return;
	cpu_finish_code(cpu, process);
	switch_causes_end_process(cpu, record->pid);
	processes_end(cpu->processes, record->pid, record->time_ns);
	process_reader_remove(&cpu->walker->reader, record->pid, 0);
}

static void take_lost(struct cpu *cpu, const struct perf_record *record)
{
	if (record->has_samples) {
		cpu->losses.samples += record->count;
	} else {
		cpu_lose_switches(cpu, record->since_ns, record->time_ns, record->count);
		cpu->round++; /* mappings may be among them */
	}
}

void cpu_take_record(struct cpu *cpu, const struct perf_record *record)
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
		if (process) {
			process->is_new_image = false;
			cpu_put_piece(cpu, process, &record->map, record->text);
		}
		break;
	case PERF_LOST:
		take_lost(cpu, record);
		break;
	case PERF_THROTTLED:
		cpu->throttled++;
		break;
	}
}

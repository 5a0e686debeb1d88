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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/cpu/perf_rights.h"
#include "collect/host_clocks.h"
#include "collect/memory_map.h"
#include "collect/proc.h"

enum {
	STACK_BYTES = 16 << 10, /* of each sample; deeper ones lose their outer end */
	LISTS_MOST = 16,        /* of a process that goes on starting threads */
	UNWATCHED_DESCRIBED = 64,
	/* Between two rounds: who is blocked is looked at so often … */
	INTERVAL_NS = 5000000,
	CROWDED_NS = 10000000, /* … but where much happened in the one before, … */
	CROWD = 64,            /* (so many records: most waits are too short to be looked at) */
	QUIET_NS = 20000000,   /* … or nothing */
	ROUND_NS =
		5000000, /* of one round: guests have rings, too, and tables of a large library take long to read */
	EARLY_NS = 500000 /* a round that comes so much before its time is the next one */
};

/* What more rights would add. */
static void note_rights(struct cpu *cpu)
{
	char rights[PATH_MAX + 200], text[PATH_MAX + 400];

	if (cpu->state.has_kernel)
		return;
	perf_rights_text(1, rights, sizeof(rights));
	snprintf(text, sizeof(text),
		 "time inside the operating system's kernel has no samples: that processor time, "
		 "and its functions, are missing: %s, or record as root",
		 rights);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	recording_hint(cpu->recording, text);
}

/* Whether threads may be looked at: a trial of 1 ms, made while the program runs already. */
bool cpu_can_look(struct cpu *cpu)
{
	char text[1200];

	if (cpu->has_tried_looks)
		return cpu->can_look;
	cpu->has_tried_looks = true;
	cpu->can_look = blocked_try() == 0;
	if (cpu->can_look)
		return true;
	snprintf(text, sizeof(text), "where threads wait is not seen: %s", error_text());
	error_clear();
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	recording_warn(cpu->recording, text);
	return false;
}

/* By rules, or by limits. */
static bool is_refusal(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOSYS || error == -EMFILE ||
	       error == -ENFILE || error == -ENOMEM;
}

/* The second way; the first one's reason is in the error chain. */
static void use_states(struct cpu *cpu)
{
	char text[PATH_MAX + 800];

	snprintf(text, sizeof(text),
		 "threads are looked at 200 times a second instead of sampled: native functions in "
		 "which they run and waits of less than 5 ms are missing; %s",
		 error_text());
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	recording_warn(cpu->recording, text);
	error_clear();
	perf_rings_close(cpu->rings);
	cpu->rings = NULL;
	snprintf(cpu->state.source.name, sizeof(cpu->state.source.name), "thread-state");
}

int cpu_open(struct recording *recording, const struct cpu_options *options, struct cpu **ret_cpu)
{
	const struct perf_rings_options rings = {.source = options->source,
						 .frequency_hz = options->frequency_hz,
						 .stack_bytes = STACK_BYTES,
						 .faults = options->faults};
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	int error;

	if (!cpu)
		return error_set(-ENOMEM, "CPU samples: out of memory");
	cpu->recording = recording;
	cpu->processes = recording->processes;
	cpu->frequency_hz = options->frequency_hz ? options->frequency_hz : 1;
	cpu->who.is_machine = options->is_machine;
	error = options->is_machine ? 0 : perf_rings_open(&rings, &cpu->rings);
	if (error == 0 && options->is_machine) {
		cpu->who.begin_ns = host_clocks_now_ns();
	} else if (error == 0) {
		perf_rings_state(cpu->rings, &cpu->state);
	} else if (is_refusal(error)) {
		use_states(cpu);
	} else {
		free(cpu);
		return error;
	}
	cpu->source_string = recording_string(recording, cpu->state.source.name);
	cpu->faults_string = recording_string(recording, "page-faults");
	cpu->last_loss_ns = host_clocks_now_ns();
	code_files_init(&cpu->files, recording);
	kernel_frames_init(&cpu->kernel_frames, recording);
	hash_map_init(&cpu->who.unseen);
	hash_map_init(&cpu->kernels);
	hash_map_init(&cpu->calls);
	identities_init(&cpu->python.notes);
	cpu->python.is_wanted = options->has_python;
	hash_map_init(&cpu->python.objects);
	hash_map_init(&cpu->python.strangers);
	if (cpu->rings)
		note_rights(cpu);
	cpu->has_tried_looks = options->is_machine;
	cpu_interrupts_open(cpu);
	cpu->interrupts.is_wanted = options->has_interrupts;
	if ((cpu->rings || options->is_machine) && options->has_bpf)
		cpu_who_open(cpu, options->wants_bpf);
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
				       .source_string = record->is_fault ? cpu->faults_string
									 : cpu->source_string,
				       .mode = record->is_kernel ? MODE_KERNEL : MODE_USER};
	struct trace_source source = {.source = row.thread, .clock = CLOCK_ID_MONOTONIC};

	if (!record->is_fault)
		cpu->sampled_ns += 1000000000 / cpu->frequency_hz;
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
		cpu_who_woke(cpu, record->tid, record->time_ns, &row.waker, &row.waker_string);
	else if (row.reason == SWITCH_PREEMPTED)
		cpu_who_took(cpu, record->tid, record->time_ns, &row.wait_string, &row.holder);
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

/* It has its parent's name up to its exec, and when its first row is read /proc may know only the next one. */
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
	cpu_who_begin_process(cpu, record->pid);
	if (thread)
		name_child(thread, parent, record->other_tid);
	child->memory_round = parent->memory_round;
	if (parent->memory)
		child->memory = memory_map_share(parent->memory);
}

/* The first thread of the image has the process's number, whichever called exec. */
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

/* The first one of each reason at once, as a command may mend it. */
void cpu_note_closed(struct cpu *cpu, struct process *process)
{
	const int error = proc_try(process->row.pid);
	char name[64] = "", rights[PATH_MAX + 300], text[PATH_MAX + 600];

	if (process->is_closed || !cpu_can_look(cpu))
		return;
	process->is_closed = true;
	cpu->closed++;
	if (cpu->is_told[error != 0])
		return;
	cpu->is_told[error != 0] = true;
	if (error)
		snprintf(rights, sizeof(rights),
			 "it has shut debuggers out, or has rights that its user has not: root "
			 "sees that (sudo duet record)");
	else
		ptrace_rights_text(ptrace_scope(), false, -EPERM, rights, sizeof(rights));
	proc_thread_name(process->row.pid, process->row.pid, name);
	snprintf(text, sizeof(text),
		 "where threads of process %u ('%s') wait, and their Python functions, are not "
		 "seen: %s",
		 process->row.pid, name, rights);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	/* what a program wants for itself is no news to its user */
	(error ? recording_hint : recording_warn)(cpu->recording, text);
}

/* A program that gets other rights by its exec, or whose file we may not read, has its events taken away behind that:
 * the kernel tells of its end when nothing has been mapped yet, which is not its end. */
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
	blocked_files_remove(&cpu->proc, record->pid, record->tid);
	if (process->living)
		return;
	cpu_finish_code(cpu, process);
	cpu_who_end_process(cpu, record->pid);
	processes_end(cpu->processes, record->pid, record->time_ns);
	blocked_files_remove(&cpu->proc, record->pid, 0);
}

static void for_each_process(struct cpu *cpu,
			     void (*what)(struct cpu *cpu, struct process *process))
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&cpu->processes->by_pid, &cursor, NULL, &value))
		what(cpu, (struct process *)(uintptr_t)value);
}

static void take_lost(struct cpu *cpu, const struct perf_record *record)
{
	if (record->has_samples) {
		cpu->lost_samples += record->count;
	} else {
		cpu->lost_others += record->count;
		cpu->round++; /* mappings may be among them */
	}
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

uint64_t cpu_interval_ns(const struct cpu *cpu)
{
	if (cpu->is_behind)
		return 0;
	if (cpu->rings && !cpu->round_records)
		return QUIET_NS;
	return cpu->round_records > CROWD ? CROWDED_NS : INTERVAL_NS;
}

static void drain_until(struct cpu *cpu, uint64_t until_ns)
{
	struct perf_record record;

	cpu_who_drain(cpu);
	while (cpu->rings && perf_rings_next(cpu->rings, until_ns, &record))
		take_record(cpu, &record);
}

/* … as far as there is time. Returns up to when all is known. */
static uint64_t drain_round(struct cpu *cpu, uint64_t until_ns)
{
	const uint64_t end_ns = host_clocks_now_ns() + ROUND_NS;
	struct perf_record record;

	cpu_who_drain(cpu);
	cpu->round_records = 0;
	cpu->is_behind = false;
	while (cpu->rings && !cpu->is_behind && perf_rings_next(cpu->rings, until_ns, &record)) {
		take_record(cpu, &record);
		cpu->round_records++;
		cpu->is_behind = host_clocks_now_ns() > end_ns;
	}
	return cpu->is_behind ? record.time_ns : until_ns;
}

void cpu_drain(struct cpu *cpu)
{
	uint64_t now_ns = host_clocks_now_ns(), known_ns;

	if (cpu->rings && cpu->python.is_there)
		cpu_python_glance(cpu);
	/* woken for a sample's functions, or by a guest that has much to tell */
	if (now_ns < cpu->next_drain_ns && !(cpu->rings && perf_rings_are_filling(cpu->rings)))
		return;
	cpu_can_look(cpu);
	known_ns = drain_round(cpu, now_ns - PERF_RINGS_LATE_NS);
	cpu->next_drain_ns = cpu->is_behind ? 0 : now_ns + cpu_interval_ns(cpu) - EARLY_NS;
	cpu_look_at_waiting(cpu, known_ns);
	if (!cpu->rings)
		cpu_look_at_all(cpu, host_clocks_now_ns());
}

void cpu_drain_all(struct cpu *cpu)
{
	drain_until(cpu, host_clocks_now_ns());
	/* a guest that says hello is of a process that is known by then */
	if (!cpu->rings)
		cpu_look_at_all(cpu, host_clocks_now_ns());
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

static void end_if_gone(struct cpu *cpu, struct process *process)
{
	if (process->is_unwatched && !process->has_ended && !proc_is_alive(-1, process->row.pid))
		processes_end(cpu->processes, process->row.pid, host_clocks_now_ns());
}

/* Switches stand for all that is not sampled: of which kind it was, the kernel does not say. */
void cpu_count_losses(struct cpu *cpu, uint64_t now_ns)
{
	put_loss(cpu, EVENT_CPU_SAMPLE, LOSS_RING_FULL, cpu->lost_samples, now_ns);
	put_loss(cpu, EVENT_SWITCH, LOSS_RING_FULL, cpu->lost_others, now_ns);
	put_loss(cpu, LOSS_KIND_STACK, LOSS_TRACKING, cpu->stacks_refused, now_ns);
	cpu_machine_put_losses(cpu, cpu->last_loss_ns, now_ns);
	cpu->told_samples += cpu->lost_samples;
	cpu->told_others += cpu->lost_others;
	cpu->lost_samples = cpu->lost_others = cpu->stacks_refused = 0;
	cpu->stack_bytes = 0;
	cpu->last_loss_ns = now_ns;
	cpu_who_each_second(cpu, now_ns);
	cpu_interrupts_read(cpu);
	kernel_frames_look(&cpu->kernel_frames);
	for_each_process(cpu, cpu_name_code);
	for_each_process(cpu, end_if_gone);
}

/* A full ring tells of what was lost when there is room again. What it could not tell, the events know: to ask them is
 * a system call for each thread and processor. */
static void count_last_losses(struct cpu *cpu)
{
	uint64_t samples = 0, others = 0;

	if (cpu->rings && cpu->state.counts_lost)
		perf_rings_lost(cpu->rings, &samples, &others);
	if (samples > cpu->told_samples + cpu->lost_samples)
		cpu->lost_samples = samples - cpu->told_samples;
	if (others > cpu->told_others + cpu->lost_others)
		cpu->lost_others = others - cpu->told_others;
	cpu_count_losses(cpu, host_clocks_now_ns());
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

/* A place is in one sample or more; of so many samples one does not count. */
enum { NAMELESS_SHARE = 1000 };

static void note_nameless(struct cpu *cpu)
{
	const bool is_one = cpu->nameless == 1;
	char text[200];

	if (!cpu->nameless)
		return;
	snprintf(text, sizeof(text),
		 "%llu %s outside of all files (code that a program made while it ran, say) %s no "
		 "name: no perf map and no jitdump tells one",
		 (unsigned long long)cpu->nameless, is_one ? "place" : "places",
		 is_one ? "has" : "have");
	recording_note(cpu->recording, "cpu",
		       cpu->nameless * NAMELESS_SHARE < cpu->samples ? COLLECTOR_AVAILABLE
								     : COLLECTOR_PARTIAL,
		       0, text);
}

/* "sudo, ping (7 processes) and others"; names are what programs say. */
static void name_unwatched(const struct unwatched *unwatched, char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < unwatched->names_count && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? ", " : "",
					 unwatched->names[i].name);
		if (unwatched->names[i].count > 1 && used < size)
			used += (size_t)snprintf(text + used, size - used, " (%llu processes)",
						 (unsigned long long)unwatched->names[i].count);
	}
	if (unwatched->names_count == CPU_UNWATCHED_NAMES && used < size)
		snprintf(text + used, size - used, " and perhaps others");
}

static void note_unwatched(struct cpu *cpu)
{
	char names[480] = "", text[800];

	if (!cpu->unwatched.count)
		return;
	name_unwatched(&cpu->unwatched, names, sizeof(names));
	snprintf(text, sizeof(text),
		 "what %s did is not recorded, nor what it started: a program that runs with other "
		 "rights than its starter's (setuid, file capabilities), that shuts debuggers out, "
		 "or whose file may not be read, is not shown by the kernel",
		 names);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

static void note_closed(struct cpu *cpu)
{
	char text[160];

	if (cpu->closed < 2)
		return;
	snprintf(text, sizeof(text),
		 "where threads wait, and their Python functions, are not seen of %llu processes",
		 (unsigned long long)cpu->closed);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

static void note_crowded(struct cpu *cpu)
{
	uint64_t count = cpu->crowded + cpu->files.refused;
	char text[160];

	if (!count)
		return;
	snprintf(text, sizeof(text),
		 "%llu mappings of code are not kept: there are too many at once, or of too many "
		 "files; frames in them have no names",
		 (unsigned long long)count);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

static void name_kernel(struct cpu *cpu)
{
	if (!kernel_frames_name(&cpu->kernel_frames))
		return;
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, error_text());
	error_clear();
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
	note_unwatched(cpu);
	note_closed(cpu);
	note_crowded(cpu);
	name_kernel(cpu);
	cpu_python_note(cpu);
	cpu_python_fini(cpu);
	cpu_interrupts_close(cpu);
	cpu_who_close(cpu);
	free(cpu->waiting);
	free(cpu->watched);
	family_fini(&cpu->family);
	count_last_losses(cpu);
	hash_map_fini(&cpu->who.unseen);
	perf_rings_close(cpu->rings);
	kernel_frames_fini(&cpu->kernel_frames);
	code_files_fini(&cpu->files);
	blocked_files_fini(&cpu->proc);
	hash_map_fini(&cpu->kernels);
	hash_map_fini(&cpu->calls);
	free(cpu);
}

/* ---- attaching --------------------------------------------------------------------------------- */

int cpu_descriptor(const struct cpu *cpu)
{
	return cpu->rings ? perf_rings_descriptor(cpu->rings) : -1;
}

static int add_to_family(struct cpu *cpu, pid_t pid, int pid_fd, bool is_running)
{
	int error = 0;

	cpu->family.environment = cpu->recording->mark;
	if (!cpu->family.is_open)
		error = family_init(&cpu->family);
	if (!error)
		error = family_add(&cpu->family, (uint32_t)pid, pid_fd, is_running);
	return error ? error_set(error, "process %d: %s", (int)pid, strerror(-error)) : 0;
}

/* Of -p: those that were attached before the one that was refused. */
static void add_known(struct cpu *cpu, struct process *process)
{
	if (!process->has_ended && add_to_family(cpu, (pid_t)process->row.pid, -1, true))
		error_clear();
}

/* Where the kernel refuses, the reason is noted and looks begin. */
static int look_instead(struct cpu *cpu, int error)
{
	char reason[PATH_MAX + 400];

	if (!is_refusal(error))
		return error;
	snprintf(reason, sizeof(reason), "%s", error_text());
	drain_until(cpu, host_clocks_now_ns());
	error_clear();
	error_set(error, "%s", reason);
	use_states(cpu);
	cpu->source_string = recording_string(cpu->recording, cpu->state.source.name);
	for_each_process(cpu, add_known);
	return 0;
}

int cpu_attach_program(struct cpu *cpu, pid_t pid)
{
	int error =
		cpu->rings ? look_instead(cpu, perf_rings_attach(cpu->rings, pid, -1, true)) : 0;

	cpu_who_begin_process(cpu, (uint32_t)pid);
	if (!error && !cpu->rings)
		error = add_to_family(cpu, pid, -1, false);
	return error;
}

/* A thread that waits now told nobody that it went. before_ns: it was not attached yet then, so that what is told of it
 * comes later. */
static void find_waiting(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t before_ns)
{
	struct process_thread *thread = process_thread(cpu->processes, process, tid, before_ns);
	struct blocked_place where;
	enum thread_place place = blocked_find(&cpu->proc, process->row.pid, tid, &where);

	if (place == THREAD_REFUSED)
		cpu_note_closed(cpu, process);
	if (!thread || place != THREAD_WAITS)
		return;
	process_thread_describe(cpu->processes, process, thread);
	cpu_begin_wait(cpu, process, thread, before_ns, 0);
}

/* Attaches those of the list that are new in it. *ret_count: how many. */
static int attach_listed(struct cpu *cpu, struct process *process, int pid_fd, DIR *tasks,
			 struct hash_map *seen, size_t *ret_count)
{
	struct dirent *entry;

	*ret_count = 0;
	while ((entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		uint64_t before_ns = host_clocks_now_ns();
		int error;

		if (!tid || hash_map_find(seen, tid))
			continue;
		error = perf_rings_attach(cpu->rings, (pid_t)tid, pid_fd, false);
		if (error && error != -ESRCH)
			return error;
		if (hash_map_put(seen, tid, 1))
			return error_set(-ENOMEM, "perf events: out of memory");
		if (!error)
			find_waiting(cpu, process, tid, before_ns);
		*ret_count += !error;
	}
	return 0;
}

/* Who is started by a thread that is attached comes with it; by one that is not yet, it is in the next list. The rings
 * tell of those that come twice once. */
static int attach_threads(struct cpu *cpu, struct process *process, int pid_fd)
{
	struct hash_map seen;
	char folder[64];
	size_t count = 1, attached = 0;
	int error = 0;

	hash_map_init(&seen);
	snprintf(folder, sizeof(folder), "/proc/%u/task", process->row.pid);
	for (int i = 0; i < LISTS_MOST && count && !error; i++) {
		DIR *tasks = opendir(folder);

		if (!tasks)
			break;
		error = attach_listed(cpu, process, pid_fd, tasks, &seen, &count);
		attached += count;
		closedir(tasks);
	}
	if (!error && !attached)
		error = error_set(-ESRCH, "process %u has ended", process->row.pid);
	hash_map_fini(&seen);
	return error;
}

int cpu_attach_process(struct cpu *cpu, pid_t pid, int pid_fd)
{
	uint64_t now_ns = host_clocks_now_ns();
	struct process *process = processes_begin(cpu->processes, (uint32_t)pid, now_ns);
	int error = 0;

	if (!process)
		return error_set(-ENOMEM, "process %d: out of memory", (int)pid);
	if (cpu->rings)
		error = look_instead(cpu, attach_threads(cpu, process, pid_fd));
	if (!error && !cpu->rings)
		error = add_to_family(cpu, pid, pid_fd, true);
	if (error) {
		processes_end(cpu->processes, (uint32_t)pid, now_ns);
		return error;
	}
	cpu_read_memory(cpu, process);
	cpu_who_begin_process(cpu, (uint32_t)pid);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu.c - what threads did: samples with stacks, switches, lifetimes
 *
 * Runs in:  the recorder
 * Gets:     the kernel's records   Gives: rows of samples and switches, processes, threads
 * Owns:     the rings, the files whose code runs
 * Fails:    opening; later what was lost is counted, and a stack that cannot be walked further ends marked
 * Why:      stacks are walked here and now: the copy of a stack is 16 KiB, a walked one some 8 bytes of the
 *           trace, and what the program executes may be gone when the report is made.
 */
#include "collect/cpu/cpu.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/cpu/blocked.h"
#include "collect/cpu/code_files.h"
#include "collect/memory_map.h"
#include "collect/processes.h"
#include "collect/host_clocks.h"
#include "symbol/kallsyms.h"
#include "symbol/proc_maps.h"
#include "symbol/unwind_walk.h"

enum {
	STACK_BYTES = 16 << 10, /* of each sample; deeper ones lose their outer end */
	FRAMES_MOST = 512,
	ENDED_MOST = 1 << 16,
	CALL_BYTES = 7,         /* of the longest call that compilers write */
	LOOK_AFTER_NS = 200000, /* who is back sooner is not worth a look */
	LOOKS_A_ROUND = 8,      /* some 20 us each */
	HELD_MOST_NS = 1000000000
};

/* A thread that went, and was not looked at yet, or whose going is not written. */
struct waiting {
	uint32_t pid, tid;
	uint64_t since_ns;
};

struct cpu {
	struct recording *recording; /* borrowed */
	struct processes *processes; /* borrowed */
	struct perf_rings *rings;
	struct perf_rings_state state;
	struct code_files files;
	uint32_t source_string;
	struct kallsyms *kallsyms; /* owned; NULL: not opened, or not to be had */
	bool has_no_kallsyms;
	struct hash_map ended;              /* tids: what is still said of them is of their end */
	uint64_t lost, throttled, nameless; /* since the last loss row */
	uint64_t last_loss_ns;
	struct waiting *waiting; /* owned; in the order in which they went */
	size_t waiting_count, waiting_capacity;
	struct blocked_look look;
	struct unwind_walk_frame frames[FRAMES_MOST];
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

int cpu_open(struct recording *recording, const struct cpu_options *options, struct cpu **ret_cpu)
{
	const struct perf_rings_options rings = {.source = options->source,
						 .frequency_hz = options->frequency_hz,
						 .stack_bytes = STACK_BYTES};
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	int error;

	if (!cpu)
		return error_set(-ENOMEM, "CPU samples: out of memory");
	error = perf_rings_open(&rings, &cpu->rings);
	if (error) {
		free(cpu);
		return error;
	}
	perf_rings_state(cpu->rings, &cpu->state);
	cpu->recording = recording;
	cpu->processes = recording->processes;
	cpu->source_string = recording_string(recording, cpu->state.source.name);
	cpu->last_loss_ns = host_clocks_now_ns();
	code_files_init(&cpu->files, recording);
	hash_map_init(&cpu->ended);
	note_rights(cpu);
	*ret_cpu = cpu;
	return 0;
}

/* ---- what is mapped ---------------------------------------------------------------------------- */

static void put_piece(struct cpu *cpu, struct process *process, const struct perf_map *map,
		      const char *path)
{
	char build_id[BUILD_ID_TEXT_SIZE] = "";
	struct code_file_key key = {path, build_id, map->major, map->minor, map->inode};
	struct memory_piece piece = {.start = map->address,
				     .end = map->address + map->size_bytes,
				     .file_offset = map->file_offset_bytes};

	if (!process->memory)
		process->memory = calloc(1, sizeof(*process->memory));
	if (!process->memory)
		return;
	for (uint32_t i = 0; i < map->build_id_bytes; i++)
		snprintf(build_id + 2 * i, 3, "%02x", map->build_id[i]);
	piece.file = code_files_find(&cpu->files, &key);
	memory_map_put(process->memory, &piece);
}

/* Of a process that was there before us. */
static void read_memory(struct cpu *cpu, struct process *process)
{
	struct proc_maps maps = {0};

	if (proc_maps_read((pid_t)process->row.pid, &maps) < 0)
		error_clear();
	for (size_t i = 0; i < maps.count; i++) {
		const struct proc_mapping *from = &maps.mappings[i];
		struct perf_map map = {.address = from->start,
				       .size_bytes = from->end - from->start,
				       .file_offset_bytes = from->file_offset,
				       .inode = from->inode,
				       .major = from->device_major,
				       .minor = from->device_minor};

		if (from->is_executable)
			put_piece(cpu, process, &map, from->path);
	}
	proc_maps_fini(&maps);
}

/* ---- stacks ------------------------------------------------------------------------------------ */

/* Whose stack is walked. */
struct walk {
	struct cpu *cpu;
	struct process *process;
};

static const struct memory_piece *piece_at(const struct walk *walk, uint64_t pc)
{
	return walk->process->memory ? memory_map_find(walk->process->memory, pc) : NULL;
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	const struct walk *walk = context;
	const struct memory_piece *piece = piece_at(walk, pc);

	if (!piece || !piece->file)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	return code_files_rule(&walk->cpu->files, piece->file,
			       pc - piece->start + piece->file_offset, walk->process->row.pid);
}

/* Code without tables: whether a call precedes an address, its bytes say. Where the process has gone nobody knows. */
static enum unwind_code find_code(void *context, uint64_t pc)
{
	const struct walk *walk = context;
	uint8_t bytes[CALL_BYTES];
	struct iovec here = {bytes, sizeof(bytes)};
	struct iovec there = {(void *)(uintptr_t)(pc - sizeof(bytes)), sizeof(bytes)};

	if (!piece_at(walk, pc) || !piece_at(walk, pc - 1))
		return UNWIND_CODE_NONE;
	if (process_vm_readv((pid_t)walk->process->row.pid, &here, 1, &there, 1, 0) !=
	    (ssize_t)sizeof(bytes))
		return UNWIND_CODE_SOME;
	return unwind_is_after_call(bytes, sizeof(bytes)) ? UNWIND_CODE_AFTER_CALL
							  : UNWIND_CODE_SOME;
}

static uint32_t frame_of(const struct walk *walk, const struct unwind_walk_frame *frame)
{
	uint64_t pc = frame->is_return ? frame->pc - 1 : frame->pc;
	const struct memory_piece *piece = piece_at(walk, pc);
	struct event_frame row = {.type = FRAME_JIT, .flags = frame->is_return ? FRAME_RETURN : 0};

	row.offset = frame->pc;
	if (piece && piece->file) {
		row.type = FRAME_NATIVE;
		row.module_string = piece->file->path_string;
		row.build_id_string = piece->file->build_id_string;
		row.file_size_bytes = piece->file->size_bytes;
		row.file_modified_ns = piece->file->modified_ns;
		row.offset = frame->pc - piece->start + piece->file_offset;
	}
	if (row.type == FRAME_JIT)
		return made_code_frame(&walk->process->made, walk->cpu->recording,
				       process_describe(walk->cpu->processes, walk->process),
				       frame->pc, row.flags);
	return recording_frame(walk->cpu->recording, &row);
}

/* Ours, around each call that is recorded: no code of the program. Where it is what runs, it is shown. */
static bool is_guest(const struct walk *walk, const struct unwind_walk_frame *frame)
{
	const struct memory_piece *piece =
		piece_at(walk, frame->is_return ? frame->pc - 1 : frame->pc);

	return piece && piece->file && piece->file->is_guest;
}

static uint32_t cut_mark(const struct cpu *cpu, uint64_t frames)
{
	const struct event_frame row = {.type = FRAME_TRUNCATED, .offset = frames};

	return recording_frame(cpu->recording, &row);
}

/* From the outermost frame inwards. */
static uint32_t walk_stack(struct cpu *cpu, struct process *process,
			   const struct unwind_state *state)
{
	struct walk walk = {cpu, process};
	enum unwind_walk_end end;
	size_t count =
		unwind_walk(state, find_rule, find_code, &walk, cpu->frames, FRAMES_MOST, &end);
	uint32_t stack = 0;

	if (end != UNWIND_WALK_OUTERMOST)
		stack = recording_stack(cpu->recording, 0, cut_mark(cpu, 0));
	while (count--)
		if (!count || !is_guest(&walk, &cpu->frames[count]))
			stack = recording_stack(cpu->recording, stack,
						frame_of(&walk, &cpu->frames[count]));
	return stack;
}

static uint32_t user_stack(struct cpu *cpu, struct process *process,
			   const struct perf_record *record)
{
	const struct unwind_state state = {.ip = record->ip,
					   .sp = record->sp,
					   .bp = record->bp,
					   .stack = record->stack,
					   .stack_bytes = record->stack_bytes,
					   .has_bp = true};

	return walk_stack(cpu, process, &state);
}

static uint32_t kernel_frame(struct cpu *cpu, uint64_t address)
{
	struct event_frame row = {.type = FRAME_KERNEL};
	const char *name = NULL;

	if (!cpu->kallsyms && !cpu->has_no_kallsyms && kallsyms_open(NULL, &cpu->kallsyms)) {
		recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, error_text());
		error_clear();
		cpu->has_no_kallsyms = true;
	}
	if (cpu->kallsyms)
		name = kallsyms_find(cpu->kallsyms, address);
	if (name)
		row.name_string = recording_string(cpu->recording, name);
	return recording_frame(cpu->recording, &row);
}

/* On top of what called the kernel; of frames without names there is one. */
static uint32_t kernel_stack(struct cpu *cpu, const struct perf_record *record, uint32_t stack)
{
	uint32_t last = 0;

	for (size_t i = record->kernel_count; i-- > 0;) {
		uint32_t frame = kernel_frame(cpu, record->kernel[i] - (i > 0));

		if (frame != last || cpu->kallsyms)
			stack = recording_stack(cpu->recording, stack, frame);
		last = frame;
	}
	if (!record->kernel_count)
		stack = recording_stack(cpu->recording, stack, kernel_frame(cpu, record->address));
	return stack;
}

static uint32_t blocked_stack(struct cpu *cpu, struct process *process, uint32_t tid)
{
	const struct blocked_look *look = &cpu->look;
	struct unwind_state state = {.stack = (const uint8_t *)look->stack};

	if (!blocked_look(process->row.pid, tid, &cpu->look))
		return 0;
	state.ip = look->ip;
	state.sp = look->sp;
	state.stack_bytes = look->stack_bytes;
	return walk_stack(cpu, process, &state);
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
		read_memory(cpu, process);
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

/* Who has ended goes off its processor once more. */
static bool has_ended(const struct cpu *cpu, const struct perf_record *record)
{
	return hash_map_find(&cpu->ended, record->tid) != NULL;
}

static void note_end(struct cpu *cpu, uint32_t tid)
{
	if (cpu->ended.count >= ENDED_MOST)
		hash_map_clear(&cpu->ended);
	hash_map_put(&cpu->ended, tid, 1);
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

	if (process && record->has_user)
		row.stack = user_stack(cpu, process, record);
	if (record->is_kernel)
		row.stack = kernel_stack(cpu, record, row.stack);
	trace_writer_row(cpu->recording->writer, EVENT_CPU_SAMPLE, &source, &row);
}

/* ---- switches ---------------------------------------------------------------------------------- */

static void put_switch(struct cpu *cpu, uint32_t thread, const struct event_switch *row)
{
	struct trace_source source = {.source = thread, .clock = CLOCK_ID_MONOTONIC};

	trace_writer_row(cpu->recording->writer, EVENT_SWITCH, &source, row);
}

/* That it went. until_ns: it was away up to then; a look that ended later may have seen something else. */
static void put_wait(struct cpu *cpu, struct process_thread *thread, uint64_t until_ns)
{
	struct thread_wait *wait = &thread->wait;
	struct event_switch row = {.time = wait->since_ns,
				   .previous = thread->row.id,
				   .cpu = wait->cpu,
				   .reason = SWITCH_BLOCKED,
				   .stack = wait->looked_ns < until_ns ? wait->stack : 0};

	if (wait->since_ns && !wait->is_written)
		put_switch(cpu, thread->row.id, &row);
	wait->is_written = true;
}

/* Held back until somebody has looked where it waits, or it comes back. */
static void begin_wait(struct cpu *cpu, struct process_thread *thread,
		       const struct perf_record *record)
{
	put_wait(cpu, thread, 0);
	thread->wait = (struct thread_wait){.since_ns = record->time_ns, .cpu = record->cpu};
	if (array_grow(cpu->waiting, cpu->waiting_capacity, cpu->waiting_count + 1))
		put_wait(cpu, thread, 0);
	else
		cpu->waiting[cpu->waiting_count++] =
			(struct waiting){record->pid, record->tid, record->time_ns};
}

static void end_wait(struct cpu *cpu, struct process_thread *thread, uint64_t time_ns)
{
	put_wait(cpu, thread, time_ns);
	thread->wait = (struct thread_wait){0};
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
	if (record->kind == PERF_OUT && !record->is_preempted) {
		begin_wait(cpu, thread, record);
		return;
	}
	end_wait(cpu, thread, record->time_ns);
	if (record->kind == PERF_IN)
		row.next = thread->row.id;
	else
		row.previous = thread->row.id;
	row.reason = record->kind == PERF_OUT ? SWITCH_PREEMPTED : SWITCH_NOT_KNOWN;
	put_switch(cpu, thread->row.id, &row);
}

static struct process_thread *find_waiting(const struct cpu *cpu, const struct waiting *waiting,
					   struct process **ret_process)
{
	struct process *process = processes_find(cpu->processes, waiting->pid);
	struct process_thread *thread =
		process ? hash_map_find_pointer(&process->threads, waiting->tid) : NULL;

	*ret_process = process;
	return thread && thread->wait.since_ns == waiting->since_ns && !thread->wait.is_written
		       ? thread
		       : NULL;
}

/* drained_ns: all that happened before is known. True: nothing more is to be found out about it. */
static bool look_at(struct cpu *cpu, const struct waiting *waiting, uint64_t drained_ns, int *looks)
{
	struct process *process;
	struct process_thread *thread = find_waiting(cpu, waiting, &process);
	struct thread_wait *wait;
	uint64_t now_ns;

	if (!thread)
		return true;
	wait = &thread->wait;
	now_ns = host_clocks_now_ns();
	if (!wait->looked_ns && *looks && now_ns - wait->since_ns > LOOK_AFTER_NS) {
		--*looks;
		wait->stack = blocked_stack(cpu, process, waiting->tid);
		wait->looked_ns = host_clocks_now_ns();
		return false;
	}
	if ((wait->looked_ns && wait->looked_ns < drained_ns) ||
	    now_ns - wait->since_ns > HELD_MOST_NS) {
		put_wait(cpu, thread, drained_ns);
		return true;
	}
	return false;
}

static void look_at_waiting(struct cpu *cpu, uint64_t drained_ns)
{
	int looks = LOOKS_A_ROUND;
	size_t kept = 0;

	for (size_t i = 0; i < cpu->waiting_count; i++)
		if (!look_at(cpu, &cpu->waiting[i], drained_ns, &looks))
			cpu->waiting[kept++] = cpu->waiting[i];
	cpu->waiting_count = kept;
}

static void put_all_waits(struct cpu *cpu)
{
	for (size_t i = 0; i < cpu->waiting_count; i++) {
		struct process *process;
		struct process_thread *thread = find_waiting(cpu, &cpu->waiting[i], &process);

		if (thread)
			put_wait(cpu, thread, UINT64_MAX);
	}
	cpu->waiting_count = 0;
}

/* ---- code that processes make ------------------------------------------------------------------ */

static struct made_code_owner owner_of(struct cpu *cpu, struct process *process)
{
	return (struct made_code_owner){
		.recording = cpu->recording,
		.images = &process->images,
		.process = {process->row.pid, -1, process->exe ? process->exe : "",
			    &process->looks},
		.ns_pid = process->row.ns_pid,
		.uid = process->row.uid,
		.process_id = process->row.id,
		.start_ticks = process->row.start_ticks,
	};
}

static void name_code(struct cpu *cpu, struct process *process)
{
	struct made_code_owner owner = owner_of(cpu, process);

	if (made_code_is_due(&process->made, host_clocks_now_ns()))
		made_code_name(&process->made, &owner);
}

static void finish_code(struct cpu *cpu, struct process *process)
{
	struct made_code_owner owner = owner_of(cpu, process);
	bool is_refused;

	if (process->made.count)
		cpu->nameless += made_code_finish(&process->made, &owner, &is_refused);
}

static void for_each_process(struct cpu *cpu,
			     void (*what)(struct cpu *cpu, struct process *process))
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&cpu->processes->by_pid, &cursor, NULL, &value))
		what(cpu, (struct process *)(uintptr_t)value);
}

/* ---- lifetimes --------------------------------------------------------------------------------- */

static void take_fork(struct cpu *cpu, const struct perf_record *record)
{
	struct process *parent = processes_find(cpu->processes, record->other_pid), *child;

	hash_map_remove(&cpu->ended, record->tid, NULL);

	if (record->pid == record->other_pid) {
		if (parent)
			process_thread(cpu->processes, parent, record->tid, record->time_ns);
		return;
	}
	child = processes_begin(cpu->processes, record->pid, record->time_ns);
	if (!child || !parent)
		return;
	child->row.parent_pid = parent->row.pid;
	child->row.name_string = parent->row.name_string;
	if (parent->memory) {
		child->memory = calloc(1, sizeof(*child->memory));
		if (child->memory)
			memory_map_copy(parent->memory, child->memory);
	}
	process_thread(cpu->processes, child, record->tid, record->time_ns);
}

static void take_name(struct cpu *cpu, const struct perf_record *record)
{
	uint32_t name = recording_string(cpu->recording, record->text);
	struct process *process;
	struct process_thread *thread;

	process = processes_find(cpu->processes, record->pid);
	if (process && record->kind == PERF_EXEC)
		finish_code(cpu, process);
	if (record->kind == PERF_EXEC)
		process = processes_begin(cpu->processes, record->pid, record->time_ns);
	else
		process = process_of(cpu, record);
	thread = process ? process_thread(cpu->processes, process, record->tid, record->time_ns)
			 : NULL;
	if (!thread)
		return;
	thread->row.name_string = name;
	if (record->tid == record->pid)
		process->row.name_string = name;
	process_thread_renamed(cpu->processes, process, thread);
}

static void take_exit(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process = processes_find(cpu->processes, record->pid);
	struct process_thread *thread;

	note_end(cpu, record->tid);
	if (!process)
		return;
	thread = hash_map_find_pointer(&process->threads, record->tid);
	if (thread)
		end_wait(cpu, thread, record->time_ns);
	process_thread_end(cpu->processes, process, record->tid, record->time_ns);
	if (process->threads.count)
		return;
	finish_code(cpu, process);
	processes_end(cpu->processes, record->pid, record->time_ns);
}

static void take_record(struct cpu *cpu, const struct perf_record *record)
{
	struct process *process;

	switch (record->kind) {
	case PERF_SAMPLE:
		if (!has_ended(cpu, record))
			take_sample(cpu, record);
		break;
	case PERF_OUT:
	case PERF_IN:
		if (!has_ended(cpu, record))
			take_switch(cpu, record);
		break;
	case PERF_FORK:
		take_fork(cpu, record);
		break;
	case PERF_EXIT:
		take_exit(cpu, record);
		break;
	case PERF_EXEC:
	case PERF_NAME:
		take_name(cpu, record);
		break;
	case PERF_MAP:
		process = process_of(cpu, record);
		if (process)
			put_piece(cpu, process, &record->map, record->text);
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

	while (perf_rings_next(cpu->rings, until_ns, &record))
		take_record(cpu, &record);
}

void cpu_drain(struct cpu *cpu)
{
	uint64_t until_ns = host_clocks_now_ns() - PERF_RINGS_LATE_NS;

	drain_until(cpu, until_ns);
	look_at_waiting(cpu, until_ns);
}

void cpu_drain_all(struct cpu *cpu)
{
	drain_until(cpu, UINT64_MAX);
}

void cpu_count_losses(struct cpu *cpu, uint64_t now_ns)
{
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	struct event_loss row = {.begin = cpu->last_loss_ns,
				 .end = now_ns,
				 .kind = EVENT_CPU_SAMPLE,
				 .reason = LOSS_RING_FULL,
				 .count = cpu->lost};

	if (cpu->lost)
		trace_writer_row(cpu->recording->writer, EVENT_LOSS, &source, &row);
	cpu->lost = 0;
	cpu->last_loss_ns = now_ns;
	for_each_process(cpu, name_code);
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
	put_all_waits(cpu);
	for_each_process(cpu, finish_code);
	note_nameless(cpu);
	free(cpu->waiting);
	cpu_count_losses(cpu, host_clocks_now_ns());
	perf_rings_close(cpu->rings);
	kallsyms_close(cpu->kallsyms);
	hash_map_fini(&cpu->ended);
	code_files_fini(&cpu->files);
	free(cpu);
}

/* ---- attaching --------------------------------------------------------------------------------- */

int cpu_attach_program(struct cpu *cpu, pid_t pid)
{
	return perf_rings_attach(cpu->rings, pid, true);
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
		read_memory(cpu, process);
	return error;
}

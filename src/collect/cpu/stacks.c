/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/stacks.c - turns registers and copies of stacks into stacks of the trace
 *
 * Runs in:  the recorder
 * Gets:     registers and stack copies of samples, of blocked threads and from BPF
 * Gives:    ids of stacks in the trace, with Python frames
 * Owns:     nothing
 * Fails:    with a stack that ends with a mark frame, or 0
 * Why /proc/PID/maps is rarely read: perf reports each new mapping, in order with the samples. The
 *           file is read only if records of mappings may have been lost.
 */
#include "collect/cpu/cpu_private.h"

#include <stdio.h>
#include <string.h>

#include "collect/guest/stacks.h"
#include "collect/host_clocks.h"
#include "collect/kernel/fd_describe.h"
#include "collect/stack/memory_map.h"

enum { MAX_FILES = 512 }; /* a program may read any number of files */

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Reads all mappings again if the address lies in none of them and records of mappings may have
 * been lost since the last reading. */
static void mend_memory(struct cpu *cpu, struct process *process, uint64_t ip)
{
	uint64_t begin_ns = host_clocks_now_ns();

	if (process->memory_round == cpu->round ||
	    !lookup_budget_is_due(&process->looks, begin_ns) ||
	    (process->memory && memory_map_find(process->memory, ip)))
		return;
	process->memory_round = cpu->round;
	cpu_read_memory(cpu, process);
	lookup_budget_spend(&process->looks, begin_ns, host_clocks_now_ns());
}

/* Opens the Python interpreter whose code is in the stack, so that its frames can be read. */
static void find_interpreters(struct cpu *cpu, const struct stack_walk *walk)
{
	struct process *process = walk->process;

	for (size_t i = 0; i < walk->count && cpu->python.is_wanted; i++) {
		const struct memory_piece *piece = walk->pieces[i];

		if (piece && piece->file && !process->python && !process->is_python_refused &&
		    cpu_python_of(cpu, process, piece->file) != PYTHON_NONE)
			cpu_python_open(cpu, process, piece);
	}
}

static uint32_t walk_stack(struct cpu *cpu, struct cpu_walk *walk)
{
	struct stack_walk *native = &walk->native;
	uint64_t before;
	bool is_merged;
	uint32_t stack;

	cpu->frames_count = 0;
	if (!cpu_has_room(cpu))
		return 0;
	mend_memory(cpu, native->process, native->state->ip);
	native->memory = native->process->memory;
	stack_walker_walk(cpu->walker, native);
	cpu->frames_count = native->count;
	find_interpreters(cpu, native);
	cpu_python_watch(cpu, native->process);
	if (walk->is_past && !walk->python && native->process->python &&
	    cpu_python_has_evaluations(walk))
		return 0;
	is_merged = native->process->python && cpu_python_merge(cpu, walk);
	before = cpu->recording->kept_bytes;
	stack = stack_walker_put_stack(cpu->walker, native, is_merged ? cpu->parts : NULL,
				       cpu->part_count);
	cpu_charge_stacks(cpu, cpu->recording->kept_bytes - before);
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
	struct cpu_walk walk = {.native = {.process = process, .state = &state},
				.tid = record->tid,
				.time_ns = record->time_ns};

	return walk_stack(cpu, &walk);
}

/* Adds kernel frames to the user stack. */
static uint32_t kernel_stack(struct cpu *cpu, const struct perf_record *record, uint32_t stack)
{
	const uint64_t *addresses = record->kernel_count ? record->kernel : &record->address;
	const size_t count = record->kernel_count ? record->kernel_count : 1;

	return kernel_frames_put(&cpu->walker->kernel_frames, addresses, count, stack);
}

uint32_t cpu_sampled_stack(struct cpu *cpu, struct process *process,
			   const struct perf_record *record)
{
	uint32_t stack;

	cpu->frames_count = 0;
	stack = record->has_user ? user_stack(cpu, process, record) : 0;

	return record->is_kernel ? kernel_stack(cpu, record, stack) : stack;
}

static uint32_t blocked_stack(struct cpu *cpu, struct process *process, uint32_t tid)
{
	const struct blocked_look *look = &cpu->blocked.look;
	const struct unwind_state state = {.ip = look->place.ip,
					   .sp = look->place.sp,
					   .stack = (const uint8_t *)look->stack,
					   .stack_bytes = look->stack_bytes};
	struct cpu_walk walk = {.native = {.process = process, .state = &state}, .tid = tid};

	return walk_stack(cpu, &walk);
}

uint32_t cpu_bpf_stack(struct cpu *cpu, struct process *process, uint32_t tid,
		       const struct kernel_stack *stack_row,
		       const struct kernel_python_stack *python)
{
	const struct unwind_state state = {.ip = stack_row->ip,
					   .sp = stack_row->sp,
					   .bp = stack_row->bp,
					   .stack = stack_row->stack,
					   .stack_bytes = stack_row->bytes,
					   .has_bp = true};
	struct cpu_walk walk = {.native = {.process = process, .state = &state},
				.tid = tid,
				.is_past = true,
				.python = python};

	return walk_stack(cpu, &walk);
}

/* Whether the thread is still in the call in which it was seen. Otherwise its descriptor may be
 * another file's by now. */
static bool is_still_there(struct cpu *cpu, uint32_t pid, uint32_t tid)
{
	const struct blocked_place *seen = &cpu->blocked.look.place;
	struct blocked_place now;

	return blocked_find(&cpu->walker->reader, pid, tid, &now) == THREAD_WAITS &&
	       now.call == seen->call && now.argument == seen->argument && now.sp == seen->sp;
}

/* "read (eventfd)"; "read" if BPF records name the file anyway, or for the files beyond the limit.
 * 0: the call is not known. */
static uint32_t call_string(struct cpu *cpu, uint32_t pid, uint32_t tid)
{
	const struct blocked_place *place = &cpu->blocked.look.place;
	const char *call = blocked_call_name(place);
	char words[512], text[600];

	if (!call)
		return 0;
	if (cpu->who.is_ready || !blocked_has_descriptor(place) ||
	    !descriptor_words(pid, tid, (uint32_t)place->argument, words, sizeof(words)) ||
	    !is_still_there(cpu, pid, tid))
		return recording_string(cpu->recording, call);
	snprintf(text, sizeof(text), "%s (%s)", call, words);
	if (!string_table_find(&cpu->blocked.files, text, strlen(text)) &&
	    (cpu->blocked.files.count >= MAX_FILES ||
	     !string_table_add(&cpu->blocked.files, text, strlen(text))))
		return recording_string(cpu->recording, call);
	return recording_string(cpu->recording, text);
}

/* The cause of a wait: the name of its system call, or "Python GIL" if the futex address lies in
 * the interpreter's lock. */
static uint32_t find_cause(struct cpu *cpu, struct process *process, uint32_t tid,
			   struct cpu_wait *wait)
{
	const struct blocked_place *place = &cpu->blocked.look.place;
	const struct cpu_futex futex = {
		.tid = tid, .address = place->argument, .since_ns = host_clocks_now_ns()};
	struct cpu_lock lock = {0};

	wait->is_interpreters =
		blocked_is_futex(place) && cpu_python_lock(cpu, process, &futex, &lock);
	wait->holder = lock.holder;
	wait->lock_switches = lock.switches;
	return wait->is_interpreters ? recording_string(cpu->recording, SWITCH_PYTHON_LOCK)
				     : call_string(cpu, process->row.pid, tid);
}

bool cpu_look_at_blocked(struct cpu *cpu, struct process *process, uint32_t tid,
			 struct cpu_wait *ret_wait)
{
	struct cpu_wait wait = {0};
	enum thread_place place;

	if (process->is_closed)
		return false;
	place = blocked_look(&cpu->walker->reader, process->row.pid, tid, &cpu->blocked.look);
	if (place == THREAD_REFUSED)
		cpu_note_closed(cpu, process);
	if (place != THREAD_WAITS)
		return false;
	wait.stack = blocked_stack(cpu, process, tid);
	wait.wait_string = find_cause(cpu, process, tid, &wait);
	*ret_wait = wait;
	return true;
}

/* ---- JIT code -------------------------------------------------------------------------------- */

void cpu_name_code(struct cpu *cpu, struct process *process)
{
	stack_walker_name_code(cpu->walker, process);
}

void cpu_finish_code(struct cpu *cpu, struct process *process)
{
	cpu->nameless += stack_walker_finish_code(cpu->walker, process);
}

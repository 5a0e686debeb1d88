/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu_stacks.c - where threads are, by the code that lies there
 *
 * Runs in:  the recorder
 * Gets:     registers and copies of stacks
 * Owns:     nothing
 * Fails:    with a stack that ends marked, or 0
 * Why:      stacks are walked here and now: the copy of a stack is 16 KiB, a walked one some 8 bytes of the
 *           trace, and what the program executes may be gone when the report is made.
 */
#include "collect/cpu/cpu_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/memory_map.h"
#include "collect/stacks.h"
#include "symbol/proc_maps.h"

enum {
	CALL_BYTES = 7, /* of the longest call that compilers write */
	STACK_BYTES_A_SECOND = 2 << 20,
	STACK_BYTES_MOST = 256 << 20,
	CALLS_MOST = 1 << 16
};

/* ---- what is mapped ---------------------------------------------------------------------------- */

static struct memory_piece piece_of(struct cpu *cpu, const struct perf_map *map, const char *path)
{
	char build_id[BUILD_ID_TEXT_SIZE] = "";
	struct code_file_key key = {path, build_id, map->major, map->minor, map->inode};

	for (uint32_t i = 0; i < map->build_id_bytes; i++)
		snprintf(build_id + 2 * i, 3, "%02x", map->build_id[i]);
	return (struct memory_piece){.start = map->address,
				     .end = map->address + map->size_bytes,
				     .file_offset = map->file_offset_bytes,
				     .file = code_files_find(&cpu->files, &key)};
}

static bool has_own_map(struct process *process)
{
	if (!process->memory)
		process->memory = memory_map_new();
	return process->memory && memory_map_own(&process->memory) == 0;
}

void cpu_put_piece(struct cpu *cpu, struct process *process, const struct perf_map *map,
		   const char *path)
{
	struct memory_piece piece = piece_of(cpu, map, path);
	int error;

	if (!has_own_map(process))
		return;
	error = memory_map_put(process->memory, &piece);
	/* The kernel tells of no unmapping: a map that is full is mostly of what is gone. */
	if (error == -ENOSPC && process->memory->most < MEMORY_PIECES_LIMIT) {
		cpu_read_memory(cpu, process);
		error = memory_map_put(process->memory, &piece);
	}
	cpu->crowded += error == -ENOSPC;
}

/* Code alone. NULL: none, or no memory. */
static struct memory_piece *find_pieces(struct cpu *cpu, const struct proc_maps *maps,
					size_t *ret_count)
{
	struct memory_piece *pieces = calloc(maps->count ? maps->count : 1, sizeof(*pieces));
	size_t count = 0;

	for (size_t i = 0; pieces && i < maps->count; i++) {
		const struct proc_mapping *from = &maps->mappings[i];
		struct perf_map map = {.address = from->start,
				       .size_bytes = from->end - from->start,
				       .file_offset_bytes = from->file_offset,
				       .inode = from->inode,
				       .major = from->device_major,
				       .minor = from->device_minor};

		if (from->is_executable)
			pieces[count++] = piece_of(cpu, &map, from->path);
	}
	*ret_count = count;
	return pieces;
}

/* What found no room before either was counted then. */
static void renew_memory(struct cpu *cpu, struct memory_map *memory,
			 const struct memory_piece *pieces, size_t count)
{
	const size_t before = memory->left_out;

	memory_map_renew(memory, pieces, count);
	if (memory->left_out > before)
		cpu->crowded += memory->left_out - before;
}

/* What the process has mapped now. Of one that is gone the last of what was told stays. */
void cpu_read_memory(struct cpu *cpu, struct process *process)
{
	struct proc_maps maps = {0};
	struct memory_piece *pieces;
	size_t count;

	if (!has_own_map(process))
		return;
	if (proc_maps_read((pid_t)process->row.pid, &maps) < 0)
		error_clear();
	pieces = find_pieces(cpu, &maps, &count);
	if (pieces)
		renew_memory(cpu, process->memory, pieces, count);
	free(pieces);
	proc_maps_fini(&maps);
}

/* ---- stacks ------------------------------------------------------------------------------------ */

/* Whose stack is walked. */
struct whose {
	struct cpu *cpu;
	struct process *process;
};

static const struct memory_piece *piece_at(const struct whose *walk, uint64_t pc)
{
	return walk->process->memory ? memory_map_find(walk->process->memory, pc) : NULL;
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	const struct whose *walk = context;
	const struct memory_piece *piece = piece_at(walk, pc);

	if (!piece || !piece->file)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	return code_files_rule(&walk->cpu->files, piece->file,
			       pc - piece->start + piece->file_offset, walk->process->row.pid);
}

/* Whether a call precedes an address, its bytes say. False: the process has gone, or they are not in memory. */
static bool read_code(const struct whose *walk, uint64_t pc, enum unwind_code *ret_code)
{
	uint8_t bytes[CALL_BYTES];

	if (blocked_read(&walk->cpu->proc, walk->process->row.pid, pc - sizeof(bytes), bytes,
			 sizeof(bytes)) != sizeof(bytes))
		return false;
	*ret_code = unwind_is_after_call(bytes, sizeof(bytes)) ? UNWIND_CODE_AFTER_CALL
							       : UNWIND_CODE_SOME;
	return true;
}

/* Of code without tables. A file's code is the same in all processes, and is asked for with each sample of a kernel. */
static enum unwind_code find_code(void *context, uint64_t pc)
{
	const struct whose *walk = context;
	const struct memory_piece *piece = piece_at(walk, pc);
	enum unwind_code code = UNWIND_CODE_NONE;
	uint64_t key;

	if (!piece || !piece_at(walk, pc - 1))
		return UNWIND_CODE_NONE;
	key = piece->file ? (uint64_t)piece->file->number << 40 ^
				    (pc - piece->start + piece->file_offset)
			  : 0;
	if (key)
		code = (enum unwind_code)hash_map_get(&walk->cpu->calls, key, UNWIND_CODE_NONE);
	if (code != UNWIND_CODE_NONE)
		return code;
	if (!read_code(walk, pc, &code))
		return UNWIND_CODE_SOME;
	if (key && walk->cpu->calls.count < CALLS_MOST)
		hash_map_put(&walk->cpu->calls, key, code);
	return code;
}

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

/* Of one that has just been met the files are opened at once: they may be gone with their process before names are
 * looked for. */
static uint32_t made_frame(struct cpu *cpu, struct process *process, uint64_t pc, uint32_t flags)
{
	const size_t before = process->made.count;
	uint32_t id = made_code_frame(&process->made, cpu->recording,
				      process_describe(cpu->processes, process), pc, flags);
	struct made_code_owner owner;

	if (process->made.count != before &&
	    made_code_is_due(&process->made, host_clocks_now_ns())) {
		owner = owner_of(cpu, process);
		made_code_hold(&process->made, &owner);
	}
	return id;
}

static uint32_t frame_of(struct cpu *cpu, const struct cpu_walk *walk, size_t index)
{
	const struct unwind_walk_frame *frame = &walk->frames[index];
	const struct memory_piece *piece = walk->pieces[index];
	struct process *process = walk->process;
	struct event_frame row = {.type = FRAME_JIT, .flags = frame->is_return ? FRAME_RETURN : 0};

	row.offset = frame->pc;
	if (piece && piece->file) {
		code_files_describe(&cpu->files, piece->file);
		row.type = FRAME_NATIVE;
		row.module_string = piece->file->path_string;
		row.build_id_string = piece->file->build_id_string;
		row.file_size_bytes = piece->file->size_bytes;
		row.file_modified_ns = piece->file->modified_ns;
		row.offset = frame->pc - piece->start + piece->file_offset;
	}
	if (row.type == FRAME_JIT)
		return made_frame(cpu, process, frame->pc, row.flags);
	return recording_frame(cpu->recording, &row);
}

/* Ours, around each call that is recorded: no code of the program. Where it is what runs, it is shown. */
static bool is_guest(const struct cpu_walk *walk, size_t index)
{
	const struct memory_piece *piece = walk->pieces[index];

	return index && piece && piece->file && piece->file->is_guest;
}

uint32_t cpu_cut_mark(const struct cpu *cpu, uint64_t frames)
{
	const struct event_frame row = {.type = FRAME_TRUNCATED, .offset = frames};

	return recording_frame(cpu->recording, &row);
}

/* Stacks stay in the recorder's memory to the end: so much a second, and in all. */
bool cpu_has_room(struct cpu *cpu)
{
	if (cpu->stack_bytes < STACK_BYTES_A_SECOND && cpu->all_stack_bytes < STACK_BYTES_MOST)
		return true;
	cpu->stacks_refused++;
	return false;
}

/* From the outermost frame inwards. */
static uint32_t keep_stack(struct cpu *cpu, const struct cpu_walk *walk, bool is_merged)
{
	uint64_t before = cpu->recording->kept_bytes;
	size_t count = is_merged ? cpu->part_count : walk->count;
	uint32_t stack = 0;

	if (walk->end != UNWIND_WALK_OUTERMOST)
		stack = recording_stack(cpu->recording, 0, cpu_cut_mark(cpu, 0));
	while (count--) {
		const size_t native = is_merged ? cpu->parts[count].native : count;
		uint32_t frame = is_merged ? cpu->parts[count].frame : 0;

		if (!frame && is_guest(walk, native))
			continue;
		if (!frame)
			frame = frame_of(cpu, walk, native);
		stack = recording_stack(cpu->recording, stack, frame);
	}
	cpu->stack_bytes += cpu->recording->kept_bytes - before;
	cpu->all_stack_bytes += cpu->recording->kept_bytes - before;
	return stack;
}

/* Code that nothing is known of, where something may have been missed, or forgotten: all mappings are read again. */
static void mend_memory(struct cpu *cpu, struct process *process, uint64_t ip)
{
	uint64_t begin_ns = host_clocks_now_ns();

	if (process->memory_round == cpu->round || !look_time_is_due(&process->looks, begin_ns) ||
	    (process->memory && memory_map_find(process->memory, ip)))
		return;
	process->memory_round = cpu->round;
	cpu_read_memory(cpu, process);
	look_time_spend(&process->looks, begin_ns, host_clocks_now_ns());
}

/* Of PoCL, which calls kernels. */
static bool is_caller_of_kernels(const struct code_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash && strncmp(slash, "/libpocl", strlen("/libpocl")) == 0;
}

/* Kernels of a CPU device have no tables, and what lies on the stack of the thread that runs them is left from when
 * it compiled them: guessing can lead into the compiler. How many frames are certain. */
static size_t count_certain(const struct whose *whose, size_t count)
{
	bool is_inner_kernel = false;

	for (size_t i = 0; i < count; i++) {
		const struct unwind_walk_frame *frame = &whose->cpu->frames[i];
		const struct memory_piece *piece = piece_at(whose, frame->pc - frame->is_return);
		const struct code_file *file = piece ? piece->file : NULL;

		if (is_inner_kernel && frame->is_guessed &&
		    !(file && (file->kernel || is_caller_of_kernels(file))))
			return i;
		is_inner_kernel = file && file->kernel;
	}
	return count;
}

/* Each frame's piece; one with an interpreter in it is told of to whoever reads its functions. */
static void place_frames(struct cpu *cpu, const struct cpu_walk *walk)
{
	const struct whose whose = {cpu, walk->process};

	for (size_t i = 0; i < walk->count; i++) {
		const struct unwind_walk_frame *frame = &walk->frames[i];
		const struct memory_piece *piece = piece_at(&whose, frame->pc - frame->is_return);

		walk->pieces[i] = piece;
		if (cpu->python.is_wanted && piece && piece->file && !walk->process->python &&
		    !walk->process->is_python_refused &&
		    cpu_python_of(cpu, walk->process, piece->file) != PYTHON_NONE)
			cpu_python_open(cpu, walk->process, piece);
	}
}

static uint32_t walk_stack(struct cpu *cpu, struct cpu_walk *walk)
{
	struct whose whose = {cpu, walk->process};
	size_t all;

	cpu->frames_count = 0;
	if (!cpu_has_room(cpu))
		return 0;
	mend_memory(cpu, walk->process, walk->state->ip);
	all = unwind_walk(walk->state, find_rule, find_code, &whose, cpu->frames, CPU_FRAMES_MOST,
			  &walk->end);
	cpu->frames_count = walk->count = count_certain(&whose, all);
	if (walk->count < all)
		walk->end = UNWIND_WALK_NO_RULE;
	walk->frames = cpu->frames;
	walk->pieces = cpu->pieces;
	place_frames(cpu, walk);
	return keep_stack(cpu, walk, walk->process->python && cpu_python_merge(cpu, walk));
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
	struct cpu_walk walk = {.process = process,
				.tid = record->tid,
				.time_ns = record->time_ns,
				.state = &state};

	return walk_stack(cpu, &walk);
}

/* On top of what called the kernel. */
static uint32_t kernel_stack(struct cpu *cpu, const struct perf_record *record, uint32_t stack)
{
	const uint64_t *addresses = record->kernel_count ? record->kernel : &record->address;
	const size_t count = record->kernel_count ? record->kernel_count : 1;

	return kernel_frames_put(&cpu->kernel_frames, addresses, count, stack);
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
	const struct blocked_look *look = &cpu->look;
	const struct unwind_state state = {.ip = look->place.ip,
					   .sp = look->place.sp,
					   .stack = (const uint8_t *)look->stack,
					   .stack_bytes = look->stack_bytes};
	struct cpu_walk walk = {.process = process, .tid = tid, .state = &state};

	return walk_stack(cpu, &walk);
}

uint32_t cpu_told_stack(struct cpu *cpu, struct process *process, uint32_t tid,
			const struct kernel_stack *told)
{
	const struct unwind_state state = {.ip = told->ip,
					   .sp = told->sp,
					   .bp = told->bp,
					   .stack = told->stack,
					   .stack_bytes = told->bytes,
					   .has_bp = true};
	struct cpu_walk walk = {.process = process, .tid = tid, .state = &state};

	return walk_stack(cpu, &walk);
}

/* Who waits for the interpreter's lock sleeps on an address inside of it. */
static const char *find_cause(struct cpu *cpu, struct process *process, uint32_t tid,
			      struct cpu_wait *wait)
{
	const struct blocked_place *place = &cpu->look.place;

	wait->is_interpreters = blocked_is_futex(place) &&
				cpu_python_lock(cpu, process, tid, place->argument, &wait->holder);
	return wait->is_interpreters ? "Python GIL" : blocked_call_name(place);
}

bool cpu_look_at_blocked(struct cpu *cpu, struct process *process, uint32_t tid,
			 struct cpu_wait *ret_wait)
{
	struct cpu_wait wait = {0};
	enum thread_place place;
	const char *cause;

	if (process->is_closed)
		return false;
	place = blocked_look(&cpu->proc, process->row.pid, tid, &cpu->look);
	if (place == THREAD_REFUSED)
		cpu_note_closed(cpu, process);
	if (place != THREAD_WAITS)
		return false;
	wait.stack = blocked_stack(cpu, process, tid);
	cause = find_cause(cpu, process, tid, &wait);
	wait.wait_string = cause ? recording_string(cpu->recording, cause) : 0;
	*ret_wait = wait;
	return true;
}

/* ---- code that processes make ------------------------------------------------------------------ */

void cpu_name_code(struct cpu *cpu, struct process *process)
{
	struct made_code_owner owner = owner_of(cpu, process);

	if (made_code_is_due(&process->made, host_clocks_now_ns()))
		made_code_name(&process->made, &owner);
}

void cpu_finish_code(struct cpu *cpu, struct process *process)
{
	struct made_code_owner owner = owner_of(cpu, process);
	bool is_refused;

	if (process->made.count)
		cpu->nameless += made_code_finish(&process->made, &owner, &is_refused);
}

/* SPDX-License-Identifier: MIT
 *
 * collect/told_stacks.c - stacks of users' threads that programs inside the kernel told, walked by the tables of the code
 *
 * Runs in:  the recorder
 * Gets:     registers and copies of stacks, each once   Gives: stacks of the trace
 * Owns:     the tables, what is mapped in each process, frames of the kernel without names
 * Fails:    with a stack that ends marked, or 0
 * Why:      a thread that goes into a driver may be of a process that no other collector knows. Code is mapped in
 *           hundreds of places and stacks are few: what a process has mapped is read once, and again where a stack
 *           leads to where nothing was.
 */
#include "collect/told_stacks.h"

#include <stdlib.h>

#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/memory_map.h"
#include "symbol/kallsyms.h"
#include "symbol/proc_maps.h"
#include "symbol/unwind_walk.h"

enum { FRAMES_MOST = 512, STACKS_MOST = 1 << 16, PROCESSES_MOST = 4096 };

void told_stacks_init(struct told_stacks *stacks, struct recording *recording)
{
	*stacks = (struct told_stacks){.recording = recording};
	code_files_init(&stacks->files, recording);
	hash_map_init(&stacks->maps);
	hash_map_init(&stacks->stacks);
	hash_map_init(&stacks->kernel);
}

static void forget_maps(struct told_stacks *stacks)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&stacks->maps, &cursor, NULL, &value))
		memory_map_release((struct memory_map *)(uintptr_t)value);
	hash_map_clear(&stacks->maps);
}

void told_stacks_fini(struct told_stacks *stacks)
{
	if (!stacks || !stacks->recording)
		return;
	forget_maps(stacks);
	hash_map_fini(&stacks->maps);
	hash_map_fini(&stacks->stacks);
	hash_map_fini(&stacks->kernel);
	kernel_modules_fini(&stacks->modules);
	code_files_fini(&stacks->files);
}

/* ---- what is mapped ---------------------------------------------------------------------------- */

static struct memory_piece piece_of(struct told_stacks *stacks, const struct proc_mapping *mapping)
{
	const struct code_file_key key = {mapping->path, "", mapping->device_major,
					  mapping->device_minor, mapping->inode};

	return (struct memory_piece){.start = mapping->start,
				     .end = mapping->end,
				     .file_offset = mapping->file_offset,
				     .file = code_files_find(&stacks->files, &key)};
}

static void read_map(struct told_stacks *stacks, uint32_t pid, struct memory_map *map)
{
	struct proc_maps maps = {0};
	struct memory_piece piece;

	if (proc_maps_read((pid_t)pid, &maps) < 0)
		error_clear();
	for (size_t i = 0; i < maps.count; i++) {
		if (!maps.mappings[i].is_executable)
			continue;
		piece = piece_of(stacks, &maps.mappings[i]);
		memory_map_put(map, &piece);
	}
	proc_maps_fini(&maps);
}

/* NULL: no memory. */
static struct memory_map *map_of(struct told_stacks *stacks, const struct process *process)
{
	struct memory_map *map = hash_map_find_pointer(&stacks->maps, process->row.id);

	if (map)
		return map;
	if (stacks->maps.count >= PROCESSES_MOST)
		forget_maps(stacks);
	map = memory_map_new();
	if (!map || hash_map_put_pointer(&stacks->maps, process->row.id, map)) {
		memory_map_release(map);
		return NULL;
	}
	read_map(stacks, process->row.pid, map);
	return map;
}

void told_stacks_meet(struct told_stacks *stacks, struct process *process)
{
	map_of(stacks, process);
}

/* ---- walking ----------------------------------------------------------------------------------- */

struct walk {
	struct told_stacks *stacks;
	struct process *process;
	struct memory_map *map;
};

static void mend_map(const struct walk *walk)
{
	const uint64_t begin_ns = host_clocks_now_ns();

	if (!look_time_is_due(&walk->process->looks, begin_ns))
		return;
	read_map(walk->stacks, walk->process->row.pid, walk->map);
	look_time_spend(&walk->process->looks, begin_ns, host_clocks_now_ns());
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	const struct walk *walk = context;
	const struct memory_piece *piece = memory_map_find(walk->map, pc);

	if (!piece) {
		mend_map(walk);
		piece = memory_map_find(walk->map, pc);
	}
	if (!piece || !piece->file)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	return code_files_rule(&walk->stacks->files, piece->file,
			       pc - piece->start + piece->file_offset, walk->process->row.pid);
}

static uint32_t frame_of(const struct walk *walk, const struct unwind_walk_frame *frame)
{
	struct recording *recording = walk->stacks->recording;
	const struct memory_piece *piece = memory_map_find(walk->map, frame->pc - frame->is_return);
	struct event_frame row = {.type = FRAME_JIT, .flags = frame->is_return ? FRAME_RETURN : 0};

	row.offset = frame->pc;
	if (!piece || !piece->file)
		return made_code_frame(&walk->process->made, recording, walk->process->row.id,
				       frame->pc, row.flags);
	code_files_describe(&walk->stacks->files, piece->file);
	row.type = FRAME_NATIVE;
	row.module_string = piece->file->path_string;
	row.build_id_string = piece->file->build_id_string;
	row.file_size_bytes = piece->file->size_bytes;
	row.file_modified_ns = piece->file->modified_ns;
	row.offset = frame->pc - piece->start + piece->file_offset;
	return recording_frame(recording, &row);
}

/* Our own library in the program is none of its code. */
static bool is_guest(const struct walk *walk, const struct unwind_walk_frame *frame)
{
	const struct memory_piece *piece = memory_map_find(walk->map, frame->pc - frame->is_return);

	return piece && piece->file && piece->file->is_guest;
}

static uint32_t walk_stack(struct walk *walk, const struct kernel_stack *told)
{
	const struct event_frame mark = {.type = FRAME_TRUNCATED};
	const struct unwind_state state = {.ip = told->ip,
					   .sp = told->sp,
					   .bp = told->bp,
					   .stack = told->stack,
					   .stack_bytes = told->bytes,
					   .has_bp = true};
	struct unwind_walk_frame frames[FRAMES_MOST];
	struct recording *recording = walk->stacks->recording;
	enum unwind_walk_end end;
	uint32_t stack = 0;
	size_t count = unwind_walk(&state, find_rule, NULL, walk, frames, FRAMES_MOST, &end);

	if (end != UNWIND_WALK_OUTERMOST)
		stack = recording_stack(recording, 0, recording_frame(recording, &mark));
	while (count--)
		if (!is_guest(walk, &frames[count]))
			stack = recording_stack(recording, stack, frame_of(walk, &frames[count]));
	return stack;
}

void told_stacks_take(struct told_stacks *stacks, struct process *process,
		      const struct kernel_stack *told)
{
	struct walk walk = {stacks, process, map_of(stacks, process)};
	uint32_t stack;

	if (!walk.map || stacks->stacks.count >= STACKS_MOST || stacks->recording->is_memory_full) {
		stacks->refused++;
		return;
	}
	stack = walk_stack(&walk, told);
	if (stack)
		hash_map_put(&stacks->stacks, told->user_stack, stack);
}

uint32_t told_stacks_find(const struct told_stacks *stacks, uint64_t user_stack)
{
	return (uint32_t)hash_map_get(&stacks->stacks, user_stack, 0);
}

/* ---- the kernel's frames ----------------------------------------------------------------------- */

static uint32_t kernel_frame(struct told_stacks *stacks, uint64_t address)
{
	const struct event_frame row = {.type = FRAME_KERNEL, .offset = address};
	struct recording *recording = stacks->recording;
	uint32_t id = (uint32_t)hash_map_get(&stacks->kernel, address, 0);

	if (id)
		return id;
	id = trace_writer_own_frame(recording->writer, &row, 0);
	if (id > recording->last_frame) {
		recording->last_frame = id;
		recording->kept_bytes += FRAME_BYTES;
	}
	hash_map_put(&stacks->kernel, address, id);
	return id;
}

/* A return address is that of the instruction before. */
uint32_t told_stacks_put_kernel(struct told_stacks *stacks, const __u64 *addresses, size_t count,
				uint32_t stack)
{
	for (size_t i = count; i-- > 0;)
		stack = recording_stack(stacks->recording, stack,
					kernel_frame(stacks, addresses[i] - (i > 0)));
	return stack;
}

int told_stacks_name_kernel(struct told_stacks *stacks)
{
	struct trace_writer *writer = stacks->recording->writer;
	struct kallsyms *symbols = NULL;
	uint64_t address, id;
	size_t cursor = 0;
	char name[512];
	int error;

	if (!stacks->kernel.count)
		return 0;
	error = kallsyms_open(NULL, &symbols);
	if (error)
		return error;
	if (kernel_modules_look(&stacks->modules, NULL))
		error_clear();
	while (hash_map_next(&stacks->kernel, &cursor, &address, &id))
		if (kernel_modules_name(&stacks->modules, symbols, address, name, sizeof(name)))
			trace_writer_name_frame(writer, (uint32_t)id,
						recording_string(stacks->recording, name));
	kallsyms_close(symbols);
	return 0;
}

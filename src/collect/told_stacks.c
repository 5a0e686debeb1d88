/* SPDX-License-Identifier: MIT
 *
 * collect/told_stacks.c - stacks of users' threads that programs inside the kernel told, walked by the tables of the code
 *
 * Runs in:  the recorder
 * Gets:     registers and copies of stacks, each once   Gives: stacks of the trace
 * Owns:     the tables, what is mapped in each process, 65,536 stacks by their numbers
 * Fails:    with a stack that ends marked, or 0
 * Why:      a thread that goes into a driver may be of a process that no other collector knows. Code is mapped in
 *           hundreds of places and stacks are few: what a process has mapped is read once a second at most, and where a
 *           stack leads to where nothing was. A program with pointers on its stacks has a new one each time, 3200 a second
 *           are told: of 65,536 the oldest is forgotten, on both sides, as nobody may be refused for what others have done.
 *           Frames stay in memory to the end, 40 bytes each: of one user 256 MiB are kept. What is not kept has a number as
 *           others have: told anew each time it would cost its program a copy of 16 KiB a call.
 */
#include "collect/told_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/memory_map.h"
#include "symbol/proc_maps.h"
#include "symbol/unwind_walk.h"

enum { FRAMES_MOST = 512, PROCESSES_MOST = 4096, STACK_BYTES_MOST = 256 << 20 };

/* A library may be unloaded and another one loaded in its place. */
#define MAP_AGE_NS UINT64_C(1000000000)

/* What a process executes, as it was when it was read last. */
struct told_map {
	struct memory_map *memory; /* owned */
	uint64_t read_ns;
};

void told_stacks_init(struct told_stacks *stacks, struct recording *recording)
{
	*stacks = (struct told_stacks){.recording = recording};
	code_files_init(&stacks->files, recording);
	hash_map_init(&stacks->maps);
	hash_map_init(&stacks->by_number);
	hash_map_init(&stacks->bytes_of_user);
	kernel_frames_init(&stacks->kernel_frames, recording);
}

static void free_map(struct told_map *map)
{
	if (!map)
		return;
	memory_map_release(map->memory);
	free(map);
}

static void forget_maps(struct told_stacks *stacks)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&stacks->maps, &cursor, NULL, &value))
		free_map((struct told_map *)(uintptr_t)value);
	hash_map_clear(&stacks->maps);
}

void told_stacks_fini(struct told_stacks *stacks)
{
	if (!stacks || !stacks->recording)
		return;
	forget_maps(stacks);
	hash_map_fini(&stacks->maps);
	hash_map_fini(&stacks->by_number);
	hash_map_fini(&stacks->bytes_of_user);
	free(stacks->all);
	kernel_frames_fini(&stacks->kernel_frames);
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

static size_t put_pieces(struct told_stacks *stacks, uint32_t pid, struct memory_map *memory)
{
	struct proc_maps maps = {0};
	struct memory_piece piece;

	if (proc_maps_read((pid_t)pid, &maps) < 0)
		error_clear();
	for (size_t i = 0; i < maps.count; i++) {
		if (!maps.mappings[i].is_executable)
			continue;
		piece = piece_of(stacks, &maps.mappings[i]);
		memory_map_put(memory, &piece);
	}
	proc_maps_fini(&maps);
	return memory->count;
}

/* What is mapped now, and nothing of what was. Of a process that is gone the last that was known stays. */
static void read_map(struct told_stacks *stacks, struct process *process, struct told_map *map)
{
	const uint64_t begin_ns = host_clocks_now_ns();
	struct memory_map *memory = memory_map_new();

	map->read_ns = begin_ns;
	if (!memory)
		return;
	if (put_pieces(stacks, process->row.pid, memory) || !map->memory) {
		memory_map_release(map->memory);
		map->memory = memory;
	} else {
		memory_map_release(memory);
	}
	look_time_spend(&process->looks, begin_ns, host_clocks_now_ns());
}

/* NULL: no memory. */
static struct told_map *new_map(struct told_stacks *stacks, struct process *process)
{
	struct told_map *map = calloc(1, sizeof(*map));

	if (stacks->maps.count >= PROCESSES_MOST)
		forget_maps(stacks);
	if (map)
		read_map(stacks, process, map);
	if (!map || !map->memory || hash_map_put_pointer(&stacks->maps, process->row.id, map)) {
		free_map(map);
		return NULL;
	}
	return map;
}

/* Not older than age_ns, where there is time to read it. NULL: no memory. */
static struct told_map *map_of(struct told_stacks *stacks, struct process *process, uint64_t age_ns)
{
	struct told_map *map = hash_map_find_pointer(&stacks->maps, process->row.id);
	const uint64_t now_ns = host_clocks_now_ns();

	if (!map)
		return new_map(stacks, process);
	if (now_ns - map->read_ns >= age_ns && look_time_is_due(&process->looks, now_ns))
		read_map(stacks, process, map);
	return map;
}

void told_stacks_meet(struct told_stacks *stacks, struct process *process)
{
	map_of(stacks, process, 0);
}

/* ---- walking ----------------------------------------------------------------------------------- */

struct walk {
	struct told_stacks *stacks;
	struct process *process;
	struct told_map *map;
};

static void mend_map(const struct walk *walk)
{
	if (look_time_is_due(&walk->process->looks, host_clocks_now_ns()))
		read_map(walk->stacks, walk->process, walk->map);
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	const struct walk *walk = context;
	const struct memory_piece *piece = memory_map_find(walk->map->memory, pc);

	if (!piece) {
		mend_map(walk);
		piece = memory_map_find(walk->map->memory, pc);
	}
	if (!piece || !piece->file)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	return code_files_rule(&walk->stacks->files, piece->file,
			       pc - piece->start + piece->file_offset, walk->process->row.pid);
}

static uint32_t frame_of(const struct walk *walk, const struct unwind_walk_frame *frame)
{
	struct recording *recording = walk->stacks->recording;
	const struct memory_piece *piece =
		memory_map_find(walk->map->memory, frame->pc - frame->is_return);
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
	const struct memory_piece *piece =
		memory_map_find(walk->map->memory, frame->pc - frame->is_return);

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

/* ---- by their numbers -------------------------------------------------------------------------- */

static void forget_one(struct told_stacks *stacks, struct told_stack *known)
{
	hash_map_remove(&stacks->by_number, known->user_stack, NULL);
	if (stacks->on_forgotten)
		stacks->on_forgotten(stacks->context, known->user_stack);
	*known = (struct told_stack){0};
}

/* NULL: no memory. */
static struct told_stack *place_of(struct told_stacks *stacks, uint64_t user_stack)
{
	const uint64_t index = hash_map_get(&stacks->by_number, user_stack, UINT64_MAX);
	const size_t next = stacks->next % TOLD_STACKS_MOST;
	struct told_stack *place;

	if (index != UINT64_MAX)
		return &stacks->all[index];
	if (array_grow(stacks->all, stacks->capacity, next + 1))
		return NULL;
	place = &stacks->all[next];
	if (place->user_stack)
		forget_one(stacks, place);
	if (hash_map_put(&stacks->by_number, user_stack, next))
		return NULL;
	stacks->next++;
	return place;
}

/* 0: it cannot be kept. */
static uint32_t keep_stack(struct told_stacks *stacks, struct process *process,
			   const struct kernel_stack *told)
{
	const uint64_t before = stacks->recording->kept_bytes;
	const uint64_t bytes = hash_map_get(&stacks->bytes_of_user, process->row.uid, 0);
	struct walk walk = {stacks, process, map_of(stacks, process, MAP_AGE_NS)};
	uint32_t stack;

	if (stacks->recording->is_memory_full) {
		stacks->no_memory++;
		return 0;
	}
	if (!walk.map || bytes >= STACK_BYTES_MOST) {
		stacks->refused++;
		return 0;
	}
	stack = walk_stack(&walk, told);
	stacks->refused += !stack;
	hash_map_put(&stacks->bytes_of_user, process->row.uid,
		     bytes + stacks->recording->kept_bytes - before);
	return stack;
}

void told_stacks_take(struct told_stacks *stacks, struct process *process,
		      const struct kernel_stack *told)
{
	const uint32_t stack = keep_stack(stacks, process, told);
	struct told_stack *place = place_of(stacks, told->user_stack);

	if (place)
		*place = (struct told_stack){told->user_stack, stack, process->row.id};
	else
		stacks->refused += stack != 0;
}

uint32_t told_stacks_find(struct told_stacks *stacks, uint64_t user_stack, uint32_t process)
{
	const uint64_t index = hash_map_get(&stacks->by_number, user_stack, UINT64_MAX);

	if (!user_stack)
		return 0;
	if (index != UINT64_MAX && stacks->all[index].process == process) {
		stacks->unkept += !stacks->all[index].stack;
		return stacks->all[index].stack;
	}
	if (index != UINT64_MAX)
		forget_one(stacks, &stacks->all[index]);
	else if (stacks->on_forgotten)
		stacks->on_forgotten(stacks->context, user_stack);
	return 0;
}

void told_stacks_forget(struct told_stacks *stacks, uint32_t process)
{
	uint64_t map = 0;

	/* who has no map has no stacks */
	if (!hash_map_remove(&stacks->maps, process, &map))
		return;
	free_map((struct told_map *)(uintptr_t)map);
	for (size_t i = 0; i < stacks->capacity; i++)
		if (stacks->all[i].process == process)
			forget_one(stacks, &stacks->all[i]);
}

/* SPDX-License-Identifier: MIT
 *
 * collect/stack/bpf_stacks.c - walks user stacks that BPF programs copied, with unwind tables
 *
 * Runs in:  the recorder
 * Gets:     registers and stack copies from BPF, each stack once
 * Gives:    ids of stacks in the trace
 * Owns:     a memory map for each process, at most 4096; the last 65,536 BPF stack ids with their
 *           trace stacks
 * Fails:    with a stack that ends with a mark frame, or 0
 * Why:      a thread that calls a driver may belong to a process that no other collector follows,
 *           so this file reads the process's mappings: at most once a second, and when a stack
 *           leads outside of the known mappings. Many stacks are new in each call because they
 *           contain changing pointers; BPF copies at most 3200 a second. When 65,536 ids are known,
 *           the oldest one is dropped from this table and from the kernel's, so that one process
 *           cannot block others. Frames stay in memory until the end (40 bytes each); the limit is
 *           256 MiB per user. A stack beyond the limit keeps its id: otherwise BPF would copy 16
 *           KiB again at each call.
 */
#include "collect/stack/bpf_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/quota.h"
#include "collect/host_clocks.h"
#include "collect/stack/memory_map.h"

enum { MAX_PROCESSES = 4096, STACK_BYTES_MAX = 256 << 20 };

/* A library may be unloaded and another one loaded in its place. */
#define MAP_AGE_NS UINT64_C(1000000000)

/* A process's executable mappings when they were last read. */
struct process_map {
	struct memory_map *memory; /* owned */
	uint64_t read_ns;
};

int bpf_stacks_init(struct bpf_stacks *stacks, struct recording *recording)
{
	*stacks = (struct bpf_stacks){.walker = stack_walker_get(recording)};
	return stacks->walker ? 0 : -ENOMEM;
}

static void free_map(struct process_map *map)
{
	if (!map)
		return;
	memory_map_release(map->memory);
	free(map);
}

static void forget_maps(struct bpf_stacks *stacks)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&stacks->maps, &cursor, NULL, &value))
		free_map((struct process_map *)(uintptr_t)value);
	hash_map_clear(&stacks->maps);
}

void bpf_stacks_fini(struct bpf_stacks *stacks)
{
	size_t cursor = 0;
	uint64_t quota;

	if (!stacks || !stacks->walker)
		return;
	forget_maps(stacks);
	hash_map_fini(&stacks->maps);
	hash_map_fini(&stacks->by_number);
	while (hash_map_next(&stacks->quotas, &cursor, NULL, &quota))
		free((void *)(uintptr_t)quota);
	hash_map_fini(&stacks->quotas);
	free(stacks->all);
	stack_walker_put(stacks->walker);
}

/* ---- memory maps ----------------------------------------------------------------------------- */

static void read_map(struct bpf_stacks *stacks, struct process *process, struct process_map *map)
{
	const uint64_t begin_ns = host_clocks_now_ns();

	map->read_ns = begin_ns;
	stack_walker_read_map(stacks->walker, process->row.pid, map->memory);
	lookup_budget_spend(&process->looks, begin_ns, host_clocks_now_ns());
}

/* NULL: out of memory. */
static struct process_map *new_map(struct bpf_stacks *stacks, struct process *process)
{
	struct process_map *map = calloc(1, sizeof(*map));

	if (stacks->maps.count >= MAX_PROCESSES)
		forget_maps(stacks);
	if (map)
		map->memory = memory_map_new();
	if (!map || !map->memory || hash_map_put_pointer(&stacks->maps, process->row.id, map)) {
		free_map(map);
		return NULL;
	}
	read_map(stacks, process, map);
	return map;
}

/* A process's map, read again if it is older than age_ns and the time budget permits. NULL: out of
 * memory. */
static struct process_map *map_of(struct bpf_stacks *stacks, struct process *process,
				  uint64_t age_ns)
{
	struct process_map *map = hash_map_find_pointer(&stacks->maps, process->row.id);
	const uint64_t now_ns = host_clocks_now_ns();

	if (!map)
		return new_map(stacks, process);
	if (now_ns - map->read_ns >= age_ns && lookup_budget_is_due(&process->looks, now_ns))
		read_map(stacks, process, map);
	return map;
}

void bpf_stacks_meet(struct bpf_stacks *stacks, struct process *process)
{
	map_of(stacks, process, 0);
}

/* ---- walking --------------------------------------------------------------------------------- */

struct bpf_walk {
	struct bpf_stacks *stacks;
	struct process_map *map;
};

static void mend_map(struct stack_walk *walk)
{
	const struct bpf_walk *of = walk->context;

	if (lookup_budget_is_due(&walk->process->looks, host_clocks_now_ns()))
		read_map(of->stacks, walk->process, of->map);
}

static uint32_t walk_stack(struct bpf_stacks *stacks, struct process *process,
			   struct process_map *map, const struct kernel_stack *stack_row)
{
	const struct unwind_state state = {.ip = stack_row->ip,
					   .sp = stack_row->sp,
					   .bp = stack_row->bp,
					   .stack = stack_row->stack,
					   .stack_bytes = stack_row->bytes,
					   .has_bp = true};
	struct bpf_walk of = {stacks, map};
	struct stack_walk walk = {.process = process,
				  .memory = map->memory,
				  .state = &state,
				  .on_unmapped = mend_map,
				  .context = &of};

	stack_walker_walk(stacks->walker, &walk);
	return stack_walker_put_stack(stacks->walker, &walk, NULL, 0);
}

/* ---- stacks by id ---------------------------------------------------------------------------- */

static void forget_one(struct bpf_stacks *stacks, struct bpf_stack *known)
{
	hash_map_remove(&stacks->by_number, known->user_stack, NULL);
	if (stacks->on_forgotten)
		stacks->on_forgotten(stacks->context, known->user_stack);
	*known = (struct bpf_stack){0};
}

/* NULL: out of memory. */
static struct bpf_stack *place_of(struct bpf_stacks *stacks, uint64_t user_stack)
{
	const uint64_t index = hash_map_get(&stacks->by_number, user_stack, UINT64_MAX);
	const size_t next = stacks->next % MAX_TOLD_STACKS;
	struct bpf_stack *place;

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

/* NULL: out of memory. */
static struct quota *quota_of(struct bpf_stacks *stacks, uint32_t uid)
{
	struct quota *quota = hash_map_find_pointer(&stacks->quotas, uid);

	if (quota)
		return quota;
	quota = calloc(1, sizeof(*quota));
	if (!quota || hash_map_put_pointer(&stacks->quotas, uid, quota)) {
		free(quota);
		return NULL;
	}
	quota->limit = STACK_BYTES_MAX;
	return quota;
}

/* 0: the limits do not permit to keep the stack. */
static uint32_t keep_stack(struct bpf_stacks *stacks, struct process *process,
			   const struct kernel_stack *stack_row)
{
	struct recording *recording = stacks->walker->recording;
	const uint64_t before = recording->kept_bytes;
	struct quota *quota = quota_of(stacks, process->row.uid);
	struct process_map *map = map_of(stacks, process, MAP_AGE_NS);
	uint32_t stack;

	if (recording->is_memory_full) {
		stacks->no_memory++;
		return 0;
	}
	if (!map || !quota || !quota_admit(quota)) {
		stacks->refused++;
		return 0;
	}
	stack = walk_stack(stacks, process, map, stack_row);
	stacks->refused += !stack;
	quota_charge(quota, recording->kept_bytes - before);
	return stack;
}

void bpf_stacks_take(struct bpf_stacks *stacks, struct process *process,
		     const struct kernel_stack *stack_row)
{
	const uint32_t stack = keep_stack(stacks, process, stack_row);
	struct bpf_stack *place = place_of(stacks, stack_row->user_stack);

	if (place)
		*place = (struct bpf_stack){stack_row->user_stack, stack, process->row.id};
	else
		stacks->refused += stack != 0;
}

uint32_t bpf_stacks_find(struct bpf_stacks *stacks, uint64_t user_stack, uint32_t process)
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

void bpf_stacks_forget(struct bpf_stacks *stacks, uint32_t process)
{
	uint64_t map = 0;

	/* a process without a map has no stacks */
	if (!hash_map_remove(&stacks->maps, process, &map))
		return;
	free_map((struct process_map *)(uintptr_t)map);
	for (size_t i = 0; i < stacks->capacity; i++)
		if (stacks->all[i].process == process)
			forget_one(stacks, &stacks->all[i]);
}

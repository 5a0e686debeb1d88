/* SPDX-License-Identifier: MIT
 *
 * import/rocm/memory.c - the amount of allocated memory over time
 *
 * Runs in:  our own process
 * Gets:     allocations and their ends, in the order of times
 * Gives:    a counter series for each process and device
 * Owns:     the sizes of allocations
 * Fails:    -ENOMEM, errors of the target
 * Why the sizes are kept, until the free: its record has only the address
 */
#include "import/rocm/memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "event/event.h"
#include "import/target.h"

void rocm_memory_fini(struct rocm_memory *memory)
{
	pair_map_fini(&memory->by_address);
	free(memory->live);
	free(memory->levels);
}

static int add_level(struct rocm_memory *memory, uint32_t process, uint32_t device, uint64_t time,
		     size_t *ret_index)
{
	struct event_series row = {.type = SERIES_LEVEL, .process = process, .device = device};
	struct rocm_memory_level level = {.process = process, .device = device, .time = time};
	int error = import_target_describe_series(
		memory->target, device ? "gpu.memory.allocated" : "memory.allocated", "bytes", &row,
		&level.series);

	if (!error)
		error = array_append(memory->levels, memory->levels_capacity, memory->level_count,
				     level);
	*ret_index = memory->level_count - 1;
	return error;
}

static int find_level(struct rocm_memory *memory, uint32_t process, uint32_t device, uint64_t time,
		      size_t *ret_index)
{
	for (size_t i = 0; i < memory->level_count; i++)
		if (memory->levels[i].process == process && memory->levels[i].device == device) {
			*ret_index = i;
			return 0;
		}
	return add_level(memory, process, device, time, ret_index);
}

static int write_level(struct rocm_memory *memory, uint32_t process, uint64_t time,
		       const struct rocm_allocation *allocation)
{
	struct event_counter row = {.end = time};
	struct rocm_memory_level *level;
	size_t index;
	int error = find_level(memory, process, allocation->device, time, &index);

	if (error)
		return error;
	level = &memory->levels[index];
	if (!allocation->is_free)
		level->bytes += allocation->bytes;
	else
		level->bytes -= allocation->bytes < level->bytes ? allocation->bytes : level->bytes;
	row.begin = level->time;
	row.series = level->series;
	row.value = level->bytes > INT64_MAX ? INT64_MAX : (int64_t)level->bytes;
	level->time = time;
	return import_target_counter(memory->target, &row);
}

/* An address that was not allocated in the recording is left out. */
static int take_free(struct rocm_memory *memory, uint32_t process, uint64_t time, uint64_t address)
{
	uint32_t index = pair_map_remove(&memory->by_address, process, address);
	struct rocm_allocation freed;

	if (index == PAIR_MAP_NONE)
		return 0;
	freed = memory->live[index];
	freed.is_free = true;
	memory->live[index].bytes = memory->free;
	memory->free = index + 1;
	return write_level(memory, process, time, &freed);
}

/* Returns the place of an allocation. An address whose free the file lacks keeps its place. */
static int find_place(struct rocm_memory *memory, uint32_t process, uint64_t address,
		      uint32_t *ret_index)
{
	uint32_t index = pair_map_find(&memory->by_address, process, address);
	int error = 0;

	if (index == PAIR_MAP_NONE && memory->free) {
		index = memory->free - 1;
		memory->free = (uint32_t)memory->live[index].bytes;
	} else if (index == PAIR_MAP_NONE) {
		index = (uint32_t)memory->live_count;
		error = array_append(memory->live, memory->live_capacity, memory->live_count,
				     (struct rocm_allocation){0});
	}
	*ret_index = index;
	return error ? error : pair_map_put(&memory->by_address, process, address, index);
}

int rocm_memory_write(struct rocm_memory *memory, uint32_t process, uint64_t time,
		      const struct rocm_allocation *allocation)
{
	uint32_t index;
	int error;

	if (allocation->is_free)
		return take_free(memory, process, time, allocation->address);
	error = find_place(memory, process, allocation->address, &index);
	if (error)
		return error;
	memory->live[index] = *allocation;
	return write_level(memory, process, time, allocation);
}

/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/memory.c - the mappings of processes
 *
 * Runs in:  the recorder
 * Gets:     perf's records of mappings, /proc/PID/maps
 * Gives:    process->memory
 * Owns:     nothing; the process owns its map
 * Fails:    mappings that do not fit are counted
 */
#include "collect/cpu/cpu_private.h"

#include <errno.h>
#include <stdio.h>

#include "collect/stack/memory_map.h"

static struct memory_piece piece_of(struct cpu *cpu, const struct perf_map *map, const char *path)
{
	char build_id[BUILD_ID_TEXT_SIZE] = "";
	struct code_file_key key = {path, build_id, map->major, map->minor, map->inode};

	for (uint32_t i = 0; i < map->build_id_bytes; i++)
		snprintf(build_id + 2 * i, 3, "%02x", map->build_id[i]);
	return (struct memory_piece){.start = map->address,
				     .end = map->address + map->size_bytes,
				     .file_offset = map->file_offset_bytes,
				     .file = code_files_find(&cpu->walker->files, &key)};
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
	/* perf does not report unmapping, so most pieces of a full map no longer exist */
	if (error == -ENOSPC && process->memory->most < MEMORY_PIECES_LIMIT) {
		cpu_read_memory(cpu, process);
		error = memory_map_put(process->memory, &piece);
	}
	cpu->walker->left_out += error == -ENOSPC;
}

void cpu_read_memory(struct cpu *cpu, struct process *process)
{
	if (has_own_map(process))
		stack_walker_read_map(cpu->walker, process->row.pid, process->memory);
}

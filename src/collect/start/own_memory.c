/* SPDX-License-Identifier: MIT
 *
 * collect/start/own_memory.c - measures the memory of the recorder
 *
 * Runs in:  the recorder
 * Gets:     /proc/self/statm
 * Gives:    bytes
 * Owns:     nothing
 * Fails:    with 0
 * Why not a sum of all allocations: the memory grows in dozens of places, and in libraries
 */
#include "collect/start/own_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

uint64_t own_memory_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages = 0, shared = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %" SCNu64 " %" SCNu64, &pages, &shared) != 2 || shared > pages)
		pages = shared = 0;
	fclose(file);
	return (pages - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* SPDX-License-Identifier: MIT
 *
 * collect/own_memory.c - how much memory the recorder has
 *
 * Runs in:  the recorder
 * Gets:     /proc/self/statm   Gives: bytes
 * Owns:     nothing
 * Fails:    with 0
 * Why not all:  rings are mapped by guests too, and grow with how many there are; libraries are on disk as well
 * Why asked and not added up: what a recording keeps grows in dozens of places, and in libraries
 */
#include "collect/own_memory.h"

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

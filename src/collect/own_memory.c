/* SPDX-License-Identifier: MIT
 *
 * collect/own_memory.c - how much memory the recorder has
 *
 * Runs in:  the recorder
 * Gets:     /proc/self/statm   Gives: bytes
 * Owns:     nothing
 * Fails:    with 0
 * Why asked and not added up: what a recording keeps grows in dozens of places, and in libraries
 */
#include "collect/own_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

uint64_t own_memory_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* SPDX-License-Identifier: MIT
 *
 * inject/memory.c - memory for the guest, apart from the program's heap
 *
 * Runs in:  the profiled process
 * Gets:     sizes in bytes
 * Gives:    zeroed pages
 * Owns:     nothing
 * Fails:    with NULL if the program's limits refuse the memory
 */
#include <sys/mman.h>

#include "inject/guest.h"

void *guest_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void guest_memory_free(void *memory, size_t bytes)
{
	munmap(memory, bytes);
}

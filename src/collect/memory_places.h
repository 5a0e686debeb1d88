/* SPDX-License-Identifier: MIT
 *
 * collect/memory_places.h - what lies at an address of a process: which file, whose variable
 */
#ifndef COLLECT_MEMORY_PLACES_H
#define COLLECT_MEMORY_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/proc_maps.h"

enum { MEMORY_PLACES_KEPT = 16 };

/* The mappings of the processes that were asked for last. All zero: nothing is kept. */
struct memory_places {
	struct memory_places_kept {
		uint64_t image; /* the caller's: another one for each image of a process; 0: free */
		uint64_t read_ns;           /* they are not older than that; 0: not read */
		uint64_t tried_ns, cost_ns; /* the last attempt to read them */
		uint32_t state;        /* the last one for which they are right; 0: not known */
		struct proc_maps maps; /* owned */
	} kept[MEMORY_PLACES_KEPT];
	size_t next; /* that is given up */
};

void memory_places_fini(struct memory_places *places); /* NULL-safe */

struct memory_moment {
	uint64_t time_ns;
	uint32_t state; /* a number that changes with the mappings; 0: not known */
};

/* The mappings of a living process at a moment: read behind it, or in the same state. NULL: they cannot be read, or not so
 * often, or have nothing at the address. Valid until the next call. */
const struct proc_maps *memory_places_maps(struct memory_places *places, uint64_t image,
					   uint32_t pid, uint64_t address,
					   const struct memory_moment *moment);

/* "/data/model.bin", "heap", "memory" of no file. False: nothing lies there. */
bool memory_places_file(const struct proc_maps *maps, uint64_t address, char *ret_text,
			size_t size);

/* "server+0x40c0": the file whose variable it is, and where the file has it, as nm(1) shows; else "0x7f…". */
void memory_places_variable(const struct proc_maps *maps, uint64_t address, char *ret_text,
			    size_t size);

#endif

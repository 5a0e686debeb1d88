/* SPDX-License-Identifier: MIT
 *
 * collect/stack/memory_places.h - names an address of a process by its file or variable
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/proc_maps.h"

enum { MEMORY_PLACES_KEPT = 16 };

/* The mappings of the processes that were looked up last. All zero: none. */
struct memory_places {
	struct memory_places_kept {
		/* the caller's id, which changes when the process calls exec; 0: free */
		uint64_t image;
		uint64_t read_ns;           /* start of the reading; 0: not read */
		uint64_t tried_ns, cost_ns; /* time and duration of the last attempt to read them */
		/* the last memory_moment.state for which they are valid; 0: not known */
		uint32_t state;
		struct proc_maps maps; /* owned */
	} kept[MEMORY_PLACES_KEPT];
	size_t next; /* index of the next one to be reused */
};

void memory_places_fini(struct memory_places *places); /* NULL-safe */

struct memory_moment {
	uint64_t time_ns;
	uint32_t state; /* a number that changes when the mappings change; 0: not known */
};

/* The mappings of a living process, valid for a moment: read after it, or in the same state. NULL:
 * they cannot be read, were read too often already, or have nothing at the address. Valid until the
 * next call. */
const struct proc_maps *memory_places_maps(struct memory_places *places, uint64_t image,
					   uint32_t pid, uint64_t address,
					   const struct memory_moment *moment);

/* "/data/model.bin", "heap"; "memory" for anonymous memory. False: nothing is mapped there. */
bool memory_places_file(const struct proc_maps *maps, uint64_t address, char *ret_text,
			size_t size);

/* "server+0x40c0": the file of the variable, and the variable's value in nm(1). "0x7f…" outside of
 * all files. */
void memory_places_variable(const struct proc_maps *maps, uint64_t address, char *ret_text,
			    size_t size);

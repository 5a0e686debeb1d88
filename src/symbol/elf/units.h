/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/units.h - functions, inlined calls and lines from DWARF
 *
 * Only symbol/ includes this. Addresses are those of the debug file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Dwarf;
struct units;

/* One function around an address. Texts live as long as the DWARF. */
struct unit_frame {
	const char *linkage_name; /* NULL: none, as in C */
	const char *name;
	/* position of the address; for an outer frame, of the inner frame's call */
	const char *file;
	const char *folder; /* base folder of a relative file name, NULL: unknown */
	uint32_t line, column;
	bool is_inlined;
	uint64_t start; /* start of the piece of code around the address; 0: unknown */
};

#define UNIT_FRAMES 128 /* deeper inlining is cut at the outer end */

/* Finds the address ranges of all compilation units; is_code filters them. Errors: -ENOMEM. */
int units_new(struct Dwarf *dwarf, bool (*is_code)(void *context, uint64_t address), void *context,
	      struct units **ret_units);
void units_free(struct units *units); /* NULL-safe */

/* Frames around `address`, innermost first; at least one with a file or a name, or 0. Without
 * has_inlines only the outermost function. */
size_t units_find(struct units *units, uint64_t address, bool has_inlines,
		  struct unit_frame ret_frames[UNIT_FRAMES]);

/* Number of units whose .dwo file could not be found. */
size_t units_missing_split(const struct units *units);

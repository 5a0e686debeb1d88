/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/object.h - one program or library: its segments, symbol table and debug information
 *
 * Only symbol/ includes this. Addresses are those of the file's program headers (vaddr).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/search.h"

struct Dwarf;
struct object;

/* A name of the symbol table. */
struct object_symbol {
	const char *name; /* as in the table, with a version; lives as long as the object */
	size_t length;    /* without the version */
	uint64_t start;
};

/* Opens the file at `path`, or `image` (size bytes, copied) if path is NULL. build_id: "" if
 * unknown. The search is used later, for debug files. Errors: -ENOEXEC not an ELF file, -ENOMEM,
 * -errno. */
int object_open(struct search *search, const char *path, const void *image, size_t size,
		const char *build_id, struct object **ret_object);
void object_close(struct object *object); /* NULL-safe */

/* The load address of the byte at `file_offset`. Errors: -ENOENT outside the segments. */
int object_offset_to_address(const struct object *object, uint64_t file_offset,
			     uint64_t *ret_address);

/* Whether `address` can be code: it is in a section with instructions. */
bool object_is_code(const struct object *object, uint64_t address);

/* The symbol around `address`, false: none. The table is read at the first call. */
bool object_find_symbol(struct object *object, uint64_t address, struct object_symbol *ret_symbol);

/* DWARF of the file or its debug file, NULL: none; owned by the object. bias: add it to a DWARF
 * address to get an address of the object. */
struct Dwarf *object_dwarf(struct object *object, uint64_t *ret_bias);

/* The file with the debug information, NULL: none or not searched yet. */
const char *object_debug_path(const struct object *object);

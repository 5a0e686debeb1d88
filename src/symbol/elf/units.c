/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/units.c - functions, inlined calls and lines from DWARF
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     libdw's view of a debug file
 * Gives:    the chain of functions around an address
 * Owns:     for each compilation unit that was looked up, a table of its pieces of code
 * Fails:    with fewer frames; everything outside of code is ignored
 * Why tables of duet's own: libdw's search for scopes reads a unit from its beginning for every
 *           address. This file reads a unit once, and an address then costs three bisections.
 */
#include "symbol/elf/units.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "symbol/interval_map.h"

#define DEPTH_LIMIT  256 /* max nested scopes; compilers stay below it */
#define NODE_NONE    UINT32_MAX
/* Limit for one unit, and for the places of all units: many functions of a damaged file may name
 * one long list. */
#define RANGES_LIMIT ((size_t)1 << 22)

/* A function or an inlined call that has code. */
struct node {
	Dwarf_Die die;
	uint32_t parent; /* the function or call it is inlined into */
	bool is_inlined, is_named;
	/* once is_named: */
	const char *linkage_name, *name;
	const char *call_file;
	uint32_t call_line, call_column;
};

struct unit {
	Dwarf_Die lines; /* contains the line table */
	Dwarf_Die tree;  /* contains the functions: the same DIE, except for split DWARF */
	bool is_read, has_tree;
	const char *folder; /* working folder of the compiler */
	struct node *nodes;
	size_t node_count, node_capacity;
	struct span_table all, functions; /* values: index into nodes */
};

struct units {
	Dwarf *dwarf;
	bool (*is_code)(void *context, uint64_t address);
	void *context;
	struct unit *units;
	size_t count, capacity;
	struct span_table where; /* values: index into units */
	size_t missing_split;
	size_t ranges_left; /* how many more ranges may be read */
};

/* ---- address ranges of units ----------------------------------------------------------------- */

/* Adds the address ranges of `die`. Functions that the linker removed keep ranges at address 0, 1
 * or the maximum; is_code filters them. */
static int add_ranges(struct units *units, Dwarf_Die *die, uint32_t depth, uint32_t value,
		      struct span_table *first, struct span_table *second, size_t *ret_count)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	int error = 0;

	while (!error && units->ranges_left &&
	       (next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		struct interval interval = {start, end, depth, value};

		units->ranges_left--;
		if (start >= end || !units->is_code(units->context, start))
			continue;
		error = span_table_add(first, &interval);
		if (!error && second)
			error = span_table_add(second, &interval);
		++*ret_count;
	}
	return error;
}

static int add_unit(struct units *units, Dwarf_Die *lines, Dwarf_Die *tree, uint8_t type)
{
	uint32_t index = (uint32_t)units->count;
	struct unit *unit;
	size_t count = 0;
	int error;

	if (array_grow(units->units, units->capacity, units->count + 1))
		return -ENOMEM;
	unit = &units->units[units->count++];
	unit->lines = *lines;
	unit->tree = tree->addr ? *tree : *lines;
	unit->has_tree = tree->addr || type != DW_UT_skeleton;
	units->missing_split += !unit->has_tree;
	error = add_ranges(units, &unit->lines, 0, index, &units->where, NULL, &count);
	if (!error && !count && tree->addr)
		error = add_ranges(units, &unit->tree, 0, index, &units->where, NULL, &count);
	return error;
}

/* In DWARF 2 a unit in several pieces has no ranges in its DIE; the section .debug_aranges has
 * them. */
static int add_arange(struct units *units, const struct hash_map *by_offset, Dwarf_Arange *arange)
{
	struct interval interval = {0};
	Dwarf_Addr start;
	Dwarf_Word length;
	Dwarf_Off offset;
	uint64_t unit;

	if (dwarf_getarangeinfo(arange, &start, &length, &offset))
		return 0;
	unit = hash_map_get(by_offset, offset, NODE_NONE);
	if (unit == NODE_NONE || !units->is_code(units->context, start) ||
	    __builtin_add_overflow(start, length, &interval.end))
		return 0;
	interval.start = start;
	interval.value = (uint32_t)unit;
	return span_table_add(&units->where, &interval);
}

static int add_aranges(struct units *units)
{
	Dwarf_Aranges *aranges;
	struct hash_map by_offset = {0};
	size_t count;
	int error = 0;

	if (dwarf_getaranges(units->dwarf, &aranges, &count) || !aranges)
		count = 0;
	for (size_t i = 0; !error && count && i < units->count; i++)
		error = hash_map_put(&by_offset, dwarf_dieoffset(&units->units[i].lines), i);
	for (size_t i = 0; !error && i < count; i++)
		error = add_arange(units, &by_offset, dwarf_onearange(aranges, i));
	hash_map_fini(&by_offset);
	return error;
}

int units_new(struct Dwarf *dwarf, bool (*is_code)(void *context, uint64_t address), void *context,
	      struct units **ret_units)
{
	struct units *units = calloc(1, sizeof(*units));
	Dwarf_CU *unit = NULL;
	Dwarf_Die lines, tree = {0};
	Dwarf_Half version;
	uint8_t type;
	int error = 0;

	if (!units)
		return -ENOMEM;
	units->dwarf = dwarf;
	units->is_code = is_code;
	units->context = context;
	units->ranges_left = RANGES_LIMIT;
	while (!error && units->count < NODE_NONE &&
	       dwarf_get_units(dwarf, unit, &unit, &version, &type, &lines, &tree) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			error = add_unit(units, &lines, &tree, type);
		tree = (Dwarf_Die){0};
	}
	if (!error)
		error = add_aranges(units);
	if (!error)
		error = span_table_build(&units->where);
	if (error)
		units_free(units);
	else
		*ret_units = units;
	return error;
}

void units_free(struct units *units)
{
	if (!units)
		return;
	for (size_t i = 0; i < units->count; i++) {
		free(units->units[i].nodes);
		span_table_fini(&units->units[i].all);
		span_table_fini(&units->units[i].functions);
	}
	free(units->units);
	span_table_fini(&units->where);
	free(units);
}

size_t units_missing_split(const struct units *units)
{
	return units->missing_split;
}

/* ---- reading a unit ---- */

static int read_children(struct units *units, struct unit *unit, Dwarf_Die *parent, uint32_t node,
			 unsigned int depth);

/* A function or an inlined call, and the calls inlined into it. */
static int read_code(struct units *units, struct unit *unit, Dwarf_Die *die, uint32_t parent,
		     unsigned int depth)
{
	bool is_inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	uint32_t index = (uint32_t)unit->node_count;
	size_t count = 0;
	int error;

	error = add_ranges(units, die, depth, index, &unit->all,
			   is_inlined ? NULL : &unit->functions, &count);
	if (error)
		return error;
	/* In DWARF 2 an inlined call in several pieces has no ranges, but calls inlined into it
	 * have. */
	if (!count && !is_inlined)
		return read_children(units, unit, die, parent, depth);
	if (index == NODE_NONE || array_grow(unit->nodes, unit->node_capacity, index + 1))
		return -ENOMEM;
	unit->nodes[unit->node_count++] = (struct node){
		.die = *die, .parent = is_inlined ? parent : NODE_NONE, .is_inlined = is_inlined};
	return read_children(units, unit, die, index, depth);
}

static int read_die(struct units *units, struct unit *unit, Dwarf_Die *die, uint32_t node,
		    unsigned int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_entry_point:
		return read_code(units, unit, die, node, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return read_children(units, unit, die, node, depth);
	default:
		return 0;
	}
}

static int read_children(struct units *units, struct unit *unit, Dwarf_Die *parent, uint32_t node,
			 unsigned int depth)
{
	Dwarf_Die die, next;
	int error = 0;

	if (depth >= DEPTH_LIMIT || dwarf_child(parent, &die) != 0)
		return 0;
	for (;;) {
		error = read_die(units, unit, &die, node, depth + 1);
		/* A sibling before this one would loop forever. */
		if (error || dwarf_siblingof(&die, &next) != 0 || next.addr <= die.addr)
			return error;
		die = next;
	}
}

static const char *find_text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* Without memory the unit has no functions. */
static void read_unit(struct units *units, struct unit *unit)
{
	int error = 0;

	unit->is_read = true;
	units->ranges_left = RANGES_LIMIT;
	unit->folder = find_text(&unit->lines, DW_AT_comp_dir);
	if (unit->has_tree)
		error = read_children(units, unit, &unit->tree, NODE_NONE, 0);
	if (error || span_table_build(&unit->all) || span_table_build(&unit->functions)) {
		span_table_fini(&unit->all);
		span_table_fini(&unit->functions);
	}
}

/* ---- looking up ---- */

static uint32_t find_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Reads the name of a node and its call site; most are never needed. */
static void name_node(struct unit *unit, struct node *node)
{
	Dwarf_Files *files;
	size_t count;
	uint32_t file;

	node->is_named = true;
	node->linkage_name = find_text(&node->die, DW_AT_linkage_name);
	if (!node->linkage_name)
		node->linkage_name = find_text(&node->die, DW_AT_MIPS_linkage_name);
	node->name = find_text(&node->die, DW_AT_name);
	if (!node->is_inlined)
		return;
	file = find_number(&node->die, DW_AT_call_file);
	node->call_line = find_number(&node->die, DW_AT_call_line);
	node->call_column = find_number(&node->die, DW_AT_call_column);
	if (dwarf_getsrcfiles(&unit->tree, &files, &count) == 0 && file < count &&
	    (file || node->call_line))
		node->call_file = dwarf_filesrc(files, file, NULL, NULL);
}

static void find_line(struct unit *unit, uint64_t address, struct unit_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines, address);
	int number;

	if (!line)
		return;
	frame->folder = unit->folder;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
	if (dwarf_linecol(line, &number) == 0 && number > 0)
		frame->column = (uint32_t)number;
}

/* From the innermost node outwards; the file and line of each next one are those of the call. */
static size_t find_nodes(struct unit *unit, const struct interval *found, bool has_inlines,
			 struct unit_frame *frames)
{
	uint32_t index = found->value;
	size_t count = 0;

	frames[0].start = found->start;
	for (;;) {
		struct node *node = &unit->nodes[index];

		if (!node->is_named)
			name_node(unit, node);
		frames[count].linkage_name = node->linkage_name;
		frames[count].name = node->name;
		frames[count].is_inlined = node->is_inlined;
		if (node->parent == NODE_NONE || count + 1 == UNIT_FRAMES)
			return count + 1;
		index = node->parent;
		if (!has_inlines) {
			frames[0] = (struct unit_frame){
				.file = frames[0].file,
				.folder = frames[0].folder,
				.line = frames[0].line,
				.column = frames[0].column,
			};
			continue;
		}
		frames[++count] = (struct unit_frame){
			.file = node->call_file,
			.folder = unit->folder,
			.line = node->call_line,
			.column = node->call_column,
		};
	}
}

size_t units_find(struct units *units, uint64_t address, bool has_inlines,
		  struct unit_frame ret_frames[UNIT_FRAMES])
{
	const struct interval *found = span_table_find(&units->where, address);
	struct unit *unit;
	size_t count = 0;

	if (!found)
		return 0;
	unit = &units->units[found->value];
	if (!unit->is_read)
		read_unit(units, unit);
	ret_frames[0] = (struct unit_frame){0};
	find_line(unit, address, &ret_frames[0]);
	found = span_table_find(&unit->all, address);
	if (found)
		count = find_nodes(unit, found, has_inlines, ret_frames);
	else
		return ret_frames[0].file ? 1 : 0;
	found = span_table_find(&unit->functions, address);
	ret_frames[count - 1].start = found ? found->start : 0;
	return count;
}

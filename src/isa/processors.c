/* SPDX-License-Identifier: MIT
 *
 * isa/processors.c - AMDGPU processors, and which releases of LLVM know them
 *
 * Runs in:  the readers
 * Gets:     a target id   Gives: a row of a table
 * Owns:     nothing
 * Fails:    NULL
 * Why:      LLVM writes to stderr about a name that it does not know and decodes as some other processor, and its C
 *           interface has no way to ask. What each release knows was printed by it ("+help"): 13, 14, 15, 16, 19, 22.
 */
#include "isa/processors.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"

static const struct processor processors[] = {
	{"gfx600", 13},          {"gfx601", 13},          {"gfx602", 13},
	{"gfx700", 13},          {"gfx701", 13},          {"gfx702", 13},
	{"gfx703", 13},          {"gfx704", 13},          {"gfx705", 13},
	{"gfx801", 13},          {"gfx802", 13},          {"gfx803", 13},
	{"gfx805", 13},          {"gfx810", 13},          {"gfx900", 13},
	{"gfx902", 13},          {"gfx904", 13},          {"gfx906", 13},
	{"gfx908", 13},          {"gfx909", 13},          {"gfx90a", 13},
	{"gfx90c", 13},          {"gfx940", 15, 19},      {"gfx941", 19, 19},
	{"gfx942", 19},          {"gfx950", 22},          {"gfx9-generic", 19},
	{"gfx9-4-generic", 22},  {"gfx1010", 13},         {"gfx1011", 13},
	{"gfx1012", 13},         {"gfx1013", 13},         {"gfx1030", 13},
	{"gfx1031", 13},         {"gfx1032", 13},         {"gfx1033", 13},
	{"gfx1034", 13},         {"gfx1035", 13},         {"gfx1036", 15},
	{"gfx10-1-generic", 19}, {"gfx10-3-generic", 19}, {"gfx1100", 15},
	{"gfx1101", 15},         {"gfx1102", 15},         {"gfx1103", 15},
	{"gfx1150", 19},         {"gfx1151", 19},         {"gfx1152", 19},
	{"gfx1153", 22},         {"gfx11-generic", 19},   {"gfx1200", 19},
	{"gfx1201", 19},         {"gfx12-generic", 19},   {"gfx1250", 22},
	{"gfx1251", 22},
};

const struct processor *processor_find(const char *target_id)
{
	size_t length = strcspn(target_id, ":");

	for (size_t i = 0; i < ARRAY_COUNT(processors); i++)
		if (strlen(processors[i].name) == length &&
		    memcmp(processors[i].name, target_id, length) == 0)
			return &processors[i];
	return NULL;
}

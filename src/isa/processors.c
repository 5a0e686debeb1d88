/* SPDX-License-Identifier: MIT
 *
 * isa/processors.c - AMDGPU processors, and the LLVM releases that support them
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a target id, or the flags of a code object
 * Gives:    a row of a table
 * Owns:     nothing
 * Fails:    NULL
 * Why:      LLVM writes to stderr about an unknown name and decodes as another processor, and its C
 *           interface has no query. The table comes from each release's output of "+help": 13, 14,
 *           15, 16, 19, 22. Numbers in code objects: EF_AMDGPU_MACH in LLVM's user guide for
 *           AMDGPU.
 */
#include "isa/decoders.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "isa/isa.h"

enum { ELF_NUMBER_MASK = 0xff };

static const struct processor processors[] = {
	{"gfx600", 0x20, 13},          {"gfx601", 0x21, 13},          {"gfx602", 0x3a, 13},
	{"gfx700", 0x22, 13},          {"gfx701", 0x23, 13},          {"gfx702", 0x24, 13},
	{"gfx703", 0x25, 13},          {"gfx704", 0x26, 13},          {"gfx705", 0x3b, 13},
	{"gfx801", 0x28, 13},          {"gfx802", 0x29, 13},          {"gfx803", 0x2a, 13},
	{"gfx805", 0x3c, 13},          {"gfx810", 0x2b, 13},          {"gfx900", 0x2c, 13},
	{"gfx902", 0x2d, 13},          {"gfx904", 0x2e, 13},          {"gfx906", 0x2f, 13},
	{"gfx908", 0x30, 13},          {"gfx909", 0x31, 13},          {"gfx90a", 0x3f, 13},
	{"gfx90c", 0x32, 13},          {"gfx940", 0x40, 15, 19},      {"gfx941", 0x4b, 19, 19},
	{"gfx942", 0x4c, 19},          {"gfx950", 0x4f, 22},          {"gfx9-generic", 0x51, 19},
	{"gfx9-4-generic", 0x5f, 22},  {"gfx1010", 0x33, 13},         {"gfx1011", 0x34, 13},
	{"gfx1012", 0x35, 13},         {"gfx1013", 0x42, 13},         {"gfx1030", 0x36, 13},
	{"gfx1031", 0x37, 13},         {"gfx1032", 0x38, 13},         {"gfx1033", 0x39, 13},
	{"gfx1034", 0x3e, 13},         {"gfx1035", 0x3d, 13},         {"gfx1036", 0x45, 15},
	{"gfx10-1-generic", 0x52, 19}, {"gfx10-3-generic", 0x53, 19}, {"gfx1100", 0x41, 15},
	{"gfx1101", 0x46, 15},         {"gfx1102", 0x47, 15},         {"gfx1103", 0x44, 15},
	{"gfx1150", 0x43, 19},         {"gfx1151", 0x4a, 19},         {"gfx1152", 0x55, 19},
	{"gfx1153", 0x58, 22},         {"gfx11-generic", 0x54, 19},   {"gfx1200", 0x48, 19},
	{"gfx1201", 0x4e, 19},         {"gfx12-generic", 0x59, 19},   {"gfx1250", 0x49, 22},
	{"gfx1251", 0x5a, 22},
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

const char *isa_amdgpu_processor(uint32_t elf_flags)
{
	for (size_t i = 0; i < ARRAY_COUNT(processors); i++)
		if (processors[i].elf_number == (elf_flags & ELF_NUMBER_MASK))
			return processors[i].name;
	return NULL;
}

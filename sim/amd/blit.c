/* SPDX-License-Identifier: MIT
 *
 * sim/amd/blit.c - the kernels with which ROCr itself copies and fills
 *
 * Runs in:  a program that uses ROCr, on the thread of the GPU
 * Gets:     the address of a kernel object without a name
 * Gives:    a name of ours, and the effect of the kernel
 * Why:      ROCr writes these three kernels into memory as code behind a header, without a symbol.
 *           They differ in the number of argument words that their first instructions load: 21, 13
 *           or 8. The simulation decodes only those instructions.
 */
#include <string.h>

#include "sim.h"

enum { MAX_LOADS = 8, SMEM_GFX9 = 0x30, SMEM_GFX10 = 0x3d };

static void copy(uint64_t from, uint64_t to, uint64_t bytes)
{
	memmove(sim_array(to, bytes), sim_array(from, bytes), bytes);
}

/* Both copy kernels process the memory in phases. The arguments have the start of each phase
 * (source and destination), and the end of the last one. */
static void copy_aligned(const char *arguments, uint64_t items)
{
	const uint64_t *given = (const void *)arguments;

	copy(given[0], given[1], given[8] - given[0]);
}

static void copy_misaligned(const char *arguments, uint64_t items)
{
	const uint64_t *given = (const void *)arguments;

	copy(given[0], given[1], given[4] - given[0]);
}

static void fill(const char *arguments, uint64_t items)
{
	const struct {
		uint64_t first, second, end;
		uint32_t value;
	} *given = (const void *)arguments;
	uint64_t count = (given->end - given->first) / sizeof(uint32_t);
	uint32_t *words = sim_array(given->first, count * sizeof(*words));

	for (uint64_t i = 0; i < count; i++)
		words[i] = given->value;
}

/* How many words the code at the start of a kernel loads from memory. */
static unsigned count_loaded(uint64_t object)
{
	const amd_kernel_code_t *header = sim_host_pointer(object, sizeof(*header));
	const uint32_t *code = NULL;
	unsigned words = 0;

	if (header)
		code = sim_host_pointer(object + (uint64_t)header->kernel_code_entry_byte_offset,
					MAX_LOADS * 8);
	for (int i = 0; code && i < MAX_LOADS; i++) {
		uint32_t kind = code[2 * i] >> 26, operation = code[2 * i] >> 18 & 0xff;

		if ((kind != SMEM_GFX9 && kind != SMEM_GFX10) || operation > 4)
			break;
		words += 1U << operation;
	}
	return words;
}

static const struct {
	unsigned loaded;
	const char *name;
	sim_execute *execute;
} rows[] = {
	{21, "rocr_copy_aligned", copy_aligned},
	{13, "rocr_copy_misaligned", copy_misaligned},
	{8, "rocr_fill", fill},
};

const char *sim_blit_find(uint64_t object, sim_execute **ret_execute)
{
	unsigned loaded = count_loaded(object);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].loaded != loaded)
			continue;
		*ret_execute = rows[i].execute;
		return rows[i].name;
	}
	return NULL;
}

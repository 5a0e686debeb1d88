/* SPDX-License-Identifier: MIT
 *
 * sim/amd/execute.c - execute some kernels on the host, at their end
 *
 * Runs in:  a program that uses ROCr, on the thread of the GPU
 * Gets:     the arguments in memory, each at the next multiple of its size
 * Fails:    aborts at an address that the GPU has not mapped
 * Why:      AMD's instructions are not simulated. A few kernels that are known by name let tests
 *           check that work was done once and in order.
 */
#include <string.h>

#include "sim.h"

void *sim_array(uint64_t address, uint64_t bytes)
{
	void *pointer = sim_host_pointer(address, bytes);

	if (!pointer)
		sim_die("a kernel uses %llu bytes at %#llx, which the GPU does not have",
			(unsigned long long)bytes, (unsigned long long)address);
	return pointer;
}

/* kernel void fill(global uint *out, uint value, uint count) */
static void fill(const char *arguments, uint64_t items)
{
	const struct {
		uint64_t out;
		uint32_t value, count;
	} *given = (const void *)arguments;
	uint32_t *out = sim_array(given->out, given->count * sizeof(*out));

	for (uint64_t i = 0; i < given->count && i < items; i++)
		out[i] = given->value;
}

/* kernel void vector_add(global const float *a, global const float *b, global float *out, uint
 * count) */
static void vector_add(const char *arguments, uint64_t items)
{
	const struct {
		uint64_t a, b, out;
		uint32_t count;
	} *given = (const void *)arguments;
	const float *a = sim_array(given->a, given->count * sizeof(*a));
	const float *b = sim_array(given->b, given->count * sizeof(*b));
	float *out = sim_array(given->out, given->count * sizeof(*out));

	for (uint64_t i = 0; i < given->count && i < items; i++)
		out[i] = a[i] + b[i];
}

/* ---- HIP's own, by which it fills memory and copies on the device ---------------------------- */

/* The arguments have the array with elements of 1, 2, 4 or 8 bytes; a pattern is pattern_count
 * elements of that size. */
static void hip_fill(const char *arguments, uint64_t items)
{
	const struct {
		uint64_t arrays[4], pattern;
		uint32_t pattern_count;
		uint64_t first, count;
	} *given = (const void *)arguments;
	unsigned shift = 0;
	uint64_t bytes;
	char *out, *pattern;

	while (shift < 3 && !given->arrays[shift])
		shift++;
	bytes = (uint64_t)given->pattern_count << shift;
	out = sim_array(given->arrays[shift] + (given->first << shift), given->count * bytes);
	pattern = sim_array(given->pattern, bytes);
	for (uint64_t i = 0; i < given->count; i++)
		memcpy(out + i * bytes, pattern, bytes);
}

/* A work-item copies one byte, or 4 bytes; the last one copies the remainder. */
static void hip_copy(const char *arguments, uint64_t items)
{
	const struct {
		uint64_t from, to, from_offset, to_offset, count;
		uint32_t remaining;
	} *given = (const void *)arguments;
	bool is_bytewise = given->remaining == 8;
	uint64_t bytes = is_bytewise ? given->count : (given->count - 1) * 4 + given->remaining;

	memcpy(sim_array(given->to + given->to_offset, bytes),
	       sim_array(given->from + given->from_offset, bytes), bytes);
}

/* A work-item copies 16 bytes or 4; offsets are in those. */
static void hip_copy_aligned(const char *arguments, uint64_t items)
{
	const struct {
		uint64_t from, to, from_offset, to_offset, count;
		uint32_t alignment;
	} *given = (const void *)arguments;
	uint64_t unit = given->alignment == 16 ? 16 : 4, bytes = given->count * unit;

	memcpy(sim_array(given->to + given->to_offset * unit, bytes),
	       sim_array(given->from + given->from_offset * unit, bytes), bytes);
}

static const struct {
	const char *name;
	sim_execute *execute;
} rows[] = {
	{"fill", fill},
	{"vector_add", vector_add},
	{"__amd_rocclr_fillBufferAligned", hip_fill},
	{"__amd_rocclr_copyBuffer", hip_copy},
	{"__amd_rocclr_copyBufferAligned", hip_copy_aligned},
};

sim_execute *sim_execute_find(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].execute;
	return NULL;
}

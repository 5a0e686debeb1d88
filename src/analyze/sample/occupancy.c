/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/occupancy.c - computes how many warps of a kernel fit on an NVIDIA multiprocessor
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the registers and shared memory of a kernel, the size of its blocks
 * Gives:    the number of warps, and the resource that limits it
 * Owns:     nothing
 * Fails:    returns false for a target that is not in the table, for a kernel whose needs neither
 *           its launches nor its code contain, for an unknown block size or shared memory of a
 *           multiprocessor, and if no block of the kernel fits
 * Why not from code alone: a trace contains cubins only if instructions were sampled. They do not
 *           contain the dynamic shared memory that a launch requests, and many kernels have no
 *           other. Launch records contain it, and the registers.
 */
#include "analyze/sample/occupancy.h"

#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/error.h"
#include "symbol/device/cubin.h"
#include "trace/reader.h"

enum {
	WARP_THREADS = 32,
	PARTS = 4, /* partitions of a multiprocessor, each with its own registers */
	PART_REGISTERS = 65536 / PARTS,
	REGISTERS_UNIT = 256, /* a warp's registers are allocated in this unit */
	RESERVED_BYTES = 1024 /* shared memory reserved for each block since sm_80 */
};

static const char limit_registers[] = "registers", limit_shared[] = "shared memory";

static const struct chip {
	uint32_t first, last; /* sm_NN */
	uint32_t warps, blocks, shared_unit_bytes;
} chips[] = {
	{70, 72, 64, 32, 256},   {75, 75, 32, 16, 256},   {80, 80, 64, 32, 128},
	{86, 88, 48, 16, 128},   {89, 89, 48, 24, 128},   {90, 90, 64, 32, 128},
	{100, 100, 64, 32, 128}, {103, 103, 64, 32, 128}, {120, 121, 48, 24, 128},
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static const struct chip *find_chip(const char *target, uint32_t *ret_number)
{
	if (sscanf(target, "sm_%3u", ret_number) != 1)
		return NULL;
	for (size_t i = 0; i < ARRAY_COUNT(chips); i++)
		if (*ret_number >= chips[i].first && *ret_number <= chips[i].last)
			return &chips[i];
	return NULL;
}

static void apply_limit(struct occupancy *occupancy, uint64_t *blocks, uint64_t most,
			const char *name)
{
	if (most >= *blocks)
		return;
	*blocks = most;
	occupancy->limit = name;
}

/* Shared memory per block with the reserved bytes. From sm_90 on the code's number includes them; a
 * block without shared memory needs them too. */
static uint64_t shared_of(uint32_t number, const struct occupancy_needs *needs)
{
	if (number < 80)
		return needs->shared_bytes;
	if (number < 90)
		return needs->shared_bytes + RESERVED_BYTES;
	return needs->shared_bytes > RESERVED_BYTES ? needs->shared_bytes : RESERVED_BYTES;
}

bool occupancy_find(const char *target, uint64_t unit_shared_bytes,
		    const struct occupancy_needs *needs, struct occupancy *ret_occupancy)
{
	uint64_t warps = (needs->threads + WARP_THREADS - 1) / WARP_THREADS, blocks, shared;
	struct occupancy occupancy = {.limit = "warps"};
	uint32_t number;
	const struct chip *chip = find_chip(target, &number);

	if (!chip || !warps || !needs->registers || !unit_shared_bytes)
		return false;
	blocks = chip->warps / warps;
	apply_limit(&occupancy, &blocks, chip->blocks, "blocks");
	apply_limit(&occupancy, &blocks,
		    PARTS *
			    (PART_REGISTERS /
			     round_up((uint64_t)needs->registers * WARP_THREADS, REGISTERS_UNIT)) /
			    warps,
		    limit_registers);
	shared = round_up(shared_of(number, needs), chip->shared_unit_bytes);
	if (shared)
		apply_limit(&occupancy, &blocks, unit_shared_bytes / shared, limit_shared);
	occupancy.warps = blocks * warps;
	occupancy.of_warps = chip->warps;
	if (blocks)
		*ret_occupancy = occupancy;
	return blocks != 0;
}

/* ---- kernels of a trace ---------------------------------------------------------------------- */

static const struct cubin_function *find_function(const struct cubin *cubin, const char *name)
{
	const struct cubin_function *functions;
	size_t count = cubin_functions(cubin, &functions);

	for (size_t i = 0; i < count; i++)
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	return NULL;
}

/* The occupancy from the cubin that contains the kernel. */
static bool find_in(const struct model *model, const struct event_code *row,
		    const struct analysis_fill *fill, struct occupancy *ret_occupancy)
{
	const struct event_code *binary = model_entity(model, EVENT_CODE, row->parent);
	const struct cubin_function *function;
	struct occupancy_needs needs = {.threads = fill->items};
	size_t size = 0;
	const void *bytes = binary ? trace_reader_content(model->reader, binary->hash_low,
							  binary->hash_high, &size)
				   : NULL;
	struct cubin *cubin;
	bool is_found = false;

	if (!bytes || !cubin_is(bytes, size))
		return false;
	if (cubin_open(bytes, size, &cubin)) {
		error_clear();
		return false;
	}
	function = find_function(cubin, model_text(model, row->name_string, ""));
	if (function) {
		needs.registers = function->registers;
		needs.shared_bytes = function->shared_bytes;
		is_found = occupancy_find(cubin_target(cubin), fill->unit_local_bytes, &needs,
					  ret_occupancy);
		if (is_found)
			ret_occupancy->is_at_most = true;
	}
	cubin_close(cubin);
	return is_found;
}

/* Whether the result is only a lower bound. The needs are the maximum of all launches. Shared
 * memory can differ between launches, and registers between the codes for different GPUs. */
static bool is_at_least(const struct analysis *analysis, const struct occupancy *occupancy)
{
	return strcmp(occupancy->limit, limit_shared) == 0 ||
	       (strcmp(occupancy->limit, limit_registers) == 0 && analysis->devices_count > 1);
}

/* The occupancy from the needs that CUPTI reported for launches. CUPTI's shared memory excludes the
 * reserved bytes, which code from sm_90 on includes. */
static bool find_from_launches(const struct analysis *analysis,
			       const struct analysis_kernel *kernel,
			       struct occupancy *ret_occupancy)
{
	static const char words[] = "compute capability ";
	const struct event_device *device = analysis->devices[kernel->device].device;
	const struct analysis_fill *fill = &kernel->fill;
	struct occupancy_needs needs = {.registers = (uint32_t)fill->registers,
					.shared_bytes = fill->taken_bytes,
					.threads = fill->items};
	unsigned int major, minor;
	const char *capability;
	char target[16];

	capability = strstr(device ? model_text(analysis->model, device->platform_string, "") : "",
			    words);
	if (!fill->registers || !capability ||
	    sscanf(capability + strlen(words), "%2u.%1u", &major, &minor) != 2)
		return false;
	if (major >= 9)
		needs.shared_bytes += RESERVED_BYTES;
	snprintf(target, sizeof(target), "sm_%u%u", major, minor);
	if (!occupancy_find(target, fill->unit_local_bytes, &needs, ret_occupancy))
		return false;
	ret_occupancy->is_at_least = is_at_least(analysis, ret_occupancy);
	return true;
}

bool occupancy_of_kernel(const struct analysis *analysis, const struct analysis_kernel *kernel,
			 struct occupancy *ret_occupancy)
{
	const struct model *model = analysis->model;
	const char *name = *kernel->symbol ? kernel->symbol : kernel->name;
	const struct event_code *rows;
	size_t count = model_entities(model, EVENT_CODE, &rows);

	if (find_from_launches(analysis, kernel, ret_occupancy))
		return true;
	for (size_t i = 0; i < count && kernel->fill.items; i++)
		if (rows[i].type == CODE_KERNEL && rows[i].parent &&
		    strcmp(model_text(model, rows[i].name_string, ""), name) == 0 &&
		    find_in(model, &rows[i], &kernel->fill, ret_occupancy))
			return true;
	return false;
}

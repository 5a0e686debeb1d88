/* SPDX-License-Identifier: MIT
 *
 * import/common/cuda.c - functions of CUDA's API and the enumerations of CUPTI's records
 *
 * Runs in:  our own process
 * Gets:     names of functions, numbers of CUPTI
 * Gives:    types and flags of a trace
 * Owns:     constants
 * Fails:    -ENOMEM
 * Why here: Nsight Systems and nvprof store the same records of CUPTI
 */
#include "import/common/cuda.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "import/common/commands.h"
#include "import/target.h"

/* ---- functions ---- */

/* Length without "_v7000" and "_ptsz". */
static size_t bare_length(const char *name)
{
	size_t length = strlen(name), digits = length;

	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	if (digits < length && digits > 2 && memcmp(name + digits - 2, "_v", 2) == 0)
		length = digits - 2;
	if (length > 5 && (memcmp(name + length - 5, "_ptsz", 5) == 0 ||
			   memcmp(name + length - 5, "_ptds", 5) == 0))
		length -= 5;
	return length;
}

static uint16_t classify(const char *name)
{
	static const struct {
		const char *part;
		unsigned int flags;
	} parts[] = {
		{"Synchronize", CUDA_WAITS},
		{"StreamSynchronize", CUDA_WAITS_STREAM},
		{"Query", CUDA_NEVER_WAITS},
		{"WaitEvent", CUDA_NEVER_WAITS},
		{"Launch", CUDA_LAUNCHES},
		{"Memcpy", CUDA_LAUNCHES},
		{"Memset", CUDA_LAUNCHES},
		{"StreamBeginCapture", CUDA_BEGINS_CAPTURE},
		{"StreamEndCapture", CUDA_ENDS_CAPTURE},
	};
	static const char *const launch_nothing[] = {"HostFunc", "Graph", "Node"};
	unsigned int flags = 0;

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		if (strstr(name, parts[i].part))
			flags |= parts[i].flags;
	if (flags & CUDA_LAUNCHES && import_call_waits(name))
		flags |= CUDA_BLOCKS;
	for (size_t i = 0; i < ARRAY_COUNT(launch_nothing); i++)
		if (strstr(name, launch_nothing[i]) && !strstr(name, "GraphLaunch"))
			flags &= ~(unsigned int)(CUDA_LAUNCHES | CUDA_BLOCKS);
	return (uint16_t)flags;
}

int import_cuda_function(struct import_target *target, const char *name,
			 struct import_cuda_function *ret_function)
{
	struct string_builder bare = {0};
	int error;

	string_builder_append_bytes(&bare, name, bare_length(name));
	error = bare.error;
	if (!error)
		error = import_target_text(target, string_builder_text(&bare),
					   &ret_function->string);
	ret_function->flags = classify(string_builder_text(&bare));
	ret_function->command = (uint16_t)import_command_of_call(string_builder_text(&bare));
	string_builder_fini(&bare);
	return error;
}

/* ---- enumerations ---- */

static uint32_t number_of(const uint32_t *numbers, size_t count, int64_t index, uint32_t otherwise)
{
	return index >= 0 && index < (int64_t)count && numbers[index] ? numbers[index] : otherwise;
}

uint32_t import_cuda_copy(int64_t kind)
{
	static const uint32_t kinds[] = {
		[1] = COMMAND_WRITE,    [2] = COMMAND_READ,     [3] = COMMAND_WRITE,
		[4] = COMMAND_READ,     [5] = COMMAND_COPY,     [6] = COMMAND_COPY,
		[7] = COMMAND_COPY,     [8] = COMMAND_COPY,     [9] = COMMAND_COPY,
		[10] = COMMAND_COPY,    [11] = COMMAND_MIGRATE, [12] = COMMAND_MIGRATE,
		[13] = COMMAND_MIGRATE,
	};

	return number_of(kinds, ARRAY_COUNT(kinds), kind, COMMAND_COPY);
}

uint32_t import_cuda_memory(int64_t kind)
{
	static const uint32_t kinds[] = {
		[1] = MEMORY_PAGEABLE, [2] = MEMORY_PINNED,  [3] = MEMORY_DEVICE,
		[4] = MEMORY_ARRAY,    [5] = MEMORY_MANAGED, [6] = MEMORY_DEVICE_STATIC,
		[7] = MEMORY_MANAGED,
	};

	return number_of(kinds, ARRAY_COUNT(kinds), kind, MEMORY_UNKNOWN);
}

uint32_t import_cuda_migration(int64_t cause)
{
	static const uint32_t causes[] = {
		[1] = MIGRATION_REQUESTED,
		[2] = MIGRATION_PAGE_FAULT,
		[3] = MIGRATION_SPECULATIVE,
		[4] = MIGRATION_EVICTION,
	};

	return number_of(causes, ARRAY_COUNT(causes), cause, 0);
}

bool import_cuda_is_on_device(uint32_t memory)
{
	return memory == MEMORY_DEVICE || memory == MEMORY_ARRAY || memory == MEMORY_DEVICE_STATIC;
}

/* ---- columns ---- */

uint64_t import_cuda_positive(const struct sqlite_cursor *row, size_t column)
{
	const int64_t number = sqlite_cursor_number(row, column);

	return number > 0 ? (uint64_t)number : 0;
}

void import_cuda_read_sizes(const struct sqlite_cursor *row, size_t grid_column,
			    struct event_launch *launch)
{
	launch->dimensions = sqlite_cursor_has(row, grid_column) ? 3 : 0;
	for (size_t i = 0; i < launch->dimensions; i++) {
		const uint64_t groups = import_cuda_positive(row, grid_column + i);
		const uint64_t items = import_cuda_positive(row, grid_column + 3 + i);

		launch->local_size[i] = items ? items : 1;
		if (__builtin_mul_overflow(groups ? groups : 1, launch->local_size[i],
					   &launch->global_size[i]))
			launch->global_size[i] = UINT64_MAX;
	}
}

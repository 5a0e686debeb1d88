/* SPDX-License-Identifier: MIT
 *
 * collect/system/meminfo.c - /proc/meminfo: what memory is used for
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     lines in kB, which are KiB   Gives: levels in bytes
 * Owns:     a descriptor
 * Fails:    a line that an older kernel lacks is absent, and what is made of it
 * Why used is made here: it is MemTotal - MemFree - Buffers - Cached, of one reading
 */
#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"

enum {
	TOTAL,
	FREE,
	BUFFERS,
	CACHED,
	AVAILABLE,
	DIRTY,
	WRITEBACK,
	SHARED,
	SLAB,
	SWAP_TOTAL,
	SWAP_FREE,
	FIELDS,
	USED = FIELDS,
	SWAP_USED
};

#define OF_MEMORY .unit = "bytes", .limit = LIMIT_VALUE, .limit_value = TOTAL
static const struct metric metrics[] = {
	[TOTAL] = {"memory.total", .help = "MemTotal", OF_MEMORY},
	[FREE] = {"memory.free", .help = "MemFree", OF_MEMORY},
	[BUFFERS] = {"memory.buffers", .help = "Buffers", OF_MEMORY},
	[CACHED] = {"memory.cached", .help = "Cached", OF_MEMORY},
	[AVAILABLE] = {"memory.available", .help = "MemAvailable: without swapping", OF_MEMORY},
	[DIRTY] = {"memory.dirty", .help = "Dirty: waits to be written", OF_MEMORY},
	[WRITEBACK] = {"memory.writeback", .help = "Writeback: is being written", OF_MEMORY},
	[SHARED] = {"memory.shared", .help = "Shmem", OF_MEMORY},
	[SLAB] = {"memory.slab", .help = "Slab: the kernel's own", OF_MEMORY},
	[SWAP_TOTAL] = {NULL},
	[SWAP_FREE] = {NULL},
	[USED] = {"memory.used", .help = "MemTotal - MemFree - Buffers - Cached", OF_MEMORY},
	[SWAP_USED] = {"swap.used", "bytes", "SwapTotal - SwapFree", .limit = LIMIT_VALUE,
		       .limit_value = SWAP_TOTAL},
};

static bool has(uint64_t valid, uint64_t wanted)
{
	return (valid & wanted) == wanted;
}

uint64_t meminfo_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[FIELDS] = {[TOTAL] = {"MemTotal", 1024},
							 [FREE] = {"MemFree", 1024},
							 [BUFFERS] = {"Buffers", 1024},
							 [CACHED] = {"Cached", 1024},
							 [AVAILABLE] = {"MemAvailable", 1024},
							 [DIRTY] = {"Dirty", 1024},
							 [WRITEBACK] = {"Writeback", 1024},
							 [SHARED] = {"Shmem", 1024},
							 [SLAB] = {"Slab", 1024},
							 [SWAP_TOTAL] = {"SwapTotal", 1024},
							 [SWAP_FREE] = {"SwapFree", 1024}};
	uint64_t valid = scan_fields(text, length, fields, FIELDS, values), others = 0;

	if (has(valid, 1u << TOTAL | 1u << FREE | 1u << BUFFERS | 1u << CACHED) &&
	    !__builtin_add_overflow(values[FREE], values[BUFFERS], &others) &&
	    !__builtin_add_overflow(others, values[CACHED], &others) && others <= values[TOTAL]) {
		values[USED] = values[TOTAL] - others;
		valid |= 1u << USED;
	}
	if (has(valid, 1u << SWAP_TOTAL | 1u << SWAP_FREE) &&
	    values[SWAP_FREE] <= values[SWAP_TOTAL]) {
		values[SWAP_USED] = values[SWAP_TOTAL] - values[SWAP_FREE];
		valid |= 1u << SWAP_USED;
	}
	return valid;
}

static void read_meminfo(struct source_state *state, struct tick *tick)
{
	one_file_read(state, tick, meminfo_parse);
}

extern const struct source meminfo_source;
const struct source meminfo_source = {
	.name = "memory",
	.file = "/proc/meminfo",
	SOURCE_METRICS(metrics),
	.most_hz = 100,
	.things_most = 1,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_meminfo,
	.close = one_file_close,
};

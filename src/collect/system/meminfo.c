/* SPDX-License-Identifier: MIT
 *
 * collect/system/meminfo.c - /proc/meminfo: use of memory
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     lines in kB, which means KiB
 * Gives:    levels in bytes
 * Owns:     a descriptor
 * Fails:    a line that an older kernel lacks is absent, as are values computed from it
 * Why the recorder computes "used": MemTotal - MemFree - Buffers - Cached must come from one
 *           reading
 */
#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

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
	[TOTAL] = {"memory.total", .help = "memory that the operating system can use (MemTotal)",
		   OF_MEMORY},
	[FREE] = {"memory.free", .help = "memory that is not used for anything (MemFree)",
		  OF_MEMORY},
	[BUFFERS] = {"memory.buffers",
		     .help = "memory that caches the blocks of disks themselves (Buffers)",
		     OF_MEMORY},
	[CACHED] = {"memory.cached",
		    .help = "memory that caches the contents of files, tmpfs and shared memory "
			    "included (Cached)",
		    OF_MEMORY},
	[AVAILABLE] = {"memory.available",
		       .help = "memory that programs could get without swapping, an estimate of "
			       "the kernel (MemAvailable)",
		       OF_MEMORY},
	[DIRTY] = {"memory.dirty",
		   .help = "memory with changed file contents that are not yet being written to "
			   "disk (Dirty)",
		   OF_MEMORY},
	[WRITEBACK] = {"memory.writeback",
		       .help = "memory with changed file contents that are being written to disk "
			       "(Writeback)",
		       OF_MEMORY},
	[SHARED] = {"memory.shared",
		    .help = "shared memory of programs, and files in tmpfs (Shmem)", OF_MEMORY},
	[SLAB] = {"memory.slab", .help = "memory in the kernel's own data structures (Slab)",
		  OF_MEMORY},
	[SWAP_TOTAL] = {NULL},
	[SWAP_FREE] = {NULL},
	[USED] = {"memory.used",
		  .help = "memory in use, caches excluded (MemTotal - MemFree - Buffers - Cached)",
		  OF_MEMORY},
	[SWAP_USED] = {"swap.used", "bytes", "swap space in use (SwapTotal - SwapFree)",
		       .limit = LIMIT_VALUE, .limit_value = SWAP_TOTAL},
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

const struct source meminfo_source = {
	.name = "memory",
	.file = "/proc/meminfo",
	SOURCE_METRICS(metrics),
	.max_hz = 100,
	ONE_FILE_SOURCE(meminfo_parse),
};

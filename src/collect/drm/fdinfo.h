/* SPDX-License-Identifier: MIT
 *
 * collect/drm/fdinfo.h - parses /proc/PID/fdinfo/N of an open DRM device
 *
 * Format:   the kernel's Documentation/gpu/drm-usage-stats.rst; docs/design/gpu_counters.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* i915 has 5 engine classes, amdgpu at most 10 rings, and any driver at most 6 kinds of memory. */
enum { MAX_FDINFO_ENGINES = 16, MAX_FDINFO_REGIONS = 12, FDINFO_NAME_BYTES = 32 };

enum fdinfo_engine_value {
	FDINFO_BUSY = 1,         /* busy_ns is valid */
	FDINFO_CYCLES = 2,       /* cycles is valid */
	FDINFO_TOTAL_CYCLES = 4, /* total_cycles is valid */
};

/* An engine type, of which a GPU may have several engines. Counts start when the client was
 * opened. */
struct fdinfo_engine {
	char name[FDINFO_NAME_BYTES];
	uint32_t values;   /* enum fdinfo_engine_value: which values the driver reports */
	uint32_t capacity; /* number of such engines; 1 if not reported */
	uint64_t busy_ns;
	uint64_t cycles;       /* cycles in which the client ran on it */
	uint64_t total_cycles; /* all cycles of the engine in that time */
	uint64_t max_hz;       /* max frequency; 0: not reported */
};

enum fdinfo_memory {
	FDINFO_TOTAL = 0, /* all buffers that the client can access */
	FDINFO_SHARED,    /* buffers that others can access too */
	FDINFO_RESIDENT,  /* buffers in this memory now */
	FDINFO_ACTIVE,    /* resident, and used by pending work */
	FDINFO_PURGEABLE, /* resident, and may be discarded */
	FDINFO_MEMORY_COUNT
};

struct fdinfo_region {
	char name[FDINFO_NAME_BYTES];
	uint32_t values; /* 1 << enum fdinfo_memory */
	uint64_t bytes[FDINFO_MEMORY_COUNT];
};

struct fdinfo {
	char driver[FDINFO_NAME_BYTES];
	char address[FDINFO_NAME_BYTES]; /* PCI address, "0000:03:00.0"; "": not reported */
	bool has_client;
	/* Id of one open() of the device, even if several processes have descriptors of it. */
	uint64_t client;
	size_t engines_count, regions_count;
	struct fdinfo_engine engines[MAX_FDINFO_ENGINES];
	struct fdinfo_region regions[MAX_FDINFO_REGIONS];
};

/* False: the descriptor is not a DRM device's. Malformed lines are skipped, and so are engines and
 * regions beyond the array's end. */
bool fdinfo_parse(const char *text, size_t length, struct fdinfo *ret_fdinfo);

/* SPDX-License-Identifier: MIT
 *
 * collect/drm/fdinfo.h - what /proc/PID/fdinfo/N says of an open DRM device
 *
 * The kernel's Documentation/gpu/drm-usage-stats.rst; docs/design/gpu_counters.md.
 */
#ifndef COLLECT_DRM_FDINFO_H
#define COLLECT_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of i915 there are 5 engine classes, of amdgpu 10 rings at most, of any driver 6 kinds of memory. */
enum { FDINFO_ENGINES_MOST = 16, FDINFO_REGIONS_MOST = 12, FDINFO_NAME_BYTES = 32 };

enum fdinfo_engine_value {
	FDINFO_BUSY = 1,         /* busy_ns */
	FDINFO_CYCLES = 2,       /* cycles */
	FDINFO_TOTAL_CYCLES = 4, /* total_cycles */
};

/* A kind of engine, of which there may be several. What they counted is since the client came. */
struct fdinfo_engine {
	char name[FDINFO_NAME_BYTES];
	uint32_t values;   /* enum fdinfo_engine_value: what the driver says */
	uint32_t capacity; /* how many alike there are; 1 where nothing is said */
	uint64_t busy_ns;
	uint64_t cycles;       /* in which the client was on it … */
	uint64_t total_cycles; /* … of so many that went by */
	uint64_t most_hz;      /* 0: not said */
};

enum fdinfo_memory {
	FDINFO_TOTAL = 0, /* all that the client can reach */
	FDINFO_SHARED,    /* … of it what others can, too */
	FDINFO_RESIDENT,  /* in this memory now */
	FDINFO_ACTIVE,    /* … and in use by work on its way */
	FDINFO_PURGEABLE, /* … and may be thrown away */
	FDINFO_MEMORY_COUNT
};

struct fdinfo_region {
	char name[FDINFO_NAME_BYTES];
	uint32_t values; /* 1 << enum fdinfo_memory */
	uint64_t bytes[FDINFO_MEMORY_COUNT];
};

struct fdinfo {
	char driver[FDINFO_NAME_BYTES];
	char address[FDINFO_NAME_BYTES]; /* PCI, "0000:03:00.0"; "": not said */
	bool has_client;
	uint64_t client; /* one open of the device, whoever has descriptors of it */
	size_t engines_count, regions_count;
	struct fdinfo_engine engines[FDINFO_ENGINES_MOST];
	struct fdinfo_region regions[FDINFO_REGIONS_MOST];
};

/* False where the descriptor is of no DRM device. A line that makes no sense is left out, and so is what is behind
 * the last engine or region there is room for. */
bool fdinfo_parse(const char *text, size_t length, struct fdinfo *ret_fdinfo);

#endif

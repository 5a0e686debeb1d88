/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_gpus.h - lists the GPUs that CUDA shows to the recorder
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/nvidia/cupti.h"

enum { MAX_PM_GPUS = 16, PM_NAME_BYTES = 96 };

struct pm_gpu {
	/* CUDA's ordinal in this process, after CUDA_VISIBLE_DEVICES; other processes number
	 * differently */
	uint32_t index;
	char uuid[48];    /* as NVML writes it: "GPU-…", "MIG-…" */
	bool is_instance; /* MIG; the driver shows at most one to a process */
	char address[32]; /* "0000:1b:00.0"; "": unknown */
	char name[PM_NAME_BYTES];
	uint64_t memory_bytes; /* 0: unknown */
	uint32_t capability;   /* for example 90 for 9.0 */
	uint64_t sm_hz;        /* max clock of its multiprocessors; 0: unknown */
};

/* Lists GPUs up to the room. Returns their number. */
size_t pm_gpus_find(struct cupti *cupti, struct pm_gpu gpus[MAX_PM_GPUS]);

/* The trigger of its samples. */
enum pm_trigger {
	PM_TRIGGER_NONE,  /* no PM sampling: before Turing */
	PM_TRIGGER_CYCLE, /* a number of system clock cycles: Turing and GA100 */
	PM_TRIGGER_TIME
};
enum pm_trigger pm_trigger_of(uint32_t capability);

/* System clock cycles in about 1/hz s, assuming that the clock runs at the multiprocessors' max. */
uint64_t pm_cycles_of(uint64_t sm_hz, uint32_t hz);

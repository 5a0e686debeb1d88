/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_gpus.h - the GPUs that CUDA shows to the recorder
 */
#ifndef COLLECT_NVIDIA_PM_GPUS_H
#define COLLECT_NVIDIA_PM_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/nvidia/cupti.h"

enum { PM_GPUS_MOST = 16, PM_NAME_BYTES = 96 };

struct pm_gpu {
	/* CUDA's ordinal in this process, after CUDA_VISIBLE_DEVICES: of no use to anybody else. */
	uint32_t index;
	char uuid[48];    /* as NVML writes it: "GPU-…", "MIG-…" */
	bool is_instance; /* of MIG: the driver shows no more than one to a process */
	char address[32]; /* "0000:1b:00.0"; "": not known */
	char name[PM_NAME_BYTES];
	uint64_t memory_bytes; /* 0: not known */
	uint32_t capability;   /* 90 of 9.0 */
	uint64_t sm_hz;        /* the highest clock of its multiprocessors; 0: not known */
};

/* Those beyond the room are left out. Returns how many there are. */
size_t pm_gpus_find(struct cupti *cupti, struct pm_gpu gpus[PM_GPUS_MOST]);

/* By what its samples are triggered. */
enum pm_trigger {
	PM_TRIGGER_NONE,  /* it has no PM sampling: before Turing */
	PM_TRIGGER_CYCLE, /* so many cycles of the system clock: Turing and GA100 */
	PM_TRIGGER_TIME
};
enum pm_trigger pm_trigger_of(uint32_t capability);

/* So many cycles of the system clock as are about 1/hz s: it is taken to be as fast as the multiprocessors' may be. */
uint64_t pm_cycles_of(uint64_t sm_hz, uint32_t hz);

#endif

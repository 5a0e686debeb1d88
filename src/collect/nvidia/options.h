/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/options.h - options of the collector nvidia
 */
#pragma once

#include "abi/nvidia_options.h"
#include "collect/collector_options.h"
#include "collect/counter/counter_choice.h"

#define NVIDIA_GUEST "libduet-nvidia.so"

/* Option bits beside enum nvidia_option. */
enum nvidia_word {
	NVIDIA_CUDA = 1,
	NVIDIA_CUDA_ASKED = 2,     /* an option was given that records CUDA */
	NVIDIA_COUNTERS_ASKED = 4, /* an option was given that adds counters to CUDA */
	NVIDIA_PM = 8              /* hardware counters, pm_hz times a second */
};

struct nvidia_options {
	struct collector_choice choice; /* hz: rate of NVML's counters */
	uint32_t pm_hz;
	uint32_t pc_exponent; /* 0: by the size of the GPU */
	struct counter_choice counters;
};

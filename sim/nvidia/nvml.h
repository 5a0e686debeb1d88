/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/nvml.h - shared by the files of the simulated libnvidia-ml
 *
 *	nvml.c           devices, identity, processes
 *	nvml_values.c    values that vary: power, clocks, utilization, samples, fields
 *	nvml_gpm.c       GPM
 *	nvml_load.c      the load, from which all values are computed
 */
#pragma once

#include "sim.h"
#include "nvml_abi.h"

#define X(need, name, parameters) SIM_EXPORT nvmlReturn_t name parameters;
NVML_ALL_FUNCTIONS(X)
#undef X
SIM_EXPORT const char *nvmlErrorString(nvmlReturn_t result);

struct nvmlDevice_st {
	uint32_t index;
	uint32_t instance; /* of MIG, counted from 1; 0: the whole GPU */
};

/* First in each function: the result of fail_FUNCTION, or the error without nvmlInit. */
#define SIM_CHECK_NVML()                                 \
	do {                                             \
		int asked_ = sim_failure(__func__);      \
                                                         \
		if (asked_)                              \
			return (nvmlReturn_t)asked_;     \
		if (!sim_nvml_is_ready())                \
			return NVML_ERROR_UNINITIALIZED; \
	} while (0)

/* The same where a device is needed and a result goes somewhere. */
#define SIM_CHECK_DEVICE(ret)                               \
	do {                                                \
		SIM_CHECK_NVML();                           \
		if (!sim_nvml_is_device(device) || !(ret))  \
			return NVML_ERROR_INVALID_ARGUMENT; \
		if (sim_nvml_is_lost())                     \
			return NVML_ERROR_GPU_IS_LOST;      \
	} while (0)

/* The same for features that a GPU may lack. */
#define SIM_CHECK_LUXURY(ret)                            \
	do {                                             \
		SIM_CHECK_DEVICE(ret);                   \
		if (sim_options()->nvml_unsupported)     \
			return NVML_ERROR_NOT_SUPPORTED; \
	} while (0)

bool sim_nvml_is_ready(void);
bool sim_nvml_is_device(nvmlDevice_t device);
bool sim_nvml_is_lost(void);
/* Share of the time in which a kernel ran, 0 … 1: as scripted, or from the driver; at least a slow
 * wave. */
double sim_nvml_load(nvmlDevice_t device, uint64_t from_ns, uint64_t to_ns);
/* nvmlInit was called. */
void sim_nvml_begin(void);
uint64_t sim_nvml_begin_ns(void);

/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/nvml_abi.h - declarations of NVML that only the simulated library and tests need
 *
 * Continues abi/nvml.h by the same rules.
 */
#pragma once

#include "abi/nvml.h"

typedef uint32_t nvmlPstates_t;

enum {
	NVML_TOTAL_POWER_SAMPLES = 0,
	NVML_PROCESSOR_CLK_SAMPLES = 5,
	NVML_MEMORY_CLK_SAMPLES = 6,
	NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83,
	NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX = 140,
	NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX = 141,
	NVML_FI_DEV_POWER_AVERAGE = 185,
	NVML_GPM_METRIC_PCIE_TX_PER_SEC = 20,
	NVML_GPM_METRIC_PCIE_RX_PER_SEC = 21,
	NVML_GPM_METRIC_NVDEC_0_UTIL = 30,
	NVML_GPM_METRIC_NVJPG_0_UTIL = 40,
	NVML_GPM_METRIC_NVOFA_0_UTIL = 50,
	NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC = 60,
	NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC = 61,
};

/* nvmlDeviceGetComputeRunningProcesses: 16 bytes */
struct nvml_process {
	uint32_t pid;
	unsigned long long used_bytes;
};

/* clang-format off */
/* As NVML_FUNCTIONS: functions that duet does not call. */
#define NVML_MORE_FUNCTIONS(X) \
	X(OPTIONAL, nvmlSystemGetNVMLVersion, (char *ret_text, unsigned bytes)) \
	X(OPTIONAL, nvmlSystemGetCudaDriverVersion_v2, (int *ret_version)) \
	X(OPTIONAL, nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *ret_device)) \
	X(OPTIONAL, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, \
	  nvmlDevice_t *ret_device)) \
	X(OPTIONAL, nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t device, int *ret_major, \
	  int *ret_minor)) \
	X(OPTIONAL, nvmlDeviceGetFanSpeed, (nvmlDevice_t device, unsigned *ret_percent)) \
	X(OPTIONAL, nvmlDeviceGetPerformanceState, (nvmlDevice_t device, \
	  nvmlPstates_t *ret_state)) \
	X(OPTIONAL, nvmlDeviceGetComputeRunningProcesses, (nvmlDevice_t device, unsigned *count, \
	  struct nvml_process *ret_processes))
/* clang-format on */

#define NVML_ALL_FUNCTIONS(X) \
	NVML_FUNCTIONS(X)     \
	NVML_MORE_FUNCTIONS(X)

struct nvml_all_functions {
#define NVML_FUNCTION(need, name, parameters) nvmlReturn_t(*name) parameters;
	NVML_ALL_FUNCTIONS(NVML_FUNCTION)
#undef NVML_FUNCTION
	const char *(*nvmlErrorString)(nvmlReturn_t result);
};

/* SPDX-License-Identifier: MIT
 *
 * abi/nvml.h - the part of NVML's binary interface that duet uses
 *
 * Our own declarations, from the public reference. No machine of the project has nvml.h installed,
 * so no test compares them. In November 2026 every constant, size, offset and function type in this
 * file was compared once with the public nvml.h of NVML 13.3: all are equal except
 * NVML_GPM_METRIC_MAX, which is 98 in NVML 11.8 to 12.8, 210 up to 13.1 and 333 since then. The
 * struct's version stayed 1 and its array is last, so the library can only use metric_count. Our
 * constant is the smallest of the three values. NVML and GPM were read with the library of driver
 * 580.159 on an H200.
 *
 * If a driver lacks a function, try the one listed behind it. The struct of a versioned function
 * differs in size with the version, as noted at each struct.
 *
 * Declarations for the simulated library and tests alone are in sim/nvidia/nvml_abi.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

/* The vendor's enumerations, 32 bits. */
typedef uint32_t nvmlReturn_t;
typedef uint32_t nvmlClockType_t;
typedef uint32_t nvmlTemperatureSensors_t;
typedef uint32_t nvmlPcieUtilCounter_t;
typedef uint32_t nvmlSamplingType_t;
typedef uint32_t nvmlValueType_t;

/* X(name, number, its meaning and a remedy). Not formatted, because clang-format would put
 * several rows into one line. */
/* clang-format off */
#define NVML_RESULTS(X)                                                                            \
	X(NVML_SUCCESS, 0, "it worked")                                                            \
	X(NVML_ERROR_UNINITIALIZED, 1, "NVML was not initialised (a bug in duet)")                 \
	X(NVML_ERROR_INVALID_ARGUMENT, 2,                                                          \
	  "the driver rejected an argument; duet may not support this release of the driver")      \
	X(NVML_ERROR_NOT_SUPPORTED, 3,                                                             \
	  "not supported by this GPU, or by its driver in this mode")                              \
	X(NVML_ERROR_NO_PERMISSION, 4,                                                             \
	  "no permission; record as root, or ask the administrator for access")                    \
	X(NVML_ERROR_ALREADY_INITIALIZED, 5, "NVML is already initialised")                        \
	X(NVML_ERROR_NOT_FOUND, 6, "not found")                                                    \
	X(NVML_ERROR_INSUFFICIENT_SIZE, 7, "the buffer for the result is too small")               \
	X(NVML_ERROR_INSUFFICIENT_POWER, 8,                                                        \
	  "the GPU's power cables are not all plugged in; check them")                             \
	X(NVML_ERROR_DRIVER_NOT_LOADED, 9,                                                         \
	  "NVIDIA's kernel driver is not loaded; run 'modprobe nvidia', or start the "             \
	  "container with the GPUs (--gpus all)")                                                  \
	X(NVML_ERROR_TIMEOUT, 10, "the driver did not answer in time")                             \
	X(NVML_ERROR_IRQ_ISSUE, 11, "the kernel cannot handle the GPU's interrupts; see dmesg")    \
	X(NVML_ERROR_LIBRARY_NOT_FOUND, 12,                                                        \
	  "libnvidia-ml does not find another library of its driver; reinstall the driver")        \
	X(NVML_ERROR_FUNCTION_NOT_FOUND, 13, "not supported by this driver; update it")            \
	X(NVML_ERROR_CORRUPTED_INFOROM, 14, "the GPU's infoROM is corrupted")                      \
	X(NVML_ERROR_GPU_IS_LOST, 15,                                                              \
	  "the GPU no longer answers on its bus; see dmesg for 'Xid', and restart the "            \
	  "machine")                                                                               \
	X(NVML_ERROR_RESET_REQUIRED, 16,                                                           \
	  "the GPU needs a reset; run 'nvidia-smi --gpu-reset' as root")                           \
	X(NVML_ERROR_OPERATING_SYSTEM, 17,                                                         \
	  "the operating system refuses access, often because the control group lacks the "        \
	  "GPU's device files")                                                                    \
	X(NVML_ERROR_LIB_RM_VERSION_MISMATCH, 18,                                                  \
	  "libnvidia-ml and the kernel driver have different versions; after an update, "          \
	  "reload the driver or restart the machine")                                              \
	X(NVML_ERROR_IN_USE, 19, "the GPU is in use")                                              \
	X(NVML_ERROR_MEMORY, 20, "out of memory")                                                  \
	X(NVML_ERROR_NO_DATA, 21, "no value yet")                                                  \
	X(NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, 22, "not available while ECC is enabled")             \
	X(NVML_ERROR_INSUFFICIENT_RESOURCES, 23,                                                   \
	  "the driver ran out of a resource other than memory")                                    \
	X(NVML_ERROR_FREQ_NOT_SUPPORTED, 24, "the GPU does not support this frequency")            \
	X(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, 25,                                                \
	  "the driver and duet use different versions of this call")                               \
	X(NVML_ERROR_DEPRECATED, 26, "the driver no longer supports this call")                    \
	X(NVML_ERROR_NOT_READY, 27, "the driver is not ready yet")                                 \
	X(NVML_ERROR_GPU_NOT_FOUND, 28, "no GPU was found")                                        \
	X(NVML_ERROR_INVALID_STATE, 29, "not possible in the GPU's present state")                 \
	X(NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, 30, "the GPU cannot be reset in this way")          \
	X(NVML_ERROR_UNKNOWN, 999, "unknown error; see dmesg")
/* clang-format on */

enum {
#define NVML_RESULT(name, number, text) name = (number),
	NVML_RESULTS(NVML_RESULT)
#undef NVML_RESULT
};

enum {
	NVML_CLOCK_GRAPHICS = 0,
	NVML_CLOCK_SM = 1,
	NVML_CLOCK_MEM = 2,
	NVML_CLOCK_VIDEO = 3,

	NVML_TEMPERATURE_GPU = 0,

	NVML_PCIE_UTIL_TX_BYTES = 0,
	NVML_PCIE_UTIL_RX_BYTES = 1,

	NVML_GPU_UTILIZATION_SAMPLES = 1,
	NVML_MEMORY_UTILIZATION_SAMPLES = 2,

	NVML_VALUE_TYPE_UNSIGNED_INT = 1,
	NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
	NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
	NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
	NVML_VALUE_TYPE_SIGNED_INT = 5,

	NVML_FI_DEV_MEMORY_TEMP = 82,
	/* KiB; scope_id is the link, or UINT32_MAX for all together */
	NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX = 138,
	NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX = 139,
	NVML_FI_DEV_POWER_INSTANT = 186,
	NVML_FI_DEV_PCIE_COUNT_TX_BYTES = 197,
	NVML_FI_DEV_PCIE_COUNT_RX_BYTES = 198,

	NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE = 32,
	NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE = 16,
	NVML_DEVICE_UUID_V2_BUFFER_SIZE = 96,
	NVML_DEVICE_NAME_V2_BUFFER_SIZE = 96,
	NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE = 80,

	nvmlClocksEventReasonGpuIdle = 0x1,
	nvmlClocksEventReasonApplicationsClocksSetting = 0x2,
	nvmlClocksEventReasonSwPowerCap = 0x4,
	nvmlClocksThrottleReasonHwSlowdown = 0x8,
	nvmlClocksEventReasonSyncBoost = 0x10,
	nvmlClocksEventReasonSwThermalSlowdown = 0x20,
	nvmlClocksThrottleReasonHwThermalSlowdown = 0x40,
	nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80,
	nvmlClocksEventReasonDisplayClockSetting = 0x100,
};

/* GPM, Hopper and later: percent, except PCIe and NVLink, which are MiB/s. */
enum {
	NVML_GPM_METRIC_GRAPHICS_UTIL = 1,
	NVML_GPM_METRIC_SM_UTIL = 2,
	NVML_GPM_METRIC_SM_OCCUPANCY = 3,
	NVML_GPM_METRIC_INTEGER_UTIL = 4,
	NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5,
	NVML_GPM_METRIC_DFMA_TENSOR_UTIL = 6,
	NVML_GPM_METRIC_HMMA_TENSOR_UTIL = 7,
	NVML_GPM_METRIC_DMMA_TENSOR_UTIL = 8,
	NVML_GPM_METRIC_IMMA_TENSOR_UTIL = 9,
	NVML_GPM_METRIC_DRAM_BW_UTIL = 10,
	NVML_GPM_METRIC_FP64_UTIL = 11,
	NVML_GPM_METRIC_FP32_UTIL = 12,
	NVML_GPM_METRIC_FP16_UTIL = 13,

	NVML_GPM_METRICS_GET_VERSION = 1,
	NVML_GPM_SUPPORT_VERSION = 1,
	NVML_GPM_METRIC_MAX = 98,
};

/* Value of used_bytes and pid if unknown: all bits set. */
#define NVML_VALUE_NOT_AVAILABLE (-1)

/* nvmlDeviceGetUtilizationRates: share of the last 1/6 … 1 s in which at least one kernel was
 * running */
struct nvml_utilization {
	uint32_t gpu_percent;
	uint32_t memory_percent;
};

struct nvml_memory {
	unsigned long long total_bytes;
	unsigned long long free_bytes;
	unsigned long long used_bytes;
};

/* nvmlDeviceGetMemoryInfo_v2; version is NVML_MEMORY_V2 */
struct nvml_memory_v2 {
	uint32_t version;
	unsigned long long total_bytes;
	unsigned long long reserved_bytes;
	unsigned long long free_bytes;
	unsigned long long used_bytes;
};

#define NVML_MEMORY_V2 ((uint32_t)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_pci_info {
	char legacy_bus_id[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
	uint32_t domain;
	uint32_t bus;
	uint32_t device;
	uint32_t device_id;
	uint32_t subsystem_id;
	char bus_id[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
};

/* nvmlDeviceGetComputeRunningProcesses_v2 and _v3: 24 bytes */
struct nvml_process_v2 {
	uint32_t pid;
	unsigned long long used_bytes;
	uint32_t gpu_instance_id;
	uint32_t compute_instance_id;
};

struct nvml_process_utilization {
	uint32_t pid;
	unsigned long long timestamp_us;
	uint32_t sm_percent;
	uint32_t memory_percent;
	uint32_t encoder_percent;
	uint32_t decoder_percent;
};

union nvml_value {
	int32_t signed_int;
	uint32_t unsigned_int;
	unsigned long unsigned_long;
	unsigned long long unsigned_long_long;
	long long signed_long_long;
};

struct nvml_sample {
	unsigned long long timestamp_us;
	union nvml_value value;
};

struct nvml_field_value {
	uint32_t field_id;
	uint32_t scope_id;
	long long timestamp_us;
	long long latency_us;
	nvmlValueType_t value_type;
	nvmlReturn_t result;
	union nvml_value value;
};

struct nvml_gpm_metric {
	uint32_t metric_id;
	nvmlReturn_t result;
	double value;
	/* NULL if not defined */
	char *short_name;
	char *long_name;
	char *unit;
};

struct nvml_gpm_metrics_get {
	uint32_t version;
	uint32_t metric_count;
	nvmlGpmSample_t earlier;
	nvmlGpmSample_t later;
	struct nvml_gpm_metric metrics[NVML_GPM_METRIC_MAX];
};

struct nvml_gpm_support {
	uint32_t version;
	uint32_t is_supported;
};

/*
 * Functions: X(need, name, parameters); each returns an nvmlReturn_t. Names are those of the
 * symbols, with the suffixes that nvml.h hides. Not formatted, because clang-format takes each *
 * for a product.
 */
/* clang-format off */
#define NVML_FUNCTIONS(X) \
	X(REQUIRED, nvmlInit_v2, (void)) \
	X(REQUIRED, nvmlShutdown, (void)) \
	X(OPTIONAL, nvmlSystemGetDriverVersion, (char *ret_text, unsigned bytes)) \
	X(REQUIRED, nvmlDeviceGetCount_v2, (unsigned *ret_count)) \
	X(REQUIRED, nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvmlDevice_t *ret_device)) \
	X(REQUIRED, nvmlDeviceGetName, (nvmlDevice_t device, char *ret_text, unsigned bytes)) \
	X(REQUIRED, nvmlDeviceGetUUID, (nvmlDevice_t device, char *ret_text, unsigned bytes)) \
	X(OPTIONAL, nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, \
	  struct nvml_pci_info *ret_info)) \
	X(OPTIONAL, nvmlDeviceGetUtilizationRates, (nvmlDevice_t device, \
	  struct nvml_utilization *ret_utilization)) \
	X(OPTIONAL, nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t device, \
	  struct nvml_memory_v2 *memory)) \
	X(OPTIONAL, nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, \
	  struct nvml_memory *ret_memory)) \
	X(OPTIONAL, nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned *ret_mw)) \
	X(OPTIONAL, nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned *ret_mw)) \
	X(OPTIONAL, nvmlDeviceGetTotalEnergyConsumption, (nvmlDevice_t device, \
	  unsigned long long *ret_mj)) \
	X(OPTIONAL, nvmlDeviceGetClockInfo, (nvmlDevice_t device, nvmlClockType_t type, \
	  unsigned *ret_mhz)) \
	X(OPTIONAL, nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, nvmlClockType_t type, \
	  unsigned *ret_mhz)) \
	X(OPTIONAL, nvmlDeviceGetTemperature, (nvmlDevice_t device, \
	  nvmlTemperatureSensors_t sensor, unsigned *ret_celsius)) \
	X(OPTIONAL, nvmlDeviceGetPcieThroughput, (nvmlDevice_t device, \
	  nvmlPcieUtilCounter_t counter, unsigned *ret_kb_s)) \
	X(OPTIONAL, nvmlDeviceGetEncoderUtilization, (nvmlDevice_t device, unsigned *ret_percent, \
	  unsigned *ret_period_us)) \
	X(OPTIONAL, nvmlDeviceGetDecoderUtilization, (nvmlDevice_t device, unsigned *ret_percent, \
	  unsigned *ret_period_us)) \
	X(OPTIONAL, nvmlDeviceGetCurrentClocksEventReasons, (nvmlDevice_t device, \
	  unsigned long long *ret_reasons)) \
	X(OPTIONAL, nvmlDeviceGetCurrentClocksThrottleReasons, (nvmlDevice_t device, \
	  unsigned long long *ret_reasons)) \
	X(OPTIONAL, nvmlDeviceGetSupportedClocksEventReasons, (nvmlDevice_t device, \
	  unsigned long long *ret_reasons)) \
	X(OPTIONAL, nvmlDeviceGetSupportedClocksThrottleReasons, (nvmlDevice_t device, \
	  unsigned long long *ret_reasons)) \
	X(OPTIONAL, nvmlDeviceGetComputeRunningProcesses_v3, (nvmlDevice_t device, \
	  unsigned *count, struct nvml_process_v2 *ret_processes)) \
	X(OPTIONAL, nvmlDeviceGetComputeRunningProcesses_v2, (nvmlDevice_t device, \
	  unsigned *count, struct nvml_process_v2 *ret_processes)) \
	X(OPTIONAL, nvmlDeviceGetGraphicsRunningProcesses_v3, (nvmlDevice_t device, \
	  unsigned *count, struct nvml_process_v2 *ret_processes)) \
	X(OPTIONAL, nvmlDeviceGetProcessUtilization, (nvmlDevice_t device, \
	  struct nvml_process_utilization *ret_samples, unsigned *count, \
	  unsigned long long after_us)) \
	X(OPTIONAL, nvmlDeviceGetSamples, (nvmlDevice_t device, nvmlSamplingType_t type, \
	  unsigned long long after_us, nvmlValueType_t *ret_value_type, unsigned *count, \
	  struct nvml_sample *ret_samples)) \
	X(OPTIONAL, nvmlDeviceGetMigMode, (nvmlDevice_t device, unsigned *ret_current, \
	  unsigned *ret_pending)) \
	X(OPTIONAL, nvmlDeviceGetMaxMigDeviceCount, (nvmlDevice_t device, unsigned *ret_count)) \
	X(OPTIONAL, nvmlDeviceGetMigDeviceHandleByIndex, (nvmlDevice_t device, unsigned index, \
	  nvmlDevice_t *ret_instance)) \
	X(OPTIONAL, nvmlDeviceGetGpuInstanceId, (nvmlDevice_t device, unsigned *ret_id)) \
	X(OPTIONAL, nvmlDeviceGetFieldValues, (nvmlDevice_t device, int count, \
	  struct nvml_field_value *values)) \
	X(OPTIONAL, nvmlGpmQueryDeviceSupport, (nvmlDevice_t device, \
	  struct nvml_gpm_support *support)) \
	X(OPTIONAL, nvmlGpmSampleAlloc, (nvmlGpmSample_t *ret_sample)) \
	X(OPTIONAL, nvmlGpmSampleFree, (nvmlGpmSample_t sample)) \
	X(OPTIONAL, nvmlGpmSampleGet, (nvmlDevice_t device, nvmlGpmSample_t sample)) \
	X(OPTIONAL, nvmlGpmMigSampleGet, (nvmlDevice_t device, unsigned gpu_instance_id, \
	  nvmlGpmSample_t sample)) \
	X(OPTIONAL, nvmlGpmQueryIfStreamingEnabled, (nvmlDevice_t device, \
	  unsigned *ret_is_enabled)) \
	X(OPTIONAL, nvmlGpmMetricsGet, (struct nvml_gpm_metrics_get *metrics))
/* clang-format on */

struct nvml_functions {
#define NVML_FUNCTION(need, name, parameters) nvmlReturn_t(*name) parameters;
	NVML_FUNCTIONS(NVML_FUNCTION)
#undef NVML_FUNCTION
};

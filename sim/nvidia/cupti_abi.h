/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/cupti_abi.h - declarations of CUPTI that only the simulated library and tests need
 *
 * Continues abi/cupti.h by the same rules. The tables of calls and of record sizes are here because
 * duet asks the library for both.
 */
#pragma once

#include "abi/cupti.h"

#ifndef CUPTI_ABI_TABLES_ONLY

typedef uint32_t cupti_attribute;
typedef uint32_t cupti_external_kind;

enum {
	CUPTI_ERROR_INVALID_DEVICE = 2,
	CUPTI_ERROR_INVALID_CONTEXT = 3,
	CUPTI_ERROR_INVALID_OPERATION = 7,
	CUPTI_ERROR_HARDWARE = 9,
	CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
	CUPTI_ERROR_NOT_READY = 13,
	CUPTI_ERROR_NOT_COMPATIBLE = 14,
	CUPTI_ERROR_NOT_INITIALIZED = 15,
	CUPTI_ERROR_INVALID_METRIC_NAME = 17,
	CUPTI_ERROR_QUEUE_EMPTY = 18,
	CUPTI_ERROR_INVALID_HANDLE = 19,
	CUPTI_ERROR_INVALID_STREAM = 20,
	CUPTI_ERROR_INVALID_KIND = 21,
	CUPTI_ERROR_DISABLED = 23,
	CUPTI_ERROR_INVALID_MODULE = 24,
	CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED = 38,
	CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
	CUPTI_ERROR_INVALID_CHIP_NAME = 46,
	CUPTI_ERROR_UNKNOWN = 999,
};

enum {
	CUPTI_API_EXIT = 1,

	CUPTI_CB_DOMAIN_RUNTIME_API = 2,
	CUPTI_CB_DOMAIN_SYNCHRONIZE = 4,
	CUPTI_CB_DOMAIN_NVTX = 5,
	CUPTI_CB_DOMAIN_STATE = 6,

	CUPTI_CBID_RESOURCE_CU_INIT_FINISHED = 5,
	CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING = 7,
	CUPTI_CBID_RESOURCE_GRAPH_CREATED = 9,
	CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING = 10,
	CUPTI_CBID_RESOURCE_GRAPH_CLONED = 11,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING = 12,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING = 17,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED = 18,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING = 19,
	CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED = 21,

	CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED = 1,
	CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED = 2,

	CUPTI_CBID_STATE_WARNING = 3,
};

enum {
	CUPTI_ACTIVITY_KIND_DRIVER = 4,
	CUPTI_ACTIVITY_KIND_RUNTIME = 5,
	CUPTI_ACTIVITY_KIND_DEVICE = 8,
	CUPTI_ACTIVITY_KIND_CONTEXT = 9,
	CUPTI_ACTIVITY_KIND_NAME = 11,
	CUPTI_ACTIVITY_KIND_MARKER = 12,
	CUPTI_ACTIVITY_KIND_MARKER_DATA = 13,
	CUPTI_ACTIVITY_KIND_CDP_KERNEL = 18,
	CUPTI_ACTIVITY_KIND_ENVIRONMENT = 20,
	CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER = 25,
	CUPTI_ACTIVITY_KIND_FUNCTION = 26,
	CUPTI_ACTIVITY_KIND_MODULE = 27,
	CUPTI_ACTIVITY_KIND_PC_SAMPLING = 30,
	CUPTI_ACTIVITY_KIND_CUDA_EVENT = 36,
	CUPTI_ACTIVITY_KIND_STREAM = 37,
	CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39,
	CUPTI_ACTIVITY_KIND_NVLINK = 40,
	CUPTI_ACTIVITY_KIND_MEMORY = 45,
	CUPTI_ACTIVITY_KIND_PCIE = 46,
	CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API = 48,
	CUPTI_ACTIVITY_KIND_MEMORY_POOL = 50,
	CUPTI_ACTIVITY_KIND_JIT = 52,
	CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE = 53,
	CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS = 54,
	CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION = 55,
};

enum {

	CUPTI_ACTIVITY_COMPUTE_API_CUDA = 1,

	CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS = 1 << 0,
	CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC = 1 << 0,
	CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC = 1 << 0,

	CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8,
	CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9,
	CUPTI_ACTIVITY_MEMCPY_KIND_PTOP = 10,

	CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR = 0,

	CUPTI_CHANNEL_TYPE_COMPUTE = 1,
	CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY = 2,

	CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT = 1,
	CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING = 2,
	CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL = 3,

	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE = 0,
	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
	CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,
	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6,
	CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED = 8,
	CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER = 9,

	CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT = 0,

	CUPTI_SUBSCRIBER_NAME_MAX_LEN = 53,
	CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN = 64,
};

enum {
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE = 3,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL = 6,

	CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER = 0,

	CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST = 1,

	CUPTI_METRIC_TYPE_COUNTER = 0,
	CUPTI_METRIC_TYPE_THROUGHPUT = 2,
};

/* Value of struct_bytes in a parameter struct, where abi/cupti.h has none. */
enum {
	CUpti_SubscriberParams_STRUCT_SIZE = 32,
	CUpti_PCSamplingConfigurationInfoParamsSize = 40,
	CUpti_PCSamplingGetDataParamsSize = 32,
	CUpti_PCSamplingEnableParamsSize = 24,
	CUpti_PCSamplingDisableParamsSize = 24,
	CUpti_PCSamplingStartParamsSize = 24,
	CUpti_PCSamplingStopParamsSize = 24,
	CUpti_PCSamplingGetNumStallReasonsParamsSize = 32,
	CUpti_PCSamplingGetStallReasonsParamsSize = 48,
	CUpti_GetCubinCrcParamsSize = 32,
	CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE = 64,
	CUpti_PmSampling_Enable_Params_STRUCT_SIZE = 32,
	CUpti_PmSampling_Disable_Params_STRUCT_SIZE = 24,
	CUpti_PmSampling_Start_Params_STRUCT_SIZE = 24,
	CUpti_PmSampling_Stop_Params_STRUCT_SIZE = 24,
	CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE = 40,
	CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE = 56,
	CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE = 40,
	CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE = 56,
	CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE = 64,
	CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE = 48,
	CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE = 24,
	CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE = 72,
	CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE = 40,
	CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE = 32,
	CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE = 40,
	CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE = 40,
	CUpti_Profiler_Initialize_Params_STRUCT_SIZE = 16,
	CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE = 16,
	CUpti_Device_GetChipName_Params_STRUCT_SIZE = 32,
	CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE = 48,
};

#define CUPTI_INVALID_CONTEXT_ID            0xFFFFFFFFu
#define CUPTI_SYNCHRONIZATION_INVALID_VALUE 0xFFFFFFFFu

/* DRIVER, RUNTIME and INTERNAL_LAUNCH_API */
struct cupti_activity_api {
	uint32_t kind;
	uint32_t cbid;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t process_id;
	uint32_t thread_id;
	uint32_t correlation_id;
	uint32_t return_value;
};

struct cupti_activity_device {
	uint32_t kind;
	uint32_t flags;
	uint64_t memory_bandwidth_kb_s;
	uint64_t memory_bytes;
	uint32_t constant_memory_bytes;
	uint32_t l2_cache_bytes;
	uint32_t threads_per_warp;
	uint32_t core_clock_khz;
	uint32_t memcpy_engine_count;
	uint32_t multiprocessor_count;
	uint32_t max_ipc;
	uint32_t max_warps_per_multiprocessor;
	uint32_t max_blocks_per_multiprocessor;
	uint32_t max_shared_per_multiprocessor_bytes;
	uint32_t max_registers_per_multiprocessor;
	uint32_t max_registers_per_block;
	uint32_t max_shared_per_block_bytes;
	uint32_t max_threads_per_block;
	uint32_t max_block_x;
	uint32_t max_block_y;
	uint32_t max_block_z;
	uint32_t max_grid_x;
	uint32_t max_grid_y;
	uint32_t max_grid_z;
	uint32_t capability_major;
	uint32_t capability_minor;
	uint32_t device_id;
	uint32_t is_ecc_enabled;
	uint8_t uuid[16];
	const char *name;
	/* 11.5 (16) */
	uint8_t is_cuda_visible;
	/* 11.6 (17) */
	uint8_t is_mig_enabled;
	uint8_t reserved0[6];
	uint32_t gpu_instance_id;
	uint32_t compute_instance_id;
	uint8_t mig_uuid[16];
	/* 12.9 (27) at the latest */
	uint32_t is_numa_node;
	uint32_t numa_id;
};

struct cupti_activity_context {
	uint32_t kind;
	uint32_t context_id;
	uint32_t device_id;
	uint16_t compute_api;
	uint16_t null_stream_id;
	/* 12.4 (22) */
	uint32_t parent_context_id;
	uint8_t is_green_context;
	uint8_t pad0;
	/* 12.5 (23); of a green context alone */
	uint16_t multiprocessor_count;
	uint32_t cig_mode;
	uint32_t pad1;
};

struct cupti_activity_stream {
	uint32_t kind;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t priority;
	uint32_t flag;
	uint32_t correlation_id;
};

struct cupti_activity_cuda_event {
	uint32_t kind;
	uint32_t correlation_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t event_id;
	uint32_t pad0;
	/* 12.8 (26) */
	uint32_t device_id;
	uint32_t pad1;
	void *reserved0;
	uint64_t device_timestamp_ns;
	uint64_t event_sync_id;
};

/* 11.8 (18) */
struct cupti_activity_jit {
	uint32_t kind;
	uint32_t entry_type;
	uint32_t operation_type;
	uint32_t device_id;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation_id;
	uint32_t pad0;
	uint64_t operation_correlation_id;
	uint64_t cache_bytes;
	const char *cache_path;
	/* 12.4 (22) */
	uint32_t process_id;
	uint32_t thread_id;
};

/* cuptiActivityPushExternalCorrelationId's number beside the call's; only with DRIVER or RUNTIME
 * on. */
struct cupti_activity_external_correlation {
	uint32_t kind;
	uint32_t external_kind;
	uint64_t external_id;
	uint32_t correlation_id;
	uint32_t reserved0;
};

/* MARKER: NVTX, one record per end of a range. */
struct cupti_activity_marker {
	uint32_t kind;
	uint32_t flags;
	uint64_t timestamp_ns;
	uint32_t marker_id;
	uint32_t object_kind;
	union cupti_object_id object;
	uint32_t pad0;
	const char *name;
	const char *domain;
};

struct cupti_activity_marker_data {
	uint32_t kind;
	uint32_t flags;
	uint32_t marker_id;
	uint32_t payload_kind;
	uint64_t payload;
	uint32_t color;
	uint32_t category;
	/* 13.0 Update 1 (130001) at the latest */
	uint32_t domain_id;
	uint32_t pad0;
};

/* NAME: what NVTX or the program called a thread, a device, a context or a stream. */
struct cupti_activity_name {
	uint32_t kind;
	uint32_t object_kind;
	union cupti_object_id object;
	uint32_t pad0;
	const char *name;
};

struct cupti_activity_module {
	uint32_t kind;
	uint32_t context_id;
	uint32_t module_id;
	uint32_t cubin_bytes;
	const void *cubin;
};

struct cupti_activity_function {
	uint32_t kind;
	uint32_t function_id;
	uint32_t context_id;
	uint32_t module_id;
	uint32_t function_index;
	uint32_t pad0;
	const char *name;
};

struct cupti_activity_environment {
	uint32_t kind;
	uint32_t device_id;
	uint64_t timestamp_ns;
	uint32_t environment_kind;
	union {
		struct {
			uint32_t sm_clock_mhz;
			uint32_t memory_clock_mhz;
			uint32_t pcie_generation;
			uint32_t pcie_width;
			uint32_t throttle_reasons;
		} speed;
		struct {
			uint32_t celsius;
		} temperature;
		struct {
			uint32_t power_mw;
			uint32_t limit_mw;
		} power;
		struct {
			uint32_t fan_percent;
		} cooling;
	} data;
};

struct cupti_activity_unified_memory {
	uint32_t kind;
	uint32_t counter_kind;
	uint64_t value;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t address;
	uint32_t source_id;
	uint32_t destination_id;
	uint32_t stream_id;
	uint32_t process_id;
	uint32_t flags;
	uint32_t pad0;
	/* 12.8 (26): a bit per device that took part */
	uint64_t processors[5];
};

struct cupti_synchronize_data {
	CUcontext context;
	CUstream stream;
};

struct cupti_state_data {
	cupti_result result;
	const char *message;
};

struct cupti_graph_launch_parameters {
	CUgraphExec graph_exec;
	CUstream stream;
};

/* The two strings are malloc'd by CUPTI, ours to free. */
struct cupti_sass_to_source_params {
	size_t struct_bytes;
	const void *cubin;
	const char *function_name;
	size_t cubin_bytes;
	uint32_t ret_line;
	uint64_t pc_offset_bytes;
	char *ret_file_name;
	char *ret_directory;
};

struct cupti_host_supported_chips_params {
	size_t struct_bytes;
	void *reserved0;
	size_t ret_count;
	const char *const *ret_names;
};

struct cupti_host_base_metrics_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
	uint32_t metric_type;
	const char **ret_names;
	size_t ret_count;
};

struct cupti_host_sub_metrics_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
	uint32_t metric_type;
	const char *metric_name;
	size_t ret_count;
	const char **ret_names;
};

struct cupti_host_metric_properties_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
	const char *metric_name;
	const char *ret_description;
	const char *ret_hardware_unit;
	const char *ret_dimension;
	uint32_t ret_metric_type;
};

struct cupti_host_max_metrics_per_pass_params {
	size_t struct_bytes;
	void *reserved0;
	uint32_t profiler_type;
	const char *chip_name;
	uint8_t *counter_availability;
	size_t ret_count;
};

struct cupti_pc_sampling_start_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
};

struct cupti_pc_sampling_stop_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
};

#endif

/* clang-format off */
/* As CUPTI_FUNCTIONS: functions that duet does not call. */
#define CUPTI_MORE_FUNCTIONS(X) \
	X(REQUIRED, cuptiGetResultString, (cupti_result result, const char **ret_text)) \
	X(OPTIONAL, cuptiGetErrorMessage, (cupti_result result, const char **ret_text)) \
	X(REQUIRED, cuptiEnableDomain, (uint32_t enable, cupti_subscriber subscriber, \
	  cupti_domain domain)) \
	X(OPTIONAL, cuptiEnableAllDomains, (uint32_t enable, cupti_subscriber subscriber)) \
	X(OPTIONAL, cuptiGetCallbackState, (uint32_t *ret_enable, cupti_subscriber subscriber, \
	  cupti_domain domain, uint32_t cbid)) \
	X(OPTIONAL, cuptiActivityEnableAndDump, (cupti_kind kind)) \
	X(OPTIONAL, cuptiActivityEnableContext, (CUcontext context, cupti_kind kind)) \
	X(OPTIONAL, cuptiActivityDisableContext, (CUcontext context, cupti_kind kind)) \
	X(OPTIONAL, cuptiActivityFlushPeriod, (uint32_t period_ms)) \
	X(REQUIRED, cuptiActivityGetAttribute, (cupti_attribute attribute, size_t *size, \
	  void *ret_value)) \
	X(REQUIRED, cuptiActivitySetAttribute, (cupti_attribute attribute, size_t *size, \
	  void *value)) \
	X(OPTIONAL, cuptiActivityEnableLaunchAttributes, (uint8_t enable)) \
	X(OPTIONAL, cuptiActivityEnableDeviceGraph, (uint8_t enable)) \
	X(OPTIONAL, cuptiActivityEnableDriverApi, (uint32_t cbid, uint8_t enable)) \
	X(OPTIONAL, cuptiActivityEnableRuntimeApi, (uint32_t cbid, uint8_t enable)) \
	X(OPTIONAL, cuptiActivityEnableHWTrace, (uint8_t enable)) \
	X(OPTIONAL, cuptiActivityEnableAllocationSource, (uint8_t enable)) \
	X(OPTIONAL, cuptiActivityEnableAllSyncRecords, (uint8_t enable)) \
	X(OPTIONAL, cuptiActivityEnableCudaEventDeviceTimestamps, (uint8_t enable)) \
	X(OPTIONAL, cuptiActivityPushExternalCorrelationId, (cupti_external_kind kind, \
	  uint64_t id)) \
	X(OPTIONAL, cuptiActivityPopExternalCorrelationId, (cupti_external_kind kind, \
	  uint64_t *ret_id)) \
	X(OPTIONAL, cuptiGetStreamId, (CUcontext context, CUstream stream, uint32_t *ret_id)) \
	X(OPTIONAL, cuptiGetGraphId, (CUgraph graph, uint32_t *ret_id)) \
	X(OPTIONAL, cuptiGetGraphExecId, (CUgraphExec graph_exec, uint32_t *ret_id)) \
	X(OPTIONAL, cuptiGetLastError, (void)) \
	X(OPTIONAL, cuptiGetThreadIdType, (cupti_thread_id_type *ret_type)) \
	X(OPTIONAL, cuptiComputeCapabilitySupported, (int major, int minor, int *ret_support)) \
	X(OPTIONAL, cuptiDeviceSupported, (CUdevice device, int *ret_support)) \
	X(OPTIONAL, cuptiGetSassToSourceCorrelation, (struct cupti_sass_to_source_params *params)) \
	X(OPTIONAL, cuptiRegisterComputeCrcCallback, (cupti_crc_function function)) \
	X(OPTIONAL, cuptiPCSamplingStart, (struct cupti_pc_sampling_start_params *params)) \
	X(OPTIONAL, cuptiPCSamplingStop, (struct cupti_pc_sampling_stop_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetSupportedChips, \
	  (struct cupti_host_supported_chips_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetBaseMetrics, \
	  (struct cupti_host_base_metrics_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetSubMetrics, \
	  (struct cupti_host_sub_metrics_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetMetricProperties, \
	  (struct cupti_host_metric_properties_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetMaxNumHardwareMetricsPerPass, \
	  (struct cupti_host_max_metrics_per_pass_params *params))
/* clang-format on */

#define CUPTI_ALL_FUNCTIONS(X) \
	CUPTI_FUNCTIONS(X)     \
	CUPTI_MORE_FUNCTIONS(X)

/*
 * How long one record of a kind is, per generation: X(kind, first API version, bytes), rising. For
 * those who make records; who reads them asks cuptiActivityGetNextRecord. Source: the vendor's
 * release notes. DEVICE (from 16: 152, 17: 176) is not here, for nobody says in which version its
 * last step to 184 was.
 */
#define CUPTI_RECORD_SIZES(X)              \
	X(CONCURRENT_KERNEL, 13, 160)      \
	X(CONCURRENT_KERNEL, 15, 168)      \
	X(CONCURRENT_KERNEL, 17, 176)      \
	X(CONCURRENT_KERNEL, 18, 200)      \
	X(CONCURRENT_KERNEL, 19, 208)      \
	X(CONCURRENT_KERNEL, 130000, 216)  \
	X(MEMCPY, 13, 72)                  \
	X(MEMCPY, 14, 80)                  \
	X(MEMCPY, 17, 88)                  \
	X(MEMCPY, 26, 96)                  \
	X(MEMCPY2, 13, 80)                 \
	X(MEMCPY2, 14, 88)                 \
	X(MEMCPY2, 17, 96)                 \
	X(MEMSET, 13, 72)                  \
	X(MEMSET, 14, 80)                  \
	X(MEMSET, 17, 88)                  \
	X(DRIVER, 13, 40)                  \
	X(RUNTIME, 13, 40)                 \
	X(SYNCHRONIZATION, 13, 40)         \
	X(SYNCHRONIZATION, 26, 56)         \
	X(CUDA_EVENT, 13, 24)              \
	X(CUDA_EVENT, 26, 56)              \
	X(OVERHEAD, 13, 40)                \
	X(OVERHEAD, 20, 48)                \
	X(OVERHEAD, 22, 56)                \
	X(CONTEXT, 13, 16)                 \
	X(CONTEXT, 22, 24)                 \
	X(CONTEXT, 23, 32)                 \
	X(STREAM, 13, 24)                  \
	X(NAME, 13, 32)                    \
	X(MARKER, 13, 56)                  \
	X(EXTERNAL_CORRELATION, 13, 24)    \
	X(GRAPH_TRACE, 17, 48)             \
	X(GRAPH_TRACE, 21, 56)             \
	X(JIT, 18, 64)                     \
	X(JIT, 22, 72)                     \
	X(MEMORY, 13, 80)                  \
	X(MEMORY2, 15, 112)                \
	X(MEMORY2, 17, 120)                \
	X(MEMORY2, 24, 128)                \
	X(UNIFIED_MEMORY_COUNTER, 13, 64)  \
	X(UNIFIED_MEMORY_COUNTER, 26, 104) \
	X(DEVICE_GRAPH_TRACE, 26, 56)

/*
 * Calls whose callbacks are subscribed to: X(name, callback id, class), as 13.0 numbers them; an
 * older library has the front part. _ptsz and _ptds are the same calls from programs built with
 * --default-stream per-thread. OTHER makes or frees what the rest works on.
 */
#define CUPTI_DRIVER_CALLBACKS(X)                            \
	X(cuCtxSynchronize, 17, WAIT)                        \
	X(cuModuleLoad, 18, MODULE)                          \
	X(cuModuleLoadData, 19, MODULE)                      \
	X(cuModuleLoadDataEx, 20, MODULE)                    \
	X(cuModuleLoadFatBinary, 21, MODULE)                 \
	X(cuModuleUnload, 22, MODULE)                        \
	X(cuMemAlloc, 29, OTHER)                             \
	X(cuMemFree, 33, OTHER)                              \
	X(cuMemcpyHtoD, 43, COPY)                            \
	X(cuMemcpyDtoH, 45, COPY)                            \
	X(cuMemcpyDtoD, 47, COPY)                            \
	X(cuMemcpyDtoA, 49, COPY)                            \
	X(cuMemcpyAtoD, 51, COPY)                            \
	X(cuMemcpyHtoA, 53, COPY)                            \
	X(cuMemcpyAtoH, 54, COPY)                            \
	X(cuMemcpyAtoA, 55, COPY)                            \
	X(cuMemcpy2D, 56, COPY)                              \
	X(cuMemcpy2DUnaligned, 57, COPY)                     \
	X(cuMemcpy3D, 58, COPY)                              \
	X(cuMemcpyHtoDAsync, 60, COPY)                       \
	X(cuMemcpyDtoHAsync, 62, COPY)                       \
	X(cuMemcpyDtoDAsync, 64, COPY)                       \
	X(cuMemcpyHtoAAsync, 66, COPY)                       \
	X(cuMemcpyAtoHAsync, 67, COPY)                       \
	X(cuMemcpy2DAsync, 68, COPY)                         \
	X(cuMemcpy3DAsync, 69, COPY)                         \
	X(cuMemsetD8, 71, SET)                               \
	X(cuMemsetD16, 73, SET)                              \
	X(cuMemsetD32, 75, SET)                              \
	X(cuMemsetD2D8, 77, SET)                             \
	X(cuMemsetD2D16, 79, SET)                            \
	X(cuMemsetD2D32, 81, SET)                            \
	X(cuLaunch, 115, LAUNCH)                             \
	X(cuLaunchGrid, 116, LAUNCH)                         \
	X(cuLaunchGridAsync, 117, LAUNCH)                    \
	X(cuEventSynchronize, 121, WAIT)                     \
	X(cuStreamSynchronize, 126, WAIT)                    \
	X(cuMemsetD8Async, 216, SET)                         \
	X(cuMemsetD16Async, 218, SET)                        \
	X(cuMemsetD32Async, 220, SET)                        \
	X(cuMemsetD2D8Async, 222, SET)                       \
	X(cuMemsetD2D16Async, 224, SET)                      \
	X(cuMemsetD2D32Async, 226, SET)                      \
	X(cuMemAlloc_v2, 243, OTHER)                         \
	X(cuMemFree_v2, 245, OTHER)                          \
	X(cuMemcpy_v2, 248, COPY)                            \
	X(cuMemsetD8_v2, 249, SET)                           \
	X(cuMemsetD16_v2, 250, SET)                          \
	X(cuMemsetD32_v2, 251, SET)                          \
	X(cuMemsetD2D8_v2, 252, SET)                         \
	X(cuMemsetD2D16_v2, 253, SET)                        \
	X(cuMemsetD2D32_v2, 254, SET)                        \
	X(cuMemcpyHtoD_v2, 276, COPY)                        \
	X(cuMemcpyHtoDAsync_v2, 277, COPY)                   \
	X(cuMemcpyDtoH_v2, 278, COPY)                        \
	X(cuMemcpyDtoHAsync_v2, 279, COPY)                   \
	X(cuMemcpyDtoD_v2, 280, COPY)                        \
	X(cuMemcpyDtoDAsync_v2, 281, COPY)                   \
	X(cuMemcpyAtoH_v2, 282, COPY)                        \
	X(cuMemcpyAtoHAsync_v2, 283, COPY)                   \
	X(cuMemcpyAtoD_v2, 284, COPY)                        \
	X(cuMemcpyDtoA_v2, 285, COPY)                        \
	X(cuMemcpyAtoA_v2, 286, COPY)                        \
	X(cuMemcpy2D_v2, 287, COPY)                          \
	X(cuMemcpy2DUnaligned_v2, 288, COPY)                 \
	X(cuMemcpy2DAsync_v2, 289, COPY)                     \
	X(cuMemcpy3D_v2, 290, COPY)                          \
	X(cuMemcpy3DAsync_v2, 291, COPY)                     \
	X(cuMemcpyHtoA_v2, 292, COPY)                        \
	X(cuMemcpyHtoAAsync_v2, 293, COPY)                   \
	X(cuMemcpy, 305, COPY)                               \
	X(cuMemcpyAsync, 306, COPY)                          \
	X(cuLaunchKernel, 307, LAUNCH)                       \
	X(cuMemcpyPeer, 318, COPY)                           \
	X(cuMemcpyPeerAsync, 319, COPY)                      \
	X(cuMemcpy3DPeer, 320, COPY)                         \
	X(cuMemcpy3DPeerAsync, 321, COPY)                    \
	X(cuLinkComplete, 365, MODULE)                       \
	X(cuMemcpyHtoD_v2_ptds, 397, COPY)                   \
	X(cuMemcpyDtoH_v2_ptds, 398, COPY)                   \
	X(cuMemcpyDtoD_v2_ptds, 399, COPY)                   \
	X(cuMemcpyDtoA_v2_ptds, 400, COPY)                   \
	X(cuMemcpyAtoD_v2_ptds, 401, COPY)                   \
	X(cuMemcpyHtoA_v2_ptds, 402, COPY)                   \
	X(cuMemcpyAtoH_v2_ptds, 403, COPY)                   \
	X(cuMemcpyAtoA_v2_ptds, 404, COPY)                   \
	X(cuMemcpy2D_v2_ptds, 405, COPY)                     \
	X(cuMemcpy2DUnaligned_v2_ptds, 406, COPY)            \
	X(cuMemcpy3D_v2_ptds, 407, COPY)                     \
	X(cuMemcpy_ptds, 408, COPY)                          \
	X(cuMemcpyPeer_ptds, 409, COPY)                      \
	X(cuMemcpy3DPeer_ptds, 410, COPY)                    \
	X(cuMemsetD8_v2_ptds, 411, SET)                      \
	X(cuMemsetD16_v2_ptds, 412, SET)                     \
	X(cuMemsetD32_v2_ptds, 413, SET)                     \
	X(cuMemsetD2D8_v2_ptds, 414, SET)                    \
	X(cuMemsetD2D16_v2_ptds, 415, SET)                   \
	X(cuMemsetD2D32_v2_ptds, 416, SET)                   \
	X(cuMemcpyAsync_ptsz, 418, COPY)                     \
	X(cuMemcpyHtoAAsync_v2_ptsz, 419, COPY)              \
	X(cuMemcpyAtoHAsync_v2_ptsz, 420, COPY)              \
	X(cuMemcpyHtoDAsync_v2_ptsz, 421, COPY)              \
	X(cuMemcpyDtoHAsync_v2_ptsz, 422, COPY)              \
	X(cuMemcpyDtoDAsync_v2_ptsz, 423, COPY)              \
	X(cuMemcpy2DAsync_v2_ptsz, 424, COPY)                \
	X(cuMemcpy3DAsync_v2_ptsz, 425, COPY)                \
	X(cuMemcpyPeerAsync_ptsz, 426, COPY)                 \
	X(cuMemcpy3DPeerAsync_ptsz, 427, COPY)               \
	X(cuMemsetD8Async_ptsz, 428, SET)                    \
	X(cuMemsetD16Async_ptsz, 429, SET)                   \
	X(cuMemsetD32Async_ptsz, 430, SET)                   \
	X(cuMemsetD2D8Async_ptsz, 431, SET)                  \
	X(cuMemsetD2D16Async_ptsz, 432, SET)                 \
	X(cuMemsetD2D32Async_ptsz, 433, SET)                 \
	X(cuStreamSynchronize_ptsz, 440, WAIT)               \
	X(cuLaunchKernel_ptsz, 442, LAUNCH)                  \
	X(cuMemPrefetchAsync, 467, COPY)                     \
	X(cuMemPrefetchAsync_ptsz, 468, COPY)                \
	X(cuLaunchCooperativeKernel, 477, LAUNCH)            \
	X(cuLaunchCooperativeKernel_ptsz, 478, LAUNCH)       \
	X(cuLaunchCooperativeKernelMultiDevice, 480, LAUNCH) \
	X(cuStreamBeginCapture, 495, OTHER)                  \
	X(cuStreamBeginCapture_ptsz, 496, OTHER)             \
	X(cuStreamEndCapture, 497, OTHER)                    \
	X(cuStreamEndCapture_ptsz, 498, OTHER)               \
	X(cuGraphInstantiate, 513, OTHER)                    \
	X(cuGraphLaunch, 514, GRAPH_LAUNCH)                  \
	X(cuGraphLaunch_ptsz, 515, GRAPH_LAUNCH)             \
	X(cuGraphExecDestroy, 516, OTHER)                    \
	X(cuLaunchHostFunc, 527, OTHER)                      \
	X(cuLaunchHostFunc_ptsz, 528, OTHER)                 \
	X(cuStreamBeginCapture_v2, 539, OTHER)               \
	X(cuStreamBeginCapture_v2_ptsz, 540, OTHER)          \
	X(cuGraphExecUpdate, 561, OTHER)                     \
	X(cuGraphInstantiate_v2, 578, OTHER)                 \
	X(cuGraphUpload, 580, OTHER)                         \
	X(cuGraphUpload_ptsz, 581, OTHER)                    \
	X(cuMemAllocAsync, 598, OTHER)                       \
	X(cuMemAllocAsync_ptsz, 599, OTHER)                  \
	X(cuMemFreeAsync, 600, OTHER)                        \
	X(cuMemFreeAsync_ptsz, 601, OTHER)                   \
	X(cuMemAllocFromPoolAsync, 611, OTHER)               \
	X(cuMemAllocFromPoolAsync_ptsz, 612, OTHER)          \
	X(cuGraphInstantiateWithFlags, 643, OTHER)           \
	X(cuLaunchKernelEx, 652, LAUNCH)                     \
	X(cuLaunchKernelEx_ptsz, 653, LAUNCH)                \
	X(cuGraphInstantiateWithParams, 656, OTHER)          \
	X(cuGraphInstantiateWithParams_ptsz, 657, OTHER)     \
	X(cuLibraryLoadData, 678, MODULE)                    \
	X(cuLibraryLoadFromFile, 679, MODULE)                \
	X(cuLibraryUnload, 680, MODULE)                      \
	X(cuKernelGetFunction, 683, MODULE)                  \
	X(cuGraphExecUpdate_v2, 696, OTHER)                  \
	X(cuMemPrefetchAsync_v2, 716, COPY)                  \
	X(cuMemPrefetchAsync_v2_ptsz, 717, COPY)             \
	X(cuStreamBeginCaptureToGraph, 720, OTHER)           \
	X(cuStreamBeginCaptureToGraph_ptsz, 721, OTHER)      \
	X(cuMemBatchDecompressAsync, 761, COPY)              \
	X(cuMemBatchDecompressAsync_ptsz, 762, COPY)         \
	X(cuMemcpyBatchAsync, 776, COPY)                     \
	X(cuMemcpyBatchAsync_ptsz, 777, COPY)                \
	X(cuMemcpy3DBatchAsync, 778, COPY)                   \
	X(cuMemcpy3DBatchAsync_ptsz, 779, COPY)              \
	X(cuMemPrefetchBatchAsync, 784, COPY)                \
	X(cuMemPrefetchBatchAsync_ptsz, 785, COPY)           \
	X(cuMemcpyBatchAsync_v2, 796, COPY)                  \
	X(cuMemcpyBatchAsync_v2_ptsz, 797, COPY)             \
	X(cuMemcpy3DBatchAsync_v2, 798, COPY)                \
	X(cuMemcpy3DBatchAsync_v2_ptsz, 799, COPY)           \
	X(cuCtxSynchronize_v2, 800, WAIT)

/* 505 and 506 are what <<<>>> compiles to since nvcc 13: lists made for CUDA 12 miss every
 * launch. */
#define CUPTI_RUNTIME_CALLBACKS(X)                                   \
	X(cudaLaunch_v3020, 13, LAUNCH)                              \
	X(cudaMemcpy_v3020, 31, COPY)                                \
	X(cudaMemcpy2D_v3020, 32, COPY)                              \
	X(cudaMemcpyToArray_v3020, 33, COPY)                         \
	X(cudaMemcpy2DToArray_v3020, 34, COPY)                       \
	X(cudaMemcpyFromArray_v3020, 35, COPY)                       \
	X(cudaMemcpy2DFromArray_v3020, 36, COPY)                     \
	X(cudaMemcpyArrayToArray_v3020, 37, COPY)                    \
	X(cudaMemcpy2DArrayToArray_v3020, 38, COPY)                  \
	X(cudaMemcpyToSymbol_v3020, 39, COPY)                        \
	X(cudaMemcpyFromSymbol_v3020, 40, COPY)                      \
	X(cudaMemcpyAsync_v3020, 41, COPY)                           \
	X(cudaMemcpyToArrayAsync_v3020, 42, COPY)                    \
	X(cudaMemcpyFromArrayAsync_v3020, 43, COPY)                  \
	X(cudaMemcpy2DAsync_v3020, 44, COPY)                         \
	X(cudaMemcpy2DToArrayAsync_v3020, 45, COPY)                  \
	X(cudaMemcpy2DFromArrayAsync_v3020, 46, COPY)                \
	X(cudaMemcpyToSymbolAsync_v3020, 47, COPY)                   \
	X(cudaMemcpyFromSymbolAsync_v3020, 48, COPY)                 \
	X(cudaMemset_v3020, 49, SET)                                 \
	X(cudaMemset2D_v3020, 50, SET)                               \
	X(cudaMemsetAsync_v3020, 51, SET)                            \
	X(cudaMemset2DAsync_v3020, 52, SET)                          \
	X(cudaThreadSynchronize_v3020, 126, WAIT)                    \
	X(cudaStreamSynchronize_v3020, 131, WAIT)                    \
	X(cudaEventSynchronize_v3020, 137, WAIT)                     \
	X(cudaMemset3D_v3020, 142, SET)                              \
	X(cudaMemset3DAsync_v3020, 143, SET)                         \
	X(cudaMemcpy3D_v3020, 144, COPY)                             \
	X(cudaMemcpy3DAsync_v3020, 145, COPY)                        \
	X(cudaMemcpyPeer_v4000, 160, COPY)                           \
	X(cudaMemcpyPeerAsync_v4000, 161, COPY)                      \
	X(cudaMemcpy3DPeer_v4000, 162, COPY)                         \
	X(cudaMemcpy3DPeerAsync_v4000, 163, COPY)                    \
	X(cudaDeviceSynchronize_v3020, 165, WAIT)                    \
	X(cudaLaunchKernel_v7000, 211, LAUNCH)                       \
	X(cudaLaunch_ptsz_v7000, 213, LAUNCH)                        \
	X(cudaLaunchKernel_ptsz_v7000, 214, LAUNCH)                  \
	X(cudaMemcpy_ptds_v7000, 215, COPY)                          \
	X(cudaMemcpy2D_ptds_v7000, 216, COPY)                        \
	X(cudaMemcpyToArray_ptds_v7000, 217, COPY)                   \
	X(cudaMemcpy2DToArray_ptds_v7000, 218, COPY)                 \
	X(cudaMemcpyFromArray_ptds_v7000, 219, COPY)                 \
	X(cudaMemcpy2DFromArray_ptds_v7000, 220, COPY)               \
	X(cudaMemcpyArrayToArray_ptds_v7000, 221, COPY)              \
	X(cudaMemcpy2DArrayToArray_ptds_v7000, 222, COPY)            \
	X(cudaMemcpyToSymbol_ptds_v7000, 223, COPY)                  \
	X(cudaMemcpyFromSymbol_ptds_v7000, 224, COPY)                \
	X(cudaMemcpyAsync_ptsz_v7000, 225, COPY)                     \
	X(cudaMemcpyToArrayAsync_ptsz_v7000, 226, COPY)              \
	X(cudaMemcpyFromArrayAsync_ptsz_v7000, 227, COPY)            \
	X(cudaMemcpy2DAsync_ptsz_v7000, 228, COPY)                   \
	X(cudaMemcpy2DToArrayAsync_ptsz_v7000, 229, COPY)            \
	X(cudaMemcpy2DFromArrayAsync_ptsz_v7000, 230, COPY)          \
	X(cudaMemcpyToSymbolAsync_ptsz_v7000, 231, COPY)             \
	X(cudaMemcpyFromSymbolAsync_ptsz_v7000, 232, COPY)           \
	X(cudaMemset_ptds_v7000, 233, SET)                           \
	X(cudaMemset2D_ptds_v7000, 234, SET)                         \
	X(cudaMemsetAsync_ptsz_v7000, 235, SET)                      \
	X(cudaMemset2DAsync_ptsz_v7000, 236, SET)                    \
	X(cudaStreamSynchronize_ptsz_v7000, 239, WAIT)               \
	X(cudaMemset3D_ptds_v7000, 243, SET)                         \
	X(cudaMemset3DAsync_ptsz_v7000, 244, SET)                    \
	X(cudaMemcpy3D_ptds_v7000, 245, COPY)                        \
	X(cudaMemcpy3DAsync_ptsz_v7000, 246, COPY)                   \
	X(cudaMemcpy3DPeer_ptds_v7000, 249, COPY)                    \
	X(cudaMemcpy3DPeerAsync_ptsz_v7000, 250, COPY)               \
	X(cudaMemPrefetchAsync_v8000, 252, COPY)                     \
	X(cudaMemPrefetchAsync_ptsz_v8000, 253, COPY)                \
	X(cudaLaunchCooperativeKernel_v9000, 269, LAUNCH)            \
	X(cudaLaunchCooperativeKernel_ptsz_v9000, 270, LAUNCH)       \
	X(cudaLaunchCooperativeKernelMultiDevice_v9000, 272, LAUNCH) \
	X(cudaLaunchHostFunc_v10000, 284, OTHER)                     \
	X(cudaLaunchHostFunc_ptsz_v10000, 285, OTHER)                \
	X(cudaGraphInstantiate_v10000, 310, OTHER)                   \
	X(cudaGraphLaunch_v10000, 311, GRAPH_LAUNCH)                 \
	X(cudaGraphLaunch_ptsz_v10000, 312, GRAPH_LAUNCH)            \
	X(cudaGraphExecDestroy_v10000, 313, OTHER)                   \
	X(cudaStreamBeginCapture_v10000, 315, OTHER)                 \
	X(cudaStreamBeginCapture_ptsz_v10000, 316, OTHER)            \
	X(cudaStreamEndCapture_v10000, 319, OTHER)                   \
	X(cudaStreamEndCapture_ptsz_v10000, 320, OTHER)              \
	X(cudaGraphExecUpdate_v10020, 335, OTHER)                    \
	X(cudaGraphUpload_v10000, 348, OTHER)                        \
	X(cudaGraphUpload_ptsz_v10000, 349, OTHER)                   \
	X(cudaGraphInstantiateWithFlags_v11040, 418, OTHER)          \
	X(cudaLaunchKernelExC_v11060, 430, LAUNCH)                   \
	X(cudaLaunchKernelExC_ptsz_v11060, 431, LAUNCH)              \
	X(cudaGraphInstantiateWithParams_v12000, 436, OTHER)         \
	X(cudaGraphInstantiateWithParams_ptsz_v12000, 437, OTHER)    \
	X(cudaGraphInstantiate_v12000, 443, OTHER)                   \
	X(cudaMemPrefetchAsync_v12020, 449, COPY)                    \
	X(cudaMemPrefetchAsync_ptsz_v12020, 450, COPY)               \
	X(cudaStreamBeginCaptureToGraph_v12030, 452, OTHER)          \
	X(cudaStreamBeginCaptureToGraph_ptsz_v12030, 453, OTHER)     \
	X(cudaMemcpyBatchAsync_v12080, 482, COPY)                    \
	X(cudaMemcpyBatchAsync_ptsz_v12080, 483, COPY)               \
	X(cudaMemcpy3DBatchAsync_v12080, 484, COPY)                  \
	X(cudaMemcpy3DBatchAsync_ptsz_v12080, 485, COPY)             \
	X(cudaMemPrefetchBatchAsync_v13000, 487, COPY)               \
	X(cudaMemPrefetchBatchAsync_ptsz_v13000, 488, COPY)          \
	X(__cudaLaunchKernel_v13000, 505, LAUNCH)                    \
	X(__cudaLaunchKernel_ptsz_v13000, 506, LAUNCH)               \
	X(cudaMemcpyBatchAsync_v13000, 509, COPY)                    \
	X(cudaMemcpyBatchAsync_ptsz_v13000, 510, COPY)               \
	X(cudaMemcpy3DBatchAsync_v13000, 511, COPY)                  \
	X(cudaMemcpy3DBatchAsync_ptsz_v13000, 512, COPY)

#ifndef CUPTI_ABI_TABLES_ONLY

struct cupti_all_functions {
#define CUPTI_FUNCTION(need, name, parameters) cupti_result(*name) parameters;
	CUPTI_ALL_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
};

#endif

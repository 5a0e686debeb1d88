/* SPDX-License-Identifier: MIT
 *
 * abi/cupti.h - the part of CUPTI's binary interface (11.0 to 13.x) that duet uses
 *
 * Our own declarations, so that building duet needs no CUDA; tests/unit/inject compares them with
 * the real headers where those are installed. Constants carry the vendor's names, so that a search
 * finds them in its manual; structs and fields are ours.
 *
 * Activity records only ever grow at their end. The structs in this file are those of 13.0; a
 * version in a comment applies to its field and all fields after it. An older library writes
 * shorter records: walk with cuptiActivityGetNextRecord, never by sizeof, and check the version
 * before reading a field at the end.
 *
 * Declarations for the simulated library and tests alone are in sim/nvidia/cupti_abi.h.
 *
 * With CUPTI_ABI_TABLES_ONLY defined only the tables are declared: a test reads them beside the
 * real headers, whose constants have the same names as ours.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifndef CUPTI_ABI_TABLES_ONLY

/* Handles of the driver with the vendor's tags, because abi/cuda.h may be included too. */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUlaunchConfig_st CUlaunchConfig;
typedef int CUdevice;

typedef struct CUpti_Subscriber_st *cupti_subscriber;
typedef struct CUpti_PmSampling_Object *cupti_pm_sampling_object;
typedef struct CUpti_Profiler_Host_Object *cupti_host_object;

/* The vendor's enumerations, which a C compiler makes 32 bits wide. */
typedef int32_t cupti_result;
typedef uint32_t cupti_domain;
typedef uint32_t cupti_kind;
typedef uint32_t cupti_thread_id_type;

enum {
	CUPTI_SUCCESS = 0,
	CUPTI_ERROR_INVALID_PARAMETER = 1,
	CUPTI_ERROR_OUT_OF_MEMORY = 8,
	CUPTI_ERROR_API_NOT_IMPLEMENTED = 11,
	CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
	CUPTI_ERROR_HARDWARE_BUSY = 26,
	CUPTI_ERROR_NOT_SUPPORTED = 27,
	CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
};

enum {
	CUPTI_API_ENTER = 0,

	CUPTI_CB_DOMAIN_DRIVER_API = 1,
	CUPTI_CB_DOMAIN_RESOURCE = 3,

	CUPTI_CBID_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_CBID_RESOURCE_STREAM_CREATED = 3,
	CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING = 4,
	CUPTI_CBID_RESOURCE_MODULE_LOADED = 6,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED = 13,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED = 20,
};

enum {
	CUPTI_ACTIVITY_KIND_MEMCPY = 1,
	CUPTI_ACTIVITY_KIND_MEMSET = 2,
	CUPTI_ACTIVITY_KIND_KERNEL = 3,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_ACTIVITY_KIND_OVERHEAD = 17,
	CUPTI_ACTIVITY_KIND_MEMCPY2 = 22,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION = 38,
	CUPTI_ACTIVITY_KIND_MEMORY2 = 49,
	CUPTI_ACTIVITY_KIND_GRAPH_TRACE = 51,
};

enum { CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 << 0 };

enum {
	CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER = 1,
	CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH = 1 << 16,
	CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION = 2 << 16,
	CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE = 3 << 16,
	CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING = 4 << 16,
	CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING = 5 << 16,
	CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16,
	CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST = 7 << 16,
	CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT = 8 << 16,

	CUPTI_ACTIVITY_OBJECT_THREAD = 2,
	CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM = 1,

	CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
	CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
	CUPTI_ACTIVITY_MEMCPY_KIND_HTOA = 3,
	CUPTI_ACTIVITY_MEMCPY_KIND_ATOH = 4,

	CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE = 1,
	CUPTI_ACTIVITY_MEMORY_KIND_PINNED = 2,
	CUPTI_ACTIVITY_MEMORY_KIND_DEVICE = 3,
	CUPTI_ACTIVITY_MEMORY_KIND_ARRAY = 4,
	CUPTI_ACTIVITY_MEMORY_KIND_MANAGED = 5,
	CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC = 6,
	CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC = 7,

	CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE = 1,
	CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE = 2,

	CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION = 1,
	CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE = 2,

	CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE = 1,
	CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT = 2,
	CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE = 3,
	CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE = 4,

	/* Alignment that a buffer handed out in cupti_buffer_requested needs. */
	ACTIVITY_RECORD_ALIGNMENT = 8,

	CUPTI_STALL_REASON_STRING_SIZE = 128,
};

/* Means "none"; unsigned, so it is not an enumeration constant. */
#define CUPTI_INVALID_STREAM_ID 0xFFFFFFFFu

enum {
	CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS = 1,
	CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED = 2,

	CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED = 1,

	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD = 1,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON = 2,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE = 4,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE = 5,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT = 7,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER = 8,

	CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL = 0,
	CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL = 1,

	CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL = 1,
	CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS = 2,

	CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST = 0,

	CUPTI_PROFILER_TYPE_PM_SAMPLING = 1,

	CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED = 1,
	CUPTI_PROFILER_CONFIGURATION_DISABLED = 2,
	CUPTI_PROFILER_CONFIGURATION_SUPPORTED = 3,

	CUPTI_PROFILER_PM_SAMPLING = 3,
};

/* Value of struct_bytes in a parameter struct: the end of its last field. These two end before the
 * struct's padding; all others have sizeof. */
enum {
	CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE = 45,
	CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE = 52,
};

/* Activity records. A device id is CUDA's ordinal after CUDA_VISIBLE_DEVICES; join devices by
 * UUID. */

struct cupti_activity {
	uint32_t kind;
	uint32_t pad0;
};

/* MEMCPY. start_ns == end_ns == 0: not timed. */
struct cupti_activity_memcpy {
	uint32_t kind;
	uint8_t copy_kind;
	uint8_t source_kind;
	uint8_t destination_kind;
	uint8_t flags;
	uint64_t size_bytes;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t correlation_id;
	uint32_t runtime_correlation_id;
	uint32_t pad0;
	void *reserved0;
	uint64_t graph_node_id;
	/* 11.1 (API version 14) */
	uint32_t graph_id;
	/* 11.6 (17) */
	uint32_t channel_id;
	uint32_t channel_type;
	/* 12.8 (26) */
	uint8_t is_device_launched;
	uint8_t pad1[3];
	uint64_t copy_count;
};

/* MEMCPY2: between two devices or contexts. */
struct cupti_activity_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind;
	uint8_t source_kind;
	uint8_t destination_kind;
	uint8_t flags;
	uint64_t size_bytes;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t source_device_id;
	uint32_t source_context_id;
	uint32_t destination_device_id;
	uint32_t destination_context_id;
	uint32_t correlation_id;
	void *reserved0;
	uint64_t graph_node_id;
	/* 11.1 (14) */
	uint32_t graph_id;
	/* 11.6 (17) */
	uint32_t channel_id;
	uint32_t channel_type;
	uint32_t pad0;
};

struct cupti_activity_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t size_bytes;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t correlation_id;
	uint16_t flags;
	uint16_t memory_kind;
	uint32_t pad0;
	void *reserved0;
	uint64_t graph_node_id;
	/* 11.1 (14) */
	uint32_t graph_id;
	/* 11.6 (17) */
	uint32_t channel_id;
	uint32_t channel_type;
	uint8_t is_device_launched;
	uint8_t pad1[3];
};

/* KERNEL and CONCURRENT_KERNEL. CUPTI owns the name: copy it before the buffer is returned. */
struct cupti_activity_kernel {
	uint32_t kind;
	uint8_t cache_config;
	uint8_t shared_memory_config;
	uint16_t registers_per_thread;
	uint32_t partitioned_cache_requested;
	uint32_t partitioned_cache_executed;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t completed_ns;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	int32_t grid_x;
	int32_t grid_y;
	int32_t grid_z;
	int32_t block_x;
	int32_t block_y;
	int32_t block_z;
	int32_t static_shared_bytes;
	int32_t dynamic_shared_bytes;
	uint32_t local_per_thread_bytes;
	uint32_t local_total_bytes;
	uint32_t correlation_id;
	int64_t grid_id;
	const char *name;
	void *reserved0;
	uint64_t queued_ns;
	uint64_t submitted_ns;
	uint8_t launch_type;
	uint8_t is_carveout_requested;
	uint8_t carveout_percent;
	uint8_t pad0;
	uint32_t shared_executed_bytes;
	/* 11.0 (13) */
	uint64_t graph_node_id;
	uint32_t shared_limit_config;
	uint32_t graph_id;
	/* 11.2 (15) */
	void *access_policy_window;
	/* 11.6 (17) */
	uint32_t channel_id;
	uint32_t channel_type;
	/* 11.8 (18) */
	uint32_t cluster_x;
	uint32_t cluster_y;
	uint32_t cluster_z;
	uint32_t cluster_policy;
	uint64_t local_total_wide_bytes;
	/* 12.0 (19) */
	uint32_t max_potential_cluster_size;
	uint32_t max_active_clusters;
	/* 13.0 (130000) */
	uint8_t is_device_launched;
	uint8_t pad1[7];
};

struct cupti_activity_synchronization {
	uint32_t kind;
	uint32_t type;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t event_id;
	/* 12.8 (26) */
	uint64_t event_sync_id;
	uint32_t return_value;
	uint32_t pad0;
};

/* The OBJECT constant beside it selects the member. */
union cupti_object_id {
	struct {
		uint32_t process_id;
		uint32_t thread_id;
	} thread;
	struct {
		uint32_t device_id;
		uint32_t context_id;
		uint32_t stream_id;
	} stream;
};

struct cupti_activity_overhead {
	uint32_t kind;
	uint32_t overhead_kind;
	uint32_t object_kind;
	union cupti_object_id object;
	uint64_t start_ns;
	uint64_t end_ns;
	/* 12.2 (20) */
	uint32_t correlation_id;
	uint32_t reserved0;
	/* 12.4 (22): NULL, or for COMMAND_BUFFER_FULL the remaining entries (0), channel id and
	 * channel type */
	void *data;
};

/* One launch of a whole graph, 11.7; its graph_id is that of the executable graph. */
struct cupti_activity_graph_trace {
	uint32_t kind;
	uint32_t correlation_id;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device_id;
	uint32_t graph_id;
	uint32_t context_id;
	uint32_t stream_id;
	void *reserved0;
	/* 12.3 (21) */
	uint32_t end_device_id;
	uint32_t end_context_id;
};

/* MEMORY2: one allocation or one release; 11.2 (15). */
struct cupti_activity_memory_operation {
	uint32_t kind;
	uint32_t operation_type;
	uint32_t memory_kind;
	uint32_t correlation_id;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t timestamp_ns;
	uint64_t pc;
	uint32_t process_id;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	const char *name;
	uint32_t is_async;
	uint32_t pad0;
	uint32_t pool_type;
	uint32_t pad1;
	uint64_t pool_address;
	uint64_t pool_release_threshold_bytes;
	uint64_t pool_size_or_process_id;
	/* 11.6 (17) */
	uint64_t pool_used_bytes;
	/* 12.6 (24): the library that allocated, with cuptiActivityEnableAllocationSource */
	const char *source;
};

/* Data of a callback in the API domains. */
struct cupti_callback_data {
	uint32_t site;
	const char *function_name;
	const void *function_parameters;
	void *function_return_value;
	/* the kernel's name, only for launches */
	const char *symbol_name;
	CUcontext context;
	uint32_t context_id;
	/* free for our use from ENTER to EXIT of the same call */
	uint64_t *correlation_data;
	uint32_t correlation_id;
};

/* RESOURCE domain; descriptor is one of the two structs below, or NULL. */
struct cupti_resource_data {
	CUcontext context;
	CUstream stream;
	void *descriptor;
};

/* The cubin is valid only during the callback. */
struct cupti_module_resource {
	uint32_t module_id;
	size_t cubin_bytes;
	const char *cubin;
};

/* Which members are set depends on the callback id. */
struct cupti_graph_resource {
	CUgraph graph;
	CUgraph original_graph;
	CUgraphNode node;
	CUgraphNode original_node;
	uint32_t node_type;
	CUgraphNode dependency;
	CUgraphExec graph_exec;
};

/* function_parameters of the driver calls whose parameters the guest reads. */
struct cupti_launch_kernel_parameters {
	CUfunction function;
	uint32_t grid_x, grid_y, grid_z;
	uint32_t block_x, block_y, block_z;
	uint32_t shared_bytes;
	CUstream stream;
	void **kernel_parameters;
	/* absent in cuLaunchCooperativeKernel */
	void **extra;
};

struct cupti_launch_kernel_ex_parameters {
	const CUlaunchConfig *config;
	CUfunction function;
	void **kernel_parameters;
	void **extra;
};

/* cuptiSubscribe_v2, 13.0; old_name receives the tool that holds the only subscription. */
struct cupti_subscriber_params {
	size_t struct_bytes;
	const char *name;
	char *old_name;
	size_t old_name_bytes;
};

/* PC sampling, 11.3 (15). The first member is the size of the caller's struct, which determines its
 * fields. */

struct cupti_pc_stall_reason {
	uint32_t stall_index;
	uint32_t sample_count;
};

/* Before 12.4 (API version 22) the record ends with the stalls: 56 bytes. */
struct cupti_pc_data_56 {
	size_t struct_bytes;
	uint64_t cubin_crc;
	uint64_t pc_offset_bytes;
	uint32_t function_index;
	uint32_t pad0;
	char *function_name;
	size_t stall_count;
	struct cupti_pc_stall_reason *stalls;
};

struct cupti_pc_data {
	size_t struct_bytes;
	uint64_t cubin_crc;
	uint64_t pc_offset_bytes;
	uint32_t function_index;
	uint32_t pad0;
	/* malloc'd by CUPTI and shared by records; to be freed by us once no record uses it */
	char *function_name;
	size_t stall_count;
	struct cupti_pc_stall_reason *stalls;
	/* 12.4 (22); 0 in CONTINUOUS mode */
	uint32_t correlation_id;
	uint32_t pad1;
};

struct cupti_pc_sampling_data {
	size_t struct_bytes;
	/* number of records that fit into pcs */
	size_t capacity_count;
	uint64_t sample_count;
	uint64_t dropped_count;
	size_t pc_count;
	size_t remaining_count;
	uint64_t range_id;
	struct cupti_pc_data *pcs;
	/* 11.5 (16): samples of kernels that are not the user's; sample_count includes them */
	uint64_t foreign_sample_count;
	/* 12.0 (19): distinguishes the two reasons for CUPTI_ERROR_OUT_OF_MEMORY */
	uint8_t is_hardware_buffer_full;
	uint8_t pad0[7];
};

struct cupti_pc_sampling_configuration_info {
	uint32_t attribute;
	cupti_result ret_status;
	union {
		uint64_t raw[3];
		/* the period is 2^this cycles, 5 … 31 */
		uint32_t period_exponent;
		struct {
			size_t count;
			uint32_t *indices;
		} stall_reasons;
		size_t hardware_buffer_bytes;
		uint32_t collection_mode;
		uint32_t is_start_stop_controlled;
		uint32_t output_format;
		struct cupti_pc_sampling_data *data_buffer;
	} value;
};

struct cupti_pc_sampling_configuration_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
	size_t info_count;
	struct cupti_pc_sampling_configuration_info *infos;
};

struct cupti_pc_sampling_get_data_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
	/* a struct cupti_pc_sampling_data */
	void *data;
};

struct cupti_pc_sampling_enable_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
};

struct cupti_pc_sampling_disable_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
};

struct cupti_pc_sampling_num_stall_reasons_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
	size_t *ret_count;
};

struct cupti_pc_sampling_stall_reasons_params {
	size_t struct_bytes;
	void *reserved0;
	CUcontext context;
	size_t count;
	uint32_t *ret_indices;
	/* each CUPTI_STALL_REASON_STRING_SIZE bytes */
	char **ret_names;
};

struct cupti_cubin_crc_params {
	size_t struct_bytes;
	size_t cubin_bytes;
	const void *cubin;
	uint64_t ret_crc;
};

/* PM sampling: counters of a whole device; 12.6 (24). */

struct cupti_pm_sampling_set_config_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
	size_t config_bytes;
	const uint8_t *config;
	size_t hardware_buffer_bytes;
	/* nanoseconds or cycles, depending on trigger_mode */
	uint64_t interval;
	uint32_t trigger_mode;
	/* 12.8 (26) */
	uint32_t append_mode;
};

struct cupti_pm_sampling_enable_params {
	size_t struct_bytes;
	void *reserved0;
	size_t device_index;
	cupti_pm_sampling_object ret_object;
};

struct cupti_pm_sampling_disable_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
};

struct cupti_pm_sampling_start_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
};

struct cupti_pm_sampling_stop_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
};

struct cupti_pm_sampling_decode_data_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
	uint8_t *counter_data;
	size_t counter_data_bytes;
	uint32_t ret_stop_reason;
	uint8_t ret_overflow;
};

struct cupti_pm_sampling_counter_availability_params {
	size_t struct_bytes;
	void *reserved0;
	size_t device_index;
	/* written if image is NULL, read otherwise */
	size_t image_bytes;
	uint8_t *image;
};

struct cupti_pm_sampling_counter_data_size_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
	const char **metric_names;
	size_t metric_count;
	uint32_t max_sample_count;
	size_t ret_bytes;
};

struct cupti_pm_sampling_counter_data_initialize_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
	size_t counter_data_bytes;
	uint8_t *counter_data;
};

struct cupti_pm_sampling_counter_data_info_params {
	size_t struct_bytes;
	void *reserved0;
	const uint8_t *counter_data;
	size_t counter_data_bytes;
	size_t ret_total_count;
	size_t ret_populated_count;
	size_t ret_completed_count;
};

struct cupti_pm_sampling_sample_info_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_pm_sampling_object object;
	const uint8_t *counter_data;
	size_t counter_data_bytes;
	size_t sample_index;
	uint64_t ret_start_ns;
	uint64_t ret_end_ns;
};

/* The host side of counters, which needs no GPU: names to a configuration, raw counts to values.
 * 12.6. */

struct cupti_host_initialize_params {
	size_t struct_bytes;
	void *reserved0;
	uint32_t profiler_type;
	const char *chip_name;
	const uint8_t *counter_availability;
	cupti_host_object ret_object;
};

struct cupti_host_deinitialize_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
};

struct cupti_host_config_add_metrics_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
	const char **metric_names;
	size_t metric_count;
};

struct cupti_host_config_image_size_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
	size_t ret_bytes;
};

struct cupti_host_config_image_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
	size_t image_bytes;
	uint8_t *image;
};

struct cupti_host_num_of_passes_params {
	size_t struct_bytes;
	void *reserved0;
	size_t image_bytes;
	uint8_t *image;
	size_t ret_count;
};

struct cupti_host_evaluate_params {
	size_t struct_bytes;
	void *reserved0;
	cupti_host_object object;
	const uint8_t *counter_data;
	size_t counter_data_bytes;
	/* PM sampling: the index of the sample */
	size_t range_index;
	const char **metric_names;
	size_t metric_count;
	double *ret_values;
};

struct cupti_profiler_initialize_params {
	size_t struct_bytes;
	void *reserved0;
};

/* Calls do not nest: a second cuptiProfilerDeInitialize crashes. */
struct cupti_profiler_deinitialize_params {
	size_t struct_bytes;
	void *reserved0;
};

struct cupti_profiler_device_supported_params {
	size_t struct_bytes;
	void *reserved0;
	CUdevice device;
	uint32_t ret_is_supported;
	uint32_t ret_architecture;
	uint32_t ret_sli;
	uint32_t ret_virtual_gpu;
	uint32_t ret_confidential_compute;
	uint32_t ret_cmp;
	/* 12.1 (19) */
	uint32_t ret_wsl;
	/* 12.2 Update 2 (20) */
	uint32_t api;
};

struct cupti_chip_name_params {
	size_t struct_bytes;
	void *reserved0;
	size_t device_index;
	const char *ret_name;
};

#endif

/* Not formatted, because clang-format takes each * in these two tables for a product. */
/* clang-format off */
/* Callback types: X(name, return type, parameters). */
#define CUPTI_CALLBACK_TYPES(X) \
	X(cupti_callback_function, void, (void *user, cupti_domain domain, uint32_t cbid, \
	  const void *data)) \
	X(cupti_buffer_requested, void, (uint8_t **ret_buffer, size_t *ret_bytes, \
	  size_t *ret_max_record_count)) \
	X(cupti_buffer_completed, void, (CUcontext context, uint32_t stream_id, uint8_t *buffer, \
	  size_t bytes, size_t valid_bytes)) \
	X(cupti_timestamp_function, uint64_t, (void)) \
	X(cupti_crc_function, void, (const void *cubin, size_t cubin_bytes, uint64_t *ret_crc))

/* All functions that duet may look up: X(need, name, parameters); each returns a cupti_result.
 * REQUIRED: in all of 11.0 to 13.x; the guest does not start without it. OPTIONAL: newer, or used
 * by one feature.
 */
#define CUPTI_FUNCTIONS(X) \
	X(REQUIRED, cuptiGetVersion, (uint32_t *ret_version)) \
	X(REQUIRED, cuptiSubscribe, (cupti_subscriber *ret_subscriber, \
	  cupti_callback_function callback, void *user)) \
	X(OPTIONAL, cuptiSubscribe_v2, (cupti_subscriber *ret_subscriber, \
	  cupti_callback_function callback, void *user, struct cupti_subscriber_params *params)) \
	X(REQUIRED, cuptiUnsubscribe, (cupti_subscriber subscriber)) \
	X(REQUIRED, cuptiEnableCallback, (uint32_t enable, cupti_subscriber subscriber, \
	  cupti_domain domain, uint32_t cbid)) \
	X(REQUIRED, cuptiGetCallbackName, (cupti_domain domain, uint32_t cbid, \
	  const char **ret_name)) \
	X(REQUIRED, cuptiActivityRegisterCallbacks, (cupti_buffer_requested requested, \
	  cupti_buffer_completed completed)) \
	X(REQUIRED, cuptiActivityEnable, (cupti_kind kind)) \
	X(REQUIRED, cuptiActivityDisable, (cupti_kind kind)) \
	X(REQUIRED, cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid_bytes, \
	  struct cupti_activity **record)) \
	X(REQUIRED, cuptiActivityGetNumDroppedRecords, (CUcontext context, uint32_t stream_id, \
	  size_t *ret_count)) \
	X(REQUIRED, cuptiActivityFlushAll, (uint32_t flag)) \
	X(OPTIONAL, cuptiActivityRegisterTimestampCallback, (cupti_timestamp_function function)) \
	X(OPTIONAL, cuptiActivityEnableLatencyTimestamps, (uint8_t enable)) \
	X(REQUIRED, cuptiGetTimestamp, (uint64_t *ret_ns)) \
	X(REQUIRED, cuptiGetContextId, (CUcontext context, uint32_t *ret_id)) \
	X(REQUIRED, cuptiGetDeviceId, (CUcontext context, uint32_t *ret_id)) \
	X(REQUIRED, cuptiGetStreamIdEx, (CUcontext context, CUstream stream, uint8_t per_thread, \
	  uint32_t *ret_id)) \
	X(OPTIONAL, cuptiGetGraphNodeId, (CUgraphNode node, uint64_t *ret_id)) \
	X(OPTIONAL, cuptiFinalize, (void)) \
	X(OPTIONAL, cuptiSetThreadIdType, (cupti_thread_id_type type)) \
	X(OPTIONAL, cuptiPCSamplingSetConfigurationAttribute, \
	  (struct cupti_pc_sampling_configuration_params *params)) \
	X(OPTIONAL, cuptiPCSamplingGetConfigurationAttribute, \
	  (struct cupti_pc_sampling_configuration_params *params)) \
	X(OPTIONAL, cuptiPCSamplingGetData, (struct cupti_pc_sampling_get_data_params *params)) \
	X(OPTIONAL, cuptiPCSamplingEnable, (struct cupti_pc_sampling_enable_params *params)) \
	X(OPTIONAL, cuptiPCSamplingDisable, (struct cupti_pc_sampling_disable_params *params)) \
	X(OPTIONAL, cuptiPCSamplingGetNumStallReasons, \
	  (struct cupti_pc_sampling_num_stall_reasons_params *params)) \
	X(OPTIONAL, cuptiPCSamplingGetStallReasons, \
	  (struct cupti_pc_sampling_stall_reasons_params *params)) \
	X(OPTIONAL, cuptiGetCubinCrc, (struct cupti_cubin_crc_params *params)) \
	X(OPTIONAL, cuptiPmSamplingSetConfig, \
	  (struct cupti_pm_sampling_set_config_params *params)) \
	X(OPTIONAL, cuptiPmSamplingEnable, (struct cupti_pm_sampling_enable_params *params)) \
	X(OPTIONAL, cuptiPmSamplingDisable, (struct cupti_pm_sampling_disable_params *params)) \
	X(OPTIONAL, cuptiPmSamplingStart, (struct cupti_pm_sampling_start_params *params)) \
	X(OPTIONAL, cuptiPmSamplingStop, (struct cupti_pm_sampling_stop_params *params)) \
	X(OPTIONAL, cuptiPmSamplingDecodeData, \
	  (struct cupti_pm_sampling_decode_data_params *params)) \
	X(OPTIONAL, cuptiPmSamplingGetCounterAvailability, \
	  (struct cupti_pm_sampling_counter_availability_params *params)) \
	X(OPTIONAL, cuptiPmSamplingGetCounterDataSize, \
	  (struct cupti_pm_sampling_counter_data_size_params *params)) \
	X(OPTIONAL, cuptiPmSamplingCounterDataImageInitialize, \
	  (struct cupti_pm_sampling_counter_data_initialize_params *params)) \
	X(OPTIONAL, cuptiPmSamplingGetCounterDataInfo, \
	  (struct cupti_pm_sampling_counter_data_info_params *params)) \
	X(OPTIONAL, cuptiPmSamplingCounterDataGetSampleInfo, \
	  (struct cupti_pm_sampling_sample_info_params *params)) \
	X(OPTIONAL, cuptiProfilerHostInitialize, (struct cupti_host_initialize_params *params)) \
	X(OPTIONAL, cuptiProfilerHostDeinitialize, \
	  (struct cupti_host_deinitialize_params *params)) \
	X(OPTIONAL, cuptiProfilerHostConfigAddMetrics, \
	  (struct cupti_host_config_add_metrics_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetConfigImageSize, \
	  (struct cupti_host_config_image_size_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetConfigImage, \
	  (struct cupti_host_config_image_params *params)) \
	X(OPTIONAL, cuptiProfilerHostGetNumOfPasses, \
	  (struct cupti_host_num_of_passes_params *params)) \
	X(OPTIONAL, cuptiProfilerHostEvaluateToGpuValues, \
	  (struct cupti_host_evaluate_params *params)) \
	X(OPTIONAL, cuptiProfilerInitialize, (struct cupti_profiler_initialize_params *params)) \
	X(OPTIONAL, cuptiProfilerDeInitialize, \
	  (struct cupti_profiler_deinitialize_params *params)) \
	X(OPTIONAL, cuptiProfilerDeviceSupported, \
	  (struct cupti_profiler_device_supported_params *params)) \
	X(OPTIONAL, cuptiDeviceGetChipName, (struct cupti_chip_name_params *params))
/* clang-format on */

#ifndef CUPTI_ABI_TABLES_ONLY

#define CUPTI_CALLBACK_TYPE(name, type, parameters) typedef type(*name) parameters;
CUPTI_CALLBACK_TYPES(CUPTI_CALLBACK_TYPE)
#undef CUPTI_CALLBACK_TYPE

struct cupti_functions {
#define CUPTI_FUNCTION(need, name, parameters) cupti_result(*name) parameters;
	CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
};

#endif

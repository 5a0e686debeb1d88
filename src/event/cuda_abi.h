/* SPDX-License-Identifier: MIT
 *
 * event/cuda_abi.h - the part of the CUDA driver's binary interface that we call or pretend to be
 *
 * Our own declarations, so that building duet needs no CUDA; tests/unit/inject compares them with the
 * real header where that is installed. For programs that look the driver up in libcuda.so.1 and for the
 * stand-in that answers them. Types, constants and functions carry the vendor's names, as whoever knows
 * the driver expects them; fields are ours. A function's name is that of its symbol: with the suffix
 * that cuda.h hides.
 *
 * With CUDA_ABI_TABLES_ONLY defined only the table is declared: a test reads it beside the real header.
 */
#ifndef EVENT_CUDA_ABI_H
#define EVENT_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifndef CUDA_ABI_TABLES_ONLY

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef void (*CUhostFn)(void *user);
typedef size_t (*CUoccupancyB2DSize)(int block_size);

/* The vendor's enumerations: 32 bits, without a sign as gcc makes them. */
typedef uint32_t CUresult;
typedef uint32_t CUdevice_attribute;
typedef uint32_t CUfunction_attribute;
typedef uint32_t CUjit_option;
typedef uint32_t CUstreamCaptureMode;
typedef uint32_t CUstreamCaptureStatus;
typedef uint32_t CUdriverProcAddressQueryResult;
typedef uint64_t cuuint64_t;

typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	CUDA_ERROR_FILE_NOT_FOUND = 301,
	CUDA_ERROR_OPERATING_SYSTEM = 304,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	CUDA_ERROR_UNKNOWN = 999,
};

enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
	CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
	CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
	CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
	CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
	CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,

	CU_CTX_SCHED_AUTO = 0,
	CU_CTX_SCHED_SPIN = 1,
	CU_CTX_SCHED_YIELD = 2,
	CU_CTX_SCHED_BLOCKING_SYNC = 4,
	CU_CTX_MAP_HOST = 8,

	CU_STREAM_DEFAULT = 0,
	CU_STREAM_NON_BLOCKING = 1,

	CU_EVENT_DEFAULT = 0,
	CU_EVENT_BLOCKING_SYNC = 1,
	CU_EVENT_DISABLE_TIMING = 2,

	CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
	CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
	CU_STREAM_CAPTURE_MODE_RELAXED = 2,

	CU_STREAM_CAPTURE_STATUS_NONE = 0,
	CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
	CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,

	CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH = 1,
	CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 2,
	CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH = 4,
	CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY = 8,

	CU_GRAPH_NODE_TYPE_KERNEL = 0,
	CU_GRAPH_NODE_TYPE_MEMCPY = 1,
	CU_GRAPH_NODE_TYPE_MEMSET = 2,
	CU_GRAPH_NODE_TYPE_HOST = 3,
	CU_GRAPH_NODE_TYPE_GRAPH = 4,
	CU_GRAPH_NODE_TYPE_EMPTY = 5,

	CU_GET_PROC_ADDRESS_DEFAULT = 0,
	CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
	CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
	CU_GET_PROC_ADDRESS_SUCCESS = 0,
	CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
	CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,

	CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
	CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
	CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
	CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,

	CU_JIT_MAX_REGISTERS = 0,
	CU_JIT_INFO_LOG_BUFFER = 3,
	CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
	CU_JIT_ERROR_LOG_BUFFER = 5,
	CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
	CU_JIT_OPTIMIZATION_LEVEL = 7,
	CU_JIT_GENERATE_DEBUG_INFO = 11,
	CU_JIT_GENERATE_LINE_INFO = 13,

	CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
	CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
	CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
	CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
};

/* The two default streams have numbers for handles. */
#define CU_STREAM_LEGACY     ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

/* Markers in cuLaunchKernel's extra: pairs of marker and pointer, closed by END. */
#define CU_LAUNCH_PARAM_END            ((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE    ((void *)0x02)

typedef struct CUlaunchAttribute_st {
	uint32_t id;
	uint32_t pad;
	union {
		char bytes[64];
		int cooperative;
		struct {
			unsigned x, y, z;
		} cluster;
		int priority;
	} value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig_st {
	unsigned grid_x, grid_y, grid_z;
	unsigned block_x, block_y, block_z;
	unsigned shared_bytes;
	CUstream stream;
	CUlaunchAttribute *attributes;
	unsigned attribute_count;
} CUlaunchConfig;

/* That of cuGraphAddKernelNode_v2. */
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
	CUfunction function;
	unsigned grid_x, grid_y, grid_z;
	unsigned block_x, block_y, block_z;
	unsigned shared_bytes;
	void **kernel_parameters;
	void **extra;
	CUkernel kernel;
	CUcontext context;
} CUDA_KERNEL_NODE_PARAMS_v2;

#endif

/* Functions: X(name, parameters); each returns a CUresult. The formatter takes each * for a product. */
/* clang-format off */
#define CUDA_FUNCTIONS(X) \
	X(cuInit, (unsigned flags)) \
	X(cuDriverGetVersion, (int *ret_version)) \
	X(cuGetErrorName, (CUresult error, const char **ret_text)) \
	X(cuGetErrorString, (CUresult error, const char **ret_text)) \
	X(cuGetProcAddress_v2, (const char *symbol, void **ret_function, int version, \
	  cuuint64_t flags, CUdriverProcAddressQueryResult *ret_status)) \
	X(cuDeviceGet, (CUdevice *ret_device, int ordinal)) \
	X(cuDeviceGetCount, (int *ret_count)) \
	X(cuDeviceGetName, (char *ret_name, int bytes, CUdevice device)) \
	X(cuDeviceGetUuid_v2, (CUuuid *ret_uuid, CUdevice device)) \
	X(cuDeviceGetAttribute, (int *ret_value, CUdevice_attribute attribute, CUdevice device)) \
	X(cuDeviceGetPCIBusId, (char *ret_text, int bytes, CUdevice device)) \
	X(cuDeviceTotalMem_v2, (size_t *ret_bytes, CUdevice device)) \
	X(cuDevicePrimaryCtxRetain, (CUcontext *ret_context, CUdevice device)) \
	X(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	X(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags)) \
	X(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *ret_flags, int *ret_active)) \
	X(cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
	X(cuCtxCreate_v2, (CUcontext *ret_context, unsigned flags, CUdevice device)) \
	X(cuCtxDestroy_v2, (CUcontext context)) \
	X(cuCtxSetCurrent, (CUcontext context)) \
	X(cuCtxGetCurrent, (CUcontext *ret_context)) \
	X(cuCtxPushCurrent_v2, (CUcontext context)) \
	X(cuCtxPopCurrent_v2, (CUcontext *ret_context)) \
	X(cuCtxGetDevice, (CUdevice *ret_device)) \
	X(cuCtxSynchronize, (void)) \
	X(cuModuleLoadData, (CUmodule *ret_module, const void *image)) \
	X(cuModuleLoadDataEx, (CUmodule *ret_module, const void *image, unsigned count, \
	  CUjit_option *options, void **values)) \
	X(cuModuleUnload, (CUmodule module)) \
	X(cuModuleGetFunction, (CUfunction *ret_function, CUmodule module, const char *name)) \
	X(cuModuleGetGlobal_v2, (CUdeviceptr *ret_address, size_t *ret_bytes, CUmodule module, \
	  const char *name)) \
	X(cuFuncGetAttribute, (int *ret_value, CUfunction_attribute attribute, \
	  CUfunction function)) \
	X(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value)) \
	X(cuFuncGetName, (const char **ret_name, CUfunction function)) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *ret_count, CUfunction function, \
	  int block_size, size_t dynamic_shared_bytes)) \
	X(cuOccupancyMaxPotentialBlockSize, (int *ret_min_grid_size, int *ret_block_size, \
	  CUfunction function, CUoccupancyB2DSize shared_of_block, size_t dynamic_shared_bytes, \
	  int block_limit)) \
	X(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
	  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
	  CUstream stream, void **parameters, void **extra)) \
	X(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **parameters, \
	  void **extra)) \
	X(cuLaunchCooperativeKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, \
	  unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, \
	  unsigned shared_bytes, CUstream stream, void **parameters)) \
	X(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *user)) \
	X(cuMemGetInfo_v2, (size_t *ret_free_bytes, size_t *ret_total_bytes)) \
	X(cuMemAlloc_v2, (CUdeviceptr *ret_address, size_t bytes)) \
	X(cuMemFree_v2, (CUdeviceptr address)) \
	X(cuMemAllocHost_v2, (void **ret_address, size_t bytes)) \
	X(cuMemFreeHost, (void *address)) \
	X(cuMemAllocManaged, (CUdeviceptr *ret_address, size_t bytes, unsigned flags)) \
	X(cuMemAllocAsync, (CUdeviceptr *ret_address, size_t bytes, CUstream stream)) \
	X(cuMemFreeAsync, (CUdeviceptr address, CUstream stream)) \
	X(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes)) \
	X(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes)) \
	X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes)) \
	X(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes)) \
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	X(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, \
	  CUcontext from_context, size_t bytes, CUstream stream)) \
	X(cuMemsetD8_v2, (CUdeviceptr address, unsigned char value, size_t count)) \
	X(cuMemsetD32_v2, (CUdeviceptr address, unsigned value, size_t count)) \
	X(cuMemsetD8Async, (CUdeviceptr address, unsigned char value, size_t count, \
	  CUstream stream)) \
	X(cuMemsetD32Async, (CUdeviceptr address, unsigned value, size_t count, CUstream stream)) \
	X(cuStreamCreate, (CUstream *ret_stream, unsigned flags)) \
	X(cuStreamCreateWithPriority, (CUstream *ret_stream, unsigned flags, int priority)) \
	X(cuStreamDestroy_v2, (CUstream stream)) \
	X(cuStreamSynchronize, (CUstream stream)) \
	X(cuStreamQuery, (CUstream stream)) \
	X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags)) \
	X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode)) \
	X(cuStreamEndCapture, (CUstream stream, CUgraph *ret_graph)) \
	X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *ret_status)) \
	X(cuEventCreate, (CUevent *ret_event, unsigned flags)) \
	X(cuEventDestroy_v2, (CUevent event)) \
	X(cuEventRecord, (CUevent event, CUstream stream)) \
	X(cuEventSynchronize, (CUevent event)) \
	X(cuEventQuery, (CUevent event)) \
	X(cuEventElapsedTime, (float *ret_ms, CUevent start, CUevent end)) \
	X(cuGraphCreate, (CUgraph *ret_graph, unsigned flags)) \
	X(cuGraphAddKernelNode_v2, (CUgraphNode *ret_node, CUgraph graph, \
	  const CUgraphNode *dependencies, size_t count, \
	  const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)) \
	X(cuGraphInstantiateWithFlags, (CUgraphExec *ret_graph_exec, CUgraph graph, \
	  unsigned long long flags)) \
	X(cuGraphLaunch, (CUgraphExec graph_exec, CUstream stream)) \
	X(cuGraphExecDestroy, (CUgraphExec graph_exec)) \
	X(cuGraphDestroy, (CUgraph graph))
/* clang-format on */

#ifndef CUDA_ABI_TABLES_ONLY

struct cuda_functions {
#define CUDA_FUNCTION(name, parameters) CUresult(*name) parameters;
	CUDA_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};

#endif
#endif

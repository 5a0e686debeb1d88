/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/cuda_abi.h - declarations of the CUDA driver for the simulated one and programs that
 * call it
 *
 * Continues abi/cuda.h by the same rules.
 */
#pragma once

#include "abi/cuda.h"

#ifndef CUDA_ABI_TABLES_ONLY

typedef unsigned long long CUdeviceptr;
typedef struct CUmod_st *CUmodule;
typedef struct CUkern_st *CUkernel;
typedef struct CUevent_st *CUevent;
typedef void (*CUhostFn)(void *user);
typedef size_t (*CUoccupancyB2DSize)(int block_size);
typedef uint32_t CUfunction_attribute;
typedef uint32_t CUjit_option;
typedef uint32_t CUstreamCaptureMode;
typedef uint32_t CUstreamCaptureStatus;
typedef uint32_t CUdriverProcAddressQueryResult;
typedef uint64_t cuuint64_t;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
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
	CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
	CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
	CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,

	CU_STREAM_NON_BLOCKING = 1,

	CU_EVENT_DISABLE_TIMING = 2,

	CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
	CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
	CU_STREAM_CAPTURE_MODE_RELAXED = 2,

	CU_STREAM_CAPTURE_STATUS_NONE = 0,
	CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,

	CU_GRAPH_NODE_TYPE_KERNEL = 0,
	CU_GRAPH_NODE_TYPE_MEMCPY = 1,
	CU_GRAPH_NODE_TYPE_MEMSET = 2,
	CU_GRAPH_NODE_TYPE_HOST = 3,
	CU_GRAPH_NODE_TYPE_EMPTY = 5,

	CU_GET_PROC_ADDRESS_SUCCESS = 0,
	CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,

	CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
	CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,

	CU_JIT_ERROR_LOG_BUFFER = 5,
	CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,

	CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
};

/* The two default streams have numbers for handles. */
#define CU_STREAM_LEGACY     ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

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

/* clang-format off */
/* As CUDA_FUNCTIONS: functions that duet does not call. */
#define CUDA_MORE_FUNCTIONS(X) \
	X(cuGetErrorName, (CUresult error, const char **ret_text)) \
	X(cuGetErrorString, (CUresult error, const char **ret_text)) \
	X(cuGetProcAddress_v2, (const char *symbol, void **ret_function, int version, \
	  cuuint64_t flags, CUdriverProcAddressQueryResult *ret_status)) \
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

#define CUDA_ALL_FUNCTIONS(X) \
	CUDA_FUNCTIONS(X)     \
	CUDA_MORE_FUNCTIONS(X)

#ifndef CUDA_ABI_TABLES_ONLY

struct cuda_all_functions {
#define CUDA_FUNCTION(name, parameters) CUresult(*name) parameters;
	CUDA_ALL_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};

#endif

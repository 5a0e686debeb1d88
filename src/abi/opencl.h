/* SPDX-License-Identifier: MIT
 *
 * abi/opencl.h - the part of OpenCL's binary interface that the guest uses
 *
 * Our own declarations, so that building duet needs no OpenCL header; tests/unit/inject compares
 * them with the real ones where those are installed. Source: the OpenCL 3.0 specification and
 * cl_icd.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint32_t cl_bool;
typedef uint64_t cl_ulong;
typedef int64_t cl_long;

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef struct _cl_sampler *cl_sampler;
typedef struct _cl_semaphore_khr *cl_semaphore_khr;
typedef struct _cl_command_buffer_khr *cl_command_buffer_khr;
typedef struct _cl_mutable_command_khr *cl_mutable_command_khr;
typedef struct __GLsync *cl_GLsync;
typedef void *CLeglDisplayKHR;
typedef void *CLeglImageKHR;
typedef void *CLeglSyncKHR;
typedef struct _cl_image_format cl_image_format;
typedef struct _cl_image_desc cl_image_desc;
typedef struct _cl_mutable_base_config_khr cl_mutable_base_config_khr;
/* Callbacks are passed through and never called by the guest: any function pointer type will do. */
typedef void (*cl_callback)(void);
typedef void (*cl_event_callback)(cl_event event, cl_int status, void *data);

enum {
	CL_SUCCESS = 0,
	CL_COMPLETE = 0,
	CL_PROFILING_INFO_NOT_AVAILABLE = -7,
	CL_INVALID_VALUE = -30,
	CL_INVALID_QUEUE_PROPERTIES = -35,
	CL_INVALID_OPERATION = -59,

	CL_PLATFORM_VERSION = 0x0901,
	CL_PLATFORM_NAME = 0x0902,

	CL_DEVICE_TYPE = 0x1000,
	CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
	CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
	CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
	CL_DEVICE_NAME = 0x102B,
	CL_DEVICE_VENDOR = 0x102C,
	CL_DRIVER_VERSION = 0x102D,
	CL_DEVICE_PLATFORM = 0x1031,
	CL_DEVICE_UUID_KHR = 0x106A,
	CL_DEVICE_PCI_BUS_INFO_KHR = 0x410F,
	CL_DEVICE_PCI_BUS_ID_NV = 0x4008,
	CL_DEVICE_PCI_SLOT_ID_NV = 0x4009,
	CL_DEVICE_PCI_DOMAIN_ID_NV = 0x400A,
	CL_DEVICE_TOPOLOGY_AMD = 0x4037,
	CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD = 1,

	CL_CONTEXT_NUM_DEVICES = 0x1083,

	CL_QUEUE_CONTEXT = 0x1090,
	CL_QUEUE_DEVICE = 0x1091,
	CL_QUEUE_PROPERTIES = 0x1093,
	CL_QUEUE_PROPERTIES_ARRAY = 0x1098,
	CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1 << 0,
	CL_QUEUE_PROFILING_ENABLE = 1 << 1,

	CL_MEM_SIZE = 0x1102,
	CL_IMAGE_ELEMENT_SIZE = 0x1111,

	CL_PROGRAM_NUM_DEVICES = 0x1162,
	CL_PROGRAM_DEVICES = 0x1163,
	CL_PROGRAM_SOURCE = 0x1164,
	CL_PROGRAM_BINARY_SIZES = 0x1165,
	CL_PROGRAM_BINARIES = 0x1166,
	CL_PROGRAM_BUILD_STATUS = 0x1181,
	CL_PROGRAM_BUILD_OPTIONS = 0x1182,
	CL_PROGRAM_BUILD_LOG = 0x1183,

	CL_KERNEL_FUNCTION_NAME = 0x1190,
	CL_KERNEL_PROGRAM = 0x1194,
	CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
	CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
	CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x11B3,
	CL_KERNEL_PRIVATE_MEM_SIZE = 0x11B4,

	CL_EVENT_COMMAND_QUEUE = 0x11D0,
	CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
	CL_PROFILING_COMMAND_QUEUED = 0x1280,
	CL_PROFILING_COMMAND_SUBMIT = 0x1281,
	CL_PROFILING_COMMAND_START = 0x1282,
	CL_PROFILING_COMMAND_END = 0x1283,

	CL_LAYER_API_VERSION = 0x4240,
	CL_LAYER_NAME = 0x4241,
	CL_LAYER_API_VERSION_100 = 100,
};

struct cl_pci_bus_info {
	cl_uint domain, bus, device, function;
};

struct cl_topology_amd {
	cl_uint type;
	char unused[17];
	unsigned char bus, device, function;
};

/* The functions of one layer of the dispatch table, then the extension functions; types by name. */
struct opencl_functions {
#define STATUS(number, name, parameters, ...)                 cl_int(*name) parameters;
#define CREATE(number, name, type, parameters, ...)           type(*name) parameters;
#define POINTER(number, name, parameters, ...)                void *(*name)parameters;
#define NOTHING(number, name, parameters, ...)                void(*name) parameters;
#define WAIT(number, name, parameters, ...)                   cl_int(*name) parameters;
#define ENQUEUE(number, name, command, parameters, ...)       cl_int(*name) parameters;
#define ENQUEUE_PLAIN(number, name, command, parameters, ...) cl_int(*name) parameters;
#define ENQUEUE_MAP(number, name, command, parameters, ...)   void *(*name)parameters;
#define PASSED(number, name)                                  void (*name)(void);
#include "opencl_calls.inc"
#include "abi/opencl_calls_end.h"
};

/* Slots of the loader's dispatch table; the extension functions follow. */
enum { OPENCL_SLOTS = 149 };

/* SPDX-License-Identifier: MIT
 *
 * abi/cuda.h - the part of the CUDA driver's binary interface that duet uses
 *
 * Our own declarations, so that building duet needs no CUDA; tests/unit/inject compares them with
 * the real header where that is installed. Types, constants and functions carry the vendor's names;
 * fields are ours. Functions have the names of their symbols, with the suffix that cuda.h hides.
 * Declarations for the simulated driver and its callers alone are in sim/nvidia/cuda_abi.h.
 *
 * With CUDA_ABI_TABLES_ONLY defined only the table is declared: a test reads it beside the real
 * header.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifndef CUDA_ABI_TABLES_ONLY

typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

/* The vendor's enumerations: 32 bits, unsigned as gcc makes them. */
typedef uint32_t CUresult;
typedef uint32_t CUdevice_attribute;

typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;

enum {
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_NO_DEVICE = 100,
};

enum {
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
};

enum { CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2 };

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

#endif

/* Functions: X(name, parameters); each returns a CUresult. Not formatted, because clang-format
 * takes each * for a product. */
/* clang-format off */
#define CUDA_FUNCTIONS(X) \
	X(cuInit, (unsigned flags)) \
	X(cuDriverGetVersion, (int *ret_version)) \
	X(cuDeviceGet, (CUdevice *ret_device, int ordinal)) \
	X(cuDeviceGetCount, (int *ret_count)) \
	X(cuDeviceGetName, (char *ret_name, int bytes, CUdevice device)) \
	X(cuDeviceGetUuid_v2, (CUuuid *ret_uuid, CUdevice device)) \
	X(cuDeviceGetAttribute, (int *ret_value, CUdevice_attribute attribute, CUdevice device)) \
	X(cuDeviceGetPCIBusId, (char *ret_text, int bytes, CUdevice device)) \
	X(cuDeviceTotalMem_v2, (size_t *ret_bytes, CUdevice device))
/* clang-format on */

#ifndef CUDA_ABI_TABLES_ONLY

struct cuda_functions {
#define CUDA_FUNCTION(name, parameters) CUresult(*name) parameters;
	CUDA_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};

#endif

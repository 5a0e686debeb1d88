/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/harness/device_opencl.h - OpenCL's objects, for causes in OpenCL calls
 */
#pragma once

#include "diagnosis.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DEVICE_LOOPS = 250 }; /* of a work item; some 2 ms for a kernel on two processors */

struct device {
	cl_device_id devices[2];
	cl_uint count;
	cl_context context;
	cl_command_queue queue; /* of the first device */
	cl_program program;
	cl_kernel forward;
	cl_kernel backward;
	cl_mem input;
	cl_mem output;
};

extern struct device device;

void device_check(cl_int status, const char *what);

#ifdef __cplusplus
}
#endif

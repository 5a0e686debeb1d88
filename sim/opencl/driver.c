/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/driver.c - entry point for the loader, and its dispatch table
 *
 * Runs in:  the test program
 * Owns:     the dispatch table
 * Fails:    a function that is not simulated returns CL_INVALID_OPERATION; no slot is empty,
 *           because the loader jumps to it without a check
 */
#include <string.h>

#include "sim.h"

#define EXPORTED __attribute__((visibility("default")))

#define X(function) .function = sim_##function,
cl_icd_dispatch sim_dispatch = {SIM_FUNCTIONS(X)};
#undef X

/* ---- what is not simulated ------------------------------------------------------------------- */

typedef uintptr_t any;

static cl_int refuse(void)
{
	return CL_INVALID_OPERATION;
}

/* Creations write their error through their last parameter: one function for each place of it. */
static void *refuse_2(any a, any b, cl_int *errcode_ret)
{
	return sim_no(CL_INVALID_OPERATION, errcode_ret);
}

static void *refuse_3(any a, any b, any c, cl_int *errcode_ret)
{
	return sim_no(CL_INVALID_OPERATION, errcode_ret);
}

static void *refuse_4(any a, any b, any c, any d, cl_int *errcode_ret)
{
	return sim_no(CL_INVALID_OPERATION, errcode_ret);
}

static void *refuse_5(any a, any b, any c, any d, any e, cl_int *errcode_ret)
{
	return sim_no(CL_INVALID_OPERATION, errcode_ret);
}

static void *refuse_8(any a, any b, any c, any d, any e, any f, any g, any h, cl_int *errcode_ret)
{
	return sim_no(CL_INVALID_OPERATION, errcode_ret);
}

#define ROW(name, function)                                         \
	{                                                           \
		offsetof(cl_icd_dispatch, name), (void *)(function) \
	}

static const struct {
	size_t offset;
	void *function;
} refused_creations[] = {
	ROW(clCreateFromGLBuffer, refuse_3),
	ROW(clCreateFromGLTexture2D, refuse_5),
	ROW(clCreateFromGLTexture3D, refuse_5),
	ROW(clCreateFromGLTexture, refuse_5),
	ROW(clCreateFromGLRenderbuffer, refuse_3),
	ROW(clCreateEventFromGLsyncKHR, refuse_2),
	ROW(clCreateProgramWithBuiltInKernels, refuse_4),
	ROW(clCreateProgramWithIL, refuse_3),
	ROW(clLinkProgram, refuse_8),
	ROW(clCreateFromEGLImageKHR, refuse_5),
	ROW(clCreateEventFromEGLSyncKHR, refuse_3),
	ROW(clCreatePipe, refuse_5),
};

static void fill_slots(void)
{
	void **slots = (void **)&sim_dispatch;

	for (size_t i = 0; i < sizeof(refused_creations) / sizeof(refused_creations[0]); i++)
		slots[refused_creations[i].offset / sizeof(*slots)] = refused_creations[i].function;
	for (size_t i = 0; i < sizeof(sim_dispatch) / sizeof(*slots); i++)
		if (!slots[i])
			slots[i] = (void *)refuse;
}

/* ---- the way in ------------------------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_ready;

static void start(void)
{
	fill_slots();
	sim_only_install();
	is_ready = sim_options_read();
}

cl_int sim_clGetPlatformIDs(cl_uint num_entries, cl_platform_id *platforms, cl_uint *num_platforms)
{
	pthread_once(&once, start);
	if ((!platforms && !num_platforms) || (platforms && !num_entries))
		return CL_INVALID_VALUE;
	if (!is_ready)
		return CL_PLATFORM_NOT_FOUND_KHR;
	if (platforms)
		platforms[0] = &sim_platform;
	if (num_platforms)
		*num_platforms = 1;
	return CL_SUCCESS;
}

void *sim_clGetExtensionFunctionAddress(const char *func_name)
{
	if (strcmp(func_name, "clIcdGetPlatformIDsKHR") == 0)
		return (void *)sim_clGetPlatformIDs;
	if (sim_only_extension(func_name))
		return sim_only_extension(func_name);
	return sim_extension(func_name);
}

void *sim_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *func_name)
{
	return platform == &sim_platform ? sim_clGetExtensionFunctionAddress(func_name) : NULL;
}

/* Functions that the loader looks up by name in a driver. */
EXPORTED CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint num_entries,
								cl_platform_id *platforms,
								cl_uint *num_platforms)
{
	return sim_clGetPlatformIDs(num_entries, platforms, num_platforms);
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform,
							   cl_platform_info param_name,
							   size_t param_value_size,
							   void *param_value,
							   size_t *param_value_size_ret)
{
	return sim_clGetPlatformInfo(platform, param_name, param_value_size, param_value,
				     param_value_size_ret);
}

EXPORTED CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *func_name)
{
	return sim_clGetExtensionFunctionAddress(func_name);
}

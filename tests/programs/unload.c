/* SPDX-License-Identifier: MIT
 *
 * tests/programs/unload.c - closes the OpenCL library while commands are pending
 *
 *	unload ROUNDS    so often: opens it, launches 20 commands and 1 that is waited for, launches
 *	                 20 that are not, closes it
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 19, COMMANDS = 20 };

static void *library;

static void must(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "unload: %s: OpenCL error %d\n", what, status);
	exit(99);
}

#define FETCH(name) __typeof__(name) *p_##name = (__typeof__(name) *)dlsym(library, #name)

static void use(void)
{
	FETCH(clGetPlatformIDs);
	FETCH(clGetDeviceIDs);
	FETCH(clCreateContext);
	FETCH(clCreateCommandQueue);
	FETCH(clCreateBuffer);
	FETCH(clEnqueueWriteBuffer);
	FETCH(clFlush);
	FETCH(clReleaseMemObject);
	FETCH(clReleaseCommandQueue);
	FETCH(clReleaseContext);
	static char bytes[BYTES];
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer;

	must(p_clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	must(p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = p_clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	must(status, "clCreateContext");
	queue = p_clCreateCommandQueue(context, device, 0, &status);
	must(status, "clCreateCommandQueue");
	buffer = p_clCreateBuffer(context, 0, BYTES, NULL, &status);
	must(status, "clCreateBuffer");
	for (int i = 0; i < 2 * COMMANDS + 1; i++)
		must(p_clEnqueueWriteBuffer(queue, buffer, i == COMMANDS, 0, BYTES, bytes, 0, NULL,
					    NULL),
		     "clEnqueueWriteBuffer");
	p_clFlush(queue);
	p_clReleaseMemObject(buffer);
	p_clReleaseCommandQueue(queue);
	p_clReleaseContext(context);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++) {
		library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
		if (!library) {
			fprintf(stderr, "unload: %s\n", dlerror());
			return 98;
		}
		use();
		printf("dlclose: %d\n", dlclose(library));
	}
	return 7;
}

/* SPDX-License-Identifier: MIT
 *
 * tests/programs/at_exit.cpp - gives OpenCL objects up in main, in an exit handler or in a destructor
 *
 *	at_exit main|atexit|static [late] [pending] [kernels=N]
 *
 *	main, atexit, static   where everything is released
 *	late                   an exit handler makes a queue, builds a program and launches its kernel
 *	pending                nothing waits for the kernels that main launches
 *	kernels=N              the program has N kernels (1); one is launched, three times
 *
 * Each source is new to every cache: it has the number of the process, or TAG of the environment. Over the simulated driver
 * every call in a release, or after main, is announced (simOnly): the driver aborts at any other.
 *
 * Output: `launched N` and `released N`, from the last function that runs.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

static void (*announce)(const char *name);
static unsigned int launched, released;

/* A call that is announced, and nothing behind it. */
#define ONLY(name, ...) (allow(#name), checked(name(__VA_ARGS__), #name), allow(""))

static void allow(const char *name)
{
	if (announce)
		announce(name);
}

static void checked(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "at_exit: %s: OpenCL error %d\n", what, status);
	_exit(1);
}

static void print_counts()
{
	printf("launched %u\nreleased %u\n", launched, released);
}

struct objects {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program, late_program;
	cl_kernel kernel;
	cl_sampler sampler;
	cl_mem buffer;
	cl_event event;

	void release()
	{
		ONLY(clReleaseEvent, event);
		ONLY(clReleaseKernel, kernel);
		ONLY(clReleaseSampler, sampler);
		ONLY(clReleaseMemObject, buffer);
		ONLY(clReleaseProgram, program);
		ONLY(clReleaseCommandQueue, queue);
		ONLY(clReleaseContext, context);
		released = 7;
		if (!late_program)
			return;
		ONLY(clReleaseProgram, late_program);
		released++;
	}
};

static objects all;

/* Its destructor runs at exit. */
struct owner {
	bool is_active = false;

	~owner()
	{
		if (!is_active)
			return;
		all.release();
		print_counts();
	}
};

static owner owner;

static void release_at_exit()
{
	all.release();
	print_counts();
}

static void work_at_exit()
{
	size_t items = 64;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_int status;

	allow("clCreateCommandQueue");
	queue = clCreateCommandQueue(all.context, all.device, 0, &status);
	checked(status, "clCreateCommandQueue at exit");
	allow("clBuildProgram");
	checked(clBuildProgram(all.late_program, 1, &all.device, "", nullptr, nullptr), "clBuildProgram at exit");
	allow("clCreateKernel");
	kernel = clCreateKernel(all.late_program, "late", &status);
	checked(status, "clCreateKernel at exit");
	ONLY(clSetKernelArg, kernel, 0, sizeof(all.buffer), &all.buffer);
	ONLY(clEnqueueNDRangeKernel, queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr);
	ONLY(clFinish, queue);
	ONLY(clReleaseKernel, kernel);
	ONLY(clReleaseCommandQueue, queue);
	launched++;
}

static cl_program make_program(const std::string &source)
{
	const char *text = source.c_str();
	cl_int status;
	cl_program program = clCreateProgramWithSource(all.context, 1, &text, nullptr, &status);

	checked(status, "clCreateProgramWithSource");
	return program;
}

static std::string kernel_source(const std::string &name, int factor)
{
	const char *tag = getenv("TAG");

	return "__kernel void " + name + "(__global float *a) { a[get_global_id(0)] *= " +
	       std::to_string(factor) + "." + (tag ? tag : std::to_string(getpid())) + "f; }\n";
}

static void open_all()
{
	cl_platform_id platform;
	cl_int status;

	checked(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
	checked(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &all.device, nullptr), "clGetDeviceIDs");
	announce = reinterpret_cast<void (*)(const char *)>(
		clGetExtensionFunctionAddressForPlatform(platform, "simOnly"));
	all.context = clCreateContext(nullptr, 1, &all.device, nullptr, nullptr, &status);
	checked(status, "clCreateContext");
	all.queue = clCreateCommandQueue(all.context, all.device, 0, &status);
	checked(status, "clCreateCommandQueue");
	all.buffer = clCreateBuffer(all.context, CL_MEM_READ_WRITE, 4096, nullptr, &status);
	checked(status, "clCreateBuffer");
	all.sampler = clCreateSampler(all.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
	checked(status, "clCreateSampler");
}

static void build(int kernels)
{
	std::string source;
	cl_int status;

	for (int i = 0; i < kernels; i++)
		source += kernel_source("k" + std::to_string(i), i + 1);
	all.program = make_program(source);
	checked(clBuildProgram(all.program, 1, &all.device, "", nullptr, nullptr), "clBuildProgram");
	all.kernel = clCreateKernel(all.program, "k0", &status);
	checked(status, "clCreateKernel");
	checked(clSetKernelArg(all.kernel, 0, sizeof(all.buffer), &all.buffer), "clSetKernelArg");
}

static void launch(bool waits)
{
	size_t items = 64;

	for (int i = 0; i < 3; i++)
		checked(clEnqueueNDRangeKernel(all.queue, all.kernel, 1, nullptr, &items, nullptr, 0, nullptr,
					       i ? nullptr : &all.event),
			"clEnqueueNDRangeKernel");
	launched += 3;
	if (waits)
		checked(clFinish(all.queue), "clFinish");
}

int main(int argc, char **argv)
{
	const std::string where = argc > 1 ? argv[1] : "main";
	bool is_late = false, is_pending = false;
	int kernels = 1;

	for (int i = 2; i < argc; i++) {
		is_late |= strcmp(argv[i], "late") == 0;
		is_pending |= strcmp(argv[i], "pending") == 0;
		sscanf(argv[i], "kernels=%d", &kernels);
	}
	owner.is_active = where == "static";
	/* Before OpenCL is loaded: they run after the destructors of its libraries are due. */
	if (where == "atexit")
		atexit(release_at_exit);
	if (is_late)
		atexit(work_at_exit);
	open_all();
	build(kernels);
	if (is_late)
		all.late_program = make_program(kernel_source("late", 7));
	launch(!is_pending);
	allow("");
	if (where != "main")
		return 0;
	all.release();
	print_counts();
	return 0;
}

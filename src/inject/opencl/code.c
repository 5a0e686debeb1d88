/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/code.c - keep a program's sources and binaries
 *
 * Runs in:  the profiled process, after a build or the first launch of a kernel; never in a release
 *           or at exit
 * Gets:     programs
 * Gives:    code records, their content in pieces
 * Owns:     nothing; buffers are mapped for the length of a call
 * Fails:    by leaving out contents that the runtime does not provide or that find no room in the
 *           ring
 * Why:      everything is queried from the runtime after the build instead of copied from the
 *           program's arguments: one path for sources, binaries, IL and built-in kernels, and it
 *           works for programs built before the recorder attached. Binaries are queried only on
 *           platforms that have them ready: PoCL 3.1 compiles every kernel of the program to answer
 *           (1.5 s became 14.4 s).
 */
#include <string.h>
#include <sys/mman.h>

#include "inject/opencl/opencl.h"

/* Most content of one code object that the recorder keeps. */
enum { MAX_DEVICES = 16, MAX_CONTENT = 16 << 20 };

static void put_code(struct guest_thread *thread, uint32_t code, uint32_t parent, uint32_t type,
		     uint32_t device, cl_int status, const char *options, cl_program program,
		     const void *bytes, size_t size)
{
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = type},
		.handle = (uintptr_t)program,
		.size_bytes = size,
		.code = code,
		.parent = parent,
		.device = device,
		.status = status,
	};
	const char *texts[] = {"", options};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail);
	if (bytes)
		guest_put_content(thread, code, bytes, size);
}

static void keep_source(struct guest_thread *thread, cl_program program, uint32_t code,
			cl_int status, const char *options)
{
	size_t size = 0;
	char *source = NULL;
	bool exists;

	exists = next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) == CL_SUCCESS &&
		 size > 1;
	if (exists && size <= MAX_CONTENT)
		source = guest_memory(size);
	if (exists && !source)
		guest_count_lost_code(thread);
	if (source &&
	    next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, source, NULL) == CL_SUCCESS)
		put_code(thread, code, 0, CODE_SOURCE, 0, status, options, program, source,
			 size - 1);
	else
		put_code(thread, code, 0, exists ? CODE_SOURCE : CODE_BINARY, 0, status, options,
			 program, NULL, 0);
	if (source)
		munmap(source, size);
}

static void keep_log(struct guest_thread *thread, cl_program program, uint32_t parent,
		     cl_device_id device, cl_int status)
{
	size_t size = 0;
	char *log;

	if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
		    CL_SUCCESS ||
	    size <= 1)
		return;
	log = size <= MAX_CONTENT ? guest_memory(size) : NULL;
	if (!log) {
		guest_count_lost_code(thread);
		return;
	}
	if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL) ==
	    CL_SUCCESS)
		put_code(thread, opencl_new_code(), parent, CODE_BUILD_LOG,
			 opencl_device(thread, device), status, "", program, log,
			 strnlen(log, size));
	munmap(log, size);
}

/* Reads the binaries of all devices in one call, each into its own buffer. */
static void keep_binaries(struct guest_thread *thread, cl_program program, uint32_t parent,
			  const cl_device_id *devices, cl_uint count)
{
	size_t sizes[MAX_DEVICES] = {0}, total = 0;
	uint8_t *buffers[MAX_DEVICES], *memory;

	if (next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(sizes[0]), sizes,
				  NULL) != CL_SUCCESS)
		return;
	for (cl_uint i = 0; i < count; i++)
		total += sizes[i];
	if (!total)
		return;
	memory = total <= MAX_CONTENT ? guest_memory(total) : NULL;
	if (!memory) {
		guest_count_lost_code(thread);
		return;
	}
	for (size_t i = 0, at = 0; i < count; at += sizes[i++])
		buffers[i] = sizes[i] ? memory + at : NULL;
	if (next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(buffers[0]), buffers,
				  NULL) == CL_SUCCESS)
		for (cl_uint i = 0; i < count; i++)
			if (sizes[i])
				put_code(thread, opencl_new_code(), parent, CODE_BINARY,
					 opencl_device(thread, devices[i]), 0, "", program,
					 buffers[i], sizes[i]);
	munmap(memory, total);
}

/* Returns 0 if the runtime refuses, or if there are more than MAX_DEVICES devices. */
static cl_uint program_devices(cl_program program, cl_device_id devices[MAX_DEVICES])
{
	cl_uint count = 0;

	if (next.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count, NULL) !=
		    CL_SUCCESS ||
	    count > MAX_DEVICES ||
	    next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(devices[0]), devices,
				  NULL) != CL_SUCCESS)
		return 0;
	return count;
}

void opencl_keep_binaries(struct guest_thread *thread, cl_program program, uint32_t code)
{
	cl_device_id devices[MAX_DEVICES];
	cl_uint count = thread->options & RING_OPTION_CODE ? program_devices(program, devices) : 0;

	if (count)
		keep_binaries(thread, program, code, devices, count);
}

void opencl_keep_program(struct guest_thread *thread, cl_program program, uint32_t code,
			 cl_int status)
{
	cl_device_id devices[MAX_DEVICES];
	char options[RECORD_TEXT_BYTES] = "";
	cl_uint count = opencl_may_ask(thread) ? program_devices(program, devices) : 0;

	if (!count)
		return;
	next.clGetProgramBuildInfo(program, devices[0], CL_PROGRAM_BUILD_OPTIONS,
				   sizeof(options) - 1, options, NULL);
	if (!(thread->options & RING_OPTION_CODE)) {
		put_code(thread, code, 0, CODE_SOURCE, 0, status, options, program, NULL, 0);
		return;
	}
	keep_source(thread, program, code, status, options);
	for (cl_uint i = 0; i < count; i++)
		keep_log(thread, program, code, devices[i], status);
}

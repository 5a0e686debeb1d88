/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/program.c - programs and kernels
 *
 * Runs in:  the test program
 * Owns:     a program's source and the names found in it
 * Why:      any source builds, because nothing is executed: a kernel only takes time. Its kernels
 *           are found by a scan for `kernel … NAME(`. A source with #error does not build, and the
 *           log reports so.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static const char binary_head[] = "SIMOPENCL\n"; /* a binary is this and the source */

/* ---- the scan -------------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next word `kernel` or `__kernel` that stands alone; NULL: none. Points behind it. */
static const char *next_kernel(const char *source, const char *at)
{
	while ((at = strstr(at, "kernel"))) {
		const char *begin = at - source >= 2 && memcmp(at - 2, "__", 2) == 0 ? at - 2 : at;

		at += strlen("kernel");
		if ((begin == source || !is_word(begin[-1])) && !is_word(*at))
			return at;
	}
	return NULL;
}

static const char *skip_parentheses(const char *at)
{
	int depth = 0;

	do {
		depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
		at++;
	} while (*at && depth > 0);
	return at;
}

/* The word before the parenthesis of the parameters; an attribute's parentheses are skipped. */
static const char *find_name(const char *at, char name[64])
{
	size_t length = 0;

	for (name[0] = '\0'; *at && *at != '{' && *at != ';';) {
		if (is_word(*at)) {
			for (length = 0; is_word(*at); at++)
				if (length < 63)
					name[length++] = *at;
			name[length] = '\0';
		} else if (*at == '(' && strcmp(name, "__attribute__") == 0) {
			at = skip_parentheses(at);
		} else if (*at == '(') {
			return at;
		} else {
			at++;
		}
	}
	return NULL;
}

static cl_uint count_arguments(const char *at)
{
	const char *end = skip_parentheses(at);
	bool any = false;
	cl_uint count = 1;
	int depth = 0;

	for (at++; at < end - 1; at++) {
		depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
		count += *at == ',' && depth == 0;
		any |= !isspace((unsigned char)*at);
	}
	return any ? count : 0;
}

static bool scan(cl_program program)
{
	const char *at = program->source;
	char name[64];

	program->name_count = 0;
	while ((at = next_kernel(program->source, at))) {
		const char *parameters = find_name(at, name);
		cl_uint count = program->name_count + 1;

		if (!parameters)
			continue;
		program->names = realloc(program->names, count * sizeof(*program->names));
		program->argument_counts = realloc(program->argument_counts,
						   count * sizeof(*program->argument_counts));
		if (!program->names || !program->argument_counts)
			return false;
		memcpy(program->names[count - 1], name, sizeof(name));
		program->argument_counts[count - 1] = count_arguments(parameters);
		program->name_count = count;
		at = parameters;
	}
	return true;
}

/* ---- programs -------------------------------------------------------------------------------- */

static void put_program(cl_program program)
{
	if (!sim_drop(program))
		return;
	sim_put_context(program->context);
	free(program->source);
	free(program->names);
	free(program->argument_counts);
	free(program);
}

/* source is taken over. */
static cl_program new_program(cl_context context, char *source, bool from_binary,
			      cl_int *errcode_ret)
{
	cl_program program = source ? sim_new(SIM_PROGRAM, sizeof(*program)) : NULL;

	if (!program) {
		free(source);
		return sim_no(CL_OUT_OF_HOST_MEMORY, errcode_ret);
	}
	sim_retain(context);
	program->context = context;
	program->source = source;
	program->from_binary = from_binary;
	program->status = CL_BUILD_NONE;
	return sim_yes(program, errcode_ret);
}

cl_program sim_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
					 const size_t *lengths, cl_int *errcode_ret)
{
	size_t total = 0;
	char *source;

	if (!sim_is(context, SIM_CONTEXT))
		return sim_no(CL_INVALID_CONTEXT, errcode_ret);
	if (!count || !strings)
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	for (cl_uint i = 0; i < count; i++)
		total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	source = calloc(1, total + 1);
	for (size_t i = 0, at = 0; source && i < count; i++) {
		size_t length = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);

		memcpy(source + at, strings[i], length);
		at += length;
	}
	return new_program(context, source, false, errcode_ret);
}

cl_program sim_clCreateProgramWithBinary(cl_context context, cl_uint num_devices,
					 const cl_device_id *device_list, const size_t *lengths,
					 const unsigned char **binaries, cl_int *binary_status,
					 cl_int *errcode_ret)
{
	const size_t head = sizeof(binary_head) - 1;
	bool good = true;

	if (!sim_is(context, SIM_CONTEXT))
		return sim_no(CL_INVALID_CONTEXT, errcode_ret);
	if (!num_devices || !device_list || !lengths || !binaries)
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	for (cl_uint i = 0; i < num_devices; i++) {
		bool known = lengths[i] >= head && memcmp(binaries[i], binary_head, head) == 0;

		if (binary_status)
			binary_status[i] = known ? CL_SUCCESS : CL_INVALID_BINARY;
		good &= known;
	}
	if (!good)
		return sim_no(CL_INVALID_BINARY, errcode_ret);
	return new_program(context, strndup((const char *)binaries[0] + head, lengths[0] - head),
			   true, errcode_ret);
}

cl_int sim_clRetainProgram(cl_program program)
{
	if (!sim_is(program, SIM_PROGRAM))
		return CL_INVALID_PROGRAM;
	sim_retain(program);
	return CL_SUCCESS;
}

cl_int sim_clReleaseProgram(cl_program program)
{
	if (!sim_is(program, SIM_PROGRAM))
		return CL_INVALID_PROGRAM;
	put_program(program);
	return CL_SUCCESS;
}

static cl_int build(cl_program program, const char *options, cl_int failure)
{
	snprintf(program->options, sizeof(program->options), "%s", options ? options : "");
	program->built = !strstr(program->source, "#error") && scan(program);
	program->status = program->built ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
	if (program->built)
		snprintf(program->log, sizeof(program->log), "simulated build: %u kernels\n",
			 program->name_count);
	else
		snprintf(program->log, sizeof(program->log), "error: #error in the source\n");
	return program->built ? CL_SUCCESS : failure;
}

cl_int sim_clBuildProgram(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
			  const char *options, void(CL_CALLBACK *pfn_notify)(cl_program, void *),
			  void *user_data)
{
	cl_int result;

	if (!sim_is(program, SIM_PROGRAM))
		return CL_INVALID_PROGRAM;
	result = build(program, options, CL_BUILD_PROGRAM_FAILURE);
	if (pfn_notify)
		pfn_notify(program, user_data);
	return result;
}

cl_int sim_clCompileProgram(cl_program program, cl_uint num_devices,
			    const cl_device_id *device_list, const char *options,
			    cl_uint num_input_headers, const cl_program *input_headers,
			    const char **header_include_names,
			    void(CL_CALLBACK *pfn_notify)(cl_program, void *), void *user_data)
{
	cl_int result;

	if (!sim_is(program, SIM_PROGRAM))
		return CL_INVALID_PROGRAM;
	result = build(program, options, CL_COMPILE_PROGRAM_FAILURE);
	if (pfn_notify)
		pfn_notify(program, user_data);
	return result;
}

cl_int sim_clUnloadCompiler(void)
{
	return CL_SUCCESS;
}

cl_int sim_clUnloadPlatformCompiler(cl_platform_id platform)
{
	return CL_SUCCESS;
}

static size_t binary_size(cl_program program)
{
	return program->built ? sizeof(binary_head) - 1 + strlen(program->source) : 0;
}

/* One pointer a device, each to the program's own memory. */
static cl_int write_binaries(cl_program program, size_t size, void *value, size_t *ret_size)
{
	size_t needed = program->context->device_count * sizeof(char *);
	char **places = value;

	if (ret_size)
		*ret_size = needed;
	if (!places)
		return CL_SUCCESS;
	if (size < needed)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < program->context->device_count; i++) {
		if (!places[i] || !program->built)
			continue;
		memcpy(places[i], binary_head, sizeof(binary_head) - 1);
		memcpy(places[i] + sizeof(binary_head) - 1, program->source,
		       strlen(program->source));
	}
	return CL_SUCCESS;
}

static cl_int write_names(cl_program program, size_t param_value_size, void *param_value,
			  size_t *param_value_size_ret)
{
	char *names = calloc(program->name_count + 1, sizeof(*program->names) + 1);
	cl_int result;

	if (!names)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < program->name_count; i++) {
		if (i)
			strcat(names, ";");
		strcat(names, program->names[i]);
	}
	result = SIM_ANSWER_TEXT(names);
	free(names);
	return result;
}

cl_int sim_clGetProgramInfo(cl_program program, cl_program_info param_name, size_t param_value_size,
			    void *param_value, size_t *param_value_size_ret)
{
	size_t sizes[MAX_SIM_DEVICES];
	cl_context context;

	if (!sim_is(program, SIM_PROGRAM))
		return CL_INVALID_PROGRAM;
	context = program->context;
	switch (param_name) {
	case CL_PROGRAM_REFERENCE_COUNT:
		return SIM_ANSWER(cl_uint, atomic_load(&program->object.references));
	case CL_PROGRAM_CONTEXT:
		return SIM_ANSWER(cl_context, context);
	case CL_PROGRAM_NUM_DEVICES:
		return SIM_ANSWER(cl_uint, context->device_count);
	case CL_PROGRAM_DEVICES:
		return sim_answer(context->devices, context->device_count * sizeof(cl_device_id),
				  param_value_size, param_value, param_value_size_ret);
	case CL_PROGRAM_SOURCE:
		return SIM_ANSWER_TEXT(program->from_binary ? "" : program->source);
	case CL_PROGRAM_BINARY_SIZES:
		for (cl_uint i = 0; i < context->device_count; i++)
			sizes[i] = binary_size(program);
		return sim_answer(sizes, context->device_count * sizeof(sizes[0]), param_value_size,
				  param_value, param_value_size_ret);
	case CL_PROGRAM_BINARIES:
		return write_binaries(program, param_value_size, param_value, param_value_size_ret);
	case CL_PROGRAM_NUM_KERNELS:
		return SIM_ANSWER(size_t, program->name_count);
	case CL_PROGRAM_KERNEL_NAMES:
		return write_names(program, param_value_size, param_value, param_value_size_ret);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int sim_clGetProgramBuildInfo(cl_program program, cl_device_id device,
				 cl_program_build_info param_name, size_t param_value_size,
				 void *param_value, size_t *param_value_size_ret)
{
	if (!sim_is(program, SIM_PROGRAM))
		return CL_INVALID_PROGRAM;
	switch (param_name) {
	case CL_PROGRAM_BUILD_STATUS:
		return SIM_ANSWER(cl_build_status, program->status);
	case CL_PROGRAM_BUILD_OPTIONS:
		return SIM_ANSWER_TEXT(program->options);
	case CL_PROGRAM_BUILD_LOG:
		return SIM_ANSWER_TEXT(program->log);
	case CL_PROGRAM_BINARY_TYPE:
		return SIM_ANSWER(cl_program_binary_type,
				  program->built ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE
						 : CL_PROGRAM_BINARY_TYPE_NONE);
	case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE:
		return SIM_ANSWER(size_t, 0);
	default:
		return CL_INVALID_VALUE;
	}
}

/* ---- kernels --------------------------------------------------------------------------------- */

static cl_kernel new_kernel(cl_program program, cl_uint index)
{
	cl_kernel kernel = sim_new(SIM_KERNEL, sizeof(*kernel));

	if (!kernel)
		return NULL;
	sim_retain(program);
	kernel->program = program;
	kernel->index = index;
	return kernel;
}

cl_kernel sim_clCreateKernel(cl_program program, const char *kernel_name, cl_int *errcode_ret)
{
	if (!sim_is(program, SIM_PROGRAM))
		return sim_no(CL_INVALID_PROGRAM, errcode_ret);
	if (!program->built)
		return sim_no(CL_INVALID_PROGRAM_EXECUTABLE, errcode_ret);
	for (cl_uint i = 0; kernel_name && i < program->name_count; i++)
		if (strcmp(program->names[i], kernel_name) == 0)
			return sim_yes(new_kernel(program, i), errcode_ret);
	return sim_no(CL_INVALID_KERNEL_NAME, errcode_ret);
}

cl_int sim_clCreateKernelsInProgram(cl_program program, cl_uint num_kernels, cl_kernel *kernels,
				    cl_uint *num_kernels_ret)
{
	if (!sim_is(program, SIM_PROGRAM))
		return CL_INVALID_PROGRAM;
	if (!program->built)
		return CL_INVALID_PROGRAM_EXECUTABLE;
	if (kernels && num_kernels < program->name_count)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; kernels && i < program->name_count; i++)
		kernels[i] = new_kernel(program, i);
	if (num_kernels_ret)
		*num_kernels_ret = program->name_count;
	return CL_SUCCESS;
}

cl_kernel sim_clCloneKernel(cl_kernel source_kernel, cl_int *errcode_ret)
{
	if (!sim_is(source_kernel, SIM_KERNEL))
		return sim_no(CL_INVALID_KERNEL, errcode_ret);
	return sim_yes(new_kernel(source_kernel->program, source_kernel->index), errcode_ret);
}

cl_int sim_clRetainKernel(cl_kernel kernel)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	sim_retain(kernel);
	return CL_SUCCESS;
}

cl_int sim_clReleaseKernel(cl_kernel kernel)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	if (sim_drop(kernel)) {
		put_program(kernel->program);
		free(kernel);
	}
	return CL_SUCCESS;
}

cl_int sim_clSetKernelArg(cl_kernel kernel, cl_uint arg_index, size_t arg_size,
			  const void *arg_value)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	return arg_index < kernel->program->argument_counts[kernel->index] ? CL_SUCCESS
									   : CL_INVALID_ARG_INDEX;
}

cl_int sim_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint arg_index, const void *arg_value)
{
	return sim_clSetKernelArg(kernel, arg_index, sizeof(void *), &arg_value);
}

cl_int sim_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info param_name,
			       size_t param_value_size, const void *param_value)
{
	return sim_is(kernel, SIM_KERNEL) ? CL_SUCCESS : CL_INVALID_KERNEL;
}

cl_int sim_clGetKernelInfo(cl_kernel kernel, cl_kernel_info param_name, size_t param_value_size,
			   void *param_value, size_t *param_value_size_ret)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	switch (param_name) {
	case CL_KERNEL_FUNCTION_NAME:
		return SIM_ANSWER_TEXT(kernel->program->names[kernel->index]);
	case CL_KERNEL_NUM_ARGS:
		return SIM_ANSWER(cl_uint, kernel->program->argument_counts[kernel->index]);
	case CL_KERNEL_REFERENCE_COUNT:
		return SIM_ANSWER(cl_uint, atomic_load(&kernel->object.references));
	case CL_KERNEL_CONTEXT:
		return SIM_ANSWER(cl_context, kernel->program->context);
	case CL_KERNEL_PROGRAM:
		return SIM_ANSWER(cl_program, kernel->program);
	case CL_KERNEL_ATTRIBUTES:
		return SIM_ANSWER_TEXT("");
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int sim_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
				    cl_kernel_work_group_info param_name, size_t param_value_size,
				    void *param_value, size_t *param_value_size_ret)
{
	static const size_t none[3] = {0, 0, 0};

	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	if (sim_options.no_needs)
		return CL_OUT_OF_RESOURCES;
	switch (param_name) {
	case CL_KERNEL_WORK_GROUP_SIZE:
		return SIM_ANSWER(size_t, 1024);
	case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
		return sim_answer(none, sizeof(none), param_value_size, param_value,
				  param_value_size_ret);
	case CL_KERNEL_LOCAL_MEM_SIZE:
		return SIM_ANSWER(cl_ulong, (cl_ulong)sim_options.local_bytes);
	case CL_KERNEL_PRIVATE_MEM_SIZE:
		return SIM_ANSWER(cl_ulong, (cl_ulong)sim_options.private_bytes);
	case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
		return SIM_ANSWER(size_t, 32);
	default:
		return CL_INVALID_VALUE;
	}
}

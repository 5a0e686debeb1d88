/* SPDX-License-Identifier: MIT
 *
 * cli/info/cubin.c - duet info for a cubin (NVIDIA): functions, sizes, instructions, lines
 *
 * Runs in:  our own process
 * Gets:     its bytes
 * Gives:    text, or JSON "duet.info/1" with the key code_object
 * Owns:     a disassembler
 * Fails:    -errno if the file is damaged
 */
#include "cli/info/info.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "isa/isa.h"
#include "symbol/device/cubin.h"

enum { RESERVED_BYTES = 1024 };

static int find_line(void *context, uint64_t offset, const char **ret_file, uint32_t *ret_line)
{
	if (!cubin_find_line(context, offset, ret_file, ret_line))
		*ret_file = NULL;
	return 0;
}

/* Since sm_90 the section of shared memory includes bytes that the driver reserves. They are
 * subtracted, as in the output of ptxas -v. */
static uint32_t named_shared(const char *target, const struct cubin_function *function)
{
	uint32_t number, kept = 0;

	if (sscanf(target, "sm_%3u", &number) == 1 && number >= 90)
		kept = RESERVED_BYTES;
	return function->shared_bytes > kept ? function->shared_bytes - kept : 0;
}

static struct info_kernel describe_function(const uint8_t *bytes, const char *target,
					    const struct cubin_function *function)
{
	return (struct info_kernel){
		.name = function->name,
		.is_called = !function->is_kernel,
		.offset = function->offset,
		.code = bytes + function->offset,
		.code_bytes = function->size_bytes,
		.size_bytes = function->size_bytes,
		.facts = {{"registers", "registers", function->registers},
			  {"shared_bytes", "bytes of shared memory",
			   named_shared(target, function)},
			  {"stack_bytes", "bytes of stack", function->stack_bytes}},
	};
}

static int print_cubin(struct cubin *cubin, struct info_object *object, const uint8_t *bytes,
		       bool is_json)
{
	const struct cubin_function *functions;
	size_t count = cubin_functions(cubin, &functions);
	auto_free struct info_kernel *described = calloc(count + 1, sizeof(*described));

	if (!described)
		return error_set(-ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		described[i] = describe_function(bytes, cubin_target(cubin), &functions[i]);
	object->kernels = described;
	object->kernel_count = count;
	return info_object_print(object, is_json);
}

int info_cubin(const char *path, const void *bytes, size_t size, bool is_json)
{
	struct cubin *cubin;
	struct info_object object = {
		.path = path,
		.size_bytes = size,
		.vendor = "NVIDIA",
		.gpu = "an NVIDIA GPU",
		.find_line = find_line,
	};
	int error = cubin_open(bytes, size, &cubin);

	if (error)
		return error_note(error, "read '%s'", path);
	object.generation = cubin_target(cubin);
	object.context = cubin;
	error = isa_new(ISA_SASS, object.generation, &object.isa);
	if (!error)
		error = print_cubin(cubin, &object, bytes, is_json);
	isa_free(object.isa);
	cubin_close(cubin);
	return error;
}

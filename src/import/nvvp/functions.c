/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/functions.c - the names of CUDA's functions by CUPTI's numbers
 *
 * Runs in:  our own process
 * Gets:     the number of a function of the driver or runtime API
 * Gives:    the function
 * Owns:     nothing; the functions that were looked up are the import's
 * Fails:    -ENOMEM
 * Why a table: a file of nvprof has only the numbers
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "import/nvvp/import.h"
#include "import/target.h"

static const char *const driver_names[] = {
#define DRIVER(number, name) [number] = #name,
#include "import/nvvp/numbers.h"
};

static const char *const runtime_names[] = {
#define RUNTIME(number, name) [number] = #name,
#include "import/nvvp/numbers.h"
};

static int make_function(struct nvvp *nvvp, bool is_runtime, int64_t number,
			 struct import_cuda_function *ret_function)
{
	char made[64];
	const char *name = is_runtime ? array_text(runtime_names, ARRAY_COUNT(runtime_names),
						   (size_t)number, made)
				      : array_text(driver_names, ARRAY_COUNT(driver_names),
						   (size_t)number, made);

	snprintf(made, sizeof(made), "CUDA %s function %" PRId64, is_runtime ? "runtime" : "driver",
		 number);
	return import_cuda_function(nvvp->target, name, ret_function);
}

int nvvp_function_of(struct nvvp *nvvp, bool is_runtime, int64_t number,
		     struct import_cuda_function *ret_function)
{
	const size_t count = is_runtime ? ARRAY_COUNT(runtime_names) : ARRAY_COUNT(driver_names);
	struct import_cuda_function **known = &nvvp->calls[is_runtime];
	int error = 0;

	if (number < 0 || (uint64_t)number >= count)
		return make_function(nvvp, is_runtime, number, ret_function);
	if (!*known)
		*known = calloc(count, sizeof(**known));
	if (!*known)
		return -ENOMEM;
	if (!(*known)[number].string)
		error = make_function(nvvp, is_runtime, number, &(*known)[number]);
	*ret_function = (*known)[number];
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/module.c - modules and functions of the simulated driver
 *
 * Runs in:  a program that uses CUDA
 * Gets:     PTX text
 * Gives:    functions, and the cubin for callbacks of loaded modules
 * Owns:     modules with their functions, until they are unloaded
 * Fails:    INVALID_PTX for text without kernels, INVALID_IMAGE for anything that is not text
 */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

static _Atomic uint32_t module_ids = 1;

static void free_module(CUmodule module)
{
	for (size_t i = 0; i < module->function_count; i++)
		free(module->functions[i].name);
	free(module->functions);
	free(module->cubin);
	module->magic = 0;
	free(module);
}

static void init_function(CUfunction function, CUmodule module, char *name, size_t index,
			  uint32_t text_bytes)
{
	*function = (struct CUfunc_st){
		.magic = SIM_FUNCTION_MAGIC,
		.module = module,
		.name = name,
		.kernel = {.name = name,
			   .registers = sim_registers(index),
			   .text_bytes = text_bytes,
			   .index = (uint32_t)index,
			   .cubin_crc = sim_cubin_crc(module->cubin, module->cubin_bytes)},
		.attributes = {[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
			       [CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90,
			       [CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90,
			       [CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152}};
	function->attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = (int)function->kernel.registers;
}

/* Takes the names. NULL: no memory. */
static CUmodule make_module(CUcontext context, char **names, size_t count)
{
	CUmodule module = calloc(1, sizeof(*module));
	uint32_t text_bytes = 0;

	if (module) {
		module->functions = calloc(count, sizeof(*module->functions));
		module->cubin = sim_make_cubin(names, count, &module->cubin_bytes, &text_bytes);
	}
	if (!module || !module->functions || !module->cubin) {
		for (size_t i = 0; i < count; i++)
			free(names[i]);
		if (module)
			free_module(module);
		return NULL;
	}
	module->magic = SIM_MODULE_MAGIC;
	module->id = atomic_fetch_add(&module_ids, 1);
	module->context = context;
	module->function_count = count;
	for (size_t i = 0; i < count; i++)
		init_function(&module->functions[i], module, names[i], i, text_bytes);
	return module;
}

static void tell_module(uint32_t cbid, CUmodule module)
{
	struct cupti_module_resource descriptor = {.module_id = module->id,
						   .cubin_bytes = module->cubin_bytes,
						   .cubin = (const char *)module->cubin};

	sim_resource(cbid, module->context, NULL, &descriptor);
}

static CUresult load(CUcontext context, const char *image, CUmodule *ret_module)
{
	char **names = NULL;
	CUmodule module;
	int count;

	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (image[0] != '.' && image[0] != '/' && image[0] != '\n' && image[0] != ' ' &&
	    image[0] != '\t')
		return CUDA_ERROR_INVALID_IMAGE;
	count = sim_scan_ptx(image, &names);
	if (count <= 0)
		return CUDA_ERROR_INVALID_PTX;
	module = make_module(context, names, (size_t)count);
	free(names);
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_module = module;
	if (!sim_options()->pc_forget)
		tell_module(CUPTI_CBID_RESOURCE_MODULE_LOADED, module);
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	const struct {
		CUmodule *ret_module;
		const void *image;
	} parameters = {ret_module, image};
	SIM_CALL(cuModuleLoadData, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = load(call.context, image, ret_module);
	return sim_call_end(&call);
}

static void write_log(unsigned count, const CUjit_option *options, void **values, CUresult result)
{
	char *log = NULL;
	size_t bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			log = values[i];
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			bytes = (size_t)(uintptr_t)values[i];
	}
	if (log && bytes)
		snprintf(log, bytes, "%s",
			 result ? "ptxas fatal   : Ptx assembly aborted due to errors" : "");
}

CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned count,
			    CUjit_option *options, void **values)
{
	const struct {
		CUmodule *ret_module;
		const void *image;
		unsigned count;
		CUjit_option *options;
		void **values;
	} parameters = {ret_module, image, count, options, values};
	SIM_CALL(cuModuleLoadDataEx, &parameters);

	if (sim_call_begin_in_context(&call)) {
		call.result = load(call.context, image, ret_module);
		if (options && values)
			write_log(count, options, values, call.result);
	}
	return sim_call_end(&call);
}

CUresult cuModuleUnload(CUmodule module)
{
	SIM_CALL(cuModuleUnload, &module);

	if (sim_call_begin_in_context(&call)) {
		if (!module || module->magic != SIM_MODULE_MAGIC) {
			call.result = CUDA_ERROR_INVALID_HANDLE;
		} else {
			tell_module(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module);
			free_module(module);
		}
	}
	return sim_call_end(&call);
}

static CUresult find_function(CUmodule module, const char *name, CUfunction *ret_function)
{
	if (!ret_function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module || module->magic != SIM_MODULE_MAGIC)
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < module->function_count; i++) {
		if (strcmp(module->functions[i].name, name) != 0)
			continue;
		*ret_function = &module->functions[i];
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
	const struct {
		CUfunction *ret_function;
		CUmodule module;
		const char *name;
	} parameters = {ret_function, module, name};
	SIM_CALL(cuModuleGetFunction, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = find_function(module, name, ret_function);
	return sim_call_end(&call);
}

/* No module here has variables. */
CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_bytes, CUmodule module,
			      const char *name)
{
	const struct {
		CUdeviceptr *ret_address;
		size_t *ret_bytes;
		CUmodule module;
		const char *name;
	} parameters = {ret_address, ret_bytes, module, name};
	SIM_CALL(cuModuleGetGlobal_v2, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
	return sim_call_end(&call);
}

/* ---- functions ------------------------------------------------------------------------------- */

static CUresult check_function(CUfunction function, const void *ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	return function && function->magic == SIM_FUNCTION_MAGIC ? CUDA_SUCCESS
								 : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute, CUfunction function)
{
	const struct {
		int *ret_value;
		CUfunction_attribute attribute;
		CUfunction function;
	} parameters = {ret_value, attribute, function};
	SIM_CALL(cuFuncGetAttribute, &parameters);

	if (sim_call_begin_in_context(&call)) {
		call.result = check_function(function, ret_value);
		if (!call.result && attribute >= 16)
			call.result = CUDA_ERROR_INVALID_VALUE;
		if (!call.result)
			*ret_value = function->attributes[attribute];
	}
	return sim_call_end(&call);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	const struct {
		CUfunction function;
		CUfunction_attribute attribute;
		int value;
	} parameters = {function, attribute, value};
	SIM_CALL(cuFuncSetAttribute, &parameters);

	if (sim_call_begin_in_context(&call)) {
		call.result = check_function(function, &value);
		if (!call.result && (attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
				     attribute >= 16))
			call.result = CUDA_ERROR_INVALID_VALUE;
		if (!call.result)
			function->attributes[attribute] = value;
	}
	return sim_call_end(&call);
}

CUresult cuFuncGetName(const char **ret_name, CUfunction function)
{
	const struct {
		const char **ret_name;
		CUfunction function;
	} parameters = {ret_name, function};
	SIM_CALL(cuFuncGetName, &parameters);

	if (sim_call_begin_in_context(&call)) {
		call.result = check_function(function, ret_name);
		if (!call.result)
			*ret_name = function->kernel.name;
	}
	return sim_call_end(&call);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_count, CUfunction function,
						     int block_size, size_t dynamic_shared_bytes)
{
	const struct {
		int *ret_count;
		CUfunction function;
		int block_size;
		size_t dynamic_shared_bytes;
	} parameters = {ret_count, function, block_size, dynamic_shared_bytes};
	SIM_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &parameters);

	if (sim_call_begin_in_context(&call)) {
		call.result = check_function(function, ret_count);
		if (!call.result && block_size <= 0)
			call.result = CUDA_ERROR_INVALID_VALUE;
		if (!call.result)
			*ret_count = 2048 / block_size < 32 ? 2048 / block_size : 32;
	}
	return sim_call_end(&call);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *ret_min_grid_size, int *ret_block_size,
					  CUfunction function, CUoccupancyB2DSize shared_of_block,
					  size_t dynamic_shared_bytes, int block_limit)
{
	const struct {
		int *ret_min_grid_size, *ret_block_size;
		CUfunction function;
		CUoccupancyB2DSize shared_of_block;
		size_t dynamic_shared_bytes;
		int block_limit;
	} parameters = {ret_min_grid_size, ret_block_size,       function,
			shared_of_block,   dynamic_shared_bytes, block_limit};
	SIM_CALL(cuOccupancyMaxPotentialBlockSize, &parameters);

	if (sim_call_begin_in_context(&call)) {
		call.result = check_function(function, ret_block_size);
		if (!call.result && !ret_min_grid_size)
			call.result = CUDA_ERROR_INVALID_VALUE;
		if (!call.result) {
			*ret_block_size =
				block_limit > 0 && block_limit < 1024 ? block_limit : 1024;
			*ret_min_grid_size = (int)sim_options()->sms * (2048 / *ret_block_size);
		}
	}
	return sim_call_end(&call);
}

/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/module.c - modules of native binaries (zebin), and their kernels
 *
 * Runs in:  the test program
 * Gets:     zebin files
 * Gives:    kernels, named by their sections, each at its own address
 * Owns:     the modules
 * Fails:    a kernel whose work is unknown here takes its time and does nothing
 * Why:      a kernel's code cannot run here. The tests' binaries have one kernel, which is written
 *           again in C
 */
#include <elf.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { ADDRESS_STEP = 0x10000, ALIGNMENT = 64 };

static atomic_ullong steps;

/* Kernels are the sections .text.NAME. */
static void take_section(ze_module_handle_t module, const Elf64_Shdr *section, const char *name)
{
	static const char prefix[] = ".text.";

	if (section->sh_type != SHT_PROGBITS || strncmp(name, prefix, sizeof(prefix) - 1) != 0 ||
	    module->count == MAX_SIM_KERNELS || section->sh_offset > module->size ||
	    section->sh_size > module->size - section->sh_offset)
		return;
	strncpy(module->kernels[module->count].name, name + sizeof(prefix) - 1, SIM_NAME_BYTES - 1);
	module->kernels[module->count].offset = section->sh_offset;
	module->kernels[module->count].size = section->sh_size;
	module->count++;
}

static bool read_sections(ze_module_handle_t module)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)module->bytes;
	const Elf64_Shdr *sections, *names;

	if (module->size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_shoff + (uint64_t)head->e_shnum * sizeof(*sections) > module->size ||
	    head->e_shstrndx >= head->e_shnum)
		return false;
	sections = (const Elf64_Shdr *)(module->bytes + head->e_shoff);
	names = &sections[head->e_shstrndx];
	if (names->sh_offset + names->sh_size > module->size || !names->sh_size ||
	    module->bytes[names->sh_offset + names->sh_size - 1])
		return false;
	for (int i = 0; i < head->e_shnum; i++)
		if (sections[i].sh_name < names->sh_size)
			take_section(module, &sections[i],
				     (const char *)module->bytes + names->sh_offset +
					     sections[i].sh_name);
	return true;
}

/* On a device without a node: code that is never read needs an address but no memory. */
static bool place_nowhere(ze_module_handle_t module)
{
	for (uint32_t i = 0; i < module->count; i++)
		module->kernels[i].address =
			(uint64_t)sim_options.code + ADDRESS_STEP * atomic_fetch_add(&steps, 1);
	return true;
}

/* Copies the sections one after the other into one buffer of the node, without relocations. */
static bool place(ze_module_handle_t module, struct sim_node *node)
{
	uint64_t size = 0, address = 0;
	uint8_t *bytes;

	for (uint32_t i = 0; i < module->count; i++) {
		module->kernels[i].address = size;
		size += (module->kernels[i].size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	}
	bytes = calloc(1, size + 1);
	for (uint32_t i = 0; bytes && i < module->count; i++)
		memcpy(bytes + module->kernels[i].address,
		       module->bytes + module->kernels[i].offset, module->kernels[i].size);
	module->code = bytes ? sim_code_new(node, bytes, size, &address) : NULL;
	free(bytes);
	for (uint32_t i = 0; i < module->count; i++)
		module->kernels[i].address += address;
	return module->code != NULL;
}

static ze_result_t create_module(ze_context_handle_t context, ze_device_handle_t device,
				 const ze_module_desc_t *desc, ze_module_handle_t *ret_module,
				 ze_module_build_log_handle_t *ret_log)
{
	ze_module_handle_t module;

	if (!sim_is(context, SIM_CONTEXT) || !sim_is(device, SIM_DEVICE) || !desc || !ret_module)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (ret_log)
		*ret_log = NULL;
	if (desc->format != ZE_MODULE_FORMAT_NATIVE)
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	module = sim_new(SIM_MODULE, sizeof(*module));
	module->size = desc->inputSize;
	module->bytes = malloc(desc->inputSize ? desc->inputSize : 1);
	memcpy(module->bytes, desc->pInputModule, desc->inputSize);
	if (!read_sections(module) ||
	    !(device->node ? place(module, device->node) : place_nowhere(module))) {
		free(module->bytes);
		free(module);
		return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	}
	*ret_module = module;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_module(ze_module_handle_t module)
{
	if (!sim_is(module, SIM_MODULE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_code_free(module->code);
	free(module->bytes);
	sim_free(module);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_binary(ze_module_handle_t module, size_t *size, uint8_t *bytes)
{
	if (!sim_is(module, SIM_MODULE) || !size)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (sim_options.no_binary)
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	if (bytes && *size < module->size)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	if (bytes) {
		memcpy(bytes, module->bytes, module->size);
		sim_level_zero_counts.binaries++;
	}
	*size = module->size;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_names(ze_module_handle_t module, uint32_t *count, const char **names)
{
	if (!sim_is(module, SIM_MODULE) || !count)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (uint32_t i = 0; names && i < module->count && i < *count; i++)
		names[i] = module->kernels[i].name;
	*count = module->count;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t create_kernel(ze_module_handle_t module, const ze_kernel_desc_t *desc,
				 ze_kernel_handle_t *ret_kernel)
{
	ze_kernel_handle_t kernel;

	if (!sim_is(module, SIM_MODULE) || !desc || !desc->pKernelName || !ret_kernel)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (uint32_t i = 0; i < module->count; i++) {
		if (strcmp(module->kernels[i].name, desc->pKernelName) != 0)
			continue;
		kernel = sim_new(SIM_KERNEL, sizeof(*kernel));
		kernel->module = module;
		kernel->index = i;
		*ret_kernel = kernel;
		return ZE_RESULT_SUCCESS;
	}
	return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
}

static ze_result_t destroy_kernel(ze_kernel_handle_t kernel)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_free(kernel);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t set_group(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!x || !y || !z || (uint64_t)x * y * z > 1024)
		return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
	kernel->group[0] = x;
	kernel->group[1] = y;
	kernel->group[2] = z;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t set_argument(ze_kernel_handle_t kernel, uint32_t index, size_t size,
				const void *value)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (index >= MAX_SIM_ARGUMENTS || size > SIM_ARGUMENT_BYTES)
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
	if (value)
		memcpy(kernel->arguments[index], value, size);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_name(ze_kernel_handle_t kernel, size_t *size, char *name)
{
	const char *own;

	if (!sim_is(kernel, SIM_KERNEL) || !size)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	own = kernel->module->kernels[kernel->index].name;
	if (name && *size < strlen(own) + 1)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	if (name)
		strcpy(name, own);
	*size = strlen(own) + 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_kernel_properties(ze_kernel_handle_t kernel,
					 ze_kernel_properties_t *properties)
{
	if (!sim_is(kernel, SIM_KERNEL) || !properties)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	properties->numKernelArgs = 3;
	properties->maxSubgroupSize = 16;
	properties->localMemSize = 256;
	properties->privateMemSize = 64;
	properties->spillMemSize = 0;
	return ZE_RESULT_SUCCESS;
}

/* Takes the driver's own handles. A handle of the loader is refused here; a real driver would read
 * beyond its end. */
ze_result_t sim_kernel_address(ze_kernel_handle_t kernel, uint64_t *ret_address)
{
	if (!sim_is(kernel, SIM_KERNEL) || !ret_address)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	*ret_address = kernel->module->kernels[kernel->index].address;
	return ZE_RESULT_SUCCESS;
}

/* As in the source of the binaries (tests/data/zebin/k.cl). */
static void run_saxpy(const struct sim_command *command)
{
	float *x, *y, a;

	memcpy(&x, command->arguments[0], sizeof(x));
	memcpy(&y, command->arguments[1], sizeof(y));
	memcpy(&a, command->arguments[2], sizeof(a));
	for (uint64_t i = 0; i < command->items; i++) {
		float sum = y[i];

		for (int k = 0; k < 16; k++)
			sum = a * x[i] + sum + sinf(sum);
		y[i] = sum;
	}
}

bool sim_run_kernel(const struct sim_command *command)
{
	bool is_known = strcmp(command->name, "saxpy") == 0;

	if (is_known)
		run_saxpy(command);
	return is_known;
}

void sim_fill_modules(ze_module_dditable_t *table)
{
	table->pfnCreate = create_module;
	table->pfnDestroy = destroy_module;
	table->pfnGetNativeBinary = get_binary;
	table->pfnGetKernelNames = get_names;
}

void sim_fill_kernels(ze_kernel_dditable_t *table)
{
	table->pfnCreate = create_kernel;
	table->pfnDestroy = destroy_kernel;
	table->pfnSetGroupSize = set_group;
	table->pfnSetArgumentValue = set_argument;
	table->pfnGetName = get_name;
	table->pfnGetProperties = get_kernel_properties;
}

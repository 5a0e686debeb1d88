/* SPDX-License-Identifier: MIT
 *
 * import/rocm/kernels.c - the code objects and kernels of a recording, by the ids of the file
 *
 * Runs in:  our own process
 * Gets:     kernel symbols and code objects
 * Gives:    code of the target
 * Owns:     tables of both
 * Fails:    -ENOMEM, errors of the target
 * Why only launched kernels are described: a program with PyTorch loads 10^4 kernels and launches
 *           10^2 of them
 */
#include "import/rocm/kernels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/event.h"
#include "import/common/rocm.h"
#include "import/target.h"

void rocm_kernels_fini(struct rocm_kernels *kernels)
{
	string_table_fini(&kernels->texts);
	hash_map_fini(&kernels->objects_by_id);
	hash_map_fini(&kernels->kernels_by_id);
	free(kernels->objects);
	free(kernels->kernels);
}

int rocm_kernels_add_object(struct rocm_kernels *kernels, uint64_t id, const char *uri,
			    const struct rocm_code_object *object)
{
	struct rocm_code_object row = *object;
	int error;

	row.uri = string_table_add(&kernels->texts, uri, strlen(uri));
	row.code = 0;
	if (!row.uri && *uri)
		return -ENOMEM;
	error = array_append(kernels->objects, kernels->objects_capacity, kernels->objects_count,
			     row);
	return error ? error
		     : hash_map_put(&kernels->objects_by_id, id, kernels->objects_count - 1);
}

int rocm_kernels_add(struct rocm_kernels *kernels, uint64_t id, const char *name,
		     const struct rocm_kernel *kernel)
{
	struct rocm_kernel row = *kernel;
	char *trimmed = strdup(name);
	int error;

	if (!trimmed)
		return -ENOMEM;
	rocm_names_trim_kernel(trimmed);
	row.name = string_table_add(&kernels->texts, trimmed, strlen(trimmed));
	row.code = 0;
	free(trimmed);
	if (!row.name && *name)
		return -ENOMEM;
	error = array_append(kernels->kernels, kernels->kernels_capacity, kernels->kernels_count,
			     row);
	return error ? error
		     : hash_map_put(&kernels->kernels_by_id, id, kernels->kernels_count - 1);
}

static int describe(struct rocm_kernels *kernels, struct event_code *row, const char *kind,
		    uint64_t id, uint32_t text, uint32_t *ret_code)
{
	char key[64];
	int error = import_target_text(
		kernels->target, string_table_text(&kernels->texts, text, NULL), &row->name_string);

	row->process = kernels->process;
	snprintf(key, sizeof(key), "%s %u %" PRIu64, kind, kernels->process, id);
	return error ? error
		     : import_target_entity(kernels->target, EVENT_CODE, key, row, ret_code);
}

static int find_object(struct rocm_kernels *kernels, uint64_t id, uint32_t device,
		       uint32_t *ret_code)
{
	const uint64_t *index = hash_map_find(&kernels->objects_by_id, id);
	struct rocm_code_object *object = index ? &kernels->objects[*index] : NULL;
	struct event_code row = {.type = CODE_BINARY, .device = device};
	int error;

	*ret_code = object ? object->code : 0;
	if (!object || object->code)
		return 0;
	row.address = object->address;
	row.size_bytes = object->size_bytes;
	error = describe(kernels, &row, "object", id, object->uri, &object->code);
	*ret_code = object->code;
	return error;
}

static int add_unknown(struct rocm_kernels *kernels, uint64_t id)
{
	char name[40];

	snprintf(name, sizeof(name), "kernel %" PRIu64, id);
	return rocm_kernels_add(
		kernels, id, name,
		&(struct rocm_kernel){.local_bytes = CODE_UNKNOWN, .private_bytes = CODE_UNKNOWN});
}

int rocm_kernels_find(struct rocm_kernels *kernels, uint64_t id, uint32_t device,
		      uint32_t *ret_code)
{
	uint64_t *index = hash_map_find(&kernels->kernels_by_id, id);
	struct event_code row = {.type = CODE_KERNEL, .device = device};
	struct rocm_kernel *kernel;
	int error = 0;

	if (!index) {
		error = add_unknown(kernels, id);
		if (error)
			return error;
		index = hash_map_find(&kernels->kernels_by_id, id);
	}
	kernel = &kernels->kernels[*index];
	if (!kernel->code) {
		row.local_bytes = kernel->local_bytes;
		row.private_bytes = kernel->private_bytes;
		row.registers = kernel->registers;
		error = find_object(kernels, kernel->object, device, &row.parent);
		if (!error)
			error = describe(kernels, &row, "kernel", id, kernel->name, &kernel->code);
	}
	*ret_code = kernel->code;
	return error;
}

int rocm_kernels_named(struct rocm_kernels *kernels, const char *name, uint32_t device,
		       const struct event_code *facts, uint32_t *ret_code)
{
	struct event_code row = *facts;
	char *trimmed = strdup(name), key[64];
	uint32_t text;

	if (!trimmed)
		return -ENOMEM;
	rocm_names_trim_kernel(trimmed);
	text = string_table_add(&kernels->texts, trimmed, strlen(trimmed));
	free(trimmed);
	if (!text && *name)
		return -ENOMEM;
	row.type = CODE_KERNEL;
	row.device = device;
	snprintf(key, sizeof(key), "named %u", device);
	return describe(kernels, &row, key, text, text, ret_code);
}

/* SPDX-License-Identifier: MIT
 *
 * import/chrome/collectives.c - collective operations of NCCL and RCCL in a Chrome trace
 *
 * Runs in:  our own process
 * Gets:     arguments of kernels, of PyTorch's operator record_param_comms and of its ranges
 *           "nccl:all_reduce"
 * Gives:    operations
 * Owns:     the operations of slices, until the end of the file
 * Fails:    -ENOMEM
 * Why three sources: PyTorch writes the operation into the kernel since 2.1. Older files have it in
 *           the slice around the launching call, and in PyTorch 2.0 that is a name and the input.
 */
#include "import/chrome/collectives.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/chrome/categories.h"
#include "import/chrome/names.h"
#include "import/common/collectives.h"

void chrome_collectives_fini(struct chrome_collectives *collectives)
{
	free(collectives->list);
	*collectives = (struct chrome_collectives){0};
}

/* Bytes of an element; 0: not known. */
static uint64_t size_of_type(const char *type)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} rows[] = {{"float", 4},       {"half", 2}, {"c10::half", 2},     {"bfloat16", 2},
		    {"double", 8},      {"long", 8}, {"long int", 8},      {"c10::bfloat16", 2},
		    {"int", 4},         {"byte", 1}, {"unsigned char", 1}, {"char", 1},
		    {"signed char", 1}, {"bool", 1}, {"short", 2},         {"float8_e4m3fn", 1},
		    {"float8_e5m2", 1}};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (strcasecmp(type, rows[i].name) == 0)
			return rows[i].bytes;
	return 0;
}

static uint64_t size_in_bytes(const struct json_integer *elements, uint64_t element_bytes)
{
	uint64_t bytes;

	return elements->is_known && elements->value > 0 &&
			       !__builtin_mul_overflow((uint64_t)elements->value, element_bytes,
						       &bytes)
		       ? bytes
		       : 0;
}

static int fill_operation(struct chrome_names *names, const struct chrome_collective *row,
			  const char *name, const char *type, struct chrome_operation *operation)
{
	const uint64_t element_bytes = size_of_type(type);
	int error = chrome_names_add_text(names, name, &operation->name);

	if (!error)
		error = chrome_names_add_text(names, string_builder_text(&row->group),
					      &operation->group);
	if (!error)
		error = chrome_names_add_text(names, string_builder_text(&row->ranks),
					      &operation->ranks);
	if (!error)
		error = chrome_names_add_text(names, type, &operation->datatype);
	operation->has_sequence = row->sequence.is_known && row->sequence.value >= 0;
	operation->sequence = operation->has_sequence ? (uint64_t)row->sequence.value : 0;
	if (row->rank_count.value > 0 && row->rank_count.value < UINT32_MAX)
		operation->rank_count = (uint32_t)row->rank_count.value;
	operation->bytes = size_in_bytes(&row->elements, element_bytes);
	operation->bytes_out = size_in_bytes(&row->elements_out, element_bytes);
	if (!row->elements.is_known)
		operation->bytes = size_in_bytes(&row->input_elements, element_bytes);
	return error;
}

int chrome_collectives_add(struct chrome_collectives *collectives, struct chrome_names *names,
			   const struct chrome_event *event, uint32_t *ret_operation)
{
	const struct chrome_collective *row = &event->arguments.collective;
	const char *name = string_builder_text(&row->name);
	const char *type = string_builder_text(&row->datatype);
	struct chrome_operation operation = {0};
	int error;

	*ret_operation = 0;
	if (!*name && chrome_is_range(event) &&
	    strncmp(string_builder_text(&event->name), "nccl:", 5) == 0) {
		name = string_builder_text(&event->name) + 5;
		type = string_builder_text(&row->input_type);
	}
	if (!*name)
		return 0;
	error = fill_operation(names, row, name, type, &operation);
	if (!error)
		error = array_append(collectives->list, collectives->capacity, collectives->count,
				     operation);
	*ret_operation = (uint32_t)collectives->count;
	return error;
}

int chrome_collectives_of_kernel(struct chrome_names *names, const struct chrome_event *event,
				 struct chrome_operation *ret_operation, bool *ret_is)
{
	const struct chrome_collective *row = &event->arguments.collective;
	const char *name = string_builder_text(&row->name), *found;
	char text[64];
	size_t length = 0;

	*ret_operation = (struct chrome_operation){0};
	found = import_collective_of_kernel(string_builder_text(&event->name), &length);
	*ret_is = *name || found;
	if (*name)
		return fill_operation(names, row, name, string_builder_text(&row->datatype),
				      ret_operation);
	if (!found || !length || length >= sizeof(text))
		return 0;
	memcpy(text, found, length);
	text[length] = 0;
	return chrome_names_add_text(names, text, &ret_operation->name);
}

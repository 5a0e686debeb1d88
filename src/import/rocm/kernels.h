/* SPDX-License-Identifier: MIT
 *
 * import/rocm/kernels.h - the code objects and kernels of a recording, by the ids of the file
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct event_code;
struct import_target;

struct rocm_code_object {
	uint64_t address, size_bytes;
	uint32_t uri;  /* in texts */
	uint32_t code; /* 0: no kernel of it was launched yet */
};

struct rocm_kernel {
	uint64_t object; /* id in the file of its code object */
	uint64_t local_bytes, private_bytes;
	uint32_t registers;
	uint32_t name; /* in texts */
	uint32_t code; /* 0: it was not launched yet */
};

/* All zero: empty, once target and process are set. */
struct rocm_kernels {
	struct import_target *target;
	uint32_t process;
	struct string_table texts;
	struct hash_map objects_by_id, kernels_by_id; /* index */
	struct rocm_code_object *objects;
	size_t objects_count, objects_capacity;
	struct rocm_kernel *kernels;
	size_t kernels_count, kernels_capacity;
};

void rocm_kernels_fini(struct rocm_kernels *kernels);

/* Errors: -ENOMEM. The last argument's uri, name and code are ignored. */
int rocm_kernels_add_object(struct rocm_kernels *kernels, uint64_t id, const char *uri,
			    const struct rocm_code_object *object);
int rocm_kernels_add(struct rocm_kernels *kernels, uint64_t id, const char *name,
		     const struct rocm_kernel *kernel);

/* The code of a kernel on a device; one that the file does not describe is "kernel <id>". Errors:
 * -ENOMEM, errors of the target. */
int rocm_kernels_find(struct rocm_kernels *kernels, uint64_t id, uint32_t device,
		      uint32_t *ret_code);

/* The code of a kernel that the file names and gives no id. A new one is described by `facts`. */
int rocm_kernels_named(struct rocm_kernels *kernels, const char *name, uint32_t device,
		       const struct event_code *facts, uint32_t *ret_code);

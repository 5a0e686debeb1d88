/* SPDX-License-Identifier: MIT
 *
 * trace/unpack.h - distinguish a damaged message from a lack of memory
 *
 * The unpack functions of protobuf-c return NULL in both cases:
 *
 *	struct unpack unpack;
 *
 *	message = duet__strings__unpack(unpack_begin(&unpack), size, bytes);
 *	if (!message)
 *		return unpack_error(&unpack);
 *	...
 *	duet__strings__free_unpacked(message, NULL);
 */
#pragma once

#include <errno.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

struct unpack {
	ProtobufCAllocator allocator;
	bool is_out_of_memory;
};

static inline void *unpack_allocate(void *is_out_of_memory, size_t size)
{
	void *bytes = malloc(size);

	if (!bytes) {
		*(bool *)is_out_of_memory = true;
		error_no_memory();
	}
	return bytes;
}

static inline void unpack_release(void *is_out_of_memory, void *bytes)
{
	free(bytes);
}

static inline ProtobufCAllocator *unpack_begin(struct unpack *unpack)
{
	*unpack = (struct unpack){.allocator = {.alloc = unpack_allocate,
						.free = unpack_release,
						.allocator_data = &unpack->is_out_of_memory}};
	return &unpack->allocator;
}

static inline int unpack_error(const struct unpack *unpack)
{
	return unpack->is_out_of_memory ? -ENOMEM : -EBADMSG;
}

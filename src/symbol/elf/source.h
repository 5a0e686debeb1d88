/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/source.h - an ELF file that is read, or an image of one in memory
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/io.h"

struct elf_source {
	int fd; /* -1: image */
	const uint8_t *image;
	size_t size;
};

/* Reads all bytes. Errors: -ENODATA if the source ends first, -errno of the read. Does not set the
 * error chain. */
static inline int elf_source_read(const struct elf_source *source, void *bytes, size_t size,
				  uint64_t offset)
{
	if (source->fd >= 0)
		return offset > INT64_MAX ? -ENODATA : pread_all(source->fd, bytes, size, offset);
	if (offset > source->size || size > source->size - offset)
		return -ENODATA;
	memcpy(bytes, source->image + offset, size);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * cli/remote/tar.h - write a tar archive into memory
 */
#pragma once

#include <stddef.h>

struct string_builder;

/* Appends a file, or a link to `target` if that is not NULL. name: at most 100 bytes. Two archives
 * of equal files have equal bytes: owner 0 and date 0. -ENAMETOOLONG; lack of memory is noted in
 * the builder. */
int tar_append(struct string_builder *tar, const char *name, unsigned mode, const void *bytes,
	       size_t size, const char *target);

/* Appends the end mark. */
void tar_end(struct string_builder *tar);

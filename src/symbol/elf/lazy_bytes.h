/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/lazy_bytes.h - a part of a file that is read on demand
 */
#pragma once

#include <stdint.h>

struct lazy_bytes;
struct elf_source;

/* `size` bytes of a source, starting at `offset`. A large part keeps a descriptor of its file; if
 * none is left, everything is read at once. Errors: -ENODATA: empty, larger than `max_bytes`, or
 * beyond the end of the source; -ENOMEM; -errno of reading. Does not set the error chain. */
int lazy_bytes_open(const struct elf_source *source, uint64_t offset, uint64_t size,
		    uint64_t max_bytes, struct lazy_bytes **ret_bytes);
void lazy_bytes_close(struct lazy_bytes *bytes); /* NULL-safe */

/* Address of byte `at`, with `size` bytes from there on read; NULL: outside, or unreadable. */
const uint8_t *lazy_bytes_at(struct lazy_bytes *bytes, uint64_t at, uint64_t size);

/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/lazy_bytes.h - a part of a file, read where it is needed
 */
#ifndef SYMBOL_ELF_LAZY_BYTES_H
#define SYMBOL_ELF_LAZY_BYTES_H

#include <stdint.h>

struct lazy_bytes;
struct source;

/* `size` bytes of a source from an offset on. A large part of a file keeps a descriptor of it. Errors: -ENODATA: empty,
 * larger than `max_bytes`, or beyond the end of the source; -ENOMEM; -errno of reading. The error chain is left alone. */
int lazy_bytes_open(const struct source *source, uint64_t offset, uint64_t size, uint64_t max_bytes,
		    struct lazy_bytes **ret_bytes);
void lazy_bytes_close(struct lazy_bytes *bytes); /* NULL-safe */

/* Where byte `at` lies, with `size` bytes from there on read; NULL: they are outside, or cannot be read. */
const uint8_t *lazy_bytes_at(struct lazy_bytes *bytes, uint64_t at, uint64_t size);

#endif

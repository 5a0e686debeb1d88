/* SPDX-License-Identifier: MIT
 *
 * isa/sass.h - instructions of NVIDIA's GPUs, from Volta to Blackwell
 *
 * Only isa/ includes this.
 */
#ifndef ISA_SASS_H
#define ISA_SASS_H

#include <stddef.h>
#include <stdint.h>

enum { SASS_WHY_MAX = 512, SASS_TEXT_SIZE = 512, SASS_INSTRUCTION_BYTES = 16 };

struct sass;

/* name: "sm_90". ret_why, of SASS_WHY_MAX bytes: why there are no operands, or, with -ENOENT, no instructions; "": there are.
 * Errors: -ENOENT, -ENOMEM. */
int sass_new(const char *name, struct sass **ret_sass, char *ret_why);
void sass_free(struct sass *sass); /* NULL-safe */

/* NULL: there is none, and instructions have names alone. */
const char *sass_library(const struct sass *sass);

/* NULL: nothing has gone wrong since it was opened. Otherwise a sentence: instructions have names alone from then on. */
const char *sass_why(const struct sass *sass);

/* SASS_INSTRUCTION_BYTES, or 0 where it is no instruction. The bytes behind it, as far as there are some, may be decoded
 * with it. text has SASS_TEXT_SIZE bytes. */
size_t sass_decode(struct sass *sass, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text);

#endif

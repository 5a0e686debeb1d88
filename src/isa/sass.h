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

/* name: "sm_90". ret_why, of SASS_WHY_MAX bytes: the reason for missing operands, or, with -ENOENT,
 * for missing instructions; "": complete. Errors: -ENOENT, -ENOMEM. */
int sass_new(const char *name, struct sass **ret_sass, char *ret_why);
void sass_free(struct sass *sass); /* NULL-safe */

/* NULL: none; texts are then only names. */
const char *sass_library(const struct sass *sass);

/* The reason why texts are only names since a failure; NULL: no failure. */
const char *sass_why(const struct sass *sass);

/* SASS_INSTRUCTION_BYTES, or 0 if it is not an instruction. Following bytes, if any, may be decoded
 * with it. text has SASS_TEXT_SIZE bytes. */
size_t sass_decode(struct sass *sass, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text);

#endif

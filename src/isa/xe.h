/* SPDX-License-Identifier: MIT
 *
 * isa/xe.h - instructions of Intel's GPUs, from Gen9 to Xe3
 *
 * Only isa/ includes this.
 */
#ifndef ISA_XE_H
#define ISA_XE_H

#include <stddef.h>
#include <stdint.h>

#define XE_WHY_MAX   512
#define XE_TEXT_SIZE 512

struct xe;

/* generation: "xe2". ret_why, of XE_WHY_MAX bytes: why there are no operands, or, with -ENOENT, no instructions; "": there are.
 * Errors: -ENOENT, -ENOMEM. */
int xe_new(const char *generation, struct xe **ret_xe, char *ret_why);
void xe_free(struct xe *xe); /* NULL-safe */

/* NULL: there is none, and instructions have names alone. */
const char *xe_library(const struct xe *xe);

/* 8, of a compacted one, or 16; 0 where it is cut off. */
size_t xe_length(const uint8_t *bytes, size_t size);

/* xe_length; also 0 where it is no instruction. text has XE_TEXT_SIZE bytes. */
size_t xe_decode(struct xe *xe, const uint8_t *bytes, size_t size, uint64_t address, char *text);

#endif

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

/* generation: "xe2". ret_why, of XE_WHY_MAX bytes: the reason for missing operands, or, with
 * -ENOENT, for missing instructions; "": complete. Errors: -ENOENT, -ENOMEM. */
int xe_new(const char *generation, struct xe **ret_xe, char *ret_why);
void xe_free(struct xe *xe); /* NULL-safe */

/* NULL: none; texts are then only names. */
const char *xe_library(const struct xe *xe);

/* Length of the instruction: 8 if it is compacted, otherwise 16; 0 if it is truncated. */
size_t xe_length(const uint8_t *bytes, size_t size);

/* xe_length; also 0 if it is not an instruction. text has XE_TEXT_SIZE bytes. */
size_t xe_decode(struct xe *xe, const uint8_t *bytes, size_t size, uint64_t address, char *text);

#endif

/* SPDX-License-Identifier: MIT
 *
 * isa/apart.h - decode instructions in a child process, because the decoder may crash
 *
 * Only isa/ includes this.
 */
#ifndef ISA_APART_H
#define ISA_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define APART_BYTES_MAX  64
#define APART_TEXT_SIZE  512
#define APART_DEATHS_MAX 64 /* then decoding stops; a hang counts 16 */

struct llvm;
struct apart;

/* The caller keeps the disassembler, which must outlive this object. Errors: -ENOMEM. */
int apart_new(struct llvm *llvm, struct apart **ret_apart);
void apart_free(struct apart *apart); /* NULL-safe; ends the process */

/* As llvm_decode; also 0 if the process died, hung for two seconds, or cannot be started. Reads at
 * most APART_BYTES_MAX, and text has APART_TEXT_SIZE bytes. */
size_t apart_decode(struct apart *apart, const uint8_t *bytes, size_t size, uint64_t address,
		    char *text);

/* Whether the child has died too often; then nothing is decoded any more. */
bool apart_is_over(const struct apart *apart);

#endif

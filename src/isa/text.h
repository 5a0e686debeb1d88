/* SPDX-License-Identifier: MIT
 *
 * isa/text.h - tidy LLVM's text of an instruction
 *
 * Only isa/ includes this.
 */
#ifndef ISA_TEXT_H
#define ISA_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* In place: one line of printable ASCII, words one blank apart, up to a `comment` sign ("#", "//")
 * after a blank. Returns the comment's text, "" without one; it is stored after the text's NUL. */
const char *text_tidy(char *text, const char *comment);

/* Replaces the last operand by a number: "adrp x0, 16" becomes "adrp x0, 0x411000". A text without
 * operands stays. */
void text_set_last_operand(char *text, size_t text_size, uint64_t value);

#endif

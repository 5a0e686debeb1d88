/* SPDX-License-Identifier: MIT
 *
 * isa/text.h - LLVM's text of an instruction made plain
 *
 * Only isa/ includes this.
 */
#ifndef ISA_TEXT_H
#define ISA_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* In place: one line of printable ASCII, words one blank apart, up to what begins with `comment` ("#", "//") behind a
 * blank. Returns what the comment said, "" without one; it lies behind the text's NUL. */
const char *text_tidy(char *text, const char *comment);

/* Puts a number in the place of the last operand: "adrp x0, 16" becomes "adrp x0, 0x411000". A text
 * without operands stays. */
void text_set_last_operand(char *text, size_t text_size, uint64_t value);

#endif

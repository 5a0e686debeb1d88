/* SPDX-License-Identifier: MIT
 *
 * shared/utf8.h - a character as UTF-8
 *
 * Runs in:  guests and our own process; freestanding
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MAX_UTF8_BYTES = 4 };

/* Writes one character and returns its number of bytes. Invalid characters and 0 become U+FFFD. */
static inline size_t utf8_encode(uint32_t character, char to[MAX_UTF8_BYTES])
{
	static const uint8_t heads[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
	size_t bytes;

	if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000) || character == 0)
		character = 0xfffd;
	bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	for (size_t i = bytes - 1; i > 0; i--) {
		to[i] = (char)(0x80 | (character & 0x3f));
		character >>= 6;
	}
	to[0] = (char)(heads[bytes] | character);
	return bytes;
}

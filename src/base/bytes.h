/* SPDX-License-Identifier: MIT
 *
 * base/bytes.h - numbers in bytes: unaligned words, and protobuf's varints
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The word of 64 bits at an offset, and the half word of 32. */
static inline uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static inline uint32_t half_at(const uint8_t *bytes, size_t at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

enum { MAX_VARINT = 10 }; /* bytes */

/* Returns the end of the varint. */
static inline uint8_t *varint_write(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

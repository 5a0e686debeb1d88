/* SPDX-License-Identifier: MIT
 *
 * inject/python_memory.h - read words of an interpreter's memory
 *
 * Included by python_find.c and python_frames.c only. The caller knows that the address is mapped.
 */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint64_t word_at(uint64_t address, uint64_t offset)
{
	return *(const uint64_t *)(uintptr_t)(address + offset);
}

static inline uint32_t half_at(uint64_t address, uint64_t offset)
{
	uint32_t value; /* jumps and unwind tables may be unaligned */

	memcpy(&value, (const void *)(uintptr_t)(address + offset), sizeof(value));
	return value;
}

static inline uint8_t byte_at(uint64_t address, uint64_t offset)
{
	return *(const uint8_t *)(uintptr_t)(address + offset);
}

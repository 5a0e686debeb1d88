/* SPDX-License-Identifier: MIT
 *
 * collect/correlation.h - layout of the numbers that identify the commands of a process
 *
 *	bits 0-47, 55	the guest's own number: a ring and a count; bit 55 is for nodes of graphs
 *	bits 56-62	number of the guest's attachment, the low seven bits
 *	bits 48-54	… the high seven bits
 *	bit 63		taken over from another recorder, and the other 13 bits (not bit 62) are a
 *			number for (recorder, attachment there); or made by this recorder: the
 *			highest byte is 0xfd, 0xfe or 0xff
 *
 * Each attachment of a guest counts its commands from 1 again.
 */
#pragma once

#include <stdint.h>

#define CORRELATION_NUMBER (((UINT64_C(1) << 48) - 1) | UINT64_C(1) << 55)

enum { CORRELATION_ATTACHMENTS = 1 << 14, CORRELATION_TAKEN_OVER = 1 << 13 };

static inline uint64_t correlation_of_attachment(uint64_t number, uint32_t attachment)
{
	return (number & CORRELATION_NUMBER) | (uint64_t)(attachment & 0x7f) << 56 |
	       (uint64_t)(attachment >> 7 & 0x7f) << 48;
}

/* taken_over: below CORRELATION_TAKEN_OVER. */
static inline uint64_t correlation_of_taken_over(uint64_t number, uint32_t taken_over)
{
	return (number & CORRELATION_NUMBER) | (uint64_t)(0x80 | (taken_over & 0x3f)) << 56 |
	       (uint64_t)(taken_over >> 6 & 0x7f) << 48;
}

/* The part beside the guest's own number, in CORRELATION_ORIGIN_BITS. */
enum { CORRELATION_ORIGIN_BITS = 15 };
static inline uint32_t correlation_origin(uint64_t correlation)
{
	return (uint32_t)(correlation >> 56) << 7 | (uint32_t)(correlation >> 48 & 0x7f);
}

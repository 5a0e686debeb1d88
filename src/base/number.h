/* SPDX-License-Identifier: MIT
 *
 * base/number.h - arithmetic with numbers from a file, which may be of any size; their digits
 */
#pragma once

#include <stdint.h>

/* UINT64_MAX if the sum overflows. */
static inline uint64_t add_saturated(uint64_t left, uint64_t right)
{
	return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}

/* Rounds down. UINT64_MAX if the number is too large, 0 if it is negative or not a number. */
static inline uint64_t round_saturated(double number)
{
	return number >= 0x1p64 ? UINT64_MAX : number > 0 ? (uint64_t)number : 0;
}

/* Writes the decimal digits, at most 20, before `end`; returns the first. Printing with printf took
 * a tenth of a JSON export. */
static inline char *number_digits(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

/* For qsort. */
static inline int compare_doubles(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static inline uint64_t larger(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

static inline uint64_t smaller(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

/* For qsort: uint64_t, or structs that begin with one. */
static inline int compare_u64(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

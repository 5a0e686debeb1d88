/* SPDX-License-Identifier: MIT
 *
 * base/number.h - sums of what a file says
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

/* UINT64_MAX where the sum would be more. */
static inline uint64_t add_saturated(uint64_t left, uint64_t right)
{
	return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}

#endif

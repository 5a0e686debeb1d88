/* SPDX-License-Identifier: MIT
 *
 * bench/hip_calls.c - what a call of HIP costs that launches nothing
 *
 *	hip_calls [ROUNDS]
 *
 * Output: the least and the middle of the rounds, in ns a call of hipSetDevice.
 */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1 /* what Debian's headers of HIP 5.2 still ask for */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hip/hip_runtime_api.h>

#include "rounds.h"

enum { CALLS = 1000 };

static double round_ns(void)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < CALLS; i++)
		if (hipSetDevice(0) != hipSuccess)
			exit(1);
	return (double)(now_ns() - begin) / CALLS;
}

int main(int count, char **texts)
{
	static double rounds[MAX_ROUNDS];
	int number = count > 1 ? atoi(texts[1]) : 400;

	if (number < 1 || number > MAX_ROUNDS) {
		fprintf(stderr, "usage: hip_calls [ROUNDS]\n");
		return 2;
	}
	for (int i = 0; i < number; i++)
		rounds[i] = round_ns();
	rounds_print(rounds, number);
	return 0;
}

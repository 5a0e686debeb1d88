/* SPDX-License-Identifier: MIT
 *
 * bench/rounds.h - the host's time, and what is said of repeated measurements
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_ROUNDS = 10000 };

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int rounds_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Sorts them. */
static inline void rounds_print(double *rounds, int count)
{
	qsort(rounds, (size_t)count, sizeof(rounds[0]), rounds_compare);
	printf("least %.1f middle %.1f\n", rounds[0], rounds[count / 2]);
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/cuda_facts.h - what our declarations of CUPTI and of the CUDA driver are
 * compared by
 *
 * Ours and the real ones cannot be included together, for the constants have the same names:
 * cuda_ours.c sees ours, cuda_real.c the installed headers, and both fill in what is declared here.
 */
#pragma once

#include <stddef.h>

struct fact {
	const char *name;
	long long value;
};

/* Constants, callback ids, sizes and places, in the same order on both sides; a NULL name ends. A
 * field has two rows of one name, "struct.field": its place, then its size. */
extern const struct fact ours_facts[], real_facts[];

/* Functions and types of callbacks, the same. Real: whether our declaration, read with the real
 * types, is the real one; ours: 1. */
extern const struct fact ours_functions[], real_functions[];

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/opencl_facts.h - what our declarations of OpenCL and the real ones are compared
 * by
 *
 * The two cannot be included together: opencl_ours.c sees ours, opencl_real.c the installed
 * headers, and both fill in what is declared here.
 */
#pragma once

#include <stddef.h>

struct fact {
	const char *name;
	long long value;
};

/* Constants and sizes, in the same order on both sides; a NULL name ends. */
extern const struct fact ours_facts[], real_facts[];

/* By function number: name and slot (offset / size of a pointer); real: 0 … 148. */
enum { FUNCTIONS = 256 };
extern const struct fact ours_slots[FUNCTIONS], real_slots[FUNCTIONS];
extern const int real_slot_count;

/* Whether our row of a number, read with the real types, declares the real function. 0: it does
 * not; 1: it does; -1: there is no real declaration. */
int real_is_compatible(int number);

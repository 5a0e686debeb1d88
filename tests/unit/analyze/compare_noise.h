/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/compare_noise.h - random values for tests of statistics
 *
 * All kinds have a standard deviation of 1 and a location of about 0.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum noise_kind {
	NOISE_NORMAL,
	NOISE_STUDENT,  /* Student's t, 3 degrees of freedom: heavy tails */
	NOISE_OUTLIERS, /* normal; 10 % are later by an exponential time of 5 standard deviations */
	NOISE_KINDS,
};

static const char *const noise_names[] = {"normal", "Student's t, 3", "10 % outliers"};

static inline uint64_t noise_next(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return mixed ^ mixed >> 31;
}

/* Between 0 and 1, never one of them. */
static inline double noise_uniform(uint64_t *state)
{
	return ((double)(noise_next(state) >> 11) + 0.5) * 0x1p-53;
}

static inline double noise_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(noise_uniform(state)));

	return radius * cos(2 * M_PI * noise_uniform(state));
}

static inline double noise_student(uint64_t *state)
{
	double value = noise_normal(state), squares = 0;

	for (int i = 0; i < 3; i++) {
		double part = noise_normal(state);

		squares += part * part;
	}
	return value / sqrt(squares); /* t / sqrt(3), the standard deviation of t is sqrt(3) */
}

/* The variance is 1 + 0.1 * 2 * 25 - (0.1 * 5)^2. */
static inline double noise_outliers(uint64_t *state)
{
	double value = noise_normal(state);

	if (noise_uniform(state) < 0.1)
		value -= 5 * log(noise_uniform(state));
	return value / sqrt(5.75);
}

static inline double noise_value(enum noise_kind kind, uint64_t *state)
{
	return kind == NOISE_NORMAL    ? noise_normal(state)
	       : kind == NOISE_STUDENT ? noise_student(state)
				       : noise_outliers(state);
}

static inline void noise_fill(enum noise_kind kind, uint64_t *state, double shift, size_t count,
			      double *ret_values)
{
	for (size_t i = 0; i < count; i++)
		ret_values[i] = shift + noise_value(kind, state);
}

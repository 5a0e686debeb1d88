/* SPDX-License-Identifier: MIT
 *
 * tests/unit/isa/vectors.c - code with AVX-512 as PoCL's compiler makes it, to be read and never
 * run
 */
#include <stddef.h>
#include <stdint.h>

void saxpy(float *y, const float *x, float a, size_t count);
void mix(uint8_t *to, const uint8_t *from, const int32_t *weights, size_t count);
double norm(const double *values, size_t count);
void pick(int32_t *to, const int32_t *from, const int32_t *index, const float *keys, size_t count);

void saxpy(float *y, const float *x, float a, size_t count)
{
	for (size_t i = 0; i < count; i++)
		y[i] += x[i] > 0 ? a * x[i] : x[i] / a;
}

void mix(uint8_t *to, const uint8_t *from, const int32_t *weights, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (uint8_t)((from[i] * weights[i] + (to[i] << 3)) >> (i & 7));
}

double norm(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i] < 1 ? values[i] * values[i] : __builtin_sqrt(values[i]);
	return sum;
}

void pick(int32_t *to, const int32_t *from, const int32_t *index, const float *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (keys[i] > (float)from[i])
			to[index[i]] = from[index[i]] ^ (int32_t)keys[i];
}

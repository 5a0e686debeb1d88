/* SPDX-License-Identifier: MIT
 *
 * base/order/quantile.c - sum, count and quantiles of durations in bounded memory
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     durations in ns, one by one
 * Gives:    sum, extremes and nearest-rank quantiles
 * Owns:     at most 8 KiB of values or 60 KiB of classes
 * Fails:    -ENOMEM
 * Why classes that grow with the value: a queue of 10^7 commands has waits from 100 ns to 10 s, and
 *           128 classes for each power of two keep the error below 0.4 % in a fixed 60 KiB.
 */
#include "base/order/quantile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define CLASS_BITS  7
#define CLASS_COUNT ((64 - CLASS_BITS + 1) << CLASS_BITS)

void quantile_init(struct quantile *quantile)
{
	*quantile = (struct quantile){.min = UINT64_MAX};
}

void quantile_fini(struct quantile *quantile)
{
	if (!quantile)
		return;
	free(quantile->values);
	free(quantile->classes);
	quantile_init(quantile);
}

/* Values below 2^(CLASS_BITS + 1) are their own class; above, the leading CLASS_BITS + 1 bits
 * are. */
static size_t class_of(uint64_t value)
{
	unsigned int shift;

	if (value < 2u << CLASS_BITS)
		return value;
	shift = 63 - CLASS_BITS - (unsigned int)__builtin_clzll(value);
	return ((size_t)shift << CLASS_BITS) + (value >> shift);
}

static uint64_t middle_of(size_t class_index)
{
	unsigned int shift;
	uint64_t low;

	if (class_index < 2u << CLASS_BITS)
		return class_index;
	shift = (unsigned int)(class_index >> CLASS_BITS) - 1;
	low = (uint64_t)(class_index - ((size_t)shift << CLASS_BITS)) << shift;
	return low + (((uint64_t)1 << shift) - 1) / 2;
}

static int start_classes(struct quantile *quantile)
{
	quantile->classes = calloc(CLASS_COUNT, sizeof(*quantile->classes));
	if (!quantile->classes)
		return -ENOMEM;
	for (size_t i = 0; i < quantile->count; i++)
		quantile->classes[class_of(quantile->values[i])]++;
	free(quantile->values);
	quantile->values = NULL;
	quantile->capacity = 0;
	return 0;
}

int quantile_add(struct quantile *quantile, uint64_t value)
{
	if (!quantile->classes && quantile->count == QUANTILE_EXACT && start_classes(quantile))
		return -ENOMEM;
	if (quantile->classes) {
		quantile->classes[class_of(value)]++;
	} else {
		if (array_grow(quantile->values, quantile->capacity, quantile->count + 1))
			return -ENOMEM;
		quantile->values[quantile->count] = value;
	}
	quantile->count++;
	quantile->sum += value;
	if (value < quantile->min)
		quantile->min = value;
	if (value > quantile->max)
		quantile->max = value;
	return 0;
}

int quantile_merge(struct quantile *quantile, const struct quantile *other)
{
	int error = 0;

	if (!other->classes) {
		for (size_t i = 0; i < other->count && !error; i++)
			error = quantile_add(quantile, other->values[i]);
		return error;
	}
	if (!quantile->classes && start_classes(quantile))
		return -ENOMEM;
	for (size_t i = 0; i < CLASS_COUNT; i++)
		quantile->classes[i] += other->classes[i];
	quantile->count += other->count;
	quantile->sum += other->sum;
	if (other->min < quantile->min)
		quantile->min = other->min;
	if (other->max > quantile->max)
		quantile->max = other->max;
	return 0;
}

static int compare_values(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static uint64_t within(const struct quantile *quantile, uint64_t value)
{
	if (value < quantile->min)
		return quantile->min;
	return value > quantile->max ? quantile->max : value;
}

uint64_t quantile_get(struct quantile *quantile, unsigned int numerator, unsigned int denominator)
{
	uint64_t rank, passed = 0;

	if (!quantile->count)
		return 0;
	rank = (uint64_t)(((unsigned __int128)quantile->count * numerator + denominator - 1) /
			  denominator);
	if (rank < 1)
		rank = 1;
	if (rank >= quantile->count)
		return quantile->max;
	if (!quantile->classes) {
		qsort(quantile->values, quantile->count, sizeof(*quantile->values), compare_values);
		return quantile->values[rank - 1];
	}
	for (size_t i = 0; i < CLASS_COUNT; i++) {
		passed += quantile->classes[i];
		if (passed >= rank)
			return within(quantile, middle_of(i));
	}
	return quantile->max;
}

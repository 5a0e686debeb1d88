/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/sequence.c - launches as a string of numbered keys, pairs and longer words
 *
 * Runs in:  our own process
 * Gets:     launches
 * Gives:    a number for each launch; equal for equal words
 * Owns:     the numbers
 * Fails:    -ENOMEM
 */
#include "analyze/iterations/sequence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/pair_map.h"

enum { RECENT = 512 };

/* Numbers for pairs of keys: most launches have a recent pair. */
struct numbering {
	struct pair_map map;
	struct pair_slot recent[RECENT];
	uint32_t kinds;
};

/* The number of a pair, the next free one if it is new; PAIR_MAP_NONE: out of memory. */
static uint32_t number_of(struct numbering *numbering, uint64_t first, uint64_t second)
{
	struct pair_slot *recent = &numbering->recent[(first * 31 + second) % RECENT];

	/* value + 1: a slot of zeros is free. */
	if (recent->value && recent->first == first && recent->second == second)
		return recent->value - 1;
	*recent = (struct pair_slot){.first = first,
				     .second = second,
				     .value = pair_map_find(&numbering->map, first, second)};
	if (recent->value == PAIR_MAP_NONE &&
	    !pair_map_put(&numbering->map, first, second, numbering->kinds))
		recent->value = numbering->kinds++;
	return recent->value++;
}

enum { GAPS_READ = 2048 };

/* Reads one gap of each `stride` launches, at a place that varies: with equal distances, all heads
 * of a regular loop could be left out. Returns the number of gaps. */
static size_t sample_gaps(const struct sequence *sequence, uint64_t *gaps)
{
	size_t stride = sequence->count / GAPS_READ + 1, count = 0;

	for (size_t i = 0; i + stride <= sequence->count; i += stride) {
		size_t within = (size_t)(count * UINT64_C(0x9e3779b97f4a7c15) >> 33) % stride;

		gaps[count++] = sequence_gap(sequence, i + within) + 1000;
	}
	return count;
}

/* The shortest of the long gaps: above a large ratio among the gaps in rising order, with many gaps
 * above it. A few gaps between the short and the long ones do not count. */
static uint64_t find_long_gap(const struct sequence *sequence)
{
	uint64_t gaps[GAPS_READ + 1], long_ns = 2 * SEQUENCE_LONG_GAP;
	size_t count = sample_gaps(sequence, gaps), few;
	double best = 0;

	qsort(gaps, count, sizeof(*gaps), compare_u64);
	few = 1 + count / 400;
	for (size_t i = count / 20; i + few + larger(3, count / 500) < count; i++) {
		double ratio = (double)gaps[i + few] / (double)gaps[i];
		double rank = log(ratio) * sqrt((double)(count - i - few));

		if (ratio > 2 && rank > best) {
			best = rank;
			long_ns = (uint64_t)(sqrt((double)gaps[i]) * sqrt((double)gaps[i + few]));
		}
	}
	return long_ns;
}

static const double is_regular_from = 0.65;

/* Launches of a pair, and those after a long gap. */
struct pair_gaps {
	uint32_t launches, after_long;
	size_t first, last; /* after a long gap */
	double squares;     /* sum of the squares of the distances between those */
};

enum { LONG_IN = 50, MIN_REGULAR = 16 };

static void count_long(struct pair_gaps *gaps, size_t i)
{
	double distance = (double)(i - gaps->last);

	if (gaps->after_long++)
		gaps->squares += distance * distance;
	else
		gaps->first = i;
	gaps->last = i;
}

/* Whether a launch after a long gap begins something: so does at least one in 50 launches of its
 * pair, or they come at regular distances. Otherwise the thread was interrupted. */
static bool begins_word(const struct pair_gaps *gaps)
{
	double span = (double)(gaps->last - gaps->first);

	if (gaps->after_long * (uint64_t)LONG_IN >= gaps->launches)
		return true;
	return gaps->after_long >= MIN_REGULAR &&
	       span * span > is_regular_from * gaps->squares * (gaps->after_long - 1);
}

/* Split keys, by launch: a key after a long gap differs from the same key after a short one,
 * because a body may have only one kernel. The caller frees them. NULL: out of memory. */
static uint32_t *split_keys(const struct sequence *sequence, uint32_t *ret_kinds)
{
	uint32_t kinds, *words = sequence_double(sequence->keys, sequence->count, 1, &kinds);
	struct pair_gaps *gaps = words ? calloc(kinds + (size_t)1, sizeof(*gaps)) : NULL;
	uint64_t long_ns = sequence->long_gap_ns;

	if (!gaps) {
		free(words);
		return NULL;
	}
	for (size_t i = 0; i < sequence->count; i++) {
		gaps[words[i]].launches++;
		if (sequence_gap(sequence, i) >= long_ns)
			count_long(&gaps[words[i]], i);
	}
	for (size_t i = 0; i < sequence->count; i++)
		words[i] = 2 * sequence->keys[i] +
			   (sequence_gap(sequence, i) >= long_ns && begins_word(&gaps[words[i]]));
	free(gaps);
	*ret_kinds = 2 * sequence->keys_count;
	return words;
}

/* A pair: the key before a launch, and its own split key. */
static uint32_t *number_pairs(struct sequence *sequence, uint32_t *ret_kinds)
{
	uint32_t kinds, *words = split_keys(sequence, &kinds);
	uint32_t *pairs = words ? malloc((sequence->count + 1) * sizeof(*pairs)) : NULL;
	struct numbering numbering = {0};

	for (size_t i = 0; pairs && i < sequence->count; i++) {
		pairs[i] = number_of(&numbering, i ? sequence->keys[i - 1] : UINT64_MAX, words[i]);
		if (pairs[i] == PAIR_MAP_NONE) {
			free(pairs);
			pairs = NULL;
		}
	}
	*ret_kinds = numbering.kinds;
	sequence->pair_is_long = pairs ? calloc(*ret_kinds + (size_t)1, sizeof(bool)) : NULL;
	for (size_t i = 0; sequence->pair_is_long && i < sequence->count; i++)
		sequence->pair_is_long[pairs[i]] = words[i] % 2;
	free(words);
	*ret_kinds = numbering.kinds;
	pair_map_fini(&numbering.map);
	return pairs;
}

static uint32_t *number_keys(const struct iterations_input *input, uint32_t *ret_kinds)
{
	uint32_t *keys = malloc((input->count + 1) * sizeof(*keys));
	struct numbering numbering = {0};

	for (size_t i = 0; keys && i < input->count; i++) {
		keys[i] = number_of(&numbering, input->launches[i].key, 0);
		if (keys[i] == PAIR_MAP_NONE) {
			free(keys);
			keys = NULL;
		}
	}
	*ret_kinds = numbering.kinds;
	pair_map_fini(&numbering.map);
	return keys;
}

uint32_t *sequence_double(const uint32_t *words, size_t count, size_t length, uint32_t *ret_kinds)
{
	uint32_t *doubled = malloc((count + 1) * sizeof(*doubled));
	struct numbering numbering = {0};

	for (size_t i = 0; doubled && i < count; i++) {
		/* The first words have no whole predecessor. */
		uint64_t before = i >= length ? words[i - length] : UINT64_MAX - i;

		doubled[i] = number_of(&numbering, before, words[i]);
		if (doubled[i] == PAIR_MAP_NONE) {
			free(doubled);
			doubled = NULL;
		}
	}
	*ret_kinds = numbering.kinds;
	pair_map_fini(&numbering.map);
	return doubled;
}

int sequence_init(struct sequence *sequence, const struct iterations_input *input)
{
	*sequence = (struct sequence){.launches = input->launches, .count = input->count};
	sequence->long_gap_ns = find_long_gap(sequence);
	sequence->keys = number_keys(input, &sequence->keys_count);
	if (sequence->keys)
		sequence->pairs = number_pairs(sequence, &sequence->pairs_count);
	if (sequence->pairs && sequence->pair_is_long)
		return 0;
	sequence_fini(sequence);
	return -ENOMEM;
}

void sequence_fini(struct sequence *sequence)
{
	free(sequence->keys);
	free(sequence->pairs);
	free(sequence->pair_is_long);
	*sequence = (struct sequence){0};
}

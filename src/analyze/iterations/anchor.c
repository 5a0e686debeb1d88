/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/anchor.c - finds a word that a program launches once in each iteration of its
 * main loop
 *
 * Runs in:  our own process
 * Gets:     a thread's launches as a string
 * Gives:    the positions of the anchor, and the keys that nearly all iterations have
 * Owns:     words and their sums while it searches
 * Fails:    -ENOMEM
 * Why an anchor: one additional launch, a validation pass or an inner loop of varying length
 *           destroys a period in the strict sense. A word that occurs once in each iteration
 *           survives them. Words are single keys, pairs, and words of 4, 8 and 16 launches, because
 *           a body may repeat all its kernels. Each candidate costs two passes over the launches,
 *           so their number depends on the length of the string.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/iterations/sequence.h"
#include "base/array.h"
#include "base/number.h"

enum {
	MIN_ITERATIONS = 3,
	/* words of 1 and 2 launches; keys after a long gap; words of 4, 8 and 16 launches */
	KEYS = 0,
	PAIRS,
	SPLIT_KEYS,
	LONG_WORDS,
	ALPHABETS = LONG_WORDS + 3,
	SAME_LOOP = 3,        /* candidates for each number of occurrences */
	FEW_CANDIDATES = 6,   /* for each length of words, at least */
	PART_CANDIDATES = 15, /* in a part of a long sequence */
	MAX_CANDIDATES = 40,  /* for each length of words */
	STEPS = 1500000,      /* candidates times launches, for each length of words */
	PART = 3 << 13,       /* launches of a long sequence in which an anchor is searched */
	MIN_IN_PART = 16,     /* its occurrences */
	GAPS_KEPT = 255,      /* gaps of which a median is computed */
	FEW_TURNS = 4         /* more turns of an inner loop are iterations */
};

/* Shares of segments or launches. */
static const double is_common_from = 0.8, is_complete_from = 0.9, is_clean_to = 0.2,
		    is_regular_from = 0.75, is_typical_from = 0.7, is_poor_to = 0.78;

#define CLEAR_FROM 0.995
#define MIN_BODY   1.5 /* shorter: a body of one launch */

struct word {
	uint32_t count, kind;
	size_t first, last;
	double squares; /* sum of the squares of the distances between neighbours */
};

struct candidate {
	const uint32_t *words; /* by launch */
	size_t alphabet;
	struct word word;
	double covered;  /* share of launches with a common key: one of nearly all segments */
	double typical;  /* mean of this share in the segments */
	double ordered;  /* share of launches with a common pair */
	double clean;    /* share of segments with few uncommon keys */
	double complete; /* share of segments with nearly all common keys */
	uint64_t
		gap_ns; /* the longest typical gap of a common pair that occurs once in a segment */
};

/* 1 for equal distances; small if they differ much. */
static double word_regularity(const struct word *word)
{
	double span = (double)(word->last - word->first);

	return word->squares > 0 ? span * span / (word->count - 1) / word->squares : 0;
}

/* How many segments have a key or a pair. */
struct presence {
	uint32_t *seen, *segments; /* owned; last segment with it, number of segments with it */
	uint32_t kinds;
};

struct counting {
	struct presence keys, pairs;
	uint64_t *pair_gaps;   /* owned; median */
	uint32_t *pair_counts; /* owned */
	uint64_t short_gap_ns;
};

static int presence_init(struct presence *presence, uint32_t kinds)
{
	presence->kinds = kinds;
	presence->seen = calloc(kinds + (size_t)1, sizeof(*presence->seen));
	presence->segments = calloc(kinds + (size_t)1, sizeof(*presence->segments));
	return presence->seen && presence->segments ? 0 : -ENOMEM;
}

static void presence_fini(struct presence *presence)
{
	free(presence->seen);
	free(presence->segments);
}

static void presence_clear(struct presence *presence)
{
	memset(presence->seen, 0, presence->kinds * sizeof(*presence->seen));
	memset(presence->segments, 0, presence->kinds * sizeof(*presence->segments));
}

/* segment counts from 1. */
static bool presence_add(struct presence *presence, uint32_t kind, uint32_t segment)
{
	if (presence->seen[kind] == segment)
		return false;
	presence->seen[kind] = segment;
	presence->segments[kind]++;
	return true;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

struct pair_sums {
	uint32_t count, kept, stride;
	size_t place; /* index of its first gap */
};

static uint64_t median_of(uint64_t *gaps, size_t count)
{
	qsort(gaps, count, sizeof(*gaps), compare_u64);
	return count ? gaps[count / 2] : 0;
}

/* Counts each pair and gives it room for some of its gaps. Returns the room of all. */
static size_t place_gaps(const struct sequence *sequence, struct pair_sums *sums)
{
	size_t place = 0;

	for (size_t i = 0; i < sequence->count; i++)
		sums[sequence->pairs[i]].count++;
	for (size_t i = 0; i < sequence->pairs_count; i++) {
		sums[i].stride = sums[i].count / GAPS_KEPT + 1;
		sums[i].place = place;
		place += sums[i].count / sums[i].stride + 1;
		sums[i].count = 0;
	}
	return place;
}

/* The median of the short gaps. */
static uint64_t measure_short_gap(const struct sequence *sequence)
{
	size_t stride = sequence->count / GAPS_KEPT + 1, count = 0;
	uint64_t gaps[GAPS_KEPT + 1];

	for (size_t i = 0; i < sequence->count; i += stride)
		if (sequence_gap(sequence, i) < sequence->long_gap_ns)
			gaps[count++] = sequence_gap(sequence, i);
	return median_of(gaps, count);
}

static int measure_gaps(const struct sequence *sequence, struct counting *counting)
{
	struct pair_sums *sums = calloc(sequence->pairs_count + (size_t)1, sizeof(*sums));
	uint64_t *gaps =
		sums ? calloc(place_gaps(sequence, sums) + (size_t)1, sizeof(*gaps)) : NULL;

	counting->pair_gaps = calloc(sequence->pairs_count + (size_t)1, sizeof(uint64_t));
	counting->pair_counts = calloc(sequence->pairs_count + (size_t)1, sizeof(uint32_t));
	for (size_t i = 0; gaps && i < sequence->count; i++) {
		struct pair_sums *pair = &sums[sequence->pairs[i]];

		if (pair->count++ % pair->stride == 0)
			gaps[pair->place + pair->kept++] = sequence_pause(sequence, i);
	}
	for (size_t i = 0;
	     gaps && counting->pair_gaps && counting->pair_counts && i < sequence->pairs_count;
	     i++) {
		counting->pair_gaps[i] = median_of(gaps + sums[i].place, sums[i].kept);
		counting->pair_counts[i] = sums[i].count;
	}
	counting->short_gap_ns = measure_short_gap(sequence);
	free(sums);
	free(gaps);
	return gaps && counting->pair_gaps && counting->pair_counts ? 0 : -ENOMEM;
}

static int counting_init(struct counting *counting, const struct sequence *sequence)
{
	if (presence_init(&counting->keys, sequence->keys_count) ||
	    presence_init(&counting->pairs, sequence->pairs_count))
		return -ENOMEM;
	return measure_gaps(sequence, counting);
}

static void counting_fini(struct counting *counting)
{
	presence_fini(&counting->keys);
	presence_fini(&counting->pairs);
	free(counting->pair_gaps);
	free(counting->pair_counts);
}

/* ---- one candidate --------------------------------------------------------------------------- */

static bool is_common(const struct presence *presence, uint32_t kind, uint32_t segments)
{
	return presence->segments[kind] >= is_common_from * segments;
}

static void count_presence(const struct sequence *sequence, const struct candidate *candidate,
			   struct counting *counting)
{
	uint32_t segment = 0;

	presence_clear(&counting->keys);
	presence_clear(&counting->pairs);
	for (size_t i = candidate->word.first; i < candidate->word.last; i++) {
		segment += candidate->words[i] == candidate->word.kind;
		presence_add(&counting->keys, sequence->keys[i], segment);
		presence_add(&counting->pairs, sequence->pairs[i], segment);
	}
}

static uint32_t count_common(const struct presence *presence, uint32_t segments)
{
	uint32_t common = 0;

	for (uint32_t i = 0; i < presence->kinds; i++)
		common += is_common(presence, i, segments);
	return common;
}

struct segment_sums {
	size_t launches, uncommon;
	uint32_t common; /* kinds of common keys */
};

static void close_segment(struct candidate *candidate, const struct segment_sums *segment,
			  uint32_t common)
{
	candidate->clean += (double)segment->uncommon <= is_clean_to * (double)segment->launches;
	candidate->typical += 1 - (double)segment->uncommon / (double)segment->launches;
	candidate->complete += segment->common >= is_complete_from * common;
}

/* The longest gap that all segments of equal length have at one launch. 0: lengths differ. */
static uint64_t steady_gap(const struct sequence *sequence, const struct word *word)
{
	size_t length = (word->last - word->first) / (word->count - 1);
	uint64_t longest = 0;

	if (word_regularity(word) < 1)
		return 0;
	for (size_t i = word->first + 1; i <= word->first + length; i++) {
		uint64_t shortest = sequence_pause(sequence, i);

		for (size_t k = i + length; k <= word->last; k += length)
			shortest = smaller(shortest, sequence_pause(sequence, k));
		longest = larger(longest, shortest);
	}
	return longest;
}

static void judge_launches(const struct sequence *sequence, struct candidate *candidate,
			   struct counting *counting)
{
	uint32_t segments = candidate->word.count - 1;
	uint32_t common = count_common(&counting->keys, segments), number = 0;
	double launches = (double)(candidate->word.last - candidate->word.first);
	struct segment_sums segment = {0};

	memset(counting->keys.seen, 0, sequence->keys_count * sizeof(uint32_t));
	for (size_t i = candidate->word.first; i < candidate->word.last; i++) {
		uint32_t key = sequence->keys[i], pair = sequence->pairs[i];
		bool has_key = is_common(&counting->keys, key, segments);

		if (candidate->words[i] == candidate->word.kind && number++) {
			close_segment(candidate, &segment, common);
			segment = (struct segment_sums){0};
		}
		segment.launches++;
		segment.uncommon += !has_key;
		if (has_key && counting->keys.seen[key] != number) {
			counting->keys.seen[key] = number;
			segment.common++;
		}
		candidate->covered += has_key;
		if (is_common(&counting->pairs, pair, segments)) {
			candidate->ordered++;
			if (counting->pair_counts[pair] * 2 <= 3 * (uint64_t)segments)
				candidate->gap_ns =
					larger(candidate->gap_ns, counting->pair_gaps[pair]);
		}
	}
	close_segment(candidate, &segment, common);
	candidate->covered /= launches;
	candidate->typical /= segments;
	candidate->ordered /= launches;
	candidate->clean /= segments;
	candidate->complete /= segments;
	candidate->gap_ns = larger(candidate->gap_ns, steady_gap(sequence, &candidate->word));
}

static double candidate_length(const struct candidate *candidate)
{
	return (double)(candidate->word.last - candidate->word.first) / (candidate->word.count - 1);
}

static double candidate_quality(const struct candidate *candidate)
{
	return candidate->covered * candidate->clean * candidate->complete;
}

static bool has_host_work(const struct candidate *candidate, uint64_t short_gap_ns)
{
	return candidate->gap_ns > STANDS_OUT * short_gap_ns;
}

/* Whether nearly all segments have the same launches, although a few long ones, such as
 * validations, may have most of the others. */
static bool is_typical(const struct candidate *candidate)
{
	return candidate->typical * candidate->complete > is_typical_from;
}

/* A loop whose segments have little in common is none. */
static bool candidate_is_loop(const struct candidate *candidate, uint64_t short_gap_ns)
{
	double covered =
		candidate->covered > candidate->typical ? candidate->covered : candidate->typical;

	return covered >= 0.4 && candidate->complete >= 0.6 && candidate->clean >= 0.3 &&
	       (candidate->ordered >= 0.3 ||
		(has_host_work(candidate, short_gap_ns) && is_typical(candidate)));
}

/* ---- choice of candidates -------------------------------------------------------------------- */

/* The most frequent first; among those of one loop, the most regular. */
static int compare_words(const void *left, const void *right)
{
	const struct word *a = left, *b = right;
	double regular_a = word_regularity(a), regular_b = word_regularity(b);

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (regular_a != regular_b)
		return regular_a < regular_b ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

static void count_words(const uint32_t *words, size_t count, struct word *sums)
{
	for (size_t i = 0; i < count; i++) {
		struct word *word = &sums[words[i]];
		double distance = (double)(i - word->last);

		if (!word->count++) {
			word->first = i;
			word->kind = words[i];
		} else {
			word->squares += distance * distance;
		}
		word->last = i;
	}
}

/* Keeps the words that may be an anchor: frequent enough, in a large part of the launches, a few
 * for each number of occurrences. Returns their number. */
static size_t choose_words(struct word *words, size_t kinds, size_t launches, bool is_part)
{
	size_t kept = 0, same = 0, max, usable = 0;

	for (size_t i = 0; i < kinds; i++)
		if (words[i].count >= MIN_ITERATIONS &&
		    5 * (words[i].last - words[i].first) >= launches)
			words[usable++] = words[i];
	qsort(words, usable, sizeof(*words), compare_words);
	max = is_part ? PART_CANDIDATES
		      : smaller(larger(STEPS / (launches + 1), FEW_CANDIDATES), MAX_CANDIDATES);
	for (size_t i = 0; i < usable && kept < max; i++) {
		same = kept && words[i].count * 20 >= words[kept - 1].count * (uint64_t)19
			       ? same + 1
			       : 0;
		if (same < SAME_LOOP)
			words[kept++] = words[i];
	}
	return kept;
}

/* Words with all launches of the same alphabet. */
struct alphabet {
	uint32_t *words; /* by launch */
	uint32_t kinds;
};

struct search {
	const struct sequence *sequence;
	bool is_part; /* there is a longer sequence */
	struct alphabet alphabets[ALPHABETS];
	struct candidate candidates[ALPHABETS * MAX_CANDIDATES];
	size_t count;
	struct counting counting;
};

static int try_words(struct search *search, size_t alphabet)
{
	const struct sequence *sequence = search->sequence;
	const uint32_t *words = search->alphabets[alphabet].words;
	uint32_t kinds = search->alphabets[alphabet].kinds;
	struct word *sums = calloc(kinds + (size_t)1, sizeof(*sums));
	size_t count;

	if (!sums)
		return -ENOMEM;
	count_words(words, sequence->count, sums);
	count = choose_words(sums, kinds, sequence->count, search->is_part);
	for (size_t i = 0; i < count; i++) {
		struct candidate *candidate = &search->candidates[search->count];

		*candidate =
			(struct candidate){.words = words, .alphabet = alphabet, .word = sums[i]};
		count_presence(sequence, candidate, &search->counting);
		judge_launches(sequence, candidate, &search->counting);
		search->count += candidate_is_loop(candidate, search->counting.short_gap_ns);
	}
	free(sums);
	return 0;
}

/* The innermost loop first, and the best word of a loop first. */
static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return (a->word.count < b->word.count) - (a->word.count > b->word.count);
}

static bool is_same_loop(const struct candidate *inner, const struct candidate *outer)
{
	return inner->word.count * 3.0 <= outer->word.count * 4.0;
}

/* Whether the program works on the host for longer at the heads of the outer loop, in all. */
static bool is_work_longer(const struct candidate *inner, const struct candidate *outer)
{
	return 2.0 * (double)outer->gap_ns * outer->word.count >
	       (double)inner->gap_ns * inner->word.count;
}

/* Whether all segments have the same launches, and equally many. */
static bool has_equal_segments(const struct candidate *candidate)
{
	return candidate_quality(candidate) > CLEAR_FROM &&
	       word_regularity(&candidate->word) > CLEAR_FROM;
}

/* Whether all segments have the same launches in the same order. */
static bool repeats_exactly(const struct candidate *candidate)
{
	return has_equal_segments(candidate) && candidate->ordered > CLEAR_FROM;
}

/* Whether an inner loop runs a few times in each iteration of another one that repeats exactly. A
 * validation comes after more iterations. */
static bool is_part(const struct candidate *inner, const struct candidate *outer)
{
	return repeats_exactly(outer) && !has_equal_segments(inner) &&
	       inner->word.count < FEW_TURNS * outer->word.count &&
	       candidate_quality(outer) > candidate_quality(inner) + 0.02;
}

/* Whether the outer of two loops is the main one. Host work at its head decides: the program
 * prepares an iteration there. Without such work the loop that explains more launches wins, unless
 * it repeats only a few times, as epochs do. */
static bool is_outer_main(const struct candidate *inner, const struct candidate *outer,
			  uint64_t short_gap_ns)
{
	double better = candidate_quality(outer) - candidate_quality(inner);

	bool inner_works = has_host_work(inner, short_gap_ns);
	bool outer_works = has_host_work(outer, short_gap_ns);
	bool outer_works_longer = outer->gap_ns > STANDS_OUT * inner->gap_ns;

	if (is_same_loop(inner, outer)) {
		if (has_equal_segments(inner) && !has_equal_segments(outer) &&
		    candidate_length(inner) > MIN_BODY)
			return false;
		if (inner_works && is_typical(inner) && inner->gap_ns > STANDS_OUT * outer->gap_ns)
			return false;
		return (outer_works && is_typical(outer) && outer_works_longer) || better > 0.01 ||
		       (better > -0.001 && outer->ordered > inner->ordered + 0.001);
	}
	if (outer_works && outer_works_longer && !inner_works && is_typical(outer) &&
	    word_regularity(&outer->word) > 0.4 && is_work_longer(inner, outer))
		return outer->ordered >= 0.3;
	if (word_regularity(&outer->word) < (outer->word.count < 8 ? 0.9 : is_regular_from))
		return false;
	if (is_part(inner, outer) && 2 * outer->gap_ns >= inner->gap_ns)
		return true;
	if (repeats_exactly(outer) && candidate_quality(inner) < is_poor_to && outer_works_longer)
		return is_work_longer(inner, outer);
	/* The inner loop has its own host work and explains as many launches. */
	if (inner_works && better <= 0.02 && word_regularity(&inner->word) > 0.95 &&
	    candidate_length(inner) > MIN_BODY)
		return false;
	if (inner_works && is_typical(inner) && (!outer_works_longer || outer->word.count < 8))
		return false;
	if (outer_works_longer && is_work_longer(inner, outer))
		return outer->ordered >= 0.5;
	if (STANDS_OUT * outer->gap_ns < inner->gap_ns)
		return false;
	if (inner_works)
		return false;
	if (candidate_quality(inner) < 0.5 && candidate_quality(outer) > 0.8)
		return true;
	/* Pieces of the inner loop follow each other in a fixed order: they are parts. */
	if (inner->ordered < 0.5 && outer->ordered > 0.85 && better > 0)
		return true;
	return better > 0.02 && candidate_quality(inner) < is_poor_to &&
	       outer->word.count >= (candidate_length(inner) <= 2.5 ? 8 : 20);
}

static const struct candidate *choose_candidate(struct candidate *candidates, size_t count,
						uint64_t short_gap_ns)
{
	const struct candidate *best = count ? &candidates[0] : NULL;

	qsort(candidates, count, sizeof(*candidates), compare_candidates);
	for (size_t i = 1; i < count; i++)
		if (is_outer_main(best, &candidates[i], short_gap_ns))
			best = &candidates[i];
	return best;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Whether the words that end at two launches are equal. */
static bool is_equal_word(const struct sequence *sequence, size_t alphabet, size_t left,
			  size_t right)
{
	size_t length = alphabet < LONG_WORDS ? 2 : (size_t)4 << (alphabet - LONG_WORDS);

	if (alphabet == KEYS)
		return sequence->keys[left] == sequence->keys[right];
	if (alphabet == SPLIT_KEYS)
		return sequence->keys[left] == sequence->keys[right] &&
		       sequence->pair_is_long[sequence->pairs[left]] ==
			       sequence->pair_is_long[sequence->pairs[right]];
	if (left < length - 1 || right < length - 1)
		return left == right;
	for (size_t k = 0; k < length; k += 2)
		if (sequence->pairs[left - k] != sequence->pairs[right - k])
			return false;
	return true;
}

/* Lists the launches of all the sequence that end the word of a candidate. `from`: the first launch
 * of the part with the candidate. */
static int list_positions(const struct sequence *sequence, size_t from,
			  const struct candidate *candidate, struct counting *counting,
			  struct anchor *anchor)
{
	size_t capacity = 0;

	anchor->is_common = calloc(sequence->keys_count, sizeof(*anchor->is_common));
	if (!anchor->is_common)
		return -ENOMEM;
	for (size_t i = 0; i < sequence->count; i++)
		if (is_equal_word(sequence, candidate->alphabet, i, from + candidate->word.first) &&
		    array_append(anchor->positions, capacity, anchor->count, i))
			return -ENOMEM;
	for (uint32_t key = 0; key < sequence->keys_count; key++) {
		anchor->is_common[key] = is_common(&counting->keys, key, candidate->word.count - 1);
		anchor->common_count += anchor->is_common[key];
	}
	return 0;
}

static int make_long_words(const struct sequence *sequence, struct alphabet *alphabets)
{
	for (size_t i = LONG_WORDS; i < ALPHABETS; i++) {
		alphabets[i].words = sequence_double(
			alphabets[i == LONG_WORDS ? PAIRS : i - 1].words, sequence->count,
			(size_t)2 << (i - LONG_WORDS), &alphabets[i].kinds);
		if (!alphabets[i].words)
			return -ENOMEM;
	}
	return 0;
}

/* Whether a short word is in each iteration, with launches that all iterations have. Longer words
 * find no better loop then, and take most of the time. */
static bool is_clear(const struct candidate *best)
{
	return best && candidate_quality(best) > CLEAR_FROM && best->ordered > CLEAR_FROM;
}

static int try_alphabets(struct search *search, size_t from, size_t to)
{
	int error = 0;

	for (size_t i = from; i < to && !error; i++)
		error = try_words(search, i);
	return error;
}

static const struct candidate *choose(struct search *search)
{
	return choose_candidate(search->candidates, search->count, search->counting.short_gap_ns);
}

static int search_words(struct search *search)
{
	const struct sequence *sequence = search->sequence;
	int error;

	search->alphabets[KEYS] = (struct alphabet){sequence->keys, sequence->keys_count};
	search->alphabets[PAIRS] = (struct alphabet){sequence->pairs, sequence->pairs_count};
	search->alphabets[SPLIT_KEYS] = (struct alphabet){
		malloc((sequence->count + 1) * sizeof(uint32_t)), 2 * sequence->keys_count};
	if (!search->alphabets[SPLIT_KEYS].words)
		return -ENOMEM;
	for (size_t i = 0; i < sequence->count; i++)
		search->alphabets[SPLIT_KEYS].words[i] =
			2 * sequence->keys[i] + sequence->pair_is_long[sequence->pairs[i]];
	error = try_alphabets(search, KEYS, LONG_WORDS);
	if (error || is_clear(choose(search)))
		return error;
	error = make_long_words(sequence, search->alphabets);
	return error ? error : try_alphabets(search, LONG_WORDS, ALPHABETS);
}

/* Searches in `count` launches from `from` on, and lists the anchor in all launches. */
static int search_part(const struct sequence *sequence, size_t from, size_t count,
		       struct anchor *ret_anchor)
{
	struct sequence part = *sequence;
	struct search search = {.sequence = &part, .is_part = count < sequence->count};
	const struct candidate *best = NULL;
	int error;

	part.launches += from;
	part.keys += from;
	part.pairs += from;
	part.count = count;
	error = counting_init(&search.counting, &part);
	if (!error)
		error = search_words(&search);
	if (!error)
		best = choose(&search);
	if (best) {
		count_presence(&part, best, &search.counting);
		error = list_positions(sequence, from, best, &search.counting, ret_anchor);
	}
	for (size_t i = SPLIT_KEYS; i < ALPHABETS; i++)
		free(search.alphabets[i].words);
	counting_fini(&search.counting);
	if (error)
		anchor_fini(ret_anchor);
	return error;
}

int anchor_find(const struct sequence *sequence, struct anchor *ret_anchor)
{
	*ret_anchor = (struct anchor){0};
	if (sequence->count > 2 * PART) {
		int error = search_part(sequence, sequence->count / 2 - PART / 2, PART, ret_anchor);

		if (error || ret_anchor->count >= MIN_IN_PART)
			return error;
		anchor_fini(ret_anchor);
	}
	return search_part(sequence, 0, sequence->count, ret_anchor);
}

void anchor_fini(struct anchor *anchor)
{
	free(anchor->positions);
	free(anchor->is_common);
	*anchor = (struct anchor){0};
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/loop.c - the iterations of one sequence of launches
 *
 * Runs in:  our own process
 * Gets:     launches
 * Gives:    iterations
 * Owns:     the sequence and its anchor while it searches
 * Fails:    -ENOMEM
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/iterations/sequence.h"
#include "base/number.h"

enum { MIN_HEADS = 3 };

/* The last launch of the last iteration: with the key that ends most iterations, near the usual
 * length. */
static size_t find_end(const struct sequence *sequence, const size_t *heads, size_t count,
		       uint64_t length)
{
	size_t head = heads[count - 1], usual = head + length - 1, votes = 0;
	size_t last = smaller(sequence->count - 1, head + length + length / 2);
	size_t best = smaller(usual, last);
	uint64_t distance = UINT64_MAX;
	uint32_t key = 0;

	for (size_t i = 1; i < count; i++) {
		uint32_t end = sequence->keys[heads[i] - 1];

		if (!votes)
			key = end;
		votes += end == key ? 1 : (size_t)-1;
	}
	for (size_t i = head; i <= last; i++) {
		uint64_t off = i > usual ? i - usual : usual - i;

		if (sequence->keys[i] == key && off < distance) {
			distance = off;
			best = i;
		}
	}
	return best;
}

static int list_iterations(const struct sequence *sequence, const size_t *heads, size_t count,
			   struct iterations *ret_iterations)
{
	struct iteration *list = calloc(count, sizeof(*list));
	uint64_t *lengths = calloc(count, sizeof(*lengths));
	size_t end;

	if (!list || !lengths) {
		free(list);
		free(lengths);
		return -ENOMEM;
	}
	for (size_t i = 0; i + 1 < count; i++) {
		list[i] = (struct iteration){.begin = sequence->launches[heads[i]].enter,
					     .end = sequence->launches[heads[i + 1]].enter,
					     .first = heads[i],
					     .launches = heads[i + 1] - heads[i]};
		lengths[i] = list[i].launches;
	}
	qsort(lengths, count - 1, sizeof(*lengths), compare_u64);
	ret_iterations->period = lengths[(count - 1) / 2];
	end = find_end(sequence, heads, count, ret_iterations->period);
	list[count - 1] = (struct iteration){.begin = sequence->launches[heads[count - 1]].enter,
					     .end = sequence->launches[end].exit,
					     .first = heads[count - 1],
					     .launches = end + 1 - heads[count - 1]};
	ret_iterations->method = ITERATIONS_SEQUENCE;
	ret_iterations->thread = sequence->launches[heads[0]].thread;
	ret_iterations->list = list;
	ret_iterations->count = count;
	iterations_join(ret_iterations);
	free(lengths);
	return 0;
}

static int find_heads(const struct sequence *sequence, const struct anchor *anchor,
		      struct iterations *ret_iterations)
{
	size_t *heads = NULL, count = 0;
	int error = heads_find(sequence, anchor, &heads, &count);

	if (!error && count >= MIN_HEADS)
		error = list_iterations(sequence, heads, count, ret_iterations);
	if (!error && ret_iterations->count)
		error = steady_extend(sequence, ret_iterations);
	free(heads);
	return error;
}

int sequence_find_iterations(const struct iterations_input *input,
			     const struct place_source *places, struct iterations *ret_iterations)
{
	struct sequence sequence;
	struct anchor anchor = {0};
	int error;

	*ret_iterations = (struct iterations){0};
	if (input->count < MIN_HEADS)
		return 0;
	error = sequence_init(&sequence, input);
	if (error)
		return error;
	error = anchor_find(&sequence, &anchor);
	if (!error)
		error = sequence_repair(&sequence, &anchor, anchor.positions, &anchor.count);
	if (!error && anchor.count >= MIN_HEADS && places)
		error = places->find(places->context, anchor.positions[0],
				     anchor.positions[anchor.count - 1]);
	if (!error && anchor.count >= MIN_HEADS)
		error = find_heads(&sequence, &anchor, ret_iterations);
	anchor_fini(&anchor);
	sequence_fini(&sequence);
	return error;
}

int iterations_find_sequence(const struct iterations_input *input,
			     struct iterations *ret_iterations)
{
	return sequence_find_iterations(input, NULL, ret_iterations);
}

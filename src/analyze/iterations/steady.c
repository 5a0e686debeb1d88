/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/steady.c - launches beside the iterations that repeat as well
 *
 * Runs in:  our own process
 * Gets:     iterations, and the launches of their thread
 * Gives:    the steady part
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why:      a loop may do more in each fourth pass. Then four passes are one iteration, and the
 *           passes before the first and after the last of these are in none. Their idle time has
 *           the causes of all the others.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/iterations/sequence.h"
#include "base/number.h"

/* The launches beside the iterations must be like these. */
struct neighbours {
	const struct sequence *sequence;
	bool *in_loop;       /* owned; by key */
	uint64_t longest_ns; /* iteration; a pass with a build takes longer */
};

static bool belongs(const struct neighbours *neighbours, size_t i)
{
	const struct iterations_launch *launch = &neighbours->sequence->launches[i];

	return neighbours->in_loop[neighbours->sequence->keys[i]] &&
	       launch->exit - launch->enter <= neighbours->longest_ns;
}

/* Whether launches i and i + 1 are near enough to be of one loop. */
static bool is_near(const struct neighbours *neighbours, size_t i)
{
	return sequence_gap(neighbours->sequence, i + 1) <= neighbours->longest_ns;
}

static void extend(const struct neighbours *neighbours, struct iteration *steady)
{
	const struct iterations_launch *launches = neighbours->sequence->launches;
	size_t first = steady->first, last = first + steady->launches - 1;

	while (first && belongs(neighbours, first - 1) && is_near(neighbours, first - 1))
		first--;
	while (last + 1 < neighbours->sequence->count && belongs(neighbours, last + 1) &&
	       is_near(neighbours, last))
		last++;
	if (first < steady->first)
		steady->begin = launches[first].enter;
	if (last >= steady->first + steady->launches)
		steady->end = launches[last].exit;
	steady->first = first;
	steady->launches = last + 1 - first;
}

/* Marks the kernels that several iterations have. A validation in one of them is not the loop's. */
static int mark_keys(const struct neighbours *neighbours, const struct iterations *iterations)
{
	const struct sequence *sequence = neighbours->sequence;
	uint32_t *last = calloc(sequence->keys_count + 1, sizeof(*last)); /* iteration + 1 */

	if (!last)
		return -ENOMEM;
	for (size_t i = 0; i < iterations->count; i++) {
		const struct iteration *row = &iterations->list[i];

		for (size_t k = row->first; k < row->first + row->launches; k++) {
			const uint32_t key = sequence->keys[k];

			neighbours->in_loop[key] |= last[key] && last[key] != i + 1;
			last[key] = (uint32_t)i + 1;
		}
	}
	free(last);
	return 0;
}

int steady_extend(const struct sequence *sequence, struct iterations *iterations)
{
	struct neighbours neighbours = {
		.sequence = sequence,
		.in_loop = calloc(sequence->keys_count + 1, sizeof(*neighbours.in_loop))};
	int error;

	if (!neighbours.in_loop)
		return -ENOMEM;
	for (size_t i = 0; i < iterations->count; i++)
		neighbours.longest_ns = larger(neighbours.longest_ns,
					       iterations->list[i].end - iterations->list[i].begin);
	error = mark_keys(&neighbours, iterations);
	if (!error)
		extend(&neighbours, &iterations->steady);
	free(neighbours.in_loop);
	return error;
}

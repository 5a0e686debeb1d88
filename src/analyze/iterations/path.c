/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/path.c - chooses the heads among the launches that may be heads
 *
 * Runs in:  our own process
 * Gets:     evidence for each launch, and for each length of an iteration
 * Gives:    the list of heads with the largest sum of evidence
 * Owns:     a step for each possible head
 * Fails:    -ENOMEM
 * Why a sum: one sign alone fails. A thread that is interrupted has a long gap within an iteration,
 *           and a few kernels in another order look like a head. Such a launch also cuts an
 *           iteration into two pieces of unusual lengths.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/iterations/heads.h"
#include "base/array.h"

enum { LOOK_BACK = 12, NO_STEP = -1 };

static const double is_possible_from = -4;

struct step {
	size_t launch;
	double sum;
	ptrdiff_t before; /* the step before it */
};

struct steps {
	struct step *list;
	size_t count, capacity;
};

/* The best list of heads that ends at a launch. */
static struct step best_step(const struct steps *steps, const struct head_likeness *like,
			     size_t launch, double evidence)
{
	struct step best = {.launch = launch, .sum = 0, .before = NO_STEP};
	size_t from = steps->count > LOOK_BACK ? steps->count - LOOK_BACK : 0;

	for (size_t i = from; i < steps->count; i++) {
		const struct step *step = &steps->list[i];
		double sum = step->sum + head_likeness_of_length(like, launch - step->launch);

		if (sum > best.sum) {
			best.sum = sum;
			best.before = (ptrdiff_t)i;
		}
	}
	best.sum += evidence;
	return best;
}

static int list_steps(const struct heads *heads, const struct head_likeness *like,
		      struct steps *steps)
{
	for (size_t i = 0; i < heads->sequence->count; i++) {
		double evidence = head_likeness_of_launch(heads, like, i);

		if (evidence < is_possible_from)
			continue;
		if (array_append(steps->list, steps->capacity, steps->count,
				 best_step(steps, like, i, evidence)))
			return -ENOMEM;
	}
	return 0;
}

int heads_choose(const struct heads *heads, const struct head_likeness *like, size_t **ret_list,
		 size_t *ret_count)
{
	struct steps steps = {0};
	ptrdiff_t last = NO_STEP;
	size_t count = 0, *list;

	if (list_steps(heads, like, &steps)) {
		free(steps.list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < steps.count; i++)
		if (last == NO_STEP || steps.list[i].sum >= steps.list[last].sum)
			last = (ptrdiff_t)i;
	for (ptrdiff_t i = last; i != NO_STEP; i = steps.list[i].before)
		count++;
	list = malloc((count + 1) * sizeof(*list));
	if (list) {
		*ret_list = list;
		*ret_count = count;
		for (ptrdiff_t i = last; i != NO_STEP; i = steps.list[i].before)
			list[--count] = steps.list[i].launch;
	}
	free(steps.list);
	return list ? 0 : -ENOMEM;
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/list.c - a list of iterations: its method, its steady part, its release
 *
 * Runs in:  our own process
 * Gets:     a list of iterations
 * Gives:    the name of its method, the time of its steady part
 * Owns:     nothing
 * Fails:    never
 */
#include "analyze/iterations/iterations.h"

#include <stdlib.h>

#include "base/array.h"

const char *iterations_method_name(enum iterations_method method)
{
	static const char *const names[] = {[ITERATIONS_NONE] = "none",
					    [ITERATIONS_RANGES] = "ranges",
					    [ITERATIONS_SEQUENCE] = "sequence"};

	return array_text(names, ARRAY_COUNT(names), method, "none");
}

void iterations_fini(struct iterations *iterations)
{
	if (!iterations)
		return;
	free(iterations->name);
	free(iterations->list);
	*iterations = (struct iterations){0};
}

void iterations_join(struct iterations *iterations)
{
	const struct iteration *first = iterations->list;
	const struct iteration *last = first + iterations->count - 1;

	if (iterations->count)
		iterations->steady =
			(struct iteration){.begin = first->begin,
					   .end = last->end,
					   .first = first->first,
					   .launches = last->first + last->launches - first->first};
}

bool iterations_steady(const struct iterations *iterations, uint64_t *ret_begin_ns,
		       uint64_t *ret_end_ns)
{
	const struct iteration *list = iterations->list;
	const struct iteration *steady = &iterations->steady;
	uint64_t inside = 0;

	for (size_t i = 0; i < iterations->count; i++)
		inside += list[i].launches;
	if (!iterations->count || inside < iterations->launches / 2)
		return false;
	*ret_begin_ns = steady->begin;
	*ret_end_ns =
		steady->first + steady->launches < iterations->launches ? steady->end : UINT64_MAX;
	return true;
}

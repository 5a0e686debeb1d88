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

bool iterations_steady(const struct iterations *iterations, uint64_t *ret_begin_ns,
		       uint64_t *ret_end_ns)
{
	const struct iteration *list = iterations->list;
	uint64_t inside = 0, next = 0; /* next: index of the first launch after the iterations */

	for (size_t i = 0; i < iterations->count; i++) {
		inside += list[i].launches;
		next = list[i].first + list[i].launches;
	}
	if (!iterations->count || inside < iterations->launches / 2)
		return false;
	*ret_begin_ns = list[0].begin;
	*ret_end_ns = next < iterations->launches ? list[iterations->count - 1].end : UINT64_MAX;
	return true;
}

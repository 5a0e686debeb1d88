/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/iterations.c - the iterations of the program in a trace
 *
 * Runs in:  our own process, before the sweep of an analysis
 * Gets:     launches and ranges of a trace
 * Gives:    the list of iterations
 * Owns:     the launches of one thread while it searches
 * Fails:    -ENOMEM and errors of the reader
 * Why ranges first: the program knows its iterations best
 */
#include "analyze/iterations/iterations.h"

#include <stdlib.h>

#include "analyze/iterations/launches.h"
#include "analyze/iterations/sequence.h"
#include "base/array.h"

const char *iterations_method_name(enum iterations_method method)
{
	static const char *const names[] = {[ITERATIONS_NONE] = "none",
					    [ITERATIONS_RANGES] = "ranges",
					    [ITERATIONS_SEQUENCE] = "sequence"};

	return array_text(names, ARRAY_COUNT(names), method, "none");
}

int iterations_find(const struct model *model, bool use_ranges, struct iterations *ret_iterations)
{
	struct thread_launches launches;
	struct place_context context = {.model = model, .launches = &launches};
	const struct place_source places = {.find = places_find, .context = &context};
	int error = thread_launches_read(model, &launches);

	*ret_iterations = (struct iterations){0};
	if (error)
		return error;
	if (use_ranges)
		error = ranges_find_iterations(model, &launches, ret_iterations);
	if (!error && ret_iterations->method == ITERATIONS_NONE) {
		const struct iterations_input input = {.launches = launches.launches,
						       .count = launches.count};

		error = sequence_find_iterations(&input, &places, ret_iterations);
	}
	ret_iterations->launches = launches.count;
	ret_iterations->is_cut = launches.is_cut;
	thread_launches_fini(&launches);
	return error;
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

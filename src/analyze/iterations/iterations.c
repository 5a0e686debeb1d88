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

#include "analyze/iterations/launches.h"
#include "analyze/iterations/sequence.h"

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
	if (!error)
		error = device_end_find(model, &launches, &ret_iterations->steady);
	ret_iterations->is_cut = launches.is_cut;
	thread_launches_fini(&launches);
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * page/view/iterations.c - a track with the iterations of the program's main loop
 *
 * Runs in:  our own process
 * Gets:     the iterations of a finished analysis
 * Gives:    items of one track
 * Owns:     nothing
 * Fails:    -ENOMEM, errors of the store
 * Why the median: a few slow iterations move a mean, and then the next slow ones would look usual.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "page/view/tracks.h"

static uint64_t length_of(const struct iteration *iteration)
{
	return iteration->end > iteration->begin ? iteration->end - iteration->begin : 0;
}

static int find_median(const struct iterations *iterations, uint64_t *ret_median_ns)
{
	auto_free uint64_t *lengths = calloc(iterations->count, sizeof(*lengths));

	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < iterations->count; i++)
		lengths[i] = length_of(&iterations->list[i]);
	qsort(lengths, iterations->count, sizeof(*lengths), compare_u64);
	*ret_median_ns = lengths[(iterations->count - 1) / 2];
	return 0;
}

/* Adds the iterations that the window shows; a slow one has another name. */
static int add_iterations(struct view_tracks *tracks, uint64_t median_ns, const uint32_t names[2])
{
	const struct iterations *iterations = &tracks->analysis->iterations;
	int error = 0;

	for (size_t i = 0; i < iterations->count && !error; i++) {
		const struct iteration *iteration = &iterations->list[i];
		const bool is_slow = length_of(iteration) > median_ns + median_ns / 2;

		if (!length_of(iteration) ||
		    !analysis_shows(tracks->analysis, iteration->begin, iteration->end))
			continue;
		error = view_tracks_add_span(tracks, tracks->iterations,
					     &(struct view_span){.begin = iteration->begin,
								 .end = iteration->end,
								 .what = names[is_slow]});
	}
	return error;
}

int view_iterations_add(struct view_tracks *tracks)
{
	const struct iterations *iterations = &tracks->analysis->iterations;
	size_t thread = entity_index_find(&tracks->threads, iterations->thread);
	uint64_t median_ns;
	uint32_t names[2];
	int error;

	if (iterations->method == ITERATIONS_NONE || !iterations->count)
		return 0;
	error = find_median(iterations, &median_ns);
	if (!error)
		error = view_code_name(tracks->code, "iteration", &names[0]);
	if (!error)
		error = view_code_name(tracks->code, "slow iteration", &names[1]);
	if (!error)
		error = view_tracks_new(tracks, VIEW_ITERATIONS, thread, &tracks->iterations);
	return error ? error : add_iterations(tracks, median_ns, names);
}

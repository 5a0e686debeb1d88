/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/counterparts.c - places of the threads for which launching threads wait
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     stacks of other threads during the waits of launching threads, frames
 * Gives:    a list of places and weights for each wait
 * Owns:     the lists
 * Fails:    -ENOMEM
 * Why a list for a wait: many stacks wait for one lock. The holder's places belong to all of them.
 */
#include "analyze/verdict/counterparts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/number.h"

enum {
	/* A pool's thread or two may be between a launching thread and the one that it waits for.
	 */
	MAX_DEPTH = 4,
	/* A late rank is named if it is certain for 1 / MIN_CERTAIN of the wait. */
	MIN_CERTAIN = 10
};

/* The user's function distinguishes waits for other ranks, because a rank that polls has many
 * stacks. */
uint32_t counterparts_rank_place(struct counterparts *counterparts,
				 const struct verdict_place *place)
{
	char key[4096];

	snprintf(key, sizeof(key), "%.2000s %.2000s", place->function ? place->function : "",
		 place->file ? place->file : "");
	return string_table_add(&counterparts->places, key, strlen(key));
}

static int find_behind_key(struct counterparts *counterparts, struct frames *frames,
			   const struct analysis_holding *holding, uint32_t *ret_behind)
{
	struct verdict_place place;

	*ret_behind = holding->behind;
	if (holding->wait)
		return 0;
	if (verdict_find_place(frames, holding->behind, &place))
		return -ENOMEM;
	*ret_behind = counterparts_rank_place(counterparts, &place);
	return *ret_behind ? 0 : -ENOMEM;
}

static void count_weight(struct counterpart *first, const struct counterpart *added)
{
	first->all = add_saturated(first->all, added->weight);
	if (added->place.function)
		first->known = add_saturated(first->known, added->weight);
}

/* The other thread may wait for something, too. */
static int name_own_wait(const struct analysis *analysis, struct frames *frames,
			 const struct analysis_holding *holding, struct counterpart *added)
{
	const struct frame_name *names = NULL;
	size_t count = 0;

	if (holding->stack && frames_of_stack(frames, holding->stack, &names, &count))
		return -ENOMEM;
	added->what = model_text(analysis->model, holding->own_wait_string, "");
	if (holding->is_away_preempted) {
		added->kind = VERDICT_PREEMPTED;
		return 0;
	}
	added->kind = verdict_kind_of_wait(frames, added->what, names, count);
	return 0;
}

static int add_counterpart(struct counterparts *counterparts, const struct analysis *analysis,
			   struct frames *frames, const struct verdict *verdict,
			   const struct analysis_holding *holding)
{
	struct counterpart added = {
		.thread = holding->thread,
		.weight = verdict_in_scope(verdict, holding->weight, holding->steady_weight,
					   holding->slowest_weight),
		.away = verdict_in_scope(verdict, holding->away, holding->steady_away,
					 holding->slowest_away)};
	const uint64_t wait = holding->is_preempted ? PREEMPTED_IN_MPI : holding->wait;
	uint32_t first, behind;

	if (!added.weight)
		return 0;
	if (name_own_wait(analysis, frames, holding, &added) ||
	    verdict_find_place(frames, holding->stack, &added.place) ||
	    find_behind_key(counterparts, frames, holding, &behind))
		return -ENOMEM;
	if (!added.place.function && holding->wait)
		return 0;
	first = pair_map_find(&counterparts->waits, wait, behind);
	if (first != PAIR_MAP_NONE) {
		added.next = counterparts->list[first].next;
		counterparts->list[first].next = (uint32_t)counterparts->count + 1;
		count_weight(&counterparts->list[first], &added);
	} else if (pair_map_put(&counterparts->waits, wait, behind,
				(uint32_t)counterparts->count)) {
		return -ENOMEM;
	} else {
		count_weight(&added, &added);
	}
	return array_append(counterparts->list, counterparts->capacity, counterparts->count, added);
}

int counterparts_find(struct counterparts *counterparts, const struct analysis *analysis,
		      struct frames *frames, const struct verdict *verdict)
{
	const struct analysis_cpu *cpu = &analysis->cpu;
	int error = 0;

	for (size_t i = 0; i < cpu->holdings_count && !error; i++)
		if (cpu->holdings[i].device == verdict->device)
			error = add_counterpart(counterparts, analysis, frames, verdict,
						&cpu->holdings[i]);
	return error;
}

void counterparts_fini(struct counterparts *counterparts)
{
	pair_map_fini(&counterparts->waits);
	string_table_fini(&counterparts->places);
	free(counterparts->list);
}

const struct counterpart *counterparts_first(const struct counterparts *counterparts, uint64_t wait,
					     uint32_t behind)
{
	const uint32_t first = pair_map_find(&counterparts->waits, wait, behind);

	return (wait || behind) && first != PAIR_MAP_NONE ? &counterparts->list[first] : NULL;
}

const struct counterpart *counterparts_next(const struct counterparts *counterparts,
					    const struct counterpart *one)
{
	return one->next ? &counterparts->list[one->next - 1] : NULL;
}

bool counterparts_are_certain(const struct counterpart *first)
{
	return first && first->known > first->all / MIN_CERTAIN;
}

const struct counterpart *counterparts_behind(const struct counterparts *counterparts,
					      uint32_t wait, const struct counterpart *one,
					      unsigned int depth)
{
	const struct counterpart *first =
		one->place.is_own || depth >= MAX_DEPTH
			? NULL
			: counterparts_first(counterparts, wait, one->place.stack);

	for (const struct counterpart *other = first; wait && other;
	     other = counterparts_next(counterparts, other))
		if (other->place.is_own ||
		    counterparts_behind(counterparts, wait, other, depth + 1))
			return first;
	return NULL;
}

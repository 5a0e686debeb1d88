/* SPDX-License-Identifier: MIT
 *
 * analyze/code_sites.c - of the code that ever lay at an address, what may have run there in a window
 *
 * Runs in:  the readers
 * Gets:     an address, a window   Gives: a set of kernels
 * Owns:     what was found at each address, and the sets
 * Fails:    -ENOMEM
 * Why sets: the addresses of one kernel have the same answer, and whose their samples are is asked once a window and set, not once
 *           a sample.
 */
#include "analyze/code_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "analyze/pair_map.h"
#include "base/arena.h"
#include "base/array.h"
#include "event/event.h"

/* Who share a device load one program to the same addresses: so many processes, and what they loaded there before. */
enum { RANGES_MOST = 128 };

/* An address of a device: what was found there, and the answer for the latest window. */
struct spot {
	const struct code_range **ranges; /* in memory */
	size_t count;
	uint64_t begin, end;
	uint32_t set;
	bool is_asked;
};

struct code_sites {
	struct code_index *index;  /* borrowed */
	struct code_index *own;    /* owned; NULL: it is somebody else's */
	const struct model *model; /* borrowed; of the own one */
	struct arena memory;
	struct pair_map spot_rows; /* (device, address) -> index */
	struct spot *spots;        /* owned */
	size_t spots_count, spots_capacity;
	struct pair_map set_rows; /* (set of all but the last, last) -> set */
	struct code_set *sets;    /* owned; their sites in memory */
	size_t sets_count, sets_capacity;
};

/* While a set is made. */
struct choice {
	struct code_site sites[RANGES_MOST];
	size_t count;
	bool is_late;
};

int code_sites_new(struct code_index *index, struct code_sites **ret_sites)
{
	struct code_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	sites->index = index;
	arena_init(&sites->memory);
	pair_map_init(&sites->spot_rows);
	pair_map_init(&sites->set_rows);
	*ret_sites = sites;
	return 0;
}

int code_sites_of_model(const struct model *model, struct code_sites **ret_sites)
{
	struct code_index *index;
	int error = code_index_new(model, &index);

	if (error)
		return error;
	error = code_sites_new(index, ret_sites);
	if (error) {
		code_index_free(index);
		return error;
	}
	(*ret_sites)->own = index;
	(*ret_sites)->model = model;
	return 0;
}

void code_sites_free(struct code_sites *sites)
{
	if (!sites)
		return;
	code_index_free(sites->own);
	arena_fini(&sites->memory);
	pair_map_fini(&sites->spot_rows);
	pair_map_fini(&sites->set_rows);
	free(sites->spots);
	free(sites->sets);
	free(sites);
}

const struct code_set *code_sites_set(const struct code_sites *sites, uint32_t set)
{
	return &sites->sets[set];
}

/* ---- sets -------------------------------------------------------------------------------------- */

static int make_set(struct code_sites *sites, const struct choice *choice, uint32_t *ret_set)
{
	struct code_site *kept =
		arena_alloc(&sites->memory, (choice->count + 1) * sizeof(*choice->sites));
	struct code_set *set;

	if (!kept || array_grow(sites->sets, sites->sets_capacity, sites->sets_count + 1))
		return -ENOMEM;
	memcpy(kept, choice->sites, choice->count * sizeof(*kept));
	set = &sites->sets[sites->sets_count];
	*set = (struct code_set){.sites = kept, .count = choice->count, .is_late = choice->is_late};
	if (choice->count)
		set->begin_ns = kept->range->begin_ns;
	*ret_set = (uint32_t)sites->sets_count++;
	return 0;
}

static bool is_set(const struct code_set *set, const struct choice *choice)
{
	if (set->count != choice->count || set->is_late != choice->is_late)
		return false;
	for (size_t i = 0; i < set->count; i++)
		if (set->sites[i].range != choice->sites[i].range ||
		    set->sites[i].role != choice->sites[i].role)
			return false;
	return true;
}

/* One site after the other, so that no two sets are ever taken for one another. */
static int find_set(struct code_sites *sites, const struct choice *choice, uint32_t *ret_set)
{
	struct choice part = {.is_late = choice->is_late};
	uint64_t before = UINT64_MAX - choice->is_late;
	uint32_t set = PAIR_MAP_NONE;
	int error = 0;

	for (size_t i = 0; i <= choice->count && !error; i++) {
		const struct code_site *last = i ? &choice->sites[i - 1] : NULL;
		const uint64_t key =
			last ? (uint64_t)last->range->code << 2 | last->role : UINT64_MAX;

		if (last)
			part.sites[part.count++] = *last;
		set = pair_map_find(&sites->set_rows, before, key);
		if (set == PAIR_MAP_NONE) {
			error = make_set(sites, &part, &set);
			if (!error)
				error = pair_map_put(&sites->set_rows, before, key, set);
		}
		before = set;
	}
	if (!error)
		*ret_set = set;
	return error;
}

/* ---- choosing ---------------------------------------------------------------------------------- */

static bool is_there(const struct code_range *range, uint64_t begin, uint64_t end)
{
	const bool has_come = begin == end ? range->begin_ns <= begin : range->begin_ns < end;

	return has_come && range->end_ns > begin;
}

/* The most that anybody knows of the code of a process there. */
static uint8_t most_known(const struct spot *spot, uint32_t process, uint64_t begin, uint64_t end)
{
	uint8_t most = 0;

	for (size_t i = 0; i < spot->count; i++)
		if (spot->ranges[i]->process == process && is_there(spot->ranges[i], begin, end) &&
		    spot->ranges[i]->known > most)
			most = spot->ranges[i]->known;
	return most;
}

/* In one address space there is one code at a place: who comes replaces who was there, whether anybody told its end or not. */
static bool is_replaced(const struct spot *spot, size_t own, uint64_t begin, uint64_t end)
{
	const struct code_range *range = spot->ranges[own];

	for (size_t i = own + 1; i < spot->count; i++) {
		const struct code_range *later = spot->ranges[i];

		if (later->process == range->process && later->known == range->known &&
		    later->begin_ns > range->begin_ns && later->begin_ns <= begin &&
		    is_there(later, begin, end))
			return true;
	}
	return false;
}

static void add_site(struct choice *choice, const struct code_range *range, enum code_role role)
{
	if (choice->count < RANGES_MOST)
		choice->sites[choice->count++] = (struct code_site){range, role};
}

static void add_twins(struct choice *choice, const struct spot *spot, const struct code_range *own,
		      uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < spot->count; i++) {
		const struct code_range *range = spot->ranges[i];

		if (range->process == own->process && range->start == own->start &&
		    range->known < own->known && is_there(range, begin, end))
			add_site(choice, range, SITE_TWIN);
	}
}

static bool is_first_of_process(const struct spot *spot, size_t own, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < own; i++)
		if (spot->ranges[i]->process == spot->ranges[own]->process &&
		    is_there(spot->ranges[i], begin, end))
			return false;
	return true;
}

static void choose_of_process(const struct spot *spot, uint32_t process, uint64_t begin,
			      uint64_t end, struct choice *choice)
{
	const uint8_t most = most_known(spot, process, begin, end);

	for (size_t i = 0; i < spot->count; i++) {
		const struct code_range *range = spot->ranges[i];

		if (range->process != process || range->known != most ||
		    !is_there(range, begin, end))
			continue;
		add_site(choice, range,
			 is_replaced(spot, i, begin, end) ? SITE_REPLACED : SITE_NOW);
		add_twins(choice, spot, range, begin, end);
	}
}

/* The one that comes next; somebody who knows more of it may tell of it a little later. */
static void choose_late(const struct spot *spot, uint64_t end, struct choice *choice)
{
	const struct code_range *next = NULL, *best;

	for (size_t i = 0; i < spot->count && !next; i++)
		if (spot->ranges[i]->begin_ns >= end)
			next = spot->ranges[i];
	if (!next || next->begin_ns - end > CODE_LATE_NS)
		return;
	best = next;
	for (size_t i = 0; i < spot->count; i++) {
		const struct code_range *range = spot->ranges[i];

		if (range->process == next->process && range->start == next->start &&
		    range->known > best->known && range->begin_ns >= end &&
		    range->begin_ns - end <= CODE_LATE_NS)
			best = range;
	}
	choice->is_late = true;
	add_site(choice, best, SITE_NOW);
	if (best != next)
		add_site(choice, next, SITE_TWIN);
}

static void choose(const struct spot *spot, uint64_t begin, uint64_t end, struct choice *choice)
{
	for (size_t i = 0; i < spot->count; i++)
		if (is_there(spot->ranges[i], begin, end) &&
		    is_first_of_process(spot, i, begin, end))
			choose_of_process(spot, spot->ranges[i]->process, begin, end, choice);
	if (!choice->count)
		choose_late(spot, end, choice);
}

/* ---- looking ----------------------------------------------------------------------------------- */

static int make_spot(struct code_sites *sites, uint32_t device, uint64_t address,
		     uint32_t *ret_index)
{
	const struct code_range *found[RANGES_MOST];
	const size_t count = code_index_find(sites->index, device, address, found, RANGES_MOST);
	const struct code_range **kept = arena_alloc(&sites->memory, (count + 1) * sizeof(*kept));
	const uint32_t index = (uint32_t)sites->spots_count;

	if (!kept || array_grow(sites->spots, sites->spots_capacity, index + (size_t)1) ||
	    pair_map_put(&sites->spot_rows, device, address, index))
		return -ENOMEM;
	memcpy(kept, found, count * sizeof(*kept));
	sites->spots[index] = (struct spot){.ranges = kept, .count = count};
	sites->spots_count++;
	*ret_index = index;
	return 0;
}

int code_sites_find(struct code_sites *sites, uint32_t device, uint64_t address, uint64_t begin,
		    uint64_t end, uint32_t *ret_set, uint32_t *ret_place)
{
	uint32_t index = pair_map_find(&sites->spot_rows, device, address);
	struct choice choice;
	struct spot *spot;
	int error = 0;

	if (index == PAIR_MAP_NONE)
		error = make_spot(sites, device, address, &index);
	if (error)
		return error;
	spot = &sites->spots[index];
	if (!spot->is_asked || spot->begin != begin || spot->end != end) {
		choice.count = 0;
		choice.is_late = false;
		choose(spot, begin, end, &choice);
		/* mostly what it was in the window before */
		if (!spot->is_asked || !is_set(&sites->sets[spot->set], &choice))
			error = find_set(sites, &choice, &spot->set);
		spot->is_asked = !error;
		spot->begin = begin;
		spot->end = end;
	}
	if (error)
		return error;
	*ret_set = spot->set;
	*ret_place = index;
	return 0;
}

/* NULL: none, or more than one. */
static const struct code_range *only_range(const struct code_set *set)
{
	const struct code_range *only = NULL;

	for (size_t i = 0; i < set->count; i++) {
		if (set->sites[i].role != SITE_NOW)
			continue;
		if (only)
			return NULL;
		only = set->sites[i].range;
	}
	return only;
}

int code_sites_resolve(struct code_sites *sites, struct event_instruction_sample *row)
{
	const struct code_range *range;
	const struct event_code *codes;
	const void *things = NULL;
	uint32_t set, place;
	int error;

	if (row->code || !row->device || row->stack || code_index_is_empty(sites->index))
		return 0;
	error = code_sites_find(sites, row->device, row->offset, row->begin, row->end, &set,
				&place);
	range = error ? NULL : only_range(&sites->sets[set]);
	if (!range)
		return error;
	error = code_index_offset(sites->index, range, row->offset, &row->offset);
	if (error || !model_things(sites->model, EVENT_CODE, &things))
		return error;
	codes = things;
	row->code = codes[range->code].id;
	row->process = range->process;
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/code_sites.c - selects the kernels at an address that may have run in a time
 * window
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     an address, a window
 * Gives:    a numbered set of kernels
 * Owns:     the code ranges found for each stretch of addresses, and the sets of kernels
 * Fails:    -ENOMEM
 * Why sets: all addresses of one kernel have the same set, so candidates are searched once per
 *           window and set instead of once per sample. Processes that share a device load the same
 *           program at the same addresses, one after the other. There can be 10^4 such ranges, and
 *           only those loaded during the window are examined.
 */
#include "analyze/sample/code_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/pair_map.h"
#include "event/event.h"

/* Limits: ranges per stretch, ranges of all stretches, sites per set. Code at an address beyond
 * these limits is unknown. */
enum {
	MAX_RANGES = 1 << 16,
	MAX_KEPT = 1 << 24,
	MAX_SITES = 4096,
	MAX_REPLACED = 16,
	MAX_SPACES = 16
};

/* A stretch of addresses of a device: the ranges there, and the set for the latest window. */
struct spot {
	const struct code_range **ranges; /* in code_sites.memory; sorted by begin */
	uint64_t *farthest; /* in code_sites.memory; the latest end of ranges 0 to i */
	size_t count;
	uint64_t begin, end;
	uint32_t set;
	bool is_asked, is_full;
};

/* A range that exists in the window; the list is grouped by process. */
struct present {
	const struct code_range *range;
	uint32_t order; /* position in the order of begin */
	uint32_t first; /* smallest `order` of its process; mark_replaced stores its mark here */
	uint64_t replaced_ns;
};

/* Code that replaces other code of its process at the same address. upper: bits 32 to 63 of the
 * address. */
struct replacer {
	uint64_t upper, begin_ns;
};

/* State while a set is made. */
struct choice {
	struct code_site *sites; /* owned */
	size_t count, capacity;
	struct present *present; /* owned */
	size_t present_count, present_capacity;
	uint64_t begin, end;
	bool is_late, is_full;
};

struct code_sites {
	struct code_index *index;  /* borrowed */
	struct code_index *own;    /* owned; NULL: the caller's index is used */
	const struct model *model; /* borrowed; set together with own */
	struct arena memory;
	struct pair_map spot_rows; /* (device and upper bits of the address, stretch) -> index */
	struct spot *spots;        /* owned */
	size_t spots_count, spots_capacity;
	size_t kept;              /* number of ranges in all spots */
	struct pair_map set_rows; /* (hash, count) -> the latest set with them */
	struct code_set *sets;    /* owned; their sites are in `memory` */
	size_t sets_count, sets_capacity;
	struct choice choice;
	struct code_found found;
	struct code_stretch latest; /* cache of the latest lookup: its stretch */
	uint64_t latest_key;
	uint32_t latest_spot; /* PAIR_MAP_NONE: no lookup yet */
};

int code_sites_new(struct code_index *index, struct code_sites **ret_sites)
{
	struct code_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	sites->index = index;
	sites->latest_spot = PAIR_MAP_NONE;
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
	free(sites->choice.sites);
	free(sites->choice.present);
	code_found_fini(&sites->found);
	free(sites);
}

const struct code_set *code_sites_set(const struct code_sites *sites, uint32_t set)
{
	return &sites->sets[set];
}

/* ---- sets ------------------------------------------------------------------------------------ */

static int make_set(struct code_sites *sites, const struct choice *choice, uint32_t next,
		    uint32_t *ret_set)
{
	struct code_site *kept = arena_alloc(&sites->memory, (choice->count + 1) * sizeof(*kept));

	if (!kept || array_grow(sites->sets, sites->sets_capacity, sites->sets_count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < choice->count; i++)
		kept[i] = choice->sites[i];
	sites->sets[sites->sets_count] =
		(struct code_set){.sites = kept,
				  .count = choice->count,
				  .is_late = choice->is_late,
				  .begin_ns = choice->count ? kept->range->begin_ns : 0,
				  .next = next};
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

static uint64_t hash_of(const struct choice *choice)
{
	uint64_t hash = choice->is_late;

	for (size_t i = 0; i < choice->count; i++) {
		const struct code_site *site = &choice->sites[i];

		hash = (hash ^ ((uint64_t)site->range->code << 2 | site->role)) *
		       UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

/* Compares whole sets, not only their hashes, so two different sets never get one number. */
static int find_set(struct code_sites *sites, const struct choice *choice, uint32_t *ret_set)
{
	const uint64_t hash = hash_of(choice);
	const uint32_t first = pair_map_find(&sites->set_rows, hash, choice->count);
	uint32_t set = first;
	int error;

	while (set != PAIR_MAP_NONE && !is_set(&sites->sets[set], choice))
		set = sites->sets[set].next;
	if (set == PAIR_MAP_NONE) {
		error = make_set(sites, choice, first, &set);
		if (!error)
			error = pair_map_put(&sites->set_rows, hash, choice->count, set);
		if (error)
			return error;
	}
	*ret_set = set;
	return 0;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool has_come(const struct code_range *range, uint64_t begin, uint64_t end)
{
	return begin == end ? range->begin_ns <= begin : range->begin_ns < end;
}

static int add_site(struct choice *choice, const struct code_range *range, enum code_role role,
		    uint64_t replaced_ns)
{
	if (choice->count == MAX_SITES) {
		choice->is_full = true;
		return 0;
	}
	return array_append(choice->sites, choice->capacity, choice->count,
			    (struct code_site){range, role, replaced_ns});
}

/* Number of ranges that were loaded before the end of the window. */
static size_t count_come(const struct spot *spot, uint64_t begin, uint64_t end)
{
	return LOWER_BOUND(spot->count, i, has_come(spot->ranges[i], begin, end));
}

/* Lists the ranges that exist in the window, sorted by begin. */
static int list_present(struct choice *choice, const struct spot *spot)
{
	size_t first = count_come(spot, choice->begin, choice->end);
	const size_t come = first;

	while (first && spot->farthest[first - 1] > choice->begin)
		first--;
	choice->present_count = 0;
	for (size_t i = first; i < come; i++) {
		if (spot->ranges[i]->end_ns <= choice->begin)
			continue;
		if (array_append(choice->present, choice->present_capacity, choice->present_count,
				 (struct present){.range = spot->ranges[i], .order = (uint32_t)i}))
			return -ENOMEM;
	}
	return 0;
}

static int compare_process(const void *left, const void *right)
{
	const struct present *a = left, *b = right;

	if (a->range->process != b->range->process)
		return a->range->process < b->range->process ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static int compare_first(const void *left, const void *right)
{
	const struct present *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Groups the ranges by process. Processes are sorted by the begin of their first range. */
static void sort_present(struct choice *choice)
{
	struct present *present = choice->present;
	bool is_one = true;

	for (size_t i = 1; i < choice->present_count; i++)
		is_one &= present[i].range->process == present->range->process;
	if (is_one)
		return;
	qsort(present, choice->present_count, sizeof(*present), compare_process);
	for (size_t i = 0; i < choice->present_count; i++)
		present[i].first = i && present[i].range->process == present[i - 1].range->process
					   ? present[i - 1].first
					   : present[i].order;
	qsort(present, choice->present_count, sizeof(*present), compare_first);
}

static int add_twins(struct choice *choice, const struct present *present, size_t count,
		     const struct code_range *own)
{
	int error = 0;

	for (size_t i = 0; i < count && !error && !choice->is_full; i++) {
		const struct code_range *range = present[i].range;

		if (range->start == own->start && range->known < own->known)
			error = add_site(choice, range, SITE_TWIN, 0);
	}
	return error;
}

static struct replacer *find_replacer(struct replacer *replacers, size_t count, uint64_t upper)
{
	for (size_t i = 0; i < count; i++)
		if (replacers[i].upper == upper)
			return &replacers[i];
	return NULL;
}

/* An address space has one code at an address: new code replaces the old, even if the old code's
 * end was not recorded. A process may have several address spaces, which differ only in the upper
 * 32 bits of the addresses. Only MAX_SPACES of them are considered. Marks in `first`: 0 for
 * current code, 1 for replaced code, 2 for replaced code beyond MAX_REPLACED, which is left
 * out. */
static void mark_replaced(const struct choice *choice, struct present *present, size_t count,
			  uint8_t most)
{
	struct replacer replacers[MAX_SPACES];
	size_t replacers_count = 0;
	uint32_t replaced = 0;

	for (size_t i = count; i-- > 0;) {
		const struct code_range *range = present[i].range;
		const uint64_t upper = range->address >> 32;
		const struct replacer *replacer;

		present[i].first = 0;
		if (range->known != most)
			continue;
		replacer = find_replacer(replacers, replacers_count, upper);
		if (replacer && replacer->begin_ns > range->begin_ns) {
			present[i].first = replaced++ < MAX_REPLACED ? 1 : 2;
			present[i].replaced_ns = replacer->begin_ns;
		}
		if (!replacer && range->begin_ns <= choice->begin && replacers_count < MAX_SPACES)
			replacers[replacers_count++] = (struct replacer){upper, range->begin_ns};
	}
}

/* Adds the sites of one process. Only the ranges with the most details count; ranges with fewer
 * details become their twins. */
static int choose_of_process(struct choice *choice, struct present *present, size_t count)
{
	uint8_t most = 0, least = UINT8_MAX;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		most = present[i].range->known > most ? present[i].range->known : most;
		least = present[i].range->known < least ? present[i].range->known : least;
	}
	mark_replaced(choice, present, count, most);
	for (size_t i = 0; i < count && !error && !choice->is_full; i++) {
		const struct code_range *range = present[i].range;

		if (range->known != most || present[i].first == 2)
			continue;
		error = add_site(choice, range, present[i].first ? SITE_REPLACED : SITE_NOW,
				 present[i].first ? present[i].replaced_ns : 0);
		if (!error && least < most)
			error = add_twins(choice, present, count, range);
	}
	return error;
}

/* A process cannot have had code before it started. */
static bool may_be_late(const struct code_range *range, uint64_t end)
{
	return range->begin_ns >= end && range->begin_ns - end <= CODE_LATE_NS &&
	       range->started_ns <= end;
}

/* Chooses the range that is loaded next. Another source may report the same code a little later
 * with more details. */
static int choose_late(struct choice *choice, const struct spot *spot)
{
	const uint64_t end = choice->end;
	const struct code_range *next = NULL, *best;
	size_t at = count_come(spot, end, end);
	int error;

	while (at && spot->ranges[at - 1]->begin_ns == end)
		at--;
	for (; at < spot->count && spot->ranges[at]->begin_ns - end <= CODE_LATE_NS && !next; at++)
		if (may_be_late(spot->ranges[at], end))
			next = spot->ranges[at];
	best = next;
	for (; next && at < spot->count && spot->ranges[at]->begin_ns - end <= CODE_LATE_NS; at++) {
		const struct code_range *range = spot->ranges[at];

		if (range->process == next->process && range->start == next->start &&
		    range->known > best->known && may_be_late(range, end))
			best = range;
	}
	if (!next)
		return 0;
	choice->is_late = true;
	error = add_site(choice, best, SITE_NOW, 0);
	return error || best == next ? error : add_site(choice, next, SITE_TWIN, 0);
}

static int choose_sites(struct choice *choice, const struct spot *spot)
{
	struct present *present;
	int error = list_present(choice, spot);

	if (error)
		return error;
	sort_present(choice);
	present = choice->present;
	for (size_t i = 0, count; i < choice->present_count && !error; i += count) {
		count = 1;
		while (i + count < choice->present_count &&
		       present[i + count].range->process == present[i].range->process)
			count++;
		error = choose_of_process(choice, &present[i], count);
	}
	if (!error && !choice->count)
		error = choose_late(choice, spot);
	if (choice->is_full)
		choice->count = 0;
	return error;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int keep_found(struct code_sites *sites, struct spot *spot)
{
	const size_t count = sites->found.count;
	uint64_t farthest = 0;

	spot->ranges = arena_alloc(&sites->memory, (count + 1) * sizeof(const struct code_range *));
	spot->farthest = arena_alloc(&sites->memory, (count + 1) * sizeof(*spot->farthest));
	if (!spot->ranges || !spot->farthest)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		spot->ranges[i] = sites->found.ranges[i];
		farthest = spot->ranges[i]->end_ns > farthest ? spot->ranges[i]->end_ns : farthest;
		spot->farthest[i] = farthest;
	}
	spot->count = count;
	sites->kept += count;
	return 0;
}

static int make_spot(struct code_sites *sites, uint32_t device, uint64_t address, uint64_t key,
		     uint32_t *ret_index)
{
	const size_t left = MAX_KEPT - sites->kept, most = left < MAX_RANGES ? left : MAX_RANGES;
	const uint32_t index = (uint32_t)sites->spots_count;
	struct spot spot = {.is_full = false};
	int error = code_index_find(sites->index, device, address, most, &sites->found);

	spot.is_full = error == -E2BIG;
	if (error == -E2BIG)
		sites->found.count = 0;
	else if (error)
		return error;
	if (array_grow(sites->spots, sites->spots_capacity, index + (size_t)1) ||
	    keep_found(sites, &spot) ||
	    pair_map_put(&sites->spot_rows, key, sites->latest.number, index))
		return -ENOMEM;
	sites->spots[index] = spot;
	sites->spots_count++;
	*ret_index = index;
	return 0;
}

static int find_spot(struct code_sites *sites, uint32_t device, uint64_t address,
		     uint32_t *ret_index)
{
	const uint64_t key = (uint64_t)device << 32 | address >> 32;
	int error = 0;

	if (sites->latest_spot == PAIR_MAP_NONE || sites->latest_key != key ||
	    (uint32_t)address < sites->latest.first || (uint32_t)address >= sites->latest.end) {
		code_index_stretch(sites->index, address, &sites->latest);
		sites->latest_key = key;
		sites->latest_spot = pair_map_find(&sites->spot_rows, key, sites->latest.number);
	}
	if (sites->latest_spot == PAIR_MAP_NONE)
		error = make_spot(sites, device, address, key, &sites->latest_spot);
	*ret_index = sites->latest_spot;
	return error;
}

static int update_spot(struct code_sites *sites, struct spot *spot, uint64_t begin, uint64_t end)
{
	struct choice *choice = &sites->choice;
	int error = 0;

	choice->count = 0;
	choice->begin = begin;
	choice->end = end;
	choice->is_late = choice->is_full = false;
	if (!spot->is_full)
		error = choose_sites(choice, spot);
	/* usually the set is the same as in the window before */
	if (!error && (!spot->is_asked || !is_set(&sites->sets[spot->set], choice)))
		error = find_set(sites, choice, &spot->set);
	spot->is_asked = !error;
	spot->begin = begin;
	spot->end = end;
	return error;
}

int code_sites_find(struct code_sites *sites, uint32_t device, uint64_t address, uint64_t begin,
		    uint64_t end, uint32_t *ret_set, uint32_t *ret_place)
{
	struct spot *spot;
	uint32_t index;
	int error = find_spot(sites, device, address, &index);

	if (error)
		return error;
	spot = &sites->spots[index];
	if (!spot->is_asked || spot->begin != begin || spot->end != end)
		error = update_spot(sites, spot, begin, end);
	if (error)
		return error;
	*ret_set = spot->set;
	*ret_place = index;
	return 0;
}

/* The set's only current kernel; NULL: none, or more than one. */
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
	if (error || !model_entities(sites->model, EVENT_CODE, &codes))
		return error;
	row->code = codes[range->code].id;
	row->process = range->process;
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/absorbed.c - kernels that disappeared into, or came out of, one that keeps
 * its name
 *
 * Runs in:  our own process, in duet diff
 * Gets:     kernels without a partner, next to kernels of equal names
 * Gives:    rows that become "fused" or "split"
 * Owns:     a list of candidates
 * Fails:    -ENOMEM
 * Why all these conditions: a kernel that is simply gone is frequent. Only a neighbour that became
 *           slower by the time of the missing one, from the same call path and with the same
 * counts, is evidence, and weak evidence at that.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/compare/match/matcher.h"
#include "base/array.h"

static const double confidence_of_absorbed = 0.35;
static const double max_error = 0.35; /* relative to the time of both */
static const double min_part = 0.1;   /* share of the neighbour's time; less is noise */
static const double min_rise = 0.5;   /* share of the missing kernel's time */
static const double min_counts = 0.95, min_overlap = 0.5;

struct absorbed {
	double error;
	uint32_t index, row; /* the missing kernel, and its neighbour's row */
	const struct match_item *item;
};

struct kernel_place {
	const struct match_item *item;
	uint32_t index;
};

struct search {
	struct matcher *matcher;
	enum match_side side;     /* side of the missing kernels */
	const uint32_t *partners; /* per row: its only item on the other side + 1; 0: several */
	struct absorbed *found;
	size_t count, capacity;
};

static int compare_kernel_places(const void *left, const void *right)
{
	const struct kernel_place *a = left, *b = right;

	if (a->item->scope != b->item->scope)
		return a->item->scope < b->item->scope ? -1 : 1;
	return matcher_compare_items(a->item, b->item);
}

static int compare_absorbed(const void *left, const void *right)
{
	const struct absorbed *a = left, *b = right;

	if (a->error != b->error)
		return a->error < b->error ? -1 : 1;
	return matcher_compare_items(a->item, b->item);
}

/* The share of the executions of an item that a path of the other launched, too. */
static double shared_part(const struct match_item *item, const struct match_item *other)
{
	double shared = 0, all = 0;

	for (size_t i = 0, j = 0; i < item->stacks_count; i++) {
		while (j < other->stacks_count && other->stacks[j].hash < item->stacks[i].hash)
			j++;
		all += (double)item->stacks[i].count;
		if (j < other->stacks_count && other->stacks[j].hash == item->stacks[i].hash)
			shared += (double)item->stacks[i].count;
	}
	return all > 0 ? shared / all : 0;
}

/* Whether `merged`, the other profile's neighbour, has the time of the neighbour and the missing
 * kernel; writes the relative error. */
static bool has_absorbed(const struct search *search, const struct match_item *missing,
			 const struct match_item *neighbour, const struct match_item *merged,
			 double *ret_error)
{
	double ratio = matcher_ratio(search->matcher, missing->scope);
	double part, before, after, error;

	if (search->side == SIDE_CHANGED)
		ratio = 1 / ratio;
	part = (double)missing->time_ns * ratio;
	before = (double)neighbour->time_ns * ratio;
	after = (double)merged->time_ns;
	if (part < before * min_part || after - before < part * min_rise || before <= 0)
		return false;
	error = (after - before - part) / (before + part);
	error = error < 0 ? -error : error;
	if (error > max_error ||
	    matcher_likeness((double)missing->count, (double)neighbour->count, 1) < min_counts ||
	    matcher_likeness((double)neighbour->count, (double)merged->count, ratio) < min_counts ||
	    shared_part(missing, neighbour) < min_overlap ||
	    shared_part(missing, merged) < min_overlap)
		return false;
	*ret_error = error;
	return true;
}

static int check_neighbour(struct search *search, const struct kernel_place *missing,
			   const struct kernel_place *neighbour)
{
	const enum match_side other = search->side == SIDE_BASE ? SIDE_CHANGED : SIDE_BASE;
	const uint32_t row = search->matcher->sides[search->side].rows[neighbour->index];
	struct absorbed absorbed = {0, missing->index, row, missing->item};

	if (!row || !search->partners[row] || neighbour->item->scope != missing->item->scope ||
	    search->matcher->drafts[row - 1].reason != MATCH_EXACT || !neighbour->item->position ||
	    !has_absorbed(search, missing->item, neighbour->item,
			  matcher_item(search->matcher, other, search->partners[row] - 1),
			  &absorbed.error))
		return 0;
	return array_append(search->found, search->capacity, search->count, absorbed);
}

static int list_absorbed(struct search *search, struct kernel_place *places, size_t count)
{
	int error = 0;

	if (count)
		qsort(places, count, sizeof(*places), compare_kernel_places);
	for (size_t i = 0; i < count && !error; i++) {
		if (!matcher_is_free(search->matcher, search->side, places[i].index) ||
		    !places[i].item->position)
			continue;
		if (i)
			error = check_neighbour(search, &places[i], &places[i - 1]);
		if (!error && i + 1 < count)
			error = check_neighbour(search, &places[i], &places[i + 1]);
	}
	return error;
}

/* The best candidate wins a row; a row absorbs one kernel only. */
static void take_absorbed(struct search *search)
{
	if (search->count)
		qsort(search->found, search->count, sizeof(*search->found), compare_absorbed);
	for (size_t i = 0; i < search->count; i++) {
		const struct absorbed *absorbed = &search->found[i];
		struct match_draft *draft = &search->matcher->drafts[absorbed->row - 1];

		if (draft->reason != MATCH_EXACT ||
		    !matcher_is_free(search->matcher, search->side, absorbed->index))
			continue;
		draft->reason = search->side == SIDE_BASE ? MATCH_FUSED : MATCH_SPLIT;
		draft->confidence = confidence_of_absorbed * (1 - absorbed->error);
		matcher_assign(search->matcher, search->side, absorbed->index, absorbed->row);
	}
}

static void fill_partners(const struct matcher_side *side, uint32_t *partners)
{
	for (size_t i = 0; i < side->count; i++)
		if (side->rows[i])
			partners[side->rows[i]] =
				partners[side->rows[i]] ? UINT32_MAX : (uint32_t)i + 1;
}

static int search_side(struct search *search, uint32_t *partners, struct kernel_place *places)
{
	const struct matcher *matcher = search->matcher;
	const struct matcher_side *own = &matcher->sides[search->side];
	size_t count = 0;
	int error;

	fill_partners(&matcher->sides[search->side == SIDE_BASE ? SIDE_CHANGED : SIDE_BASE],
		      partners);
	for (size_t i = 0; i <= matcher->drafts_count; i++)
		partners[i] = partners[i] == UINT32_MAX ? 0 : partners[i];
	search->partners = partners;
	for (size_t i = 0; i < own->count; i++)
		if (own->items[i].is_kernel)
			places[count++] = (struct kernel_place){&own->items[i], (uint32_t)i};
	error = list_absorbed(search, places, count);
	if (!error)
		take_absorbed(search);
	return error;
}

int match_absorbed(struct matcher *matcher)
{
	int error = 0;

	for (int side = 0; side < SIDES && !error; side++) {
		struct search search = {.matcher = matcher, .side = side};
		uint32_t *partners = calloc(matcher->drafts_count + 1, sizeof(*partners));
		struct kernel_place *places =
			calloc(matcher->sides[side].count + 1, sizeof(*places));

		error = partners && places ? search_side(&search, partners, places) : -ENOMEM;
		free(search.found);
		free(partners);
		free(places);
	}
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/match.c - match the items of two profiles
 *
 * Runs in:  our own process, in duet diff
 * Gets:     the items of both profiles, and the matches that the user wrote down
 * Gives:    rows: each item is in exactly one
 * Owns:     the rows
 * Fails:    -ENOMEM
 * Why steps: a name is better evidence than a call path. Each step sees only what the steps before
 *           it left, so that weak evidence never replaces strong evidence.
 */
#include "analyze/compare/match/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/match/matcher.h"
#include "base/array.h"
#include "base/error.h"

struct match {
	struct match_row *rows;
	size_t count;
	uint32_t *members; /* members of all rows */
};

static int compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows for the items that no step matched. */
static int add_unmatched(struct matcher *matcher, enum match_side side)
{
	const struct match_draft draft = {.reason = side == SIDE_BASE ? MATCH_GONE : MATCH_NEW};

	for (size_t i = 0; i < matcher->sides[side].count; i++)
		if (matcher_is_free(matcher, side, i) &&
		    matcher_add(matcher, &draft, &matcher->sides[side].rows[i]))
			return -ENOMEM;
	return 0;
}

static void count_members(const struct matcher *matcher, struct match_row *rows)
{
	for (size_t i = 0; i < matcher->sides[SIDE_BASE].count; i++)
		rows[matcher->sides[SIDE_BASE].rows[i] - 1].base_count++;
	for (size_t i = 0; i < matcher->sides[SIDE_CHANGED].count; i++)
		rows[matcher->sides[SIDE_CHANGED].rows[i] - 1].changed_count++;
}

/* Gives each row its part of the members and lists the items there. */
static void list_members(const struct matcher *matcher, struct match *match)
{
	uint32_t *next = match->members;

	count_members(matcher, match->rows);
	for (size_t i = 0; i < match->count; i++) {
		struct match_row *row = &match->rows[i];

		row->base = next;
		next += row->base_count;
		row->changed = next;
		next += row->changed_count;
		row->base_count = row->changed_count = 0;
	}
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < matcher->sides[side].count; i++) {
			struct match_row *row = &match->rows[matcher->sides[side].rows[i] - 1];
			const uint32_t *list = side == SIDE_BASE ? row->base : row->changed;
			size_t *count = side == SIDE_BASE ? &row->base_count : &row->changed_count;

			match->members[(size_t)(list - match->members) + (*count)++] = (uint32_t)i;
		}
}

static int class_of(const struct match_row *row)
{
	return row->base_count && row->changed_count ? 0 : row->base_count ? 1 : 2;
}

static int compare_rows(const void *left, const void *right)
{
	const struct match_row *a = left, *b = right;
	const int order = class_of(a) - class_of(b);

	if (order)
		return order;
	return a->base_count ? compare_numbers(a->base[0], b->base[0])
			     : compare_numbers(a->changed[0], b->changed[0]);
}

static int take_rows(const struct matcher *matcher, struct match *match)
{
	const size_t members = matcher->sides[SIDE_BASE].count + matcher->sides[SIDE_CHANGED].count;
	size_t kept = 0;

	match->rows = calloc(matcher->drafts_count + 1, sizeof(*match->rows));
	match->members = calloc(members + 1, sizeof(*match->members));
	if (!match->rows || !match->members)
		return -ENOMEM;
	match->count = matcher->drafts_count;
	for (size_t i = 0; i < match->count; i++) {
		match->rows[i].reason = matcher->drafts[i].reason;
		match->rows[i].confidence = matcher->drafts[i].confidence;
		match->rows[i].pattern = matcher->drafts[i].pattern;
	}
	list_members(matcher, match);
	for (size_t i = 0; i < match->count; i++) /* an absorbed row may be empty */
		if (match->rows[i].base_count || match->rows[i].changed_count)
			match->rows[kept++] = match->rows[i];
	match->count = kept;
	qsort(match->rows, match->count, sizeof(*match->rows), compare_rows);
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int run_steps(struct matcher *matcher, const struct match_map *map)
{
	int error = map ? match_by_map(matcher, map) : 0;

	if (!error)
		error = match_by_names(matcher);
	if (!error)
		error = match_by_paths(matcher);
	if (!error)
		error = match_by_loose_names(matcher);
	if (!error)
		error = match_absorbed(matcher);
	if (!error)
		error = add_unmatched(matcher, SIDE_BASE);
	return error ? error : add_unmatched(matcher, SIDE_CHANGED);
}

static int matcher_init(struct matcher *matcher, enum match_side side,
			const struct match_item *items, size_t count)
{
	uint32_t *rows = calloc(count + 1, sizeof(*rows));

	matcher->sides[side] = (struct matcher_side){items, count, rows};
	return rows && count < UINT32_MAX / 2 ? 0 : -ENOMEM;
}

static void matcher_fini(struct matcher *matcher)
{
	free(matcher->sides[SIDE_BASE].rows);
	free(matcher->sides[SIDE_CHANGED].rows);
	free(matcher->drafts);
	free(matcher->ratios);
}

int match_make(const struct match_item *base, size_t base_count, const struct match_item *changed,
	       size_t changed_count, const struct match_map *map, struct match **ret_match)
{
	struct matcher matcher = {0};
	struct match *match = calloc(1, sizeof(*match));
	int error = match ? matcher_init(&matcher, SIDE_BASE, base, base_count) : -ENOMEM;

	if (!error)
		error = matcher_init(&matcher, SIDE_CHANGED, changed, changed_count);
	if (!error)
		error = run_steps(&matcher, map);
	if (!error)
		error = take_rows(&matcher, match);
	matcher_fini(&matcher);
	if (error) {
		match_free(match);
		return error_no_memory();
	}
	*ret_match = match;
	return 0;
}

void match_free(struct match *match)
{
	if (!match)
		return;
	free(match->rows);
	free(match->members);
	free(match);
}

size_t match_rows(const struct match *match, const struct match_row **ret_rows)
{
	*ret_rows = match->rows;
	return match->count;
}

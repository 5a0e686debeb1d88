/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/matcher.h - the state that the steps of matching share
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/match/match.h"
#include "base/hash.h"

enum match_side { SIDE_BASE, SIDE_CHANGED, SIDES };

/* A row before its items are listed. */
struct match_draft {
	enum match_reason reason;
	double confidence;
	const char *pattern;
};

struct matcher_side {
	const struct match_item *items;
	size_t count;
	uint32_t *rows; /* per item: its draft + 1; 0: none yet */
};

/* How many executions the new profile has for one of the base. */
struct scope_ratio {
	uint32_t scope;
	double ratio;
};

struct matcher {
	struct matcher_side sides[SIDES];
	struct match_draft *drafts;
	size_t drafts_count, drafts_capacity;
	struct scope_ratio *ratios; /* sorted by scope */
	size_t ratios_count, ratios_capacity;
};

/* A new row without items; its number goes to matcher_side.rows. Errors: -ENOMEM. */
int matcher_add(struct matcher *matcher, const struct match_draft *draft, uint32_t *ret_row);

static inline const struct match_item *matcher_item(const struct matcher *matcher,
						    enum match_side side, uint32_t index)
{
	return &matcher->sides[side].items[index];
}

static inline bool matcher_is_free(const struct matcher *matcher, enum match_side side,
				   size_t index)
{
	return !matcher->sides[side].rows[index];
}

static inline void matcher_assign(struct matcher *matcher, enum match_side side, uint32_t index,
				  uint32_t row)
{
	matcher->sides[side].rows[index] = row;
}

/* The ratio of a scope; 1 if no kernel of it has an equal name in both profiles. */
double matcher_ratio(const struct matcher *matcher, uint32_t scope);

/* min / max of base * ratio and changed: 1 for equal counts, 0 if one is 0. */
double matcher_likeness(double base, double changed, double ratio);

/* A total order that does not depend on the order of the items: position, executions, time, name.
 */
int matcher_compare_items(const struct match_item *left, const struct match_item *right);

/* An item with the key by which it is grouped. */
struct keyed_item {
	uint32_t scope, key;
	enum match_side side;
	uint32_t index;
	const struct match_item *item;
	const char *pattern;
};

struct group_rule {
	enum match_reason reason;
	double confidence;
	bool is_joined;    /* one row for all of a key */
	bool needs_counts; /* pairs need equal counts, and there are no rows of several items */
};

/* Matches the items of each key that both profiles have. Sorts the items. Errors: -ENOMEM. */
int matcher_group(struct matcher *matcher, struct keyed_item *items, size_t count,
		  const struct group_rule *rule);

/* The steps. Errors: -ENOMEM. */
int match_by_map(struct matcher *matcher, const struct match_map *map);
int match_by_names(struct matcher *matcher);
int match_by_loose_names(struct matcher *matcher);
int match_by_paths(struct matcher *matcher);
int match_absorbed(struct matcher *matcher);

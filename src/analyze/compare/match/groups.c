/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/groups.c - match items that share a key
 *
 * Runs in:  our own process, in duet diff
 * Gets:     items of both profiles with their keys
 * Gives:    rows
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why pairs in order: a library has several variants of one kernel in one run, for several sizes.
 *           The order of their first executions survives a change of tiles. If the counts of a pair
 *           differ by more than 2, the order proves nothing, and all variants share one row.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/compare/match/matcher.h"

static const double min_likeness = 0.5;  /* for the counts of a pair among several */
static const double same_likeness = 0.9; /* counts that count as equal */
static const double uneven_pairs = 0.8;  /* factor of confidence: paired in order */
static const double joined = 0.7;        /* factor of confidence: one row for several variants */

struct group {
	const struct keyed_item *base, *changed;
	size_t base_count, changed_count;
};

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed_item *a = left, *b = right;

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return matcher_compare_items(a->item, b->item);
}

static double pair_likeness(const struct group *group, size_t index, double ratio)
{
	return matcher_likeness((double)group->base[index].item->count,
				(double)group->changed[index].item->count, ratio);
}

/* The worst likeness of the counts of pairs in order; 0: the numbers of items differ. */
static double worst_likeness(const struct matcher *matcher, const struct group *group)
{
	const double ratio = matcher_ratio(matcher, group->base->scope);
	double worst = 1;

	if (group->base_count != group->changed_count)
		return 0;
	for (size_t i = 0; i < group->base_count; i++) {
		const double likeness = pair_likeness(group, i, ratio);

		worst = likeness < worst ? likeness : worst;
	}
	return worst;
}

static int add_row(struct matcher *matcher, const struct group *group,
		   const struct group_rule *rule, double confidence)
{
	const struct match_draft draft = {rule->reason, confidence, group->base->pattern};
	uint32_t row;

	if (matcher_add(matcher, &draft, &row))
		return -ENOMEM;
	for (size_t i = 0; i < group->base_count; i++)
		matcher_assign(matcher, SIDE_BASE, group->base[i].index, row);
	for (size_t i = 0; i < group->changed_count; i++)
		matcher_assign(matcher, SIDE_CHANGED, group->changed[i].index, row);
	return 0;
}

static int add_pairs(struct matcher *matcher, const struct group *group,
		     const struct group_rule *rule, double confidence)
{
	for (size_t i = 0; i < group->base_count; i++) {
		const struct group pair = {group->base + i, group->changed + i, 1, 1};

		if (add_row(matcher, &pair, rule, confidence))
			return -ENOMEM;
	}
	return 0;
}

static int match_group(struct matcher *matcher, const struct group *group,
		       const struct group_rule *rule)
{
	const double likeness = worst_likeness(matcher, group);
	const bool is_pair = group->base_count == 1 && group->changed_count == 1;

	if (rule->needs_counts)
		return likeness < same_likeness
			       ? 0
			       : add_pairs(matcher, group, rule,
					   rule->confidence * (is_pair ? 1 : uneven_pairs));
	if (is_pair || rule->is_joined)
		return add_row(matcher, group, rule, rule->confidence);
	if (likeness >= same_likeness && group->base->item->position &&
	    group->changed->item->position)
		return add_pairs(matcher, group, rule, rule->confidence * 0.9);
	if (likeness >= min_likeness)
		return add_pairs(matcher, group, rule, rule->confidence * uneven_pairs);
	return add_row(matcher, group, rule, rule->confidence * joined);
}

int matcher_group(struct matcher *matcher, struct keyed_item *items, size_t count,
		  const struct group_rule *rule)
{
	size_t end, middle;

	if (!count)
		return 0;
	qsort(items, count, sizeof(*items), compare_keyed);
	for (size_t begin = 0; begin < count; begin = end) {
		struct group group = {.base = items + begin};

		for (end = begin; end < count && items[end].scope == items[begin].scope &&
				  items[end].key == items[begin].key;)
			end++;
		for (middle = begin; middle < end && items[middle].side == SIDE_BASE;)
			middle++;
		group.base_count = middle - begin;
		group.changed = items + middle;
		group.changed_count = end - middle;
		if (group.base_count && group.changed_count && match_group(matcher, &group, rule))
			return -ENOMEM;
	}
	return 0;
}

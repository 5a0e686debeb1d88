/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/matcher.c - the state that the steps of matching share
 *
 * Runs in:  our own process, in duet diff
 * Gets:     rows of the steps
 * Gives:    their numbers, and comparisons of items
 * Owns:     nothing; match.c owns the state
 * Fails:    -ENOMEM
 * Why a total order of items: the result must not depend on the order in which a caller lists them.
 */
#include "analyze/compare/match/matcher.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

int matcher_add(struct matcher *matcher, const struct match_draft *draft, uint32_t *ret_row)
{
	if (array_append(matcher->drafts, matcher->drafts_capacity, matcher->drafts_count, *draft))
		return -ENOMEM;
	*ret_row = (uint32_t)matcher->drafts_count;
	return 0;
}

double matcher_ratio(const struct matcher *matcher, uint32_t scope)
{
	const struct scope_ratio *ratios = matcher->ratios;
	const size_t at = LOWER_BOUND(matcher->ratios_count, i, ratios[i].scope < scope);

	return at < matcher->ratios_count && ratios[at].scope == scope ? ratios[at].ratio : 1;
}

double matcher_likeness(double base, double changed, double ratio)
{
	const double wanted = base * ratio;

	if (wanted <= 0 || changed <= 0)
		return 0;
	return wanted < changed ? wanted / changed : changed / wanted;
}

static int compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

int matcher_compare_items(const struct match_item *left, const struct match_item *right)
{
	int order = compare_numbers(left->position, right->position);

	if (!order)
		order = compare_numbers(right->count, left->count);
	if (!order)
		order = compare_numbers(right->time_ns, left->time_ns);
	return order ? order : strcmp(left->name, right->name);
}

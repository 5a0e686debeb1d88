/* SPDX-License-Identifier: MIT
 *
 * live/trigger/ranges.c - ranges that an expression names, and durations by name
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     ranges
 * Gives:    findings for expressions of ranges
 * Owns:     the baselines of ranges and kernels, at most MAX_BASELINES
 * Fails:    never; names without a baseline have no statistic, and the user is warned
 * Why a baseline for each process and name: a pattern such as "range:layer*" has ranges of
 * different lengths, and ranks differ
 */
#include "live/trigger/private.h"

#include <stdio.h>
#include <string.h>

#include "analyze/model.h"
#include "base/string.h"

void baselines_fini(struct baselines *baselines)
{
	for (size_t i = 0; i < baselines->count; i++)
		baseline_fini(&baselines->all[i]);
	hash_map_fini(&baselines->places);
	baselines->count = 0;
}

struct trigger_baseline *baselines_find(struct baselines *baselines, uint32_t expr, uint64_t key)
{
	const uint64_t place = key * 31 + expr;
	const uint64_t *known = hash_map_find(&baselines->places, place);

	if (known)
		return &baselines->all[*known];
	if (baselines->count == MAX_BASELINES ||
	    hash_map_put(&baselines->places, place, baselines->count))
		return NULL;
	return &baselines->all[baselines->count++];
}

static void judge_range(struct trigger_set *set, uint32_t index, uint32_t process, const char *name,
			const struct trigger_interval *times)
{
	const struct trigger_expr *expr = &set->exprs[index];
	char what[160], pattern[TRIGGER_NAME];
	const struct trigger_finding finding = {times->begin_ns, times->end_ns, process, what};
	struct trigger_baseline *baseline = NULL;

	set->matched |= UINT64_C(1) << index;
	if (expr->limit == TRIGGER_LIMIT_MULTIPLE) {
		name_without_numbers(name, pattern, sizeof(pattern));
		baseline = baselines_find(&set->baselines, index, text_hash(pattern) + process);
		if (!baseline)
			firings_add_problem(&set->firings,
					    "'%s' matches more than %d names; write a longer name",
					    expr->text, MAX_BASELINES);
	}
	snprintf(what, sizeof(what), "range %.140s", name);
	firings_judge(&set->firings, set->exprs, index, baseline, &finding);
	/* without memory there is no statistic */
	if (baseline)
		(void)baseline_add(baseline, times->end_ns - times->begin_ns);
}

void ranges_add(struct trigger_set *set, const struct model *model, const struct event_range *row,
		uint64_t begin_ns, uint64_t end_ns)
{
	const struct trigger_interval times = {begin_ns, end_ns};
	const char *name;

	name = model_range_name(model, row);
	for (uint32_t i = 0; i < set->count; i++)
		if (set->exprs[i].subject == TRIGGER_RANGE &&
		    text_matches(set->exprs[i].name, name, strlen(name)))
			judge_range(set, i, row->process, name, &times);
}

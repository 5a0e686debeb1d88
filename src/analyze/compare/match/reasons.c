/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/reasons.c - the words for the reason of a match
 *
 * Runs in:  our own process, in duet diff
 * Gets:     a reason
 * Gives:    its word in JSON and its text for people
 * Owns:     nothing
 * Fails:    never
 * Why two texts: the words are an interface that scripts read; the texts may be improved.
 */
#include "analyze/compare/match/match.h"
#include "base/array.h"

static const struct {
	const char *name, *text;
} reasons[MATCH_REASONS] = {
	[MATCH_NEW] = {"new", "new: no counterpart in the base"},
	[MATCH_GONE] = {"gone", "gone: no counterpart in the new profile"},
	[MATCH_MAP] = {"map", "matched by --map"},
	[MATCH_EXACT] = {"exact", "same name"},
	[MATCH_TEMPLATE] = {"template", "same name without template arguments"},
	[MATCH_VARIANT] = {"variant", "variants of one kernel (autotuned or generated)"},
	[MATCH_RENAMED] = {"renamed", "renamed: same call path"},
	[MATCH_SPLIT] = {"split", "split: several kernels in place of one in the same call path"},
	[MATCH_FUSED] = {"fused", "fused: one kernel in place of several in the same call path"},
	[MATCH_REGROUPED] = {"regrouped",
			     "regrouped: other kernels do this work in the same call path"},
};

const char *match_reason_name(enum match_reason reason)
{
	return (size_t)reason < ARRAY_COUNT(reasons) ? reasons[reason].name : "unknown";
}

const char *match_reason_text(enum match_reason reason)
{
	return (size_t)reason < ARRAY_COUNT(reasons) ? reasons[reason].text : "unknown";
}

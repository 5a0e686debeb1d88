/* SPDX-License-Identifier: MIT
 *
 * analyze/findings.c - what somebody who knows would point at in a report
 *
 * Runs in:  the readers
 * Gets:     a finished analysis   Gives: findings, by rule and then by device
 * Owns:     nothing
 * Fails:    never; a rule whose numbers were not measured finds nothing
 * Why thresholds: a report that always finds something is read once. Each rule asks for what a change
 *           would save, and is quiet below 1 % of the wall, which two runs differ by anyway.
 */
#include "analyze/findings.h"

#define SMALL_LEAST 100 /* transfers: fewer cannot save a millisecond at 10 us each */

const char *finding_id(enum finding_kind kind)
{
	static const char *const ids[FINDING_COUNT] = {[FINDING_SMALL_TRANSFERS] =
							       "small_transfers"};

	return (unsigned int)kind < FINDING_COUNT ? ids[kind] : "other";
}

static uint64_t copies_ns(const struct analysis *analysis, size_t device)
{
	uint64_t total_ns = 0;

	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];

		if (copy->device == device && analysis_class(copy->command) == ACCOUNT_COPY)
			total_ns += copy->total_ns;
	}
	return total_ns;
}

/* At least `percent` of the whole, without a product that overflows. */
static bool is_share(uint64_t part, uint64_t whole, unsigned int percent)
{
	return (unsigned __int128)part * 100 >= (unsigned __int128)whole * percent;
}

static bool find_small_transfers(const struct analysis *analysis, size_t device,
				 struct finding *ret_finding)
{
	const struct analysis_transfers *small = &analysis->devices[device].small;
	uint64_t all_ns;

	if (small->count < SMALL_LEAST)
		return false;
	all_ns = copies_ns(analysis, device);
	if (!is_share(small->total_ns, all_ns, 10) ||
	    !is_share(small->total_ns + small->calls_ns, analysis->to_ns - analysis->from_ns, 1))
		return false;
	ret_finding->small = *small;
	ret_finding->copies_ns = all_ns;
	return true;
}

typedef bool find(const struct analysis *analysis, size_t device, struct finding *ret_finding);

bool findings_next(const struct analysis *analysis, size_t *cursor, struct finding *ret_finding)
{
	static find *const rules[FINDING_COUNT] = {[FINDING_SMALL_TRANSFERS] =
							   find_small_transfers};
	size_t devices = analysis->devices_count + 1;

	while (*cursor < FINDING_COUNT * devices) {
		enum finding_kind kind = (enum finding_kind)(*cursor / devices);
		struct finding found = {.kind = kind, .device = *cursor % devices};

		++*cursor;
		if (rules[kind](analysis, found.device, &found)) {
			*ret_finding = found;
			return true;
		}
	}
	return false;
}

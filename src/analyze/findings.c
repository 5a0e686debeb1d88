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

#include <string.h>

#include "base/array.h"

#define SMALL_LEAST 100 /* transfers: fewer cannot save a millisecond at 10 us each */

const char *finding_id(enum finding_kind kind)
{
	static const char *const ids[FINDING_COUNT] = {
		[FINDING_FAILED_LAUNCHES] = "failed_launches",
		[FINDING_FAILED_BUILDS] = "failed_builds",
		[FINDING_FAILED_COMMANDS] = "failed_commands",
		[FINDING_SMALL_TRANSFERS] = "small_transfers",
	};

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

/* Other calls fail in good programs too: they ask for devices that are not there. */
static bool is_build(const char *function)
{
	static const char *const names[] = {"clBuildProgram", "clCompileProgram", "clLinkProgram",
					    "clCreateKernel"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

static bool find_failure(const struct analysis_failure *failure, struct finding *ret_finding)
{
	struct finding found = {.device = FINDING_NO_DEVICE, .failure = failure};

	if (failure->kind == FAILURE_LAUNCH)
		found.kind = FINDING_FAILED_LAUNCHES;
	else if (failure->kind == FAILURE_COMMAND)
		found.kind = FINDING_FAILED_COMMANDS;
	else if (is_build(failure->name))
		found.kind = FINDING_FAILED_BUILDS;
	else
		return false;
	*ret_finding = found;
	return true;
}

bool findings_next(const struct analysis *analysis, size_t *cursor, struct finding *ret_finding)
{
	size_t devices = analysis->devices_count + 1;

	while (*cursor < analysis->failures_count) {
		if (find_failure(&analysis->failures[(*cursor)++], ret_finding))
			return true;
	}
	while (*cursor - analysis->failures_count < devices) {
		struct finding found = {.kind = FINDING_SMALL_TRANSFERS,
					.device = (*cursor)++ - analysis->failures_count};

		if (find_small_transfers(analysis, found.device, &found)) {
			*ret_finding = found;
			return true;
		}
	}
	return false;
}

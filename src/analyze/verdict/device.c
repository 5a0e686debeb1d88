/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/device.c - the device of which the verdict is
 *
 * Runs in:  our own process
 * Gets:     the accounts of devices
 * Gives:    an index of a device
 * Why:      with several devices, the one that idles longest has the cause worth mending. The
 *           others may idle as much because of it.
 */
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/verdict/verdict.h"

/* A device with less than 1 / MIN_WORK of the busiest one's work idles because others work. */
enum { MIN_WORK = 4 };

static bool is_judged(const struct analysis *analysis, size_t device)
{
	return analysis->devices[device].is_measured && analysis->devices[device].account.commands;
}

/* A device may have worked in the time that is not known. */
static uint64_t idle_time(const struct analysis *analysis, size_t device)
{
	const struct account_steady *steady = &analysis->devices[device].account.steady;

	return steady->end - steady->begin - steady->busy_ns - steady->causes[CAUSE_UNKNOWN];
}

size_t verdict_device(const struct analysis *analysis)
{
	const size_t count = analysis_devices_shown(analysis);
	uint64_t busiest = 0;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < count; i++)
		if (is_judged(analysis, i) && analysis->devices[i].account.busy_ns > busiest)
			busiest = analysis->devices[i].account.busy_ns;
	for (size_t i = 0; i < count; i++)
		if (is_judged(analysis, i) &&
		    analysis->devices[i].account.busy_ns >= busiest / MIN_WORK &&
		    (best == SIZE_MAX || idle_time(analysis, i) > idle_time(analysis, best)))
			best = i;
	return best;
}

/* SPDX-License-Identifier: MIT
 *
 * analyze/analysis_shown.c - number of devices and queues to show, the rank of a process; whether
 * the analysis is complete
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     an analysis
 * Gives:    counts, texts and booleans
 * Owns:     nothing
 * Fails:    never
 */
#include "analyze/analysis.h"

#include <stdio.h>

#include "analyze/model.h"

bool analysis_has_launches(const struct analysis *analysis)
{
	return analysis->ledger.is_complete && model_is_whole(analysis->model, &analysis->damage);
}

bool analysis_is_complete(const struct analysis *analysis)
{
	return analysis_has_launches(analysis) && !analysis->ledger.contradictions;
}

/* A launch into an unknown queue that did not execute does not prove that there is one more
 * device. */
static bool is_rest_shown(uint64_t launches, uint64_t executions, size_t described)
{
	return executions || (launches && !described);
}

size_t analysis_devices_shown(const struct analysis *analysis)
{
	const struct analysis_device *rest = &analysis->devices[analysis->devices_count];

	return analysis->devices_count +
	       is_rest_shown(rest->launches, rest->executions, analysis->devices_count);
}

size_t analysis_queues_shown(const struct analysis *analysis)
{
	const struct analysis_queue *rest = &analysis->queues[analysis->queues_count];

	return analysis->queues_count +
	       is_rest_shown(rest->launches, rest->executions, analysis->queues_count);
}

size_t analysis_processes_chosen(const struct analysis *analysis)
{
	size_t count = 0;

	for (size_t i = 0; i < analysis->processes_count; i++)
		count += analysis->processes[i].is_chosen;
	return count;
}

size_t analysis_threads_chosen(const struct analysis *analysis)
{
	size_t count = 0;

	for (size_t i = 0; i < analysis->cpu.threads_count; i++)
		count += analysis->processes[analysis->cpu.threads[i].process].is_chosen;
	return count;
}

size_t analysis_queues_chosen(const struct analysis *analysis)
{
	size_t count = 0;

	for (size_t i = 0; i < analysis->queues_count; i++)
		count += analysis->queues[i].is_chosen;
	return count;
}

const char *analysis_rank_text(const struct event_process *process, char *ret_text, size_t size)
{
	if (process->rank && process->rank_count)
		snprintf(ret_text, size, "rank %u of %u", process->rank - 1, process->rank_count);
	else if (process->rank)
		snprintf(ret_text, size, "rank %u", process->rank - 1);
	else
		snprintf(ret_text, size, "%s", "");
	return ret_text;
}

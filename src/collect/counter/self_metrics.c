/* SPDX-License-Identifier: MIT
 *
 * collect/counter/self_metrics.c - metrics of the samplers themselves: CPU time and lateness
 *
 * Runs in:  each sampler's thread
 * Gets:     the sampler's clock and counts
 * Gives:    rows, like those of any other metric
 * Owns:     nothing
 * Fails:    never
 * Why:      The samplers' cost is in the trace, so that on an overloaded machine the chart of their
 *           lateness explains the gaps in other charts
 */
#include <string.h>

#include "collect/counter/sampler.h"
#include "collect/counter/source.h"
#include "collect/host_clocks.h"

enum { CPU, LATE, OVERRUNS };
static const struct metric metrics[] = {
	[CPU] = {"duet.sampler.cpu", "ns",
		 "CPU time of one of duet's sampler threads, which read the counters",
		 .kind = METRIC_TOTAL, .limit = LIMIT_SECOND},
	[LATE] = {"duet.sampler.late", "ns",
		  "delay between the planned and the actual start of a sampler thread's reading"},
	[OVERRUNS] = {"duet.sampler.overruns", "ticks",
		      "planned readings that a sampler thread skipped, because it was late by an "
		      "interval or more",
		      .kind = METRIC_TOTAL},
};

static bool open_own(struct source_state *state, const struct tick *tick)
{
	return state && tick->sampler;
}

static void read_own(struct source_state *state, struct tick *tick)
{
	const struct sampler *sampler = tick->sampler;
	const char *name = sampler->options.name;
	const uint64_t values[MAX_METRICS] = {[CPU] = sampler_cpu_ns(sampler),
					      [LATE] = sampler->late_ns,
					      [OVERRUNS] = sampler->overruns};
	struct metric_instance *instance;
	bool is_new;

	if (!sampler->is_running)
		return;
	tick->time_ns = host_clocks_now_ns();
	metric_instances_begin_round(&state->instances);
	instance = metric_instances_named(&state->instances, name, strlen(name), &is_new);
	if (instance)
		metric_instance_sample(&state->instances, instance, tick->time_ns, values, 7);
}

const struct source own_source = {
	.name = "duet",
	.file = "duet itself",
	SOURCE_METRICS(metrics),
	.group = GROUP_COUNT,
	.max_hz = 100,
	.max_instances = 1,
	.open = open_own,
	.read = read_own,
};

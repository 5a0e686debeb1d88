/* SPDX-License-Identifier: MIT
 *
 * collect/own.c - the samplers themselves: what they cost, how late they come
 *
 * Runs in:  each sampler's thread
 * Gets:     its clock and its counts   Gives: rows as of everything else, so that the cost stands beside what was seen
 * Owns:     nothing
 * Fails:    never
 * Why in the trace: a machine that cannot keep up shows it in the same chart
 */
#include <string.h>

#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/sampler.h"
#include "collect/source.h"

enum { CPU, LATE, OVERRUNS };
static const struct metric metrics[] = {
	[CPU] = {"duet.sampler.cpu", "ns", "processor time of a sampler's thread",
		 .kind = METRIC_TOTAL, .limit = LIMIT_SECOND},
	[LATE] = {"duet.sampler.late", "ns", "a tick behind its deadline"},
	[OVERRUNS] = {"duet.sampler.overruns", "ticks", "deadlines that passed without a tick",
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
	const uint64_t values[METRICS_MOST] = {[CPU] = sampler_cpu_ns(sampler),
					       [LATE] = sampler->late_ns,
					       [OVERRUNS] = sampler->overruns};
	struct thing *thing;
	bool is_new;

	if (!sampler->is_running)
		return;
	tick->time_ns = host_clocks_now_ns();
	things_begin_round(&state->things);
	thing = things_named(&state->things, name, strlen(name), &is_new);
	if (thing)
		thing_sample(&state->things, thing, tick->time_ns, values, 7);
}

extern const struct source own_source;
const struct source own_source = {
	.name = "duet",
	.file = "duet itself",
	SOURCE_METRICS(metrics),
	.group = GROUP_COUNT,
	.most_hz = 100,
	.things_most = 1,
	.open = open_own,
	.read = read_own,
};

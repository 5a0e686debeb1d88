/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/throttle.c - why a GPU's clocks are not at their highest
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     a set of bits   Gives: for each reason a share of the time
 * Owns:     the shares
 * Fails:    a reason that the GPU does not know is absent
 * Why shares: a mean of bits says nothing; a mean of these is how much of the time a reason held. Between two looks a
 *           reason is taken to have held as it does at the second.
 */
#include <stdio.h>

#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

enum { PART, TIME };

static const struct metric metrics[] = {
	[PART] = {"gpu.throttled", "ns", "share of the looks at which the reason held clocks down",
		  .kind = METRIC_PART, .of = TIME, .limit = LIMIT_WHOLE},
	[TIME] = {NULL},
};

static const struct {
	uint64_t bit;
	const char *name;
} reasons[] = {
	{nvmlClocksEventReasonGpuIdle, "idle"},
	{nvmlClocksEventReasonApplicationsClocksSetting, "application clocks"},
	{nvmlClocksEventReasonSwPowerCap, "power cap"},
	{nvmlClocksThrottleReasonHwSlowdown, "hardware slowdown"},
	{nvmlClocksEventReasonSyncBoost, "sync boost"},
	{nvmlClocksEventReasonSwThermalSlowdown, "software thermal slowdown"},
	{nvmlClocksThrottleReasonHwThermalSlowdown, "hardware thermal slowdown"},
	{nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "power brake"},
	{nvmlClocksEventReasonDisplayClockSetting, "display clocks"},
};
enum { REASONS = ARRAY_COUNT(reasons) };

struct own {
	uint64_t supported[NVIDIA_DEVICES_MOST];
	struct share shares[NVIDIA_DEVICES_MOST][REASONS];
};

/* The older name of the same, for drivers before R535. */
static bool ask_reasons(struct nvidia *nvidia, const struct tick *tick, size_t index,
			unsigned long long *ret_reasons)
{
	return NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetCurrentClocksEventReasons,
			  ret_reasons) ||
	       NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetCurrentClocksThrottleReasons,
			  ret_reasons);
}

static void read_device(struct source_state *state, struct tick *tick, size_t index)
{
	struct own *own = state->own;
	struct nvidia *nvidia = tick->context;
	unsigned long long now = 0;

	if (!ask_reasons(nvidia, tick, index, &now))
		return;
	tick->time_ns = host_clocks_now_ns();
	for (unsigned int i = 0; i < REASONS; i++) {
		struct share *share = &own->shares[index][i];
		struct thing *thing;

		if (!(own->supported[index] & reasons[i].bit))
			continue;
		share_add(share, tick->time_ns, now & reasons[i].bit ? 100 : 0);
		thing = nvidia_thing(state, tick, index, i);
		if (!thing)
			continue;
		snprintf(thing->of.instance, sizeof(thing->of.instance), "%s", reasons[i].name);
		thing_sample(&state->things, thing, tick->time_ns,
			     (const uint64_t[METRICS_MOST]){share->part_ns, share->of_ns}, 3);
	}
}

static void read_all(struct source_state *state, struct tick *tick)
{
	struct nvidia *nvidia = tick->context;

	things_begin_round(&state->things);
	for (size_t i = 0; i < nvidia->count; i++)
		if (!nvidia->is_lost[i])
			read_device(state, tick, i);
	things_end_round(&state->things, host_clocks_now_ns());
}

static bool open_reasons(struct source_state *state, const struct tick *tick)
{
	struct nvidia *nvidia = tick->context;
	struct own *own = state->own;

	for (size_t i = 0; i < nvidia->count; i++) {
		unsigned long long supported = 0;

		if (!NVIDIA_ASK(nvidia, tick, i, nvmlDeviceGetSupportedClocksEventReasons,
				&supported) &&
		    !NVIDIA_ASK(nvidia, tick, i, nvmlDeviceGetSupportedClocksThrottleReasons,
				&supported))
			supported = UINT64_MAX;
		own->supported[i] = supported;
	}
	return nvidia->count != 0;
}

extern const struct source nvidia_throttle_source;
const struct source nvidia_throttle_source = {
	.name = "throttle",
	.file = "nvmlDeviceGetCurrentClocksEventReasons",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.most_hz = 50,
	.things_most = NVIDIA_DEVICES_MOST * REASONS,
	.own_bytes = sizeof(struct own),
	.open = open_reasons,
	.read = read_all,
};

/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/throttle.c - reasons why a GPU's clocks are reduced
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     a set of bits, one per reason
 * Gives:    a share of the time per reason
 * Owns:     the shares
 * Fails:    a reason that the GPU does not report is absent
 * Why:      Shares are recorded, because they can be averaged and bits cannot. The time between two
 *           readings is counted for the reasons that the second reading returns.
 */
#include <stdio.h>

#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

enum { PART, TIME };

static const struct metric metrics[] = {
	[PART] = {"gpu.throttled", "ns",
		  "share of the readings at which one reason, such as heat, kept the GPU's clocks "
		  "low",
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
	uint64_t supported[MAX_NVIDIA_DEVICES];
	struct share shares[MAX_NVIDIA_DEVICES][REASONS];
};

/* Falls back to the older name of the function, for drivers before R535. */
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
		struct metric_instance *instance;

		if (!(own->supported[index] & reasons[i].bit))
			continue;
		share_add(share, tick->time_ns, now & reasons[i].bit ? 100 : 0);
		instance = nvidia_instance(state, tick, index, i);
		if (!instance)
			continue;
		snprintf(instance->of.instance, sizeof(instance->of.instance), "%s",
			 reasons[i].name);
		metric_instance_sample(&state->instances, instance, tick->time_ns,
				       (const uint64_t[MAX_METRICS]){share->part_ns, share->of_ns},
				       3);
	}
}

static void read_all(struct source_state *state, struct tick *tick)
{
	struct nvidia *nvidia = tick->context;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < nvidia->count; i++)
		if (!nvidia->is_lost[i])
			read_device(state, tick, i);
	metric_instances_end_round(&state->instances, host_clocks_now_ns());
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

const struct source nvidia_throttle_source = {
	.name = "throttle",
	.file = "nvmlDeviceGetCurrentClocksEventReasons",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 50,
	.max_instances = MAX_NVIDIA_DEVICES * REASONS,
	.own_bytes = sizeof(struct own),
	.open = open_reasons,
	.read = read_all,
};

/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvidia.c - functions for all sources of NVIDIA's counters
 *
 * Runs in:  samplers' threads
 * Gets:     answers of NVML
 * Gives:    one or several entities per device
 * Owns:     nothing
 * Fails:    a value that a device lacks is absent; a lost device ends
 */
#include "collect/nvidia/nvidia.h"

#include <time.h>

#include "collect/host_clocks.h"

enum { ENTITIES_OF_A_DEVICE = 16 };

bool nvidia_has_answered(struct nvidia *nvidia, const struct tick *tick, size_t index,
			 nvmlReturn_t result)
{
	if (result == NVML_ERROR_GPU_IS_LOST && !atomic_exchange(&nvidia->is_lost[index], true))
		series_note(tick->series, nvml_result_text(result), 0);
	return result == NVML_SUCCESS;
}

struct metric_instance *nvidia_instance(struct source_state *state, const struct tick *tick,
					size_t index, unsigned int nth)
{
	const struct nvidia *nvidia = tick->context;
	bool is_new;
	struct metric_instance *instance = metric_instances_numbered(
		&state->instances, index * ENTITIES_OF_A_DEVICE + nth, &is_new);

	if (instance)
		instance->of.device = nvidia->ids[index];
	return instance;
}

void nvidia_read_each(struct source_state *state, struct tick *tick)
{
	struct nvidia *nvidia = tick->context;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < nvidia->count; i++) {
		uint64_t values[MAX_METRICS] = {0}, valid, before_ns = host_clocks_now_ns();
		struct metric_instance *instance;

		if (nvidia->is_lost[i])
			continue;
		valid = state->source->read_one(state, tick, i, values);
		tick->time_ns = before_ns + (host_clocks_now_ns() - before_ns) / 2;
		instance = nvidia->is_lost[i] ? NULL : nvidia_instance(state, tick, i, 0);
		if (instance)
			metric_instance_sample(&state->instances, instance, tick->time_ns, values,
					       valid);
	}
	metric_instances_end_round(&state->instances, host_clocks_now_ns());
}

bool nvidia_open_any(struct source_state *state, const struct tick *tick)
{
	const struct nvidia *nvidia = tick->context;

	return nvidia->count != 0;
}

uint64_t nvidia_wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t part_of_ns(uint64_t took_ns, double percent)
{
	double part = percent < 0 ? 0 : percent > 100 ? 1 : percent / 100;

	return (uint64_t)((double)took_ns * part + 0.5);
}

void share_add(struct share *share, uint64_t until_ns, double percent)
{
	uint64_t took_ns = until_ns - share->until_ns;

	if (share->until_ns && until_ns > share->until_ns) {
		share->part_ns += part_of_ns(took_ns, percent);
		share->of_ns += took_ns;
	}
	if (until_ns > share->until_ns)
		share->until_ns = until_ns;
}

void share_add_period(struct share *share, uint64_t begin_ns, uint64_t until_ns, double percent)
{
	share_add(share, begin_ns, 0);
	share_add(share, until_ns, percent);
}

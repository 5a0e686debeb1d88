/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvidia.c - what the sources of NVIDIA's counters share, and which there are
 *
 * Runs in:  samplers' threads
 * Gets:     answers of NVML   Gives: things, one or several for each device
 * Owns:     nothing
 * Fails:    a value that a device does not have is absent; a device that is lost ends
 */
#include "collect/nvidia/nvidia.h"

#include <time.h>

#include "base/array.h"
#include "collect/host_clocks.h"

enum { THINGS_OF_A_DEVICE = 16 };

extern const struct source nvidia_state_source, nvidia_fields_source, nvidia_load_source,
	nvidia_throttle_source, nvidia_codec_source, nvidia_gpm_source, nvidia_process_source,
	nvidia_pcie_source, nvidia_pm_source, own_source;

static const struct source *const all[] = {
	&nvidia_state_source,   &nvidia_fields_source,
	&nvidia_load_source,    &nvidia_throttle_source,
	&nvidia_codec_source,   &nvidia_gpm_source,
	&nvidia_process_source, &nvidia_pcie_source,
	&nvidia_pm_source,      &own_source,
};
const struct source_list nvidia_sources = {all, ARRAY_COUNT(all), .rights = RIGHTS_ALL};

bool nvidia_has_answered(struct nvidia *nvidia, const struct tick *tick, size_t index,
			 nvmlReturn_t result)
{
	if (result == NVML_ERROR_GPU_IS_LOST && !atomic_exchange(&nvidia->is_lost[index], true))
		series_note(tick->series, nvml_result_text(result), 0);
	return result == NVML_SUCCESS;
}

struct thing *nvidia_thing(struct source_state *state, const struct tick *tick, size_t index,
			   unsigned int nth)
{
	const struct nvidia *nvidia = tick->context;
	bool is_new;
	struct thing *thing =
		things_numbered(&state->things, index * THINGS_OF_A_DEVICE + nth, &is_new);

	if (thing)
		thing->of.device = nvidia->ids[index];
	return thing;
}

void nvidia_read_each(struct source_state *state, struct tick *tick,
		      uint64_t (*read)(struct source_state *state, struct tick *tick, size_t index,
				       uint64_t *values))
{
	struct nvidia *nvidia = tick->context;

	things_begin_round(&state->things);
	for (size_t i = 0; i < nvidia->count; i++) {
		uint64_t values[METRICS_MOST] = {0}, valid, before_ns = host_clocks_now_ns();
		struct thing *thing;

		if (nvidia->is_lost[i])
			continue;
		valid = read(state, tick, i, values);
		tick->time_ns = before_ns + (host_clocks_now_ns() - before_ns) / 2;
		thing = nvidia->is_lost[i] ? NULL : nvidia_thing(state, tick, i, 0);
		if (thing)
			thing_sample(&state->things, thing, tick->time_ns, values, valid);
	}
	things_end_round(&state->things, host_clocks_now_ns());
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

/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/load.c - what NVML calls utilization, by the samples that the driver keeps
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     percentages with the time of each, or one of the last 1/6 to 1 s   Gives: shares of the time
 * Owns:     the shares
 * Fails:    where the driver keeps no samples the mean of the time before stands for the time since the last look
 * Why:      nvmlDeviceGetUtilizationRates is a window of unknown length that ends at an unknown moment. The samples have
 *           theirs, so that none is counted twice and none is missed.
 */
#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

enum { KERNEL, MEMORY, LOADS, TIME = LOADS };
enum { SAMPLES_MOST = 256, US = 1000 };

#define FILE "nvmlDeviceGetSamples, nvmlDeviceGetUtilizationRates"
static const struct metric metrics[] = {
	[KERNEL] = {"gpu.kernel.present", "ns",
		    "share of the time in which one kernel or more was there, however little of "
		    "the GPU it used",
		    FILE, METRIC_PART, TIME, LIMIT_WHOLE},
	[MEMORY] = {"gpu.memory.busy", "ns",
		    "share of the time in which device memory was read or written, however little "
		    "of it",
		    FILE, METRIC_PART, TIME, LIMIT_WHOLE},
	[TIME] = {NULL},
};

static const nvmlSamplingType_t types[LOADS] = {NVML_GPU_UTILIZATION_SAMPLES,
						NVML_MEMORY_UTILIZATION_SAMPLES};

struct own {
	bool has_samples[NVIDIA_DEVICES_MOST];
	uint64_t last_us[NVIDIA_DEVICES_MOST][LOADS];
	struct share shares[NVIDIA_DEVICES_MOST][LOADS];
	struct nvml_sample samples[SAMPLES_MOST];
};

static void put(struct source_state *state, struct tick *tick, size_t index, unsigned int load,
		uint64_t time_ns)
{
	const struct share *share = &((struct own *)state->own)->shares[index][load];
	uint64_t values[METRICS_MOST] = {[TIME] = share->of_ns};
	struct thing *thing = nvidia_thing(state, tick, index, load);

	values[load] = share->part_ns;
	if (thing)
		thing_sample(&state->things, thing, time_ns, values, 1u << load | 1u << TIME);
}

static bool ask_samples(struct source_state *state, const struct tick *tick, size_t index,
			unsigned int load, unsigned *ret_count)
{
	struct own *own = state->own;
	nvmlValueType_t type = 0;

	*ret_count = SAMPLES_MOST;
	return NVIDIA_ASK((struct nvidia *)tick->context, tick, index, nvmlDeviceGetSamples,
			  types[load], own->last_us[index][load], &type, ret_count, own->samples) &&
	       type == NVML_VALUE_TYPE_UNSIGNED_INT && *ret_count <= SAMPLES_MOST;
}

/* The driver's times are of the clock on the wall; what is read first ends where the recording begins. */
static void read_samples(struct source_state *state, struct tick *tick, size_t index,
			 unsigned int load)
{
	struct own *own = state->own;
	struct share *share = &own->shares[index][load];
	uint64_t now_ns = host_clocks_now_ns(), wall_ns = nvidia_wall_ns();
	bool is_first = !own->last_us[index][load];
	unsigned count;

	if (!ask_samples(state, tick, index, load, &count))
		count = 0;
	for (unsigned i = 0; i < count; i++) {
		uint64_t at_us = own->samples[i].timestamp_us, age_ns = wall_ns - at_us * US;

		if (at_us <= own->last_us[index][load] || at_us * US > wall_ns || age_ns > now_ns)
			continue;
		own->last_us[index][load] = at_us;
		if (is_first && i + 1 < count)
			continue;
		share_add(share, now_ns - age_ns, own->samples[i].value.unsigned_int);
		put(state, tick, index, load, share->until_ns);
	}
	/* Nothing new is nothing to say, and no end. */
	nvidia_thing(state, tick, index, load);
}

static void read_rates(struct source_state *state, struct tick *tick, size_t index)
{
	struct own *own = state->own;
	struct nvml_utilization rates;
	uint64_t now_ns = host_clocks_now_ns();

	if (!NVIDIA_ASK((struct nvidia *)tick->context, tick, index, nvmlDeviceGetUtilizationRates,
			&rates))
		return;
	share_add(&own->shares[index][KERNEL], now_ns, rates.gpu_percent);
	share_add(&own->shares[index][MEMORY], now_ns, rates.memory_percent);
	put(state, tick, index, KERNEL, now_ns);
	put(state, tick, index, MEMORY, now_ns);
}

static void read_all(struct source_state *state, struct tick *tick)
{
	const struct own *own = state->own;
	struct nvidia *nvidia = tick->context;

	things_begin_round(&state->things);
	for (size_t i = 0; i < nvidia->count; i++) {
		if (!nvidia->is_lost[i] && !own->has_samples[i])
			read_rates(state, tick, i);
		for (unsigned int load = 0; load < LOADS; load++)
			if (!nvidia->is_lost[i] && own->has_samples[i])
				read_samples(state, tick, i, load);
	}
	tick->time_ns = host_clocks_now_ns();
	things_end_round(&state->things, tick->time_ns);
}

static bool open_load(struct source_state *state, const struct tick *tick)
{
	struct nvidia *nvidia = tick->context;
	struct own *own = state->own;
	unsigned count;

	for (size_t i = 0; i < nvidia->count; i++) {
		own->has_samples[i] = ask_samples(state, tick, i, KERNEL, &count);
	}
	return nvidia->count != 0;
}

extern const struct source nvidia_load_source;
const struct source nvidia_load_source = {
	.name = "load",
	.file = FILE,
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.most_hz = 10,
	.things_most = NVIDIA_DEVICES_MOST * LOADS,
	.own_bytes = sizeof(struct own),
	.open = open_load,
	.read = read_all,
};

/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/load.c - use of each GPU and of its memory, from the driver's samples
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     percentages, each with its time; without these, one percentage of the last 1/6 to 1 s
 * Gives:    shares of the time
 * Owns:     the shares
 * Fails:    if the driver keeps no samples, the mean of the past interval stands for the time since
 *           the last reading
 * Why:      nvmlDeviceGetUtilizationRates covers an interval of unknown length and end. Samples
 *           have their times, so each is counted exactly once. Samples are read once a second,
 *           because a reading took 2.5 ms of processor time on an H200
 */
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

enum { KERNEL, MEMORY, LOADS, TIME = LOADS };
enum { MAX_SAMPLES = 256, US = 1000 };

#define FILE "nvmlDeviceGetSamples, nvmlDeviceGetUtilizationRates"
static const struct metric metrics[] = {
	[KERNEL] = {"gpu.kernel.present", "ns",
		    "share of the time in which at least one kernel ran, however little of the GPU "
		    "it used",
		    FILE, METRIC_PART, TIME, LIMIT_WHOLE},
	[MEMORY] = {"gpu.memory.busy", "ns",
		    "share of the time in which device memory was read or written, at any rate",
		    FILE, METRIC_PART, TIME, LIMIT_WHOLE},
	[TIME] = {NULL},
};

static const nvmlSamplingType_t types[LOADS] = {NVML_GPU_UTILIZATION_SAMPLES,
						NVML_MEMORY_UTILIZATION_SAMPLES};

struct own {
	bool has_samples[MAX_NVIDIA_DEVICES];
	uint64_t last_us[MAX_NVIDIA_DEVICES][LOADS];
	struct share shares[MAX_NVIDIA_DEVICES][LOADS];
	struct nvml_sample samples[MAX_SAMPLES];
};

static void put_share(struct source_state *state, struct tick *tick, size_t index,
		      unsigned int load, uint64_t time_ns)
{
	const struct share *share = &((struct own *)state->own)->shares[index][load];
	uint64_t values[MAX_METRICS] = {[TIME] = share->of_ns};
	struct metric_instance *instance = nvidia_instance(state, tick, index, load);

	values[load] = share->part_ns;
	if (instance)
		metric_instance_sample(&state->instances, instance, time_ns, values,
				       1u << load | 1u << TIME);
}

static bool ask_samples(struct source_state *state, const struct tick *tick, size_t index,
			unsigned int load, unsigned *ret_count)
{
	struct own *own = state->own;
	nvmlValueType_t type = 0;

	*ret_count = MAX_SAMPLES;
	return NVIDIA_ASK((struct nvidia *)tick->context, tick, index, nvmlDeviceGetSamples,
			  types[load], own->last_us[index][load], &type, ret_count, own->samples) &&
	       type == NVML_VALUE_TYPE_UNSIGNED_INT && *ret_count <= MAX_SAMPLES;
}

/* The driver's times are CLOCK_REALTIME. The first reading ends where the recording starts. */
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
		put_share(state, tick, index, load, share->until_ns);
	}
	/* Without a new sample, no row is written and the series goes on. */
	nvidia_instance(state, tick, index, load);
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
	put_share(state, tick, index, KERNEL, now_ns);
	put_share(state, tick, index, MEMORY, now_ns);
}

static void read_all(struct source_state *state, struct tick *tick)
{
	const struct own *own = state->own;
	struct nvidia *nvidia = tick->context;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < nvidia->count; i++) {
		if (!nvidia->is_lost[i] && !own->has_samples[i])
			read_rates(state, tick, i);
		for (unsigned int load = 0; load < LOADS; load++)
			if (!nvidia->is_lost[i] && own->has_samples[i])
				read_samples(state, tick, i, load);
	}
	tick->time_ns = host_clocks_now_ns();
	metric_instances_end_round(&state->instances, tick->time_ns);
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

const struct source nvidia_load_source = {
	.name = "load",
	.file = FILE,
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 1,
	.max_instances = MAX_NVIDIA_DEVICES * LOADS,
	.own_bytes = sizeof(struct own),
	.open = open_load,
	.read = read_all,
};

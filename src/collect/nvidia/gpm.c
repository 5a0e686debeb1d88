/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/gpm.c - GPM: activity of multiprocessors, since Hopper, without privileges
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     pairs of samples, and the metrics that NVML computes from them
 * Gives:    shares of the time between them
 * Owns:     two samples for each GPU or MIG instance
 * Fails:    a GPU without GPM is left out; a pair that NVML rejects is tried again with a later
 *           sample
 * Why:      GPM is read at most 5 times a second, because the GPU updates its samples every 100 ms
 *           and NVML rejects closer pairs. GPM's streaming mode (nvmlGpmSetStreamingEnabled) is not
 *           changed, because it is a setting of the whole machine.
 */
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

/* In the order of the metrics' table. */
enum { SHARES = 13, TIME = SHARES };

#define SHARE(name, help)                                              \
	{                                                              \
		name, "ns", help, NULL, METRIC_PART, TIME, LIMIT_WHOLE \
	}
static const struct metric metrics[] = {
	SHARE("gpu.graphics.active",
	      "share of the time in which the GPU's graphics or compute engines were busy"),
	SHARE("gpu.sm.active", "share of the time in which a multiprocessor had at least one warp; "
			       "mean of all multiprocessors"),
	SHARE("gpu.sm.occupancy",
	      "warps resident on the multiprocessors, as a share of the maximum"),
	SHARE("gpu.pipe.integer",
	      "share of the cycles in which the multiprocessors' pipe for integers was active"),
	SHARE("gpu.pipe.tensor", "share of the cycles in which the multiprocessors' tensor pipe "
				 "was active, with any type"),
	SHARE("gpu.pipe.tensor.dfma", "share of the cycles in which the multiprocessors' tensor "
				      "pipe ran FP64 multiply-adds"),
	SHARE("gpu.pipe.tensor.hmma",
	      "share of the cycles in which the multiprocessors' tensor pipe ran FP16 matrices"),
	SHARE("gpu.pipe.tensor.dmma",
	      "share of the cycles in which the multiprocessors' tensor pipe ran FP64 matrices"),
	SHARE("gpu.pipe.tensor.imma",
	      "share of the cycles in which the multiprocessors' tensor pipe ran integer matrices"),
	SHARE("gpu.dram.bandwidth",
	      "bandwidth of the device memory that was used, as a share of its maximum"),
	SHARE("gpu.pipe.fp64", "share of the cycles in which the multiprocessors' pipe for double "
			       "precision was active"),
	SHARE("gpu.pipe.fp32", "share of the cycles in which the multiprocessors' pipe for single "
			       "precision was active"),
	SHARE("gpu.pipe.fp16", "share of the cycles in which the multiprocessors' pipe for half "
			       "precision was active"),
	[TIME] = {NULL},
};

static const uint32_t ids[SHARES] = {
	NVML_GPM_METRIC_GRAPHICS_UTIL,    NVML_GPM_METRIC_SM_UTIL,
	NVML_GPM_METRIC_SM_OCCUPANCY,     NVML_GPM_METRIC_INTEGER_UTIL,
	NVML_GPM_METRIC_ANY_TENSOR_UTIL,  NVML_GPM_METRIC_DFMA_TENSOR_UTIL,
	NVML_GPM_METRIC_HMMA_TENSOR_UTIL, NVML_GPM_METRIC_DMMA_TENSOR_UTIL,
	NVML_GPM_METRIC_IMMA_TENSOR_UTIL, NVML_GPM_METRIC_DRAM_BW_UTIL,
	NVML_GPM_METRIC_FP64_UTIL,        NVML_GPM_METRIC_FP32_UTIL,
	NVML_GPM_METRIC_FP16_UTIL};

struct pair {
	nvmlGpmSample_t earlier, later; /* owned; NULL: this device has no GPM */
	uint64_t earlier_ns;            /* 0: no sample yet */
	/* Sums of the shares; they continue after a gap. */
	uint64_t part_ns[SHARES], of_ns;
};

struct own {
	struct nvidia *nvidia; /* borrowed */
	struct pair pairs[MAX_NVIDIA_DEVICES];
	struct nvml_gpm_metrics_get get;
};

static bool take_sample(struct nvidia *nvidia, const struct tick *tick, size_t index,
			nvmlGpmSample_t sample)
{
	const struct nvidia_device *device = &nvidia->devices[index];

	if (!device->whole)
		return NVIDIA_ASK(nvidia, tick, index, nvmlGpmSampleGet, sample);
	return nvidia_has_answered(nvidia, tick, index,
				   NVML_CALL(&nvidia->nvml, nvmlGpmMigSampleGet, device->whole,
					     device->gpu_instance_id, sample));
}

/* Computes the metrics of the pair. 0: none, because the later sample came too early. */
static uint64_t compare(struct own *own, const struct tick *tick, size_t index, uint64_t later_ns,
			uint64_t *values)
{
	struct pair *pair = &own->pairs[index];
	uint64_t valid = 1u << TIME, took_ns = later_ns - pair->earlier_ns;

	own->get = (struct nvml_gpm_metrics_get){.version = NVML_GPM_METRICS_GET_VERSION,
						 .metric_count = SHARES,
						 .earlier = pair->earlier,
						 .later = pair->later};
	for (size_t i = 0; i < SHARES; i++)
		own->get.metrics[i].metric_id = ids[i];
	if (!nvidia_has_answered(own->nvidia, tick, index,
				 NVML_CALL(&own->nvidia->nvml, nvmlGpmMetricsGet, &own->get)))
		return 0;
	values[TIME] = pair->of_ns += took_ns;
	for (size_t i = 0; i < SHARES; i++) {
		/* Not a number: the value could not be counted. */
		if (own->get.metrics[i].result || !(own->get.metrics[i].value >= 0))
			continue;
		values[i] = pair->part_ns[i] += part_of_ns(took_ns, own->get.metrics[i].value);
		valid |= 1u << i;
	}
	return valid;
}

static void swap(struct pair *pair, uint64_t later_ns)
{
	nvmlGpmSample_t earlier = pair->earlier;

	pair->earlier = pair->later;
	pair->later = earlier;
	pair->earlier_ns = later_ns;
}

static void read_pair(struct source_state *state, struct tick *tick, size_t index)
{
	struct own *own = state->own;
	struct pair *pair = &own->pairs[index];
	uint64_t values[MAX_METRICS] = {0}, valid, before_ns = host_clocks_now_ns(), now_ns;
	struct metric_instance *instance = nvidia_instance(state, tick, index, 0);

	if (!instance || !take_sample(own->nvidia, tick, index, pair->later))
		return;
	now_ns = before_ns + (host_clocks_now_ns() - before_ns) / 2;
	/* The first sample: all sums are 0, and the rows start here. */
	valid = pair->earlier_ns ? compare(own, tick, index, now_ns, values) : UINT64_MAX;
	if (!valid)
		return;
	metric_instance_sample(&state->instances, instance, now_ns, values, valid);
	swap(pair, now_ns);
}

static void read_all(struct source_state *state, struct tick *tick)
{
	const struct own *own = state->own;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < own->nvidia->count; i++)
		if (own->pairs[i].later && !own->nvidia->is_lost[i])
			read_pair(state, tick, i);
	tick->time_ns = host_clocks_now_ns();
	metric_instances_end_round(&state->instances, tick->time_ns);
}

static bool has_gpm(struct nvidia *nvidia, const struct tick *tick, size_t index)
{
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};

	/* A GPU that is divided by MIG is not asked; its instances are. */
	return !nvidia->devices[index].has_instances &&
	       NVIDIA_ASK(nvidia, tick, index, nvmlGpmQueryDeviceSupport, &support) &&
	       support.is_supported;
}

static void close_pairs(struct source_state *state)
{
	struct own *own = state->own;

	for (size_t i = 0; i < own->nvidia->count; i++) {
		if (own->pairs[i].earlier)
			NVML_CALL(&own->nvidia->nvml, nvmlGpmSampleFree, own->pairs[i].earlier);
		if (own->pairs[i].later)
			NVML_CALL(&own->nvidia->nvml, nvmlGpmSampleFree, own->pairs[i].later);
	}
}

static bool open_pairs(struct source_state *state, const struct tick *tick)
{
	struct own *own = state->own;
	size_t count = 0;

	own->nvidia = tick->context;
	for (size_t i = 0; i < own->nvidia->count; i++) {
		struct pair *pair = &own->pairs[i];

		if (!has_gpm(own->nvidia, tick, i) ||
		    NVML_CALL(&own->nvidia->nvml, nvmlGpmSampleAlloc, &pair->earlier) ||
		    NVML_CALL(&own->nvidia->nvml, nvmlGpmSampleAlloc, &pair->later))
			continue;
		count++;
	}
	if (!count)
		close_pairs(state);
	return count != 0;
}

const struct source nvidia_gpm_source = {
	.name = "gpm",
	.file = "nvmlGpmMetricsGet",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 5,
	.max_instances = MAX_NVIDIA_DEVICES,
	.own_bytes = sizeof(struct own),
	.open = open_pairs,
	.read = read_all,
	.close = close_pairs,
};

/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/gpm.c - GPM: what the multiprocessors did, since Hopper, without a privilege
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     pairs of samples, and what NVML makes of them   Gives: shares of the time between them
 * Owns:     two samples for each GPU or MIG instance
 * Fails:    a GPU that has no GPM is left out; a pair that NVML does not take is tried again with a later sample
 * Why at most 5 a second: the GPU renews what is in a sample every 100 ms, and a pair that is nearer than that is refused.
 *           Whether GPM streams (nvmlGpmSetStreamingEnabled) is left as it is found: it is a state of the machine.
 */
#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

/* In the order of the table. */
enum { SHARES = 13, TIME = SHARES };

#define SHARE(name, help)                                              \
	{                                                              \
		name, "ns", help, NULL, METRIC_PART, TIME, LIMIT_WHOLE \
	}
static const struct metric metrics[] = {
	SHARE("gpu.graphics.active",
	      "share of the time in which graphics or compute engines had work"),
	SHARE("gpu.sm.active",
	      "share of the time, mean of all multiprocessors, with a warp or more on them"),
	SHARE("gpu.sm.occupancy", "warps there were, of those that there is room for"),
	SHARE("gpu.pipe.integer",
	      "share of the cycles in which the integer pipe had an instruction"),
	SHARE("gpu.pipe.tensor", "share of the cycles in which any tensor pipe had"),
	SHARE("gpu.pipe.tensor.dfma", "… for multiplications and additions of double precision"),
	SHARE("gpu.pipe.tensor.hmma", "… of half precision"),
	SHARE("gpu.pipe.tensor.dmma", "… for matrices of double precision"),
	SHARE("gpu.pipe.tensor.imma", "… of integers"),
	SHARE("gpu.dram.bandwidth", "of the bandwidth that device memory has at most"),
	SHARE("gpu.pipe.fp64",
	      "share of the cycles in which the pipe of double precision had an instruction"),
	SHARE("gpu.pipe.fp32", "… of single precision"),
	SHARE("gpu.pipe.fp16", "… of half precision"),
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
	uint64_t earlier_ns;            /* 0: none was taken */
	/* Sums; one that was absent in between is no less a sum of what came then. */
	uint64_t part_ns[SHARES], of_ns;
};

struct own {
	struct nvidia *nvidia; /* borrowed */
	struct pair pairs[NVIDIA_DEVICES_MOST];
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

/* What NVML makes of the two; 0: nothing, the later one came too early. */
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
		/* Not a number is a value that could not be counted. */
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
	uint64_t values[METRICS_MOST] = {0}, valid, before_ns = host_clocks_now_ns(), now_ns;
	struct thing *thing = nvidia_thing(state, tick, index, 0);

	if (!thing || !take_sample(own->nvidia, tick, index, pair->later))
		return;
	now_ns = before_ns + (host_clocks_now_ns() - before_ns) / 2;
	/* All sums are 0 then: the first row begins here. */
	valid = pair->earlier_ns ? compare(own, tick, index, now_ns, values) : UINT64_MAX;
	if (!valid)
		return;
	thing_sample(&state->things, thing, now_ns, values, valid);
	swap(pair, now_ns);
}

static void read_all(struct source_state *state, struct tick *tick)
{
	const struct own *own = state->own;

	things_begin_round(&state->things);
	for (size_t i = 0; i < own->nvidia->count; i++)
		if (own->pairs[i].later && !own->nvidia->is_lost[i])
			read_pair(state, tick, i);
	tick->time_ns = host_clocks_now_ns();
	things_end_round(&state->things, tick->time_ns);
}

static bool has_gpm(struct nvidia *nvidia, const struct tick *tick, size_t index)
{
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};

	/* Of a GPU that is divided the instances are asked. */
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

extern const struct source nvidia_gpm_source;
const struct source nvidia_gpm_source = {
	.name = "gpm",
	.file = "nvmlGpmMetricsGet",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.most_hz = 5,
	.things_most = NVIDIA_DEVICES_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_pairs,
	.read = read_all,
	.close = close_pairs,
};

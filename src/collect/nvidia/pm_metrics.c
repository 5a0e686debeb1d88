/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_metrics.c - chooses the counters sampled together, and converts their values
 *
 * Runs in:  the thread of a sampled GPU
 * Gets:     a chip's name, counter data
 * Gives:    a configuration of one pass, values as integers in base units
 * Owns:     the host object and the configuration, in a pm_set
 * Fails:    returns false with CUPTI's result; a metric that a chip lacks is left out
 * Why:      Metrics are added one after the other, because the limits of a pass are undocumented
 *           and differ between chips. If all metrics do not fit, each metric is added in turn to
 *           those already chosen and the passes are counted, which takes 30 ms for 16 metrics.
 */
#include "collect/nvidia/pm_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect/nvidia/nvidia.h"

enum { SECTOR_BYTES = 32 };

#define SHARE(metric, counter, text)                                                       \
	{                                                                                  \
		.name = (metric), .unit = "ns", .help = (text),                            \
		.file = counter ".avg.pct_of_peak_sustained_elapsed", .kind = METRIC_PART, \
		.limit = LIMIT_WHOLE                                                       \
	}
#define AMOUNT(metric, of_unit, counter, text)                                               \
	{                                                                                    \
		.name = (metric), .unit = (of_unit), .help = (text), .file = counter ".sum", \
		.kind = METRIC_TOTAL                                                         \
	}
#define LEVEL(metric, counter, text)                                                               \
	{                                                                                          \
		.name = (metric), .unit = "Hz", .help = (text), .file = counter ".avg.per_second", \
		.kind = METRIC_LEVEL                                                               \
	}

const struct metric pm_metrics[PM_METRICS] = {
	SHARE("gpu.pm.graphics.active", "gr__cycles_active",
	      "share of the time in which the GPU's graphics and compute engine was busy"),
	SHARE("gpu.pm.sm.active", "sm__cycles_active",
	      "share of the time in which a multiprocessor had at least one warp; mean of all "
	      "multiprocessors"),
	SHARE("gpu.pm.sm.occupancy", "sm__warps_active",
	      "warps resident on the multiprocessors, as a share of the maximum"),
	SHARE("gpu.pm.pipe.tensor", "sm__pipe_tensor_cycles_active",
	      "share of the cycles in which the multiprocessors' tensor pipe was active"),
	SHARE("gpu.pm.dram.bandwidth", "dram__throughput",
	      "bandwidth of the device memory that was used, as a share of its maximum"),
	SHARE("gpu.pm.dram.read", "dram__read_throughput",
	      "bandwidth of the device memory that reads used, as a share of its maximum"),
	SHARE("gpu.pm.dram.write", "dram__write_throughput",
	      "bandwidth of the device memory that writes used, as a share of its maximum"),
	AMOUNT("gpu.pm.pcie.read", "bytes", "pcie__read_bytes",
	       "bytes that the GPU's PCIe interface counts as read, in steps of 512 bytes"),
	AMOUNT("gpu.pm.pcie.write", "bytes", "pcie__write_bytes",
	       "bytes that the GPU's PCIe interface counts as written, in steps of 512 bytes"),
	AMOUNT("gpu.pm.nvlink.received", "bytes", "nvlrx__bytes",
	       "bytes that the GPU received over all its NVLinks, protocol bytes included"),
	AMOUNT("gpu.pm.nvlink.sent", "bytes", "nvltx__bytes",
	       "bytes that the GPU sent over all its NVLinks, protocol bytes included"),
	AMOUNT("gpu.pm.l2.bytes", "bytes", "lts__t_sectors",
	       "bytes that were requested from the GPU's L2 cache, in sectors of 32 bytes"),
	LEVEL("gpu.pm.clock.gpc", "gpc__cycles_elapsed",
	      "mean clock frequency of the GPU's GPCs, the groups of its multiprocessors"),
	LEVEL("gpu.pm.clock.sys", "sys__cycles_elapsed",
	      "mean clock frequency of the GPU's front end, which distributes the work"),
	AMOUNT("gpu.pm.dispatches", "dispatches", "gr__dispatch_count",
	       "compute grids that the GPU's graphics and compute engine received"),
	AMOUNT("gpu.pm.instructions", "instructions", "sm__inst_issued",
	       "instructions that warps issued; absent where the chip cannot count them beside the "
	       "others"),
};

/* ---- the choice ------------------------------------------------------------------------------ */

static bool open_host(struct pm_set *set, struct cupti *cupti, const char *chip,
		      const uint8_t *availability)
{
	struct cupti_host_initialize_params params = {.struct_bytes = sizeof(params),
						      .profiler_type =
							      CUPTI_PROFILER_TYPE_PM_SAMPLING,
						      .chip_name = chip,
						      .counter_availability = availability};

	if (!CUPTI_CALL(cupti, cuptiProfilerHostInitialize, &params))
		return false;
	set->host = params.ret_object;
	return true;
}

void pm_set_close(struct pm_set *set, struct cupti *cupti)
{
	struct cupti_host_deinitialize_params params = {.struct_bytes = sizeof(params),
							.object = set->host};

	if (set->host)
		CUPTI_CALL(cupti, cuptiProfilerHostDeinitialize, &params);
	free(set->config);
	set->host = NULL;
	set->config = NULL;
}

static bool add_names(struct pm_set *set, struct cupti *cupti)
{
	struct cupti_host_config_add_metrics_params params = {.struct_bytes = sizeof(params),
							      .object = set->host,
							      .metric_names = set->names,
							      .metric_count = set->count};

	return CUPTI_CALL(cupti, cuptiProfilerHostConfigAddMetrics, &params);
}

static bool make_config(struct pm_set *set, struct cupti *cupti)
{
	struct cupti_host_config_image_size_params ask = {.struct_bytes = sizeof(ask),
							  .object = set->host};
	struct cupti_host_config_image_params get = {.struct_bytes = sizeof(get),
						     .object = set->host};

	if (!CUPTI_CALL(cupti, cuptiProfilerHostGetConfigImageSize, &ask))
		return false;
	set->config = calloc(1, ask.ret_bytes + 1);
	set->config_bytes = get.image_bytes = ask.ret_bytes;
	get.image = set->config;
	return set->config && CUPTI_CALL(cupti, cuptiProfilerHostGetConfigImage, &get);
}

static size_t count_passes(const struct pm_set *set, struct cupti *cupti)
{
	struct cupti_host_num_of_passes_params params = {.struct_bytes = sizeof(params),
							 .image_bytes = set->config_bytes,
							 .image = set->config};

	return CUPTI_CALL(cupti, cuptiProfilerHostGetNumOfPasses, &params) ? params.ret_count : 0;
}

/* Whether all metrics of the set fit into one pass. If so, the set stays open with them. */
static bool fits(struct pm_set *set, struct cupti *cupti, const char *chip,
		 const uint8_t *availability)
{
	bool is_good = open_host(set, cupti, chip, availability) && add_names(set, cupti) &&
		       make_config(set, cupti) && count_passes(set, cupti) == 1;

	if (!is_good)
		pm_set_close(set, cupti);
	return is_good;
}

static void push(struct pm_set *set, size_t index)
{
	set->names[set->count] = pm_metrics[index].file;
	set->indices[set->count++] = (uint8_t)index;
}

bool pm_set_open(struct pm_set *set, struct cupti *cupti, const char *chip,
		 const uint8_t *availability, uint64_t unwanted)
{
	*set = (struct pm_set){0};
	/* The library knows no metric of an unknown chip; the result of the attempt is reported. */
	if (!open_host(set, cupti, chip, availability))
		return false;
	pm_set_close(set, cupti);
	for (size_t i = 0; i < PM_METRICS; i++) {
		if (unwanted >> i & 1)
			continue;
		push(set, i);
		if (fits(set, cupti, chip, availability)) {
			pm_set_close(set, cupti);
			continue;
		}
		set->count--;
		set->is_left_out[i] = true;
	}
	return set->count && fits(set, cupti, chip, availability);
}

/* ---- values ---------------------------------------------------------------------------------- */

bool pm_set_evaluate(const struct pm_set *set, struct cupti *cupti, const uint8_t *image,
		     size_t image_bytes, size_t index, double values[PM_METRICS])
{
	struct cupti_host_evaluate_params params = {.struct_bytes = sizeof(params),
						    .object = set->host,
						    .counter_data = image,
						    .counter_data_bytes = image_bytes,
						    .range_index = index,
						    .metric_names = (const char **)set->names,
						    .metric_count = set->count,
						    .ret_values = values};

	return CUPTI_CALL(cupti, cuptiProfilerHostEvaluateToGpuValues, &params);
}

bool pm_value_make(size_t index, double value, uint64_t took_ns, struct pm_value *ret_value)
{
	const struct metric *metric = &pm_metrics[index];
	double scale = strcmp(metric->name, "gpu.pm.l2.bytes") == 0 ? SECTOR_BYTES : 1;

	/* Not a number: the value could not be counted. */
	if (!(value >= 0) || value * scale >= 0x1p62)
		return false;
	*ret_value = (struct pm_value){0};
	if (metric->kind == METRIC_PART) {
		ret_value->value = (int64_t)part_of_ns(took_ns, value);
		ret_value->of = took_ns;
	} else {
		ret_value->value = llround(value * scale);
	}
	return took_ns != 0;
}

uint64_t pm_limit(size_t index)
{
	return pm_metrics[index].limit == LIMIT_WHOLE ? 1 : 0;
}

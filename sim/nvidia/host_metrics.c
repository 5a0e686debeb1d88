/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/host_metrics.c - names and values of counters in the simulated CUPTI
 *
 * Runs in:  any program: this part of CUPTI needs no driver
 * Gets:     names
 * Gives:    configuration images, the number of passes they need, values of samples
 * Owns:     objects with the chosen names
 * Why:      the one-pass set is that of a GH100. A value is a share of the sample's load, so a
 *           plotted counter rises while kernels run
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

enum unit { PERCENT, PER_SECOND, CLOCK, COUNT };

struct CUpti_Profiler_Host_Object {
	struct sim_config_image image;
};

#define PERCENT_NAME ".avg.pct_of_peak_sustained_elapsed"

/* extra_passes: 0 if it fits into the same pass as the others. */
static const struct metric {
	const char *base, *rollup;
	enum unit unit;
	double most; /* at full load */
	uint32_t extra_passes;
	const char *hardware_unit, *description;
} metrics[] = {
	{"gr__cycles_active", PERCENT_NAME, PERCENT, 100, 0, "GR", "cycles where GR was active"},
	{"sm__cycles_active", PERCENT_NAME, PERCENT, 92, 0, "SM", "cycles with a warp resident"},
	{"sm__warps_active", PERCENT_NAME, PERCENT, 61, 0, "SM", "cumulative resident warps"},
	{"dram__throughput", PERCENT_NAME, PERCENT, 47, 0, "DRAM", "DRAM throughput"},
	{"dram__read_throughput", PERCENT_NAME, PERCENT, 31, 0, "DRAM", "DRAM read throughput"},
	{"dram__write_throughput", PERCENT_NAME, PERCENT, 16, 0, "DRAM", "DRAM write throughput"},
	{"sm__pipe_tensor_cycles_active", PERCENT_NAME, PERCENT, 38, 0, "SM",
	 "cycles where the tensor pipe was active"},
	{"pcie__read_bytes", ".sum.per_second", PER_SECOND, 9e9, 0, "PCIE", "bytes read by PCIe"},
	{"pcie__write_bytes", ".sum.per_second", PER_SECOND, 4e9, 0, "PCIE",
	 "bytes written by PCIe"},
	{"nvlrx__bytes", ".sum.per_second", PER_SECOND, 2e10, 0, "NVLRX", "bytes from NVLink"},
	{"nvltx__bytes", ".sum.per_second", PER_SECOND, 2e10, 0, "NVLTX", "bytes to NVLink"},
	{"lts__t_sectors", ".sum.per_second", PER_SECOND, 6e10, 0, "LTS", "L2 sectors"},
	{"gpc__cycles_elapsed", ".avg.per_second", CLOCK, 1, 0, "GPC", "GPC clock"},
	{"sys__cycles_elapsed", ".avg.per_second", CLOCK, 0.9, 0, "SYS", "SYS clock"},
	{"gr__dispatch_count", ".sum", COUNT, 40, 0, "GR", "dispatches"},
	{"sm__inst_issued", ".sum.per_second", PER_SECOND, 5e11, 1, "SM", "warp instructions"},
	{"sm__throughput", PERCENT_NAME, PERCENT, 70, 11, "SM", "SM throughput"},
	{"lts__throughput", PERCENT_NAME, PERCENT, 40, 3, "LTS", "L2 throughput"},
	{"l1tex__throughput", PERCENT_NAME, PERCENT, 35, 8, "L1TEX", "L1 throughput"},
	{"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime", ".avg.pct_of_peak", PERCENT,
	 38, 0, "SM", "tensor pipe, triage"},
};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

static const char *const chips[] = {"GV100", "TU102", "GA100", "GA102",
				    "AD102", "GH100", "GB100", "GB202"};

/* Counters that a chip lacks, or counts in another pass. */
static const struct {
	const char *chip, *base;
	bool is_other_pass;
} exceptions[] = {
	{"TU102", "dram__throughput", true},       {"TU102", "dram__read_throughput", true},
	{"TU102", "dram__write_throughput", true}, {"TU102", "sm__pipe_tensor_cycles_active", true},
	{"AD102", "nvlrx__bytes", false},          {"AD102", "nvltx__bytes", false},
	{"GB202", "nvlrx__bytes", false},          {"GB202", "nvltx__bytes", false},
	{"GB100", "pcie__read_bytes", false},      {"GB100", "pcie__write_bytes", false},
};

/* By base name, with any rollup behind it. */
static const struct metric *find(const char *name)
{
	for (size_t i = 0; name && i < METRICS; i++) {
		size_t length = strlen(metrics[i].base);

		if (strncmp(metrics[i].base, name, length) == 0 &&
		    (!name[length] || strncmp(name + length, ".avg", 4) == 0 ||
		     strncmp(name + length, ".sum", 4) == 0 ||
		     strncmp(name + length, ".max", 4) == 0 ||
		     strncmp(name + length, ".min", 4) == 0))
			return &metrics[i];
	}
	return NULL;
}

/* ---- the host's objects ---------------------------------------------------------------------- */

cupti_result cuptiProfilerHostInitialize(struct cupti_host_initialize_params *params)
{
	bool is_known = false;

	SIM_FAIL_AS_ASKED();
	if (!params || !params->chip_name)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		is_known |= strcmp(chips[i], params->chip_name) == 0;
	if (!is_known)
		return CUPTI_ERROR_INVALID_CHIP_NAME;
	params->ret_object = calloc(1, sizeof(*params->ret_object));
	if (!params->ret_object)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	params->ret_object->image.magic = SIM_CONFIG_MAGIC;
	params->ret_object->image.pass_count = 1;
	strcpy(params->ret_object->image.chip, params->chip_name);
	return CUPTI_SUCCESS;
}

cupti_result cuptiProfilerHostDeinitialize(struct cupti_host_deinitialize_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params || !params->object)
		return CUPTI_ERROR_INVALID_PARAMETER;
	free(params->object);
	return CUPTI_SUCCESS;
}

static cupti_result add_metric(struct sim_config_image *image, const char *name)
{
	const struct metric *metric = find(name);

	if (!metric)
		return CUPTI_ERROR_INVALID_METRIC_NAME;
	if (image->metric_count == MAX_SIM_METRICS || strlen(name) >= SIM_METRIC_BYTES)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
		if (strcmp(exceptions[i].chip, image->chip) != 0 ||
		    strcmp(exceptions[i].base, metric->base) != 0)
			continue;
		if (!exceptions[i].is_other_pass)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		image->pass_count++;
	}
	strcpy(image->names[image->metric_count++], name);
	image->pass_count += metric->extra_passes;
	return CUPTI_SUCCESS;
}

cupti_result cuptiProfilerHostConfigAddMetrics(struct cupti_host_config_add_metrics_params *params)
{
	cupti_result result = CUPTI_SUCCESS;

	SIM_FAIL_AS_ASKED();
	if (!params || !params->object || !params->metric_names)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < params->metric_count && !result; i++)
		result = add_metric(&params->object->image, params->metric_names[i]);
	return result;
}

cupti_result cuptiProfilerHostGetConfigImageSize(struct cupti_host_config_image_size_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params || !params->object)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_bytes = sizeof(params->object->image);
	return CUPTI_SUCCESS;
}

cupti_result cuptiProfilerHostGetConfigImage(struct cupti_host_config_image_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params || !params->object || !params->image ||
	    params->image_bytes < sizeof(params->object->image))
		return CUPTI_ERROR_INVALID_PARAMETER;
	memcpy(params->image, &params->object->image, sizeof(params->object->image));
	return CUPTI_SUCCESS;
}

cupti_result cuptiProfilerHostGetNumOfPasses(struct cupti_host_num_of_passes_params *params)
{
	const struct sim_config_image *image;

	SIM_FAIL_AS_ASKED();
	image = params ? (const struct sim_config_image *)(const void *)params->image : NULL;
	if (!image || params->image_bytes < sizeof(*image) || image->magic != SIM_CONFIG_MAGIC)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_count = image->pass_count;
	return CUPTI_SUCCESS;
}

cupti_result cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(
	struct cupti_host_max_metrics_per_pass_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_count = 176;
	return CUPTI_SUCCESS;
}

/* ---- lists ----------------------------------------------------------------------------------- */

cupti_result cuptiProfilerHostGetSupportedChips(struct cupti_host_supported_chips_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_count = sizeof(chips) / sizeof(chips[0]);
	params->ret_names = chips;
	return CUPTI_SUCCESS;
}

static uint32_t type_of(const struct metric *metric)
{
	return strstr(metric->base, "throughput") ? CUPTI_METRIC_TYPE_THROUGHPUT
						  : CUPTI_METRIC_TYPE_COUNTER;
}

cupti_result cuptiProfilerHostGetBaseMetrics(struct cupti_host_base_metrics_params *params)
{
	static const char *lists[2][METRICS];
	const char **list;

	SIM_FAIL_AS_ASKED();
	if (!params || !params->object || params->metric_type > CUPTI_METRIC_TYPE_THROUGHPUT)
		return CUPTI_ERROR_INVALID_PARAMETER;
	list = lists[params->metric_type == CUPTI_METRIC_TYPE_THROUGHPUT];
	params->ret_count = 0;
	for (size_t i = 0; i < METRICS; i++)
		if (type_of(&metrics[i]) == params->metric_type)
			list[params->ret_count++] = metrics[i].base;
	params->ret_names = list;
	return CUPTI_SUCCESS;
}

cupti_result cuptiProfilerHostGetSubMetrics(struct cupti_host_sub_metrics_params *params)
{
	static const char *const rollups[] = {"avg", "max", "min", "sum"};

	SIM_FAIL_AS_ASKED();
	if (!params || !params->object || !find(params->metric_name))
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_count = sizeof(rollups) / sizeof(rollups[0]);
	params->ret_names = (const char **)rollups;
	return CUPTI_SUCCESS;
}

cupti_result
cuptiProfilerHostGetMetricProperties(struct cupti_host_metric_properties_params *params)
{
	const struct metric *metric;

	SIM_FAIL_AS_ASKED();
	metric = params ? find(params->metric_name) : NULL;
	if (!metric || !params->object)
		return params ? CUPTI_ERROR_INVALID_METRIC_NAME : CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_description = metric->description;
	params->ret_hardware_unit = metric->hardware_unit;
	params->ret_dimension = metric->unit == PERCENT ? "percent" : "1";
	params->ret_metric_type = type_of(metric);
	return CUPTI_SUCCESS;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Counted over the sample's own time, not per second. */
static bool is_sum(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && strcmp(end, ".sum") == 0;
}

static double value_of(const struct metric *metric, const char *name,
		       const struct sim_sample *sample)
{
	int64_t nan_every = sim_options()->pm_nan_every;
	double wobble = 1 - 0.05 * (double)(sample->index % 8) / 8;

	if (nan_every && sample->index % (uint64_t)nan_every == (uint64_t)nan_every - 1)
		return NAN;
	if (metric->unit == PER_SECOND && is_sum(name))
		return metric->most * sample->load * wobble *
		       (double)(sample->end_ns - sample->start_ns) / 1e9;
	switch (metric->unit) {
	case CLOCK:
		return (double)sim_options()->sm_mhz * 1e6 * metric->most;
	case COUNT:
		return floor(metric->most * sample->load);
	default:
		return metric->most * sample->load * wobble;
	}
}

cupti_result cuptiProfilerHostEvaluateToGpuValues(struct cupti_host_evaluate_params *params)
{
	const struct sim_data_image *image;

	SIM_FAIL_AS_ASKED();
	image = params ? (const struct sim_data_image *)(const void *)params->counter_data : NULL;
	if (!image || image->magic != SIM_DATA_MAGIC || params->range_index >= image->count ||
	    !params->metric_names || !params->ret_values)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < params->metric_count; i++) {
		const struct metric *metric = find(params->metric_names[i]);

		if (!metric)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		params->ret_values[i] = value_of(metric, params->metric_names[i],
						 &image->samples[params->range_index]);
	}
	return CUPTI_SUCCESS;
}

/* ---- the profiler ---------------------------------------------------------------------------- */

static _Atomic bool is_initialized;

cupti_result cuptiProfilerInitialize(struct cupti_profiler_initialize_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	is_initialized = true;
	return params ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* Not counted: the second one crashes; so does a call of another thread's that is under way. */
cupti_result cuptiProfilerDeInitialize(struct cupti_profiler_deinitialize_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!atomic_exchange(&is_initialized, false) || sim_pm_is_inside())
		abort();
	return CUPTI_SUCCESS;
}

cupti_result cuptiProfilerDeviceSupported(struct cupti_profiler_device_supported_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!params || params->device < 0 || params->device >= (CUdevice)sim_visible_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_is_supported = params->ret_architecture = params->ret_sli =
		params->ret_virtual_gpu = params->ret_confidential_compute = params->ret_cmp =
			params->ret_wsl = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
	return CUPTI_SUCCESS;
}

/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/nvml_gpm.c - the simulated NVML: GPM, counters between two samples
 *
 * Runs in:  a program that watches GPUs
 * Gets:     two samples
 * Gives:    shares of the time between the two samples
 * Fails:    NOT_SUPPORTED if SIM_NVIDIA has gpm=0, as before Hopper
 */
#include <stdlib.h>

#include "nvml.h"

struct nvmlGpmSample_st {
	nvmlDevice_t device; /* NULL: nothing in it */
	uint64_t at_ns;
};

/* At full load. */
static const struct {
	uint32_t id;
	double most;
	const char *name, *unit;
} metrics[] = {
	{NVML_GPM_METRIC_GRAPHICS_UTIL, 100, "GRAPHICS_UTIL", "%"},
	{NVML_GPM_METRIC_SM_UTIL, 92, "SM_UTIL", "%"},
	{NVML_GPM_METRIC_SM_OCCUPANCY, 61, "SM_OCCUPANCY", "%"},
	{NVML_GPM_METRIC_INTEGER_UTIL, 18, "INTEGER_UTIL", "%"},
	{NVML_GPM_METRIC_ANY_TENSOR_UTIL, 38, "ANY_TENSOR_UTIL", "%"},
	{NVML_GPM_METRIC_DFMA_TENSOR_UTIL, 0, "DFMA_TENSOR_UTIL", "%"},
	{NVML_GPM_METRIC_HMMA_TENSOR_UTIL, 38, "HMMA_TENSOR_UTIL", "%"},
	{NVML_GPM_METRIC_DMMA_TENSOR_UTIL, 0, "DMMA_TENSOR_UTIL", "%"},
	{NVML_GPM_METRIC_IMMA_TENSOR_UTIL, 0, "IMMA_TENSOR_UTIL", "%"},
	{NVML_GPM_METRIC_DRAM_BW_UTIL, 47, "DRAM_BW_UTIL", "%"},
	{NVML_GPM_METRIC_FP64_UTIL, 2, "FP64_UTIL", "%"},
	{NVML_GPM_METRIC_FP32_UTIL, 25, "FP32_UTIL", "%"},
	{NVML_GPM_METRIC_FP16_UTIL, 9, "FP16_UTIL", "%"},
	{NVML_GPM_METRIC_PCIE_TX_PER_SEC, 4000, "PCIE_TX_PER_SEC", "MiB/s"},
	{NVML_GPM_METRIC_PCIE_RX_PER_SEC, 9000, "PCIE_RX_PER_SEC", "MiB/s"},
	{NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, 20000, "NVLINK_TOTAL_RX_PER_SEC", "MiB/s"},
	{NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, 20000, "NVLINK_TOTAL_TX_PER_SEC", "MiB/s"},
};

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, struct nvml_gpm_support *support)
{
	SIM_CHECK_DEVICE(support);
	if (support->version != NVML_GPM_SUPPORT_VERSION)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	support->is_supported = sim_options()->gpm && !sim_options()->nvml_unsupported;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *ret_sample)
{
	SIM_CHECK_NVML();
	if (!ret_sample)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_sample = calloc(1, sizeof(**ret_sample));
	return *ret_sample ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
	SIM_CHECK_NVML();
	if (!sample)
		return NVML_ERROR_INVALID_ARGUMENT;
	free(sample);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
	SIM_CHECK_LUXURY(sample);
	if (!sim_options()->gpm)
		return NVML_ERROR_NOT_SUPPORTED;
	*sample = (struct nvmlGpmSample_st){device, sim_now()};
	return NVML_SUCCESS;
}

/* By the whole GPU's handle. An instance is as busy as its GPU. */
nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned gpu_instance_id,
				 nvmlGpmSample_t sample)
{
	SIM_CHECK_LUXURY(sample);
	if (!sim_options()->gpm)
		return NVML_ERROR_NOT_SUPPORTED;
	if (device->instance || !gpu_instance_id || gpu_instance_id > sim_options()->mig)
		return NVML_ERROR_INVALID_ARGUMENT;
	*sample = (struct nvmlGpmSample_st){device, sim_now()};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t device, unsigned *ret_is_enabled)
{
	SIM_CHECK_LUXURY(ret_is_enabled);
	*ret_is_enabled = 0;
	return NVML_SUCCESS;
}

static void get_metric(struct nvml_gpm_metric *metric, double load)
{
	metric->result = NVML_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		if (metrics[i].id != metric->metric_id)
			continue;
		metric->result = NVML_SUCCESS;
		metric->value = metrics[i].most * load;
		metric->short_name = metric->long_name = (char *)(uintptr_t)metrics[i].name;
		metric->unit = (char *)(uintptr_t)metrics[i].unit;
	}
}

nvmlReturn_t nvmlGpmMetricsGet(struct nvml_gpm_metrics_get *get)
{
	double load;

	SIM_CHECK_NVML();
	if (!get || !get->earlier || !get->later || !get->earlier->device ||
	    get->earlier->device != get->later->device || get->metric_count > NVML_GPM_METRIC_MAX ||
	    get->later->at_ns <=
		    get->earlier->at_ns + (uint64_t)sim_options()->gpm_least_ms * 1000000)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (get->version != NVML_GPM_METRICS_GET_VERSION)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	load = sim_nvml_load(get->earlier->device, get->earlier->at_ns, get->later->at_ns);
	for (uint32_t i = 0; i < get->metric_count; i++)
		get_metric(&get->metrics[i], load);
	return NVML_SUCCESS;
}

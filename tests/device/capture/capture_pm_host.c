/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_pm_host.c - metrics of PM sampling, by the host library alone
 *
 * Runs in:  capture_pm
 * Gets:     a chip's name, metrics' names
 * Gives:    a configuration of one pass, values
 * Owns:     the host object and the configuration
 * Fails:    by a fact of the capture
 * Why:      which metrics fit into one pass is nowhere written down: each is added and the passes
 *           counted, half a millisecond to ten each after the first 50 to 300 ms
 */
#include "capture_pm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const base_metrics[] = {
	"gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
	"sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
	"sm__warps_active.avg.pct_of_peak_sustained_elapsed",
	"dram__throughput.avg.pct_of_peak_sustained_elapsed",
	"dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
	"dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
	"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
	"pcie__read_bytes.sum.per_second",
	"pcie__write_bytes.sum.per_second",
	"nvlrx__bytes.sum.per_second",
	"nvltx__bytes.sum.per_second",
	"lts__t_sectors.sum.per_second",
	"gpc__cycles_elapsed.avg.per_second",
	"sys__cycles_elapsed.avg.per_second",
	"gr__dispatch_count.sum",
};
enum { BASE_METRICS = sizeof(base_metrics) / sizeof(*base_metrics) };

bool pm_host_open(struct pm_host *host, const char *chip, const uint8_t *availability)
{
	struct cupti_host_initialize_params params = {
		.struct_bytes = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
		.profiler_type = CUPTI_PROFILER_TYPE_PM_SAMPLING,
		.chip_name = chip,
		.counter_availability = availability};

	if (!CUPTI_CALL(host->cupti, host->file, cuptiProfilerHostInitialize, &params))
		return false;
	host->object = params.ret_object;
	return true;
}

void pm_host_close(struct pm_host *host)
{
	struct cupti_host_deinitialize_params params = {
		.struct_bytes = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
		.object = host->object};

	if (host->object)
		CUPTI_CALL(host->cupti, host->file, cuptiProfilerHostDeinitialize, &params);
	host->object = NULL;
}

/* The image of all that was added so far. */
static bool make_config(struct pm_host *host, size_t *ret_passes)
{
	struct cupti_host_config_image_size_params ask = {
		.struct_bytes = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
		.object = host->object};
	struct cupti_host_config_image_params get = {
		.struct_bytes = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
		.object = host->object};
	struct cupti_host_num_of_passes_params passes = {
		.struct_bytes = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};

	if (!CUPTI_CALL(host->cupti, host->file, cuptiProfilerHostGetConfigImageSize, &ask))
		return false;
	free(host->config);
	host->config = calloc(1, ask.ret_bytes + 1);
	host->config_bytes = get.image_bytes = passes.image_bytes = ask.ret_bytes;
	get.image = passes.image = host->config;
	if (!host->config ||
	    !CUPTI_CALL(host->cupti, host->file, cuptiProfilerHostGetConfigImage, &get) ||
	    !CUPTI_CALL(host->cupti, host->file, cuptiProfilerHostGetNumOfPasses, &passes))
		return false;
	*ret_passes = passes.ret_count;
	return true;
}

/* Not through CUPTI_CALL: a metric that this chip has not is no failure. */
static cupti_result add(struct pm_host *host, const char **names, size_t count)
{
	struct cupti_host_config_add_metrics_params params = {
		.struct_bytes = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
		.object = host->object,
		.metric_names = names,
		.metric_count = count};

	if (!host->cupti->call.cuptiProfilerHostConfigAddMetrics)
		return CAPTURE_ABSENT;
	return host->cupti->call.cuptiProfilerHostConfigAddMetrics(&params);
}

/* Whether all of the names go into one pass; where `host` is given, it is left open with them. */
static bool fits(struct pm_host *host, const char *chip, const uint8_t *availability)
{
	size_t passes = 0;
	bool good;

	good = pm_host_open(host, chip, availability) &&
	       add(host, host->metrics, host->metric_count) == 0 && make_config(host, &passes) &&
	       passes == 1;
	if (!good)
		pm_host_close(host);
	return good;
}

bool pm_host_take(struct pm_host *host, const char *chip, const uint8_t *availability,
		  const char *const *names, size_t count)
{
	host->metric_count = count < MAX_PM_METRICS ? count : MAX_PM_METRICS;
	memcpy(host->metrics, names, host->metric_count * sizeof(*names));
	return host->metric_count && fits(host, chip, availability);
}

bool pm_host_choose(struct pm_host *host, const char *chip, const uint8_t *availability,
		    const char *const *names, size_t count)
{
	const char *good[MAX_PM_METRICS];
	size_t good_count = 0;

	for (size_t i = 0; i < count && good_count < MAX_PM_METRICS; i++) {
		struct pm_host trial = {.cupti = host->cupti};

		good[good_count] = names[i];
		if (pm_host_take(&trial, chip, availability, good, good_count + 1))
			good_count++;
		else
			capture_fact(host->file, "pm.left_out", "%s", names[i]);
		pm_host_close(&trial);
		free(trial.config);
	}
	return pm_host_take(host, chip, availability, good, good_count);
}

bool pm_host_evaluate(struct pm_host *host, const uint8_t *counters, size_t bytes, size_t index,
		      double *ret_values)
{
	struct cupti_host_evaluate_params params = {
		.struct_bytes = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
		.object = host->object,
		.counter_data = counters,
		.counter_data_bytes = bytes,
		.range_index = index,
		.metric_names = host->metrics,
		.metric_count = host->metric_count,
		.ret_values = ret_values};

	return CUPTI_CALL(host->cupti, host->file, cuptiProfilerHostEvaluateToGpuValues, &params);
}

static bool has_all(const char *name, const char *word, const char *suffix, const char **ret_name)
{
	char *text;

	if (!strstr(name, word) || asprintf(&text, "%s%s", name, suffix) < 0)
		return false;
	*ret_name = text;
	return true;
}

static size_t find_named(struct pm_host *host, const char *word, const char *suffix,
			 const char **ret_names, size_t most)
{
	size_t found = 0;

	for (uint32_t type = CUPTI_METRIC_TYPE_COUNTER; type <= CUPTI_METRIC_TYPE_THROUGHPUT;
	     type++) {
		struct cupti_host_base_metrics_params params = {
			.struct_bytes = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE,
			.object = host->object,
			.metric_type = type};

		if (!CUPTI_CALL(host->cupti, host->file, cuptiProfilerHostGetBaseMetrics, &params))
			continue;
		for (size_t i = 0; i < params.ret_count && found < most; i++)
			found += has_all(params.ret_names[i], word,
					 type == CUPTI_METRIC_TYPE_COUNTER ? suffix : "",
					 &ret_names[found]);
	}
	return found;
}

size_t pm_host_names(struct pm_host *host, const char *chip, const uint8_t *availability,
		     const char *set, const char *ret_names[MAX_PM_METRICS])
{
	size_t count = 0;

	if (strcmp(set, "triage") || !pm_host_open(host, chip, availability)) {
		memcpy(ret_names, base_metrics, sizeof(base_metrics));
		return BASE_METRICS;
	}
	count = find_named(host, "Triage", ".sum", ret_names, MAX_PM_METRICS);
	pm_host_close(host);
	return count;
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/sim/test_sim_counters.c - PC sampling, PM sampling and NVML of the simulated NVIDIA
 * libraries
 *
 *	test_sim_counters FOLDER      the folder with the libraries
 */
#include <math.h>

#include "sim_client.h"
#include "sim/nvidia/nvml_abi.h"

/* ---- PC sampling ----------------------------------------------------------------------------- */

enum { MAX_STALLS = 64, MAX_PCS = 256 };

static struct {
	uint8_t bytes[MAX_PCS * sizeof(struct cupti_pc_data)];
	struct cupti_pc_stall_reason stalls[MAX_PCS][MAX_STALLS];
	struct cupti_pc_sampling_data data;
	size_t stride;
	uint64_t samples_of[2], stalls_sum;
	bool is_duplicated;
	char *names[64]; /* to be freed; records share them */
	size_t name_count;
} pc;

static void pc_keep_name(char *name)
{
	for (size_t i = 0; i < pc.name_count; i++)
		if (pc.names[i] == name)
			return;
	if (pc.name_count < sizeof(pc.names) / sizeof(*pc.names))
		pc.names[pc.name_count++] = name;
}

static void pc_free_names(void)
{
	while (pc.name_count)
		free(pc.names[--pc.name_count]);
}

static uint32_t stall_indices[MAX_STALLS];
static char stall_texts[MAX_STALLS][CUPTI_STALL_REASON_STRING_SIZE];
static size_t stall_count;

static cupti_result pc_enable(void)
{
	struct cupti_pc_sampling_enable_params params = {
		.struct_bytes = CUpti_PCSamplingEnableParamsSize, .context = client_context};

	return cupti.cuptiPCSamplingEnable(&params);
}

static cupti_result pc_disable(void)
{
	struct cupti_pc_sampling_disable_params params = {
		.struct_bytes = CUpti_PCSamplingDisableParamsSize, .context = client_context};

	return cupti.cuptiPCSamplingDisable(&params);
}

static cupti_result pc_configure(uint32_t attribute, uint32_t value)
{
	struct cupti_pc_sampling_configuration_info info = {.attribute = attribute,
							    .value.period_exponent = value};
	struct cupti_pc_sampling_configuration_params params = {
		.struct_bytes = CUpti_PCSamplingConfigurationInfoParamsSize,
		.context = client_context,
		.info_count = 1,
		.infos = &info};
	cupti_result result = cupti.cuptiPCSamplingSetConfigurationAttribute(&params);

	CHECK_EQUAL(info.ret_status, result);
	return result;
}

static void pc_read_names(void)
{
	char *names[MAX_STALLS];
	struct cupti_pc_sampling_num_stall_reasons_params number = {
		.struct_bytes = CUpti_PCSamplingGetNumStallReasonsParamsSize,
		.context = client_context,
		.ret_count = &stall_count};
	struct cupti_pc_sampling_stall_reasons_params params = {
		.struct_bytes = CUpti_PCSamplingGetStallReasonsParamsSize,
		.context = client_context,
		.ret_indices = stall_indices,
		.ret_names = names};

	CHECK_EQUAL(cupti.cuptiPCSamplingGetNumStallReasons(&number), 0);
	REQUIRE(stall_count <= MAX_STALLS);
	for (size_t i = 0; i < stall_count; i++)
		names[i] = stall_texts[i];
	params.count = stall_count;
	CHECK_EQUAL(cupti.cuptiPCSamplingGetStallReasons(&params), 0);
}

static bool is_named(uint32_t index, const char *end)
{
	for (size_t i = 0; i < stall_count; i++) {
		const char *text = stall_texts[i];

		if (stall_indices[i] == index)
			return strlen(text) > strlen(end) &&
			       strcmp(text + strlen(text) - strlen(end), end) == 0;
	}
	return false;
}

/* -> GetData's result; adds the samples up by function. */
static cupti_result pc_get(size_t capacity, uint32_t *ret_correlation_id)
{
	struct cupti_pc_sampling_get_data_params params = {
		.struct_bytes = CUpti_PCSamplingGetDataParamsSize,
		.context = client_context,
		.data = &pc.data};
	cupti_result result;

	memset(pc.bytes, 0, sizeof(pc.bytes));
	pc.data = (struct cupti_pc_sampling_data){.struct_bytes = sizeof(pc.data),
						  .capacity_count = capacity,
						  .pcs = (void *)pc.bytes};
	for (size_t i = 0; i < capacity; i++)
		((struct cupti_pc_data *)(void *)(pc.bytes + i * pc.stride))->stalls = pc.stalls[i];
	result = cupti.cuptiPCSamplingGetData(&params);
	for (size_t i = 0; i < pc.data.pc_count; i++) {
		struct cupti_pc_data *one = (void *)(pc.bytes + i * pc.stride);
		bool is_other = strcmp(one->function_name, "spin") != 0;

		CHECK_EQUAL(one->struct_bytes, pc.stride);
		CHECK(one->pc_offset_bytes % 16 == 0 && one->pc_offset_bytes < 1024);
		CHECK(one->cubin_crc != 0);
		for (size_t k = 0; k < one->stall_count; k++)
			if (!is_named(one->stalls[k].stall_index, "_not_issued"))
				pc.samples_of[is_other] += one->stalls[k].sample_count;
		if (ret_correlation_id)
			*ret_correlation_id = one->correlation_id;
		pc_keep_name(one->function_name);
	}
	return result;
}

static void pc_run(int count)
{
	for (int i = 0; i < count; i++) {
		CHECK_EQUAL(client_launch(client_spin, NULL), 0);
		CHECK_EQUAL(client_launch(client_other, NULL), 0);
	}
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
}

static void run_pc(void)
{
	uint64_t expected = UINT64_C(10) * 20 * 1980 * 132 >> 12;
	uint64_t sum = 0;
	uint32_t correlation_id = 9;

	REQUIRE(client_init() && client_make_context());
	pc.stride = sizeof(struct cupti_pc_data);
	pc_read_names();
	CHECK_EQUAL(stall_count, 38);
	CHECK_TEXT(stall_texts[0], "smsp__pcsamp_warps_issue_stalled_barrier");
	CHECK_TEXT(stall_texts[13], "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued");
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), CUPTI_ERROR_INVALID_OPERATION);
	CHECK_EQUAL(pc_enable(), 0);
	CHECK_EQUAL(pc_enable(), CUPTI_ERROR_INVALID_OPERATION);
	CHECK_EQUAL(pc_configure(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, 4),
		    CUPTI_ERROR_INVALID_PARAMETER);
	CHECK_EQUAL(pc_configure(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, 12), 0);
	pc_run(10);
	CHECK_EQUAL(pc_get(100, &correlation_id), 0);
	CHECK_EQUAL(pc.data.pc_count, 100);
	CHECK_EQUAL(pc.data.remaining_count, 28);
	CHECK_EQUAL(correlation_id, 0);
	sum = pc.data.sample_count - pc.data.foreign_sample_count;
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), 0);
	sum += pc.data.sample_count - pc.data.foreign_sample_count;
	CHECK_EQUAL(pc.data.remaining_count, 0);
	CHECK_EQUAL(sum, pc.samples_of[0] + pc.samples_of[1]);
	CHECK(pc.samples_of[0] + 20 > expected && pc.samples_of[0] <= expected);
	CHECK(pc.samples_of[1] + 40 > 2 * expected && pc.samples_of[1] <= 2 * expected);
	CHECK_EQUAL(pc_disable(), 0);
	CHECK_EQUAL(pc_disable(), CUPTI_ERROR_INVALID_OPERATION);
	pc_free_names();
}

/* Before 12.4: 56 bytes. And a buffer that gets the rest at the end. */
static void run_pc_old(void)
{
	REQUIRE(client_init() && client_make_context());
	pc.stride = sizeof(struct cupti_pc_data_56);
	CHECK_EQUAL(pc.stride, 56);
	pc_read_names();
	CHECK_EQUAL(pc_enable(), 0);
	pc_run(3);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), 0);
	CHECK_EQUAL(pc.data.pc_count, 128);
	CHECK_EQUAL(pc_disable(), 0);
	pc_free_names();
}

static void run_pc_serialized(void)
{
	struct cupti_pc_sampling_start_params start = {.struct_bytes =
							       CUpti_PCSamplingStartParamsSize};
	struct cupti_pc_sampling_stop_params stop = {.struct_bytes =
							     CUpti_PCSamplingStopParamsSize};
	uint32_t correlation_id = 0;
	uint64_t range_id;

	REQUIRE(client_init() && client_make_context());
	pc.stride = sizeof(struct cupti_pc_data);
	pc_read_names();
	start.context = stop.context = client_context;
	CHECK_EQUAL(pc_enable(), 0);
	CHECK_EQUAL(cupti.cuptiPCSamplingStart(&start), CUPTI_ERROR_INVALID_OPERATION);
	CHECK_EQUAL(pc_configure(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
				 CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED),
		    0);
	CHECK_EQUAL(pc_configure(
			    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL, 1),
		    0);
	pc_run(1);
	CHECK_EQUAL(cupti.cuptiPCSamplingStart(&start), 0);
	pc_run(1);
	CHECK_EQUAL(cupti.cuptiPCSamplingStop(&stop), 0);
	pc_run(1);
	CHECK_EQUAL(pc_get(MAX_PCS, &correlation_id), 0);
	CHECK_EQUAL(pc.data.pc_count, 128);
	CHECK(correlation_id != 0);
	range_id = pc.data.range_id;
	CHECK_EQUAL(cupti.cuptiPCSamplingStart(&start), 0);
	CHECK_EQUAL(cupti.cuptiPCSamplingStop(&stop), 0);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), 0);
	CHECK(pc.data.range_id > range_id);
	CHECK_EQUAL(pc_disable(), 0);
	pc_free_names();
}

/* A buffer for the configuration, apart from that of pc_get. */
static struct {
	uint8_t bytes[MAX_PCS * sizeof(struct cupti_pc_data)];
	struct cupti_pc_stall_reason stalls[MAX_PCS][MAX_STALLS];
	struct cupti_pc_sampling_data data;
} live;

static void pc_give_buffer(void)
{
	struct cupti_pc_sampling_configuration_info info = {
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
		.value.data_buffer = &live.data};
	struct cupti_pc_sampling_configuration_params params = {
		.struct_bytes = CUpti_PCSamplingConfigurationInfoParamsSize,
		.context = client_context,
		.info_count = 1,
		.infos = &info};

	live.data = (struct cupti_pc_sampling_data){.struct_bytes = sizeof(live.data),
						    .capacity_count = 100,
						    .pcs = (void *)live.bytes};
	for (size_t i = 0; i < MAX_PCS; i++)
		((struct cupti_pc_data *)(void *)(live.bytes + i * pc.stride))->stalls =
			live.stalls[i];
	CHECK_EQUAL(cupti.cuptiPCSamplingSetConfigurationAttribute(&params), 0);
}

/* What a range gave is in the buffer of the configuration at its end, and is given from there. */
static void run_pc_ranges(void)
{
	struct cupti_pc_sampling_start_params start = {.struct_bytes =
							       CUpti_PCSamplingStartParamsSize};
	struct cupti_pc_sampling_stop_params stop = {.struct_bytes =
							     CUpti_PCSamplingStopParamsSize};

	REQUIRE(client_init() && client_make_context());
	pc.stride = sizeof(struct cupti_pc_data);
	pc_read_names();
	start.context = stop.context = client_context;
	CHECK_EQUAL(pc_enable(), 0);
	pc_give_buffer();
	CHECK_EQUAL(pc_configure(
			    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL, 1),
		    0);
	CHECK_EQUAL(cupti.cuptiPCSamplingStart(&start), 0);
	pc_run(3);
	CHECK_EQUAL(live.data.pc_count, 0);
	CHECK_EQUAL(cupti.cuptiPCSamplingStop(&stop), 0);
	CHECK_EQUAL(live.data.pc_count, 100);
	CHECK_EQUAL(live.data.remaining_count, 28);
	CHECK_EQUAL(live.data.range_id, 1);
	CHECK_EQUAL(pc_get(60, NULL), 0);
	CHECK_EQUAL(pc.data.pc_count, 60);
	CHECK_EQUAL(pc.data.remaining_count, 68);
	CHECK_EQUAL(live.data.pc_count, 40);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), 0);
	CHECK_EQUAL(pc.data.pc_count, 68);
	CHECK_EQUAL(live.data.pc_count + live.data.remaining_count, 0);
	CHECK_EQUAL(cupti.cuptiPCSamplingStart(&start), 0);
	pc_run(1);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), 0);
	CHECK_EQUAL(pc.data.pc_count, 0);
	CHECK_EQUAL(cupti.cuptiPCSamplingStop(&stop), 0);
	CHECK_EQUAL(pc_disable(), 0);
	CHECK_EQUAL(live.data.pc_count, 100);
	CHECK_EQUAL(live.data.range_id, 2);
	for (size_t i = 0; i < live.data.pc_count; i++)
		pc_keep_name(((struct cupti_pc_data *)(void *)(live.bytes + i * pc.stride))
				     ->function_name);
	pc_free_names();
}

/* In serialized mode each kernel is a range, which is over when its launch returns. */
static void run_pc_kernel_ranges(void)
{
	REQUIRE(client_init() && client_make_context());
	pc.stride = sizeof(struct cupti_pc_data);
	pc_read_names();
	CHECK_EQUAL(pc_enable(), 0);
	pc_give_buffer();
	CHECK_EQUAL(pc_configure(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
				 CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED),
		    0);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	CHECK_EQUAL(live.data.pc_count, 64);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	CHECK_EQUAL(live.data.pc_count + live.data.remaining_count, 128);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), 0);
	CHECK_EQUAL(pc.data.pc_count, 128);
	CHECK_EQUAL(live.data.pc_count, 0);
	CHECK_EQUAL(pc_disable(), 0);
	pc_free_names();
}

/* Full once is full until it is disabled and enabled. */
static void run_pc_wedge(void)
{
	REQUIRE(client_init() && client_make_context());
	pc.stride = sizeof(struct cupti_pc_data);
	pc_read_names();
	CHECK_EQUAL(pc_enable(), 0);
	pc_run(3);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), CUPTI_ERROR_OUT_OF_MEMORY);
	CHECK(pc.data.is_hardware_buffer_full);
	CHECK(pc.data.dropped_count > 0);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), CUPTI_ERROR_OUT_OF_MEMORY);
	CHECK_EQUAL(pc_disable(), 0);
	CHECK_EQUAL(pc_enable(), 0);
	CHECK_EQUAL(pc_get(MAX_PCS, NULL), 0);
	CHECK_EQUAL(pc_disable(), 0);
	pc_free_names();
}

/* ---- PM sampling ----------------------------------------------------------------------------- */

enum { METRICS = 3, MAX_SAMPLES = 100 };

static const char *metric_names[METRICS] = {"gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
					    "gpc__cycles_elapsed.avg.per_second",
					    "pcie__read_bytes.sum.per_second"};

static struct {
	cupti_host_object host;
	cupti_pm_sampling_object object;
	uint8_t *config, *data;
	size_t config_bytes, data_bytes;
	uint8_t availability[64];
} pm;

static size_t host_passes(const char *chip, const char **names, size_t count)
{
	struct cupti_host_initialize_params init = {
		.struct_bytes = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
		.profiler_type = CUPTI_PROFILER_TYPE_PM_SAMPLING,
		.chip_name = chip,
		.counter_availability = pm.availability};
	struct cupti_host_config_add_metrics_params add = {
		.struct_bytes = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
		.metric_names = names,
		.metric_count = count};
	struct cupti_host_config_image_size_params size = {
		.struct_bytes = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
	struct cupti_host_config_image_params image = {
		.struct_bytes = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
	struct cupti_host_num_of_passes_params passes = {
		.struct_bytes = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};

	if (cupti.cuptiProfilerHostInitialize(&init))
		return 1000;
	pm.host = add.object = size.object = image.object = init.ret_object;
	if (cupti.cuptiProfilerHostConfigAddMetrics(&add) ||
	    cupti.cuptiProfilerHostGetConfigImageSize(&size))
		return 1001;
	free(pm.config);
	pm.config = image.image = passes.image = malloc(size.ret_bytes);
	pm.config_bytes = image.image_bytes = passes.image_bytes = size.ret_bytes;
	if (cupti.cuptiProfilerHostGetConfigImage(&image) ||
	    cupti.cuptiProfilerHostGetNumOfPasses(&passes))
		return 1002;
	return passes.ret_count;
}

static void host_end(void)
{
	struct cupti_host_deinitialize_params params = {
		.struct_bytes = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
		.object = pm.host};

	CHECK_EQUAL(cupti.cuptiProfilerHostDeinitialize(&params), 0);
	free(pm.config);
	pm.config = NULL;
}

/* No driver, and all of it works. */
static void run_host(void)
{
	const char *names[] = {"gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
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
			       "sm__inst_issued.sum.per_second"};
	const char *bad = "gpu__compute_memory_throughput.avg";
	struct cupti_host_base_metrics_params base = {
		.struct_bytes = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE};
	struct cupti_host_config_add_metrics_params add = {.metric_names = &bad, .metric_count = 1};
	struct cupti_profiler_initialize_params init = {.struct_bytes = 16};

	REQUIRE(!client_open_cupti());
	CHECK_EQUAL(host_passes("GH100", names, 15), 1);
	host_end();
	CHECK_EQUAL(host_passes("GH100", names, 16), 2);
	add.object = base.object = pm.host;
	CHECK_EQUAL(cupti.cuptiProfilerHostConfigAddMetrics(&add), CUPTI_ERROR_INVALID_METRIC_NAME);
	CHECK_EQUAL(cupti.cuptiProfilerHostGetBaseMetrics(&base), 0);
	CHECK(base.ret_count >= 10);
	host_end();
	CHECK_EQUAL(host_passes("XX100", names, 1), 1000);
	CHECK_EQUAL(cupti.cuptiProfilerInitialize(&init), CUPTI_ERROR_UNKNOWN);
}

static cupti_result pm_enable(void)
{
	struct cupti_pm_sampling_enable_params params = {
		.struct_bytes = CUpti_PmSampling_Enable_Params_STRUCT_SIZE};
	cupti_result result = cupti.cuptiPmSamplingEnable(&params);

	if (!result)
		pm.object = params.ret_object;
	return result;
}

static cupti_result pm_start(void)
{
	struct cupti_pm_sampling_start_params params = {
		.struct_bytes = CUpti_PmSampling_Start_Params_STRUCT_SIZE, .object = pm.object};

	return cupti.cuptiPmSamplingStart(&params);
}

static cupti_result pm_stop(void)
{
	struct cupti_pm_sampling_stop_params params = {
		.struct_bytes = CUpti_PmSampling_Stop_Params_STRUCT_SIZE, .object = pm.object};

	return cupti.cuptiPmSamplingStop(&params);
}

/* Up to and with the start, one sample a millisecond. */
static bool pm_begin(void)
{
	struct cupti_pm_sampling_counter_availability_params availability = {
		.struct_bytes = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE};
	struct cupti_pm_sampling_set_config_params config = {
		.struct_bytes = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE,
		.hardware_buffer_bytes = 64 << 20,
		.interval = 1000000,
		.trigger_mode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
		.append_mode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST};
	struct cupti_pm_sampling_counter_data_size_params size = {
		.struct_bytes = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
		.metric_names = metric_names,
		.metric_count = METRICS,
		.max_sample_count = MAX_SAMPLES};

	if (cupti.cuptiPmSamplingGetCounterAvailability(&availability) ||
	    availability.image_bytes > sizeof(pm.availability))
		return false;
	availability.image = pm.availability;
	if (cupti.cuptiPmSamplingGetCounterAvailability(&availability) || pm_enable())
		return false;
	if (host_passes("GH100", metric_names, METRICS) != 1)
		return false;
	config.object = size.object = pm.object;
	config.config = pm.config;
	config.config_bytes = pm.config_bytes;
	if (pm_start() != CUPTI_ERROR_INVALID_OPERATION)
		return false;
	if (cupti.cuptiPmSamplingSetConfig(&config) ||
	    cupti.cuptiPmSamplingGetCounterDataSize(&size))
		return false;
	pm.data = malloc(size.ret_bytes);
	pm.data_bytes = size.ret_bytes;
	return pm_start() == CUPTI_SUCCESS;
}

static void pm_end(void)
{
	struct cupti_pm_sampling_disable_params params = {
		.struct_bytes = CUpti_PmSampling_Disable_Params_STRUCT_SIZE, .object = pm.object};

	CHECK_EQUAL(cupti.cuptiPmSamplingDisable(&params), 0);
	host_end();
	free(pm.data);
}

/* -> how many samples, in a fresh image */
static size_t pm_decode(uint32_t *ret_stop_reason, bool *ret_overflow)
{
	struct cupti_pm_sampling_counter_data_initialize_params init = {
		.struct_bytes = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
		.object = pm.object,
		.counter_data = pm.data,
		.counter_data_bytes = pm.data_bytes};
	struct cupti_pm_sampling_decode_data_params decode = {
		.struct_bytes = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
		.object = pm.object,
		.counter_data = pm.data,
		.counter_data_bytes = pm.data_bytes};
	struct cupti_pm_sampling_counter_data_info_params info = {
		.struct_bytes = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
		.counter_data = pm.data,
		.counter_data_bytes = pm.data_bytes};

	CHECK_EQUAL(cupti.cuptiPmSamplingCounterDataImageInitialize(&init), 0);
	CHECK_EQUAL(cupti.cuptiPmSamplingDecodeData(&decode), 0);
	CHECK_EQUAL(cupti.cuptiPmSamplingGetCounterDataInfo(&info), 0);
	CHECK_EQUAL(info.ret_total_count, MAX_SAMPLES);
	if (ret_stop_reason)
		*ret_stop_reason = decode.ret_stop_reason;
	if (ret_overflow)
		*ret_overflow = decode.ret_overflow;
	return info.ret_completed_count;
}

static double pm_value(size_t sample, size_t metric)
{
	double values[METRICS] = {-1, -1, -1};
	struct cupti_host_evaluate_params params = {
		.struct_bytes = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
		.object = pm.host,
		.counter_data = pm.data,
		.counter_data_bytes = pm.data_bytes,
		.range_index = sample,
		.metric_names = metric_names,
		.metric_count = METRICS,
		.ret_values = values};

	CHECK_EQUAL(cupti.cuptiProfilerHostEvaluateToGpuValues(&params), 0);
	return values[metric];
}

static void pm_check_times(size_t count, uint64_t from_ns)
{
	struct cupti_pm_sampling_sample_info_params params = {
		.struct_bytes = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
		.object = pm.object,
		.counter_data = pm.data,
		.counter_data_bytes = pm.data_bytes};
	uint64_t before_ns = 0;

	for (size_t i = 0; i < count; i++) {
		params.sample_index = i;
		CHECK_EQUAL(cupti.cuptiPmSamplingCounterDataGetSampleInfo(&params), 0);
		CHECK(llabs((long long)(params.ret_end_ns - params.ret_start_ns) - 1000000) < 5000);
		CHECK(params.ret_start_ns >= before_ns && params.ret_start_ns + 50000 > from_ns);
		before_ns = params.ret_start_ns;
	}
	CHECK(before_ns < client_now());
}

/* Samples within the kernel and behind it; it was launched between the two times and takes 30
 * ms. */
static void pm_check_values(size_t count, uint64_t enter_ns, uint64_t exit_ns)
{
	struct cupti_pm_sampling_sample_info_params params = {
		.struct_bytes = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
		.object = pm.object,
		.counter_data = pm.data,
		.counter_data_bytes = pm.data_bytes};
	size_t within = 0, behind = 0;

	for (size_t i = 0; i < count; i++) {
		params.sample_index = i;
		CHECK_EQUAL(cupti.cuptiPmSamplingCounterDataGetSampleInfo(&params), 0);
		CHECK_EQUAL(isnan(pm_value(i, 0)) != 0, i % 20 == 19);
		if (i % 20 == 19)
			continue;
		if (params.ret_start_ns > exit_ns + 1000000 &&
		    params.ret_end_ns < enter_ns + 29000000) {
			CHECK(pm_value(i, 0) > 90 && pm_value(i, 0) <= 100);
			CHECK(pm_value(i, 2) > 1e9);
			within++;
		} else if (params.ret_start_ns > exit_ns + 31000000) {
			CHECK(pm_value(i, 0) == 0);
			behind++;
		}
		CHECK(pm_value(i, 1) == 1.98e9);
	}
	CHECK(exit_ns - enter_ns > 5000000 || (within && behind) || count == MAX_SAMPLES);
}

/* Kernels of 30 ms at one end of 60 ms, by a clock of our own. */
static void run_pm(void)
{
	uint64_t begin_ns, enter_ns, exit_ns;
	uint32_t reason;
	bool is_over;
	size_t count;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cupti.cuptiActivityRegisterTimestampCallback(client_now), 0);
	begin_ns = client_now();
	REQUIRE(pm_begin());
	enter_ns = client_now();
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	exit_ns = client_now();
	usleep(60000);
	count = pm_decode(&reason, &is_over);
	CHECK(count >= 59 && count <= MAX_SAMPLES);
	CHECK(reason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS ||
	      count == MAX_SAMPLES);
	CHECK(!is_over);
	pm_check_times(count, begin_ns);
	pm_check_values(count, enter_ns, exit_ns);
	usleep(130000);
	count = pm_decode(&reason, &is_over);
	CHECK_EQUAL(count, MAX_SAMPLES);
	CHECK_EQUAL(reason, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
	CHECK_EQUAL(pm_stop(), 0);
	while (reason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL)
		pm_decode(&reason, &is_over);
	CHECK_EQUAL(pm_decode(&reason, &is_over), 0);
	CHECK_EQUAL(pm_enable(), CUPTI_ERROR_INVALID_OPERATION);
	pm_end();
}

/* 20 samples are room for: the oldest are kept, until it is started again. */
static void run_pm_overflow(void)
{
	uint32_t reason;
	bool is_over;

	REQUIRE(client_init());
	REQUIRE(pm_begin());
	usleep(40000);
	CHECK_EQUAL(pm_decode(&reason, &is_over), 20);
	CHECK(is_over);
	usleep(10000);
	CHECK_EQUAL(pm_decode(&reason, &is_over), 0);
	CHECK(is_over);
	CHECK_EQUAL(reason, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER); /* each second time */
	CHECK_EQUAL(pm_stop(), 0);
	CHECK_EQUAL(pm_start(), 0);
	usleep(5000);
	CHECK(pm_decode(&reason, &is_over) > 0);
	pm_end();
}

static void run_forbidden(void)
{
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(pc_enable(), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	CHECK_EQUAL(pm_enable(), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
}

static void run_busy(void)
{
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(pc_enable(), CUPTI_ERROR_HARDWARE_BUSY);
	CHECK_EQUAL(pm_enable(), CUPTI_ERROR_HARDWARE_BUSY);
}

/* ---- NVML ------------------------------------------------------------------------------------ */

static struct nvml_all_functions nvml;
static nvmlDevice_t device;

static bool nvml_open(void)
{
	void *library = client_open("libnvidia-ml.so.1");

	if (!library)
		return false;
#define X(need, name, parameters)                                 \
	nvml.name = (__typeof__(nvml.name))dlsym(library, #name); \
	if (!nvml.name)                                           \
		return false;
	NVML_ALL_FUNCTIONS(X)
#undef X
	return true;
}

static bool nvml_begin(void)
{
	return nvml_open() && !nvml.nvmlInit_v2() &&
	       !nvml.nvmlDeviceGetHandleByIndex_v2(0, &device);
}

static void run_nvml_identity(void)
{
	struct nvml_pci_info pci;
	unsigned count = 0;
	nvmlDevice_t other;
	char text[96], expected[96];
	CUuuid uuid;
	int length;

	REQUIRE(nvml_open());
	CHECK_EQUAL(nvml.nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
	REQUIRE(nvml_begin());
	CHECK_EQUAL(nvml.nvmlDeviceGetCount_v2(&count), 0);
	CHECK_EQUAL(count, 2);
	CHECK_EQUAL(nvml.nvmlDeviceGetHandleByIndex_v2(2, &other), NVML_ERROR_INVALID_ARGUMENT);
	REQUIRE(!client_open_cuda() && !cu.cuInit(0));
	CHECK_EQUAL(cu.cuDeviceGetUuid_v2(&uuid, 1), 0);
	CHECK_EQUAL(nvml.nvmlDeviceGetHandleByIndex_v2(1, &other), 0);
	CHECK_EQUAL(nvml.nvmlDeviceGetUUID(other, text, sizeof(text)), 0);
	length = sprintf(expected, "GPU-");
	for (int i = 0; i < 16; i++)
		length += sprintf(expected + length, "%s%02x",
				  i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				  (uint8_t)uuid.bytes[i]);
	CHECK_TEXT(text, expected);
	CHECK_EQUAL(nvml.nvmlDeviceGetHandleByUUID(text, &device), 0);
	CHECK(device == other);
	CHECK_EQUAL(nvml.nvmlDeviceGetUUID(other, text, 4), NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK_EQUAL(nvml.nvmlDeviceGetPciInfo_v3(other, &pci), 0);
	CHECK_EQUAL(cu.cuDeviceGetPCIBusId(text, sizeof(text), 1), 0);
	CHECK_TEXT(pci.legacy_bus_id, text);
	CHECK_EQUAL(nvml.nvmlDeviceGetHandleByPciBusId_v2(text, &device), 0);
	CHECK(device == other);
	CHECK_EQUAL(nvml.nvmlShutdown(), 0);
	CHECK_EQUAL(nvml.nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

static void run_nvml_values(void)
{
	struct nvml_process_v2 processes[4];
	struct nvml_utilization idle = {0}, loaded = {0};
	struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
	struct nvml_field_value fields[2] = {{.field_id = NVML_FI_DEV_POWER_INSTANT},
					     {.field_id = 9999}};
	unsigned long long before_mj = 0, after_mj = 0;
	struct nvml_sample samples[64];
	unsigned mw = 0, count = 64, fan;
	nvmlValueType_t type;

	REQUIRE(nvml_begin());
	CHECK_EQUAL(nvml.nvmlDeviceGetUtilizationRates(device, &idle), 0);
	CHECK(idle.gpu_percent <= 20);
	CHECK_EQUAL(nvml.nvmlDeviceGetTotalEnergyConsumption(device, &before_mj), 0);
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	usleep(300000);
	CHECK_EQUAL(nvml.nvmlDeviceGetUtilizationRates(device, &loaded), 0);
	CHECK(loaded.gpu_percent >= 50);
	CHECK_EQUAL(nvml.nvmlDeviceGetPowerUsage(device, &mw), 0);
	CHECK(mw > 300000 && mw < 700000);
	CHECK_EQUAL(nvml.nvmlDeviceGetTotalEnergyConsumption(device, &after_mj), 0);
	CHECK(after_mj > before_mj + 20000);
	CHECK_EQUAL(nvml.nvmlDeviceGetMemoryInfo_v2(device, &memory), 0);
	CHECK_EQUAL(memory.used_bytes + memory.free_bytes + memory.reserved_bytes,
		    memory.total_bytes);
	memory.version = 1;
	CHECK_EQUAL(nvml.nvmlDeviceGetMemoryInfo_v2(device, &memory),
		    NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	CHECK_EQUAL(nvml.nvmlDeviceGetFieldValues(device, 2, fields), 0);
	CHECK_EQUAL(fields[0].result, 0);
	CHECK_EQUAL(fields[1].result, NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQUAL(nvml.nvmlDeviceGetSamples(device, NVML_TOTAL_POWER_SAMPLES, 0, &type, &count,
					      samples),
		    0);
	CHECK_EQUAL(count, 20);
	CHECK(samples[0].timestamp_us < samples[19].timestamp_us);
	count = 0;
	CHECK_EQUAL(nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes),
		    NVML_ERROR_INSUFFICIENT_SIZE);
	count = 4;
	CHECK_EQUAL(nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes), 0);
	CHECK_EQUAL(processes[0].pid, getpid());
	CHECK_EQUAL(nvml.nvmlDeviceGetFanSpeed(device, &fan), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQUAL(nvml.nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &fan), 15);
}

static void run_gpm(void)
{
	static struct nvml_gpm_metrics_get get = {.version = NVML_GPM_METRICS_GET_VERSION,
						  .metric_count = 2};
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};

	REQUIRE(nvml_begin());
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(nvml.nvmlGpmQueryDeviceSupport(device, &support), 0);
	CHECK_EQUAL(support.is_supported, 1);
	CHECK_EQUAL(nvml.nvmlGpmSampleAlloc(&get.earlier), 0);
	CHECK_EQUAL(nvml.nvmlGpmSampleAlloc(&get.later), 0);
	CHECK_EQUAL(nvml.nvmlGpmMetricsGet(&get), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	usleep(1000);
	CHECK_EQUAL(nvml.nvmlGpmSampleGet(device, get.earlier), 0);
	usleep(20000);
	CHECK_EQUAL(nvml.nvmlGpmSampleGet(device, get.later), 0);
	get.metrics[0].metric_id = NVML_GPM_METRIC_GRAPHICS_UTIL;
	get.metrics[1].metric_id = NVML_GPM_METRIC_NVDEC_0_UTIL;
	CHECK_EQUAL(nvml.nvmlGpmMetricsGet(&get), 0);
	CHECK_EQUAL(get.metrics[0].result, 0);
	CHECK(get.metrics[0].value > 95 && get.metrics[0].value <= 100);
	CHECK_EQUAL(get.metrics[1].result, NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQUAL(nvml.nvmlGpmSampleFree(get.earlier), 0);
	CHECK_EQUAL(nvml.nvmlGpmSampleFree(get.later), 0);
}

static void run_nvml_poor(void)
{
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};
	struct nvml_memory memory;
	unsigned mw;

	REQUIRE(nvml_begin());
	CHECK_EQUAL(nvml.nvmlDeviceGetPowerUsage(device, &mw), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQUAL(nvml.nvmlDeviceGetMemoryInfo(device, &memory), 0);
	CHECK_EQUAL(nvml.nvmlGpmQueryDeviceSupport(device, &support), 0);
	CHECK_EQUAL(support.is_supported, 0);
}

/* Steps of a quarter and three quarters have a mean of a half, and so has what is used
 * meanwhile. */
static void run_nvml_script(void)
{
	unsigned long long mj, reasons;
	struct nvml_process_v2 process;
	struct nvml_utilization utilization;
	unsigned count = 1;

	REQUIRE(nvml_begin());
	usleep(300000);
	CHECK_EQUAL(nvml.nvmlDeviceGetUtilizationRates(device, &utilization), 0);
	CHECK(utilization.gpu_percent >= 48 && utilization.gpu_percent <= 52);
	CHECK_EQUAL(nvml.nvmlDeviceGetTotalEnergyConsumption(device, &mj), 0);
	CHECK(mj > 300 * 345 && mj < 30000 * 350);
	CHECK_EQUAL(nvml.nvmlDeviceGetCurrentClocksEventReasons(device, &reasons), 0);
	CHECK_EQUAL(reasons, 0x44);
	CHECK_EQUAL(nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, &process), 0);
	CHECK_EQUAL(count, 1);
	CHECK_EQUAL(process.pid, 4711);
}

static void run_nvml_lost(void)
{
	unsigned mw;

	REQUIRE(nvml_begin());
	usleep(200000);
	CHECK_EQUAL(nvml.nvmlDeviceGetPowerUsage(device, &mw), NVML_ERROR_GPU_IS_LOST);
}

static void run_mig(void)
{
	nvmlDevice_t instance, other;
	char text[96];
	unsigned number;

	REQUIRE(nvml_begin());
	CHECK_EQUAL(nvml.nvmlDeviceGetMigMode(device, &number, &number), 0);
	CHECK_EQUAL(number, 1);
	CHECK_EQUAL(nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, 1, &instance), 0);
	CHECK_EQUAL(nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, 2, &other),
		    NVML_ERROR_NOT_FOUND);
	CHECK_EQUAL(nvml.nvmlDeviceGetGpuInstanceId(instance, &number), 0);
	CHECK_EQUAL(number, 2);
	CHECK_EQUAL(nvml.nvmlDeviceGetUUID(instance, text, sizeof(text)), 0);
	CHECK(strncmp(text, "MIG-", 4) == 0);
}

static const struct scenario scenarios[] = {
	{"pc", "us__Z5otherPf=40", run_pc},
	{"pc_old", "version=20", run_pc_old},
	{"pc_serialized", "", run_pc_serialized},
	{"pc_ranges", "pc_lag_us=1000000", run_pc_ranges},
	{"pc_kernel_ranges", "", run_pc_kernel_ranges},
	{"pc_wedge", "pc_buffer=3000", run_pc_wedge},
	{"host", "", run_host},
	{"pm", "kernel_us=30000,pm_nan_every=20", run_pm},
	{"pm_overflow", "pm_buffer=20,pm_other_every=2", run_pm_overflow},
	{"forbidden", "privileges=0", run_forbidden},
	{"busy", "busy=1", run_busy},
	{"nvml_identity", "devices=2", run_nvml_identity},
	{"nvml_values", "kernel_us=1000000,fail_nvmlDeviceGetTemperature=15", run_nvml_values},
	{"gpm", "kernel_us=1000000", run_gpm},
	{"nvml_poor", "nvml_unsupported=1", run_nvml_poor},
	{"nvml_script", "nvml_load=0.25/0.75,nvml_step_ms=10,nvml_pid=4711,nvml_reasons=68",
	 run_nvml_script},
	{"nvml_lost", "nvml_lost_ms=150", run_nvml_lost},
	{"mig", "mig=2", run_mig},
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}

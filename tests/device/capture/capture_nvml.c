/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_nvml.c - what NVML and its GPM say of a GPU, ten times a second
 *
 *	capture_nvml OUT [seconds=N] [hz=N] [device=N] [gpm=0] [what=TEXT]
 *
 * Runs in:  a process of its own; no privilege is needed
 * Gets:     libnvidia-ml.so.1
 * Gives:    a capture: identity as facts, a series of values
 * Owns:     two GPM samples
 * Fails:    with status 1; 3: there is no NVML. A value that is not there is NAN in the series, and
 *           the code of its first failure a fact
 * Why:      it is the source of clocks, which PM sampling is said to lock, and needs no CUPTI
 */
#include "capture.h"
#include "sim/nvidia/nvml_abi.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NO_NVML = 3, GPM_KEYS = 20, MAX_PROCESSES = 64, NVML_ABSENT = 0xffff };

enum key {
	KEY_SM_MHZ,
	KEY_GRAPHICS_MHZ,
	KEY_MEMORY_MHZ,
	KEY_POWER_MW,
	KEY_ENERGY_MJ,
	KEY_CELSIUS,
	KEY_GPU_PERCENT,
	KEY_MEMORY_PERCENT,
	KEY_USED_MIB,
	KEY_REASONS,
	KEY_STATE,
	KEY_FAN_PERCENT,
	KEY_PCIE_TX_KB_S,
	KEY_PCIE_RX_KB_S,
	KEY_PROCESSES,
	KEY_COST_US,
	KEYS,
};

static const char *const key_names[KEYS] = {
	"sm_mhz",          "graphics_mhz",  "memory_mhz",        "power_mw",
	"energy_mj",       "celsius",       "gpu_percent",       "memory_percent",
	"memory_used_mib", "clock_reasons", "performance_state", "fan_percent",
	"pcie_tx_kb_s",    "pcie_rx_kb_s",  "compute_processes", "cost_us"};

static const struct {
	uint32_t id;
	const char *name;
} gpm_metrics[GPM_KEYS] = {
	{NVML_GPM_METRIC_GRAPHICS_UTIL, "gpm_graphics"},
	{NVML_GPM_METRIC_SM_UTIL, "gpm_sm"},
	{NVML_GPM_METRIC_SM_OCCUPANCY, "gpm_occupancy"},
	{NVML_GPM_METRIC_INTEGER_UTIL, "gpm_integer"},
	{NVML_GPM_METRIC_ANY_TENSOR_UTIL, "gpm_tensor"},
	{NVML_GPM_METRIC_DFMA_TENSOR_UTIL, "gpm_dfma"},
	{NVML_GPM_METRIC_HMMA_TENSOR_UTIL, "gpm_hmma"},
	{NVML_GPM_METRIC_DMMA_TENSOR_UTIL, "gpm_dmma"},
	{NVML_GPM_METRIC_IMMA_TENSOR_UTIL, "gpm_imma"},
	{NVML_GPM_METRIC_DRAM_BW_UTIL, "gpm_dram"},
	{NVML_GPM_METRIC_FP64_UTIL, "gpm_fp64"},
	{NVML_GPM_METRIC_FP32_UTIL, "gpm_fp32"},
	{NVML_GPM_METRIC_FP16_UTIL, "gpm_fp16"},
	{NVML_GPM_METRIC_PCIE_TX_PER_SEC, "gpm_pcie_tx_mib_s"},
	{NVML_GPM_METRIC_PCIE_RX_PER_SEC, "gpm_pcie_rx_mib_s"},
	{NVML_GPM_METRIC_NVDEC_0_UTIL, "gpm_nvdec_0"},
	{NVML_GPM_METRIC_NVJPG_0_UTIL, "gpm_nvjpg_0"},
	{NVML_GPM_METRIC_NVOFA_0_UTIL, "gpm_nvofa_0"},
	{NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, "gpm_nvlink_rx_mib_s"},
	{NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, "gpm_nvlink_tx_mib_s"},
};

struct meter {
	struct nvml_all_functions call;
	struct capture_file *file;
	nvmlDevice_t device;
	nvmlGpmSample_t samples[2];
	const char *out, *what;
	double seconds, hz;
	unsigned index, has_failed[KEYS];
	bool has_gpm, wants_gpm;
	uint32_t newest; /* of the samples */
	uint64_t rows, gpm_failures;
	double row[1 + KEYS + GPM_KEYS];
};

#define NVML(meter, name, ...) \
	((meter)->call.name ? (meter)->call.name(__VA_ARGS__) : (nvmlReturn_t)NVML_ABSENT)

static const char *text_of(const struct meter *meter, nvmlReturn_t result)
{
	if (result == NVML_ABSENT)
		return "this libnvidia-ml has no such function";
	return meter->call.nvmlErrorString ? meter->call.nvmlErrorString(result) : "?";
}

static void set(struct meter *meter, enum key key, nvmlReturn_t result, double value)
{
	char fact[64];

	meter->row[1 + key] = result == NVML_SUCCESS ? value : NAN;
	if (result == NVML_SUCCESS || meter->has_failed[key])
		return;
	meter->has_failed[key] = 1;
	snprintf(fact, sizeof(fact), "absent.%s", key_names[key]);
	capture_fact(meter->file, fact, "%u %s", result, text_of(meter, result));
}

static void read_clocks(struct meter *meter)
{
	static const struct {
		enum key key;
		nvmlClockType_t type;
	} clocks[] = {{KEY_SM_MHZ, NVML_CLOCK_SM},
		      {KEY_GRAPHICS_MHZ, NVML_CLOCK_GRAPHICS},
		      {KEY_MEMORY_MHZ, NVML_CLOCK_MEM}};
	unsigned long long reasons = 0;
	nvmlReturn_t result;
	unsigned value = 0;

	for (uint32_t i = 0; i < 3; i++) {
		result = NVML(meter, nvmlDeviceGetClockInfo, meter->device, clocks[i].type, &value);
		set(meter, clocks[i].key, result, value);
	}
	result = NVML(meter, nvmlDeviceGetCurrentClocksEventReasons, meter->device, &reasons);
	if (result != NVML_SUCCESS)
		result = NVML(meter, nvmlDeviceGetCurrentClocksThrottleReasons, meter->device,
			      &reasons);
	set(meter, KEY_REASONS, result, (double)reasons);
	result = NVML(meter, nvmlDeviceGetPerformanceState, meter->device, &value);
	set(meter, KEY_STATE, result, value);
}

static void read_power(struct meter *meter)
{
	unsigned long long energy = 0;
	nvmlReturn_t result;
	unsigned value = 0;

	result = NVML(meter, nvmlDeviceGetPowerUsage, meter->device, &value);
	set(meter, KEY_POWER_MW, result, value);
	result = NVML(meter, nvmlDeviceGetTotalEnergyConsumption, meter->device, &energy);
	set(meter, KEY_ENERGY_MJ, result, (double)energy);
	result = NVML(meter, nvmlDeviceGetTemperature, meter->device, NVML_TEMPERATURE_GPU, &value);
	set(meter, KEY_CELSIUS, result, value);
	result = NVML(meter, nvmlDeviceGetFanSpeed, meter->device, &value);
	set(meter, KEY_FAN_PERCENT, result, value);
}

static void read_use(struct meter *meter)
{
	struct nvml_utilization use = {0};
	struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
	struct nvml_memory older = {0};
	struct nvml_process_v2 processes[MAX_PROCESSES];
	unsigned count = MAX_PROCESSES;
	nvmlReturn_t result;

	result = NVML(meter, nvmlDeviceGetUtilizationRates, meter->device, &use);
	set(meter, KEY_GPU_PERCENT, result, use.gpu_percent);
	set(meter, KEY_MEMORY_PERCENT, result, use.memory_percent);
	result = NVML(meter, nvmlDeviceGetMemoryInfo_v2, meter->device, &memory);
	if (result != NVML_SUCCESS) {
		result = NVML(meter, nvmlDeviceGetMemoryInfo, meter->device, &older);
		memory.used_bytes = older.used_bytes;
	}
	set(meter, KEY_USED_MIB, result, (double)memory.used_bytes / (1 << 20));
	result = NVML(meter, nvmlDeviceGetComputeRunningProcesses_v3, meter->device, &count,
		      processes);
	set(meter, KEY_PROCESSES, result, count);
}

/* Each direction blocks for 20 ms: once a second. */
static void read_pcie(struct meter *meter)
{
	static const struct {
		enum key key;
		nvmlPcieUtilCounter_t counter;
	} ways[] = {{KEY_PCIE_TX_KB_S, NVML_PCIE_UTIL_TX_BYTES},
		    {KEY_PCIE_RX_KB_S, NVML_PCIE_UTIL_RX_BYTES}};
	unsigned value = 0;

	for (uint32_t i = 0; i < 2; i++) {
		nvmlReturn_t result;

		meter->row[1 + ways[i].key] = NAN;
		if (meter->rows % 10)
			continue;
		result = NVML(meter, nvmlDeviceGetPcieThroughput, meter->device, ways[i].counter,
			      &value);
		set(meter, ways[i].key, result, value);
	}
}

static void open_gpm(struct meter *meter)
{
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};
	nvmlReturn_t result = NVML(meter, nvmlGpmQueryDeviceSupport, meter->device, &support);

	capture_fact(meter->file, "gpm.support", "%u result %u %s", support.is_supported, result,
		     text_of(meter, result));
	if (!meter->wants_gpm || result != NVML_SUCCESS || !support.is_supported)
		return;
	for (uint32_t i = 0; i < 2; i++)
		if (NVML(meter, nvmlGpmSampleAlloc, &meter->samples[i]) != NVML_SUCCESS)
			return;
	result = NVML(meter, nvmlGpmSampleGet, meter->device, meter->samples[0]);
	capture_fact(meter->file, "gpm.first_sample", "%u %s", result, text_of(meter, result));
	meter->has_gpm = result == NVML_SUCCESS;
}

static void read_gpm(struct meter *meter)
{
	static struct nvml_gpm_metrics_get get;
	nvmlReturn_t result;

	for (uint32_t i = 0; i < GPM_KEYS; i++)
		meter->row[1 + KEYS + i] = NAN;
	if (!meter->has_gpm)
		return;
	result = NVML(meter, nvmlGpmSampleGet, meter->device, meter->samples[!meter->newest]);
	memset(&get, 0, sizeof(get));
	get.version = NVML_GPM_METRICS_GET_VERSION;
	get.metric_count = GPM_KEYS;
	get.earlier = meter->samples[meter->newest];
	get.later = meter->samples[!meter->newest];
	for (uint32_t i = 0; i < GPM_KEYS; i++)
		get.metrics[i].metric_id = gpm_metrics[i].id;
	if (result == NVML_SUCCESS)
		result = NVML(meter, nvmlGpmMetricsGet, &get);
	if (result != NVML_SUCCESS) {
		if (!meter->gpm_failures++)
			capture_fact(meter->file, "gpm.failed", "%u %s", result,
				     text_of(meter, result));
		return;
	}
	meter->newest = !meter->newest;
	for (uint32_t i = 0; i < GPM_KEYS; i++)
		if (get.metrics[i].result == NVML_SUCCESS)
			meter->row[1 + KEYS + i] = get.metrics[i].value;
}

static void write_keys(struct meter *meter)
{
	char text[2048];
	int used = 0;

	for (uint32_t i = 0; i < KEYS; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s\n", key_names[i]);
	for (uint32_t i = 0; i < GPM_KEYS; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s\n",
				 gpm_metrics[i].name);
	capture_write(meter->file, CAPTURE_SERIES_KEYS, 0,
		      &(struct capture_part){text, (size_t)used}, 1);
}

/* Texts of the device and the driver; what is not there is left out. */
static void write_identity(struct meter *meter)
{
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = "";
	struct nvml_pci_info pci = {0};
	int first = 0, second = 0;
	unsigned value = 0, other = 0;

	if (NVML(meter, nvmlSystemGetDriverVersion, text, sizeof(text)) == NVML_SUCCESS)
		capture_fact(meter->file, "driver", "%s", text);
	if (NVML(meter, nvmlSystemGetNVMLVersion, text, sizeof(text)) == NVML_SUCCESS)
		capture_fact(meter->file, "nvml", "%s", text);
	if (NVML(meter, nvmlSystemGetCudaDriverVersion_v2, &first) == NVML_SUCCESS)
		capture_fact(meter->file, "cuda_driver", "%d", first);
	if (NVML(meter, nvmlDeviceGetName, meter->device, text, sizeof(text)) == NVML_SUCCESS)
		capture_fact(meter->file, "name", "%s", text);
	if (NVML(meter, nvmlDeviceGetUUID, meter->device, text, sizeof(text)) == NVML_SUCCESS)
		capture_fact(meter->file, "uuid", "%s", text);
	if (NVML(meter, nvmlDeviceGetPciInfo_v3, meter->device, &pci) == NVML_SUCCESS)
		capture_fact(meter->file, "pci", "%.32s device %08x", pci.bus_id, pci.device_id);
	if (NVML(meter, nvmlDeviceGetCudaComputeCapability, meter->device, &first, &second) ==
	    NVML_SUCCESS)
		capture_fact(meter->file, "capability", "%d.%d", first, second);
	if (NVML(meter, nvmlDeviceGetMigMode, meter->device, &value, &other) == NVML_SUCCESS)
		capture_fact(meter->file, "mig", "%u pending %u", value, other);
	if (NVML(meter, nvmlDeviceGetEnforcedPowerLimit, meter->device, &value) == NVML_SUCCESS)
		capture_fact(meter->file, "power_limit_mw", "%u", value);
	if (NVML(meter, nvmlDeviceGetMaxClockInfo, meter->device, NVML_CLOCK_SM, &value) ==
	    NVML_SUCCESS)
		capture_fact(meter->file, "sm_mhz_most", "%u", value);
}

static void write_processes(struct meter *meter)
{
	struct nvml_process_v2 processes[MAX_PROCESSES];
	unsigned count = MAX_PROCESSES;
	nvmlReturn_t result = NVML(meter, nvmlDeviceGetComputeRunningProcesses_v3, meter->device,
				   &count, processes);

	capture_fact(meter->file, "processes", "%u result %u %s",
		     result == NVML_SUCCESS ? count : 0, result, text_of(meter, result));
	for (unsigned i = 0; result == NVML_SUCCESS && i < count; i++)
		capture_fact(meter->file, "process", "pid %u used_mib %llu", processes[i].pid,
			     processes[i].used_bytes >> 20);
}

static bool open_library(struct meter *meter)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	nvmlReturn_t result;

	if (!library) {
		fprintf(stderr, "capture_nvml: no NVML here: %s\n", dlerror());
		return false;
	}
#define FIND(need, name, parameters) *(void **)&meter->call.name = dlsym(library, #name);
	NVML_ALL_FUNCTIONS(FIND)
#undef FIND
	*(void **)&meter->call.nvmlErrorString = dlsym(library, "nvmlErrorString");
	result = NVML(meter, nvmlInit_v2);
	if (result == NVML_SUCCESS)
		result = NVML(meter, nvmlDeviceGetHandleByIndex_v2, meter->index, &meter->device);
	if (result != NVML_SUCCESS)
		fprintf(stderr, "capture_nvml: %u %s\n", result, text_of(meter, result));
	return result == NVML_SUCCESS;
}

static void run(struct meter *meter)
{
	uint64_t begin_ns = capture_now_ns(), next_ns = begin_ns;
	uint64_t step_ns = (uint64_t)(1e9 / meter->hz);

	while (capture_now_ns() - begin_ns < (uint64_t)(meter->seconds * 1e9)) {
		uint64_t row_ns = capture_now_ns();
		struct timespec until;

		meter->row[0] = (double)row_ns * 1e-9;
		read_clocks(meter);
		read_power(meter);
		read_use(meter);
		read_gpm(meter);
		set(meter, KEY_COST_US, NVML_SUCCESS, (double)(capture_now_ns() - row_ns) / 1000);
		read_pcie(meter);
		capture_write(meter->file, CAPTURE_SERIES, 0,
			      &(struct capture_part){meter->row, sizeof(meter->row)}, 1);
		if (meter->rows++ == 10)
			write_processes(meter);
		next_ns += step_ns;
		until = (struct timespec){(time_t)(next_ns / 1000000000u),
					  (long)(next_ns % 1000000000u)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}

static bool parse_word(struct meter *meter, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = 0;
	if (!strcmp(word, "seconds"))
		meter->seconds = atof(value);
	else if (!strcmp(word, "hz"))
		meter->hz = atof(value);
	else if (!strcmp(word, "device"))
		meter->index = (unsigned)atoi(value);
	else if (!strcmp(word, "gpm"))
		meter->wants_gpm = atoi(value) == 1;
	else if (!strcmp(word, "what"))
		meter->what = value;
	else
		return false;
	return meter->hz > 0;
}

int main(int argc, char **argv)
{
	static struct meter meter = {
		.seconds = 5, .hz = 10, .what = "nvml", .out = "", .wants_gpm = true};

	if (argc > 1 && *argv[1] != '-')
		meter.out = argv[1];
	for (int i = 2; i < argc; i++)
		if (!parse_word(&meter, argv[i]))
			meter.out = "";
	if (!*meter.out) {
		fprintf(stderr, "usage: capture_nvml OUT [seconds=N] [hz=N] [device=N] [gpm=0] "
				"[what=TEXT]\n");
		return 2;
	}
	if (!open_library(&meter))
		return NO_NVML;
	if (capture_open(meter.out, meter.what, 0, 0, &meter.file) != 0) {
		fprintf(stderr, "capture_nvml: %s cannot be written\n", meter.out);
		return 1;
	}
	write_identity(&meter);
	write_keys(&meter);
	open_gpm(&meter);
	printf("nvml ready\n");
	fflush(stdout);
	run(&meter);
	capture_fact(meter.file, "rows", "%llu", (unsigned long long)meter.rows);
	capture_close(meter.file);
	printf("nvml rows=%llu\n", (unsigned long long)meter.rows);
	return meter.rows ? 0 : 1;
}

/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/nvml_values.c - the simulated NVML: values that vary with time and load
 *
 * Runs in:  a program that watches GPUs
 * Owns:     the energy that each device has used, which is updated at each query
 * Why:      every value is a formula of the load, and the load is at least a slow wave, so a
 *           program that only watches sees changing values
 */
#include <pthread.h>
#include <string.h>

#include "nvml.h"

enum { IDLE_MW = 75000, FULL_MW = 620000, LIMIT_MW = 700000, WINDOW_NS = 500000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t at_ns;
	double mj;
} energy[MAX_SIM_DEVICES]; /* under the lock */

static double load_now(nvmlDevice_t device)
{
	uint64_t now_ns = sim_now();

	return sim_nvml_load(device, now_ns - WINDOW_NS, now_ns);
}

static unsigned power_mw(nvmlDevice_t device)
{
	return IDLE_MW + (unsigned)(load_now(device) * (FULL_MW - IDLE_MW));
}

static unsigned long long energy_mj(nvmlDevice_t device)
{
	uint64_t now_ns = sim_now();
	unsigned mw = power_mw(device);
	unsigned long long mj;

	if (*sim_options()->nvml_load)
		return (unsigned long long)((IDLE_MW + (FULL_MW - IDLE_MW) *
							       sim_nvml_load(device,
									     sim_nvml_begin_ns(),
									     now_ns)) *
					    (double)(now_ns - sim_nvml_begin_ns()) / 1e9);
	pthread_mutex_lock(&lock);
	if (!energy[device->index].at_ns)
		energy[device->index].mj = (double)now_ns / 1e9 * IDLE_MW;
	else if (now_ns > energy[device->index].at_ns)
		energy[device->index].mj +=
			(double)(now_ns - energy[device->index].at_ns) / 1e9 * mw;
	energy[device->index].at_ns = now_ns;
	mj = (unsigned long long)energy[device->index].mj;
	pthread_mutex_unlock(&lock);
	return mj;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
					   struct nvml_utilization *ret_utilization)
{
	double load;

	SIM_CHECK_LUXURY(ret_utilization);
	load = load_now(device);
	ret_utilization->gpu_percent = (uint32_t)(100 * load);
	ret_utilization->memory_percent = (uint32_t)(47 * load);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct nvml_memory_v2 *memory)
{
	SIM_CHECK_LUXURY(memory);
	if (memory->version != NVML_MEMORY_V2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memory->total_bytes = SIM_MEMORY_BYTES;
	memory->reserved_bytes = 600u << 20;
	memory->used_bytes = (unsigned long long)(load_now(device) * 4e10);
	memory->free_bytes = memory->total_bytes - memory->reserved_bytes - memory->used_bytes;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct nvml_memory *ret_memory)
{
	SIM_CHECK_DEVICE(ret_memory);
	ret_memory->total_bytes = SIM_MEMORY_BYTES;
	ret_memory->used_bytes = (unsigned long long)(load_now(device) * 4e10) + (600u << 20);
	ret_memory->free_bytes = ret_memory->total_bytes - ret_memory->used_bytes;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *ret_mw)
{
	SIM_CHECK_LUXURY(ret_mw);
	*ret_mw = power_mw(device);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *ret_mw)
{
	SIM_CHECK_LUXURY(ret_mw);
	*ret_mw = LIMIT_MW;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *ret_mj)
{
	SIM_CHECK_LUXURY(ret_mj);
	*ret_mj = energy_mj(device);
	return NVML_SUCCESS;
}

static unsigned clock_mhz(nvmlClockType_t type, double load)
{
	unsigned most = (unsigned)sim_options()->sm_mhz;

	if (type == NVML_CLOCK_MEM)
		return 3201;
	if (type == NVML_CLOCK_VIDEO)
		return most * 4 / 5;
	return load > 0.02 ? most - (unsigned)(load * 60) : 345;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned *ret_mhz)
{
	SIM_CHECK_LUXURY(ret_mhz && type <= NVML_CLOCK_VIDEO);
	*ret_mhz = clock_mhz(type, load_now(device));
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned *ret_mhz)
{
	SIM_CHECK_LUXURY(ret_mhz && type <= NVML_CLOCK_VIDEO);
	*ret_mhz = type == NVML_CLOCK_MEM ? 3201 : (unsigned)sim_options()->sm_mhz;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
				      unsigned *ret_celsius)
{
	SIM_CHECK_LUXURY(ret_celsius && sensor == NVML_TEMPERATURE_GPU);
	*ret_celsius = 30 + (unsigned)(45 * load_now(device));
	return NVML_SUCCESS;
}

/* The card has none. */
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned *ret_percent)
{
	SIM_CHECK_DEVICE(ret_percent);
	return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t *ret_state)
{
	SIM_CHECK_LUXURY(ret_state);
	*ret_state = 0;
	return NVML_SUCCESS;
}

/* The real one takes 20 ms, too. */
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
					 unsigned *ret_kb_s)
{
	SIM_CHECK_LUXURY(ret_kb_s && counter <= NVML_PCIE_UTIL_RX_BYTES);
	sim_sleep_until(sim_now() + 20000000);
	*ret_kb_s = (unsigned)(load_now(device) *
			       (counter == NVML_PCIE_UTIL_TX_BYTES ? 4000000 : 9000000));
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned *ret_percent,
					     unsigned *ret_period_us)
{
	SIM_CHECK_LUXURY(ret_percent && ret_period_us);
	*ret_percent = 0;
	*ret_period_us = 167000;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned *ret_percent,
					     unsigned *ret_period_us)
{
	SIM_CHECK_LUXURY(ret_percent && ret_period_us);
	*ret_percent = 0;
	*ret_period_us = 167000;
	return NVML_SUCCESS;
}

static unsigned long long clock_reasons(nvmlDevice_t device)
{
	double load = load_now(device);

	if (sim_options()->nvml_reasons >= 0)
		return (unsigned long long)sim_options()->nvml_reasons;
	if (load > 0.95)
		return nvmlClocksEventReasonSwPowerCap;
	return load < 0.02 ? nvmlClocksEventReasonGpuIdle : 0;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
						    unsigned long long *ret_reasons)
{
	SIM_CHECK_LUXURY(ret_reasons);
	*ret_reasons = clock_reasons(device);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
						       unsigned long long *ret_reasons)
{
	SIM_CHECK_LUXURY(ret_reasons);
	*ret_reasons = clock_reasons(device);
	return NVML_SUCCESS;
}

/* All that there are but for the display's. */
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device,
						      unsigned long long *ret_reasons)
{
	SIM_CHECK_LUXURY(ret_reasons);
	*ret_reasons = nvmlClocksEventReasonDisplayClockSetting - 1;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device,
							 unsigned long long *ret_reasons)
{
	return nvmlDeviceGetSupportedClocksEventReasons(device, ret_reasons);
}

/* ---- samples and fields ---------------------------------------------------------------------- */

enum { SAMPLES = 20, SAMPLE_US = 100000 };

static unsigned sample_value(nvmlDevice_t device, nvmlSamplingType_t type, uint64_t at_ns)
{
	double load = sim_nvml_load(device, at_ns - SAMPLE_US * UINT64_C(1000), at_ns);

	switch (type) {
	case NVML_TOTAL_POWER_SAMPLES:
		return IDLE_MW + (unsigned)(load * (FULL_MW - IDLE_MW));
	case NVML_PROCESSOR_CLK_SAMPLES:
		return clock_mhz(NVML_CLOCK_SM, load);
	case NVML_MEMORY_CLK_SAMPLES:
		return clock_mhz(NVML_CLOCK_MEM, load);
	case NVML_MEMORY_UTILIZATION_SAMPLES:
		return (unsigned)(47 * load);
	default:
		return (unsigned)(100 * load);
	}
}

/* One for each tenth of a second of the last two. Without room: how many there are at most. */
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
				  unsigned long long after_us, nvmlValueType_t *ret_value_type,
				  unsigned *count, struct nvml_sample *ret_samples)
{
	uint64_t now_us = sim_realtime() / 1000, now_ns = sim_now(), at_us;
	unsigned room, used = 0;

	SIM_CHECK_LUXURY(ret_value_type && count);
	*ret_value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
	room = ret_samples ? *count : 0;
	for (uint64_t back = SAMPLES; back-- > 0 && used < room;) {
		at_us = (now_us / SAMPLE_US - back) * SAMPLE_US;
		if (at_us <= after_us)
			continue;
		ret_samples[used].timestamp_us = at_us;
		ret_samples[used++].value.unsigned_int =
			sample_value(device, type, now_ns - (now_us - at_us) * 1000);
	}
	*count = ret_samples ? used : SAMPLES;
	return ret_samples && !used ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}

static nvmlReturn_t read_field(nvmlDevice_t device, struct nvml_field_value *value)
{
	value->value_type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
	switch (value->field_id) {
	case NVML_FI_DEV_MEMORY_TEMP:
		value->value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
		value->value.unsigned_int = 35 + (unsigned)(40 * load_now(device));
		return NVML_SUCCESS;
	case NVML_FI_DEV_POWER_AVERAGE:
	case NVML_FI_DEV_POWER_INSTANT:
		value->value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
		value->value.unsigned_int = power_mw(device);
		return NVML_SUCCESS;
	case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
		value->value.unsigned_long_long = energy_mj(device);
		return NVML_SUCCESS;
	case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX:
	case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX:
	case NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX:
	case NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX:
	case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
	case NVML_FI_DEV_PCIE_COUNT_RX_BYTES:
		value->value.unsigned_long_long = energy_mj(device) * value->field_id;
		return NVML_SUCCESS;
	default:
		return NVML_ERROR_NOT_SUPPORTED;
	}
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
				      struct nvml_field_value *values)
{
	SIM_CHECK_DEVICE(values && count > 0);
	for (int i = 0; i < count; i++) {
		memset(&values[i].value, 0, sizeof(values[i].value));
		values[i].timestamp_us = (long long)(sim_realtime() / 1000);
		values[i].latency_us = 1;
		values[i].result = sim_options()->nvml_unsupported || sim_options()->nvml_no_fields
					   ? NVML_ERROR_NOT_SUPPORTED
					   : read_field(device, &values[i]);
	}
	return NVML_SUCCESS;
}

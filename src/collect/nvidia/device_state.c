/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/device_state.c - power, energy, temperature, clocks and memory of each GPU
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     one call of NVML per value
 * Gives:    levels, and energy as increments
 * Owns:     the limits, which are read once
 * Fails:    a value that a GPU lacks is absent
 * Why:      energy is a source of its own, which is read once a second, because a reading took 4 ms
 *           of processor time on an H200, and readings of the other values microseconds. The GPU
 *           adds up its energy, so rare readings lose nothing
 */
#include <string.h>

#include "base/array.h"
#include "collect/nvidia/nvidia.h"

enum {
	POWER,
	TEMPERATURE,
	CLOCKS,
	CLOCK_SM = CLOCKS,
	CLOCK_GRAPHICS,
	CLOCK_MEMORY,
	CLOCK_VIDEO,
	USED,
	RESERVED,
	MAX_POWER,
	MAX_CLOCKS,
	MAX_CLOCK_SM = MAX_CLOCKS,
	MAX_CLOCK_GRAPHICS,
	MAX_CLOCK_MEMORY,
	MAX_CLOCK_VIDEO,
	MEMORY_ALL
};

#define CLOCK(word, most, text)                                                                \
	{                                                                                      \
		"gpu.clock." word, "Hz", text, "nvmlDeviceGetClockInfo", .limit = LIMIT_VALUE, \
									 .limit_value = (most) \
	}
#define MEMORY_FILE "nvmlDeviceGetMemoryInfo_v2"

static const struct metric metrics[] = {
	[POWER] = {"gpu.power.average", "mW",
		   "power of GPU and memory: mean of the last second; on GPUs before Ampere and "
		   "GA100 when it was read",
		   "nvmlDeviceGetPowerUsage", .limit = LIMIT_VALUE, .limit_value = MAX_POWER},
	[TEMPERATURE] = {"gpu.temperature", "mC",
			 "temperature of the GPU's core, in whole degrees Celsius",
			 "nvmlDeviceGetTemperature"},
	[CLOCK_SM] = CLOCK("sm", MAX_CLOCK_SM,
			   "clock frequency of the GPU's multiprocessors when it was read"),
	[CLOCK_GRAPHICS] = CLOCK("graphics", MAX_CLOCK_GRAPHICS,
				 "clock frequency of the GPU's graphics units when it was read"),
	[CLOCK_MEMORY] = CLOCK("memory", MAX_CLOCK_MEMORY,
			       "clock frequency of the GPU's device memory when it was read"),
	[CLOCK_VIDEO] =
		CLOCK("video", MAX_CLOCK_VIDEO,
		      "clock frequency of the GPU's video encoder and decoder when it was read"),
	[USED] = {"gpu.memory.used", "bytes",
		  "device memory in use by all processes; before driver R510 also the driver's own "
		  "reserve",
		  MEMORY_FILE, .limit = LIMIT_VALUE, .limit_value = MEMORY_ALL},
	[RESERVED] = {"gpu.memory.reserved", "bytes",
		      "device memory that the driver reserves for itself", MEMORY_FILE,
		      .limit = LIMIT_VALUE, .limit_value = MEMORY_ALL},
	[MAX_POWER] = {NULL},
	[MEMORY_ALL] = {NULL},
};
_Static_assert(ARRAY_COUNT(metrics) <= MAX_METRICS, "a reading has room for this number of values");

static const nvmlClockType_t clocks[] = {NVML_CLOCK_SM, NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM,
					 NVML_CLOCK_VIDEO};

struct own {
	struct limits {
		uint64_t values[MAX_METRICS], valid;
	} limits[MAX_NVIDIA_DEVICES];
};

/* Sets values[index] and returns its bit if the call has succeeded. */
static uint64_t take_value(uint64_t *values, unsigned int index, bool has_worked, uint64_t value)
{
	if (has_worked)
		values[index] = value;
	return (uint64_t)has_worked << index;
}

static uint64_t read_memory(struct nvidia *nvidia, const struct tick *tick, size_t index,
			    uint64_t *values)
{
	struct nvml_memory_v2 newer = {.version = NVML_MEMORY_V2};
	struct nvml_memory memory;
	bool has_worked;

	if (NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetMemoryInfo_v2, &newer))
		return take_value(values, USED, true, newer.used_bytes) |
		       take_value(values, RESERVED, true, newer.reserved_bytes);
	/* a separate statement, so that the outputs are not read before the call */
	has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetMemoryInfo, &memory);
	return take_value(values, USED, has_worked, has_worked ? memory.used_bytes : 0);
}

static uint64_t read_state(struct source_state *state, struct tick *tick, size_t index,
			   uint64_t *values)
{
	const struct limits *limits = &((struct own *)state->own)->limits[index];
	struct nvidia *nvidia = tick->context;
	uint64_t valid = limits->valid;
	unsigned value = 0;
	bool has_worked;

	memcpy(values, limits->values, sizeof(limits->values));
	has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetPowerUsage, &value);
	valid |= take_value(values, POWER, has_worked, value);
	has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU,
				&value);
	valid |= take_value(values, TEMPERATURE, has_worked, (uint64_t)value * 1000);
	for (unsigned int i = 0; i < ARRAY_COUNT(clocks); i++) {
		has_worked =
			NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetClockInfo, clocks[i], &value);
		valid |= take_value(values, CLOCKS + i, has_worked, (uint64_t)value * 1000000);
	}
	return valid | read_memory(nvidia, tick, index, values);
}

static void ask_limits(struct nvidia *nvidia, const struct tick *tick, size_t index,
		       struct limits *limits)
{
	uint64_t *values = limits->values;
	unsigned value = 0;
	bool has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetEnforcedPowerLimit, &value);

	limits->valid |= take_value(values, MAX_POWER, has_worked, value);
	for (unsigned int i = 0; i < ARRAY_COUNT(clocks); i++) {
		has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetMaxClockInfo, clocks[i],
					&value);
		limits->valid |=
			take_value(values, MAX_CLOCKS + i, has_worked, (uint64_t)value * 1000000);
	}
	limits->valid |= take_value(values, MEMORY_ALL, nvidia->devices[index].memory_bytes != 0,
				    nvidia->devices[index].memory_bytes);
}

static bool open_state(struct source_state *state, const struct tick *tick)
{
	struct own *own = state->own;
	struct nvidia *nvidia = tick->context;

	for (size_t i = 0; i < nvidia->count; i++)
		ask_limits(nvidia, tick, i, &own->limits[i]);
	return nvidia->count != 0;
}

const struct source nvidia_state_source = {
	.name = "state",
	.file = "NVML",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 100,
	.max_instances = MAX_NVIDIA_DEVICES,
	.own_bytes = sizeof(struct own),
	.open = open_state,
	.read = nvidia_read_each,
	.read_one = read_state,
};

/* ---- energy ---------------------------------------------------------------------------------- */

static const struct metric energy_metrics[] = {
	{"gpu.energy", "uJ", "energy that the GPU and its memory used, in steps of 1 mJ",
	 "nvmlDeviceGetTotalEnergyConsumption", METRIC_TOTAL},
};

static uint64_t read_energy(struct source_state *state, struct tick *tick, size_t index,
			    uint64_t *values)
{
	unsigned long long energy_mj = 0;
	struct nvidia *nvidia = tick->context;
	bool has_worked =
		NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetTotalEnergyConsumption, &energy_mj);

	return take_value(values, 0, has_worked, energy_mj * 1000);
}

const struct source nvidia_energy_source = {
	.name = "energy",
	.file = "nvmlDeviceGetTotalEnergyConsumption",
	SOURCE_METRICS(energy_metrics),
	.group = GROUP_MACHINE,
	.max_hz = 1,
	.max_instances = MAX_NVIDIA_DEVICES,
	.open = nvidia_open_any,
	.read = nvidia_read_each,
	.read_one = read_energy,
};

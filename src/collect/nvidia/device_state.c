/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/device_state.c - power, energy, temperature, clocks and memory of each GPU
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     a call of NVML for each value   Gives: levels, and energy as what came
 * Owns:     the limits, which are asked for once
 * Fails:    what a GPU does not have is absent
 */
#include <string.h>

#include "base/array.h"
#include "collect/nvidia/nvidia.h"

enum {
	POWER,
	ENERGY,
	TEMPERATURE,
	CLOCKS,
	CLOCK_SM = CLOCKS,
	CLOCK_GRAPHICS,
	CLOCK_MEMORY,
	CLOCK_VIDEO,
	USED,
	RESERVED,
	POWER_MOST,
	CLOCKS_MOST,
	CLOCK_SM_MOST = CLOCKS_MOST,
	CLOCK_GRAPHICS_MOST,
	CLOCK_MEMORY_MOST,
	CLOCK_VIDEO_MOST,
	MEMORY_ALL
};

#define CLOCK(word, most)                                                                     \
	{                                                                                     \
		"gpu.clock." word, "Hz", "frequency of the moment", "nvmlDeviceGetClockInfo", \
			.limit = LIMIT_VALUE, .limit_value = (most)                           \
	}
#define MEMORY_FILE "nvmlDeviceGetMemoryInfo_v2"

static const struct metric metrics[] = {
	[POWER] = {"gpu.power.average", "mW",
		   "of the GPU and its memory: since Ampere (but GA100) the mean of a second, of "
		   "the moment before",
		   "nvmlDeviceGetPowerUsage", .limit = LIMIT_VALUE, .limit_value = POWER_MOST},
	[ENERGY] = {"gpu.energy", "uJ", "that the GPU took, in steps of a mJ",
		    "nvmlDeviceGetTotalEnergyConsumption", METRIC_TOTAL},
	[TEMPERATURE] = {"gpu.temperature", "mC", "of the GPU's core, in whole degrees",
			 "nvmlDeviceGetTemperature"},
	[CLOCK_SM] = CLOCK("sm", CLOCK_SM_MOST),
	[CLOCK_GRAPHICS] = CLOCK("graphics", CLOCK_GRAPHICS_MOST),
	[CLOCK_MEMORY] = CLOCK("memory", CLOCK_MEMORY_MOST),
	[CLOCK_VIDEO] = CLOCK("video", CLOCK_VIDEO_MOST),
	[USED] = {"gpu.memory.used", "bytes",
		  "device memory that is given out, to everybody; before R510 with what the driver "
		  "keeps",
		  MEMORY_FILE, .limit = LIMIT_VALUE, .limit_value = MEMORY_ALL},
	[RESERVED] = {"gpu.memory.reserved", "bytes",
		      "device memory that the driver keeps for itself", MEMORY_FILE,
		      .limit = LIMIT_VALUE, .limit_value = MEMORY_ALL},
	[POWER_MOST] = {NULL},
	[MEMORY_ALL] = {NULL},
};
_Static_assert(ARRAY_COUNT(metrics) <= METRICS_MOST, "a reading has room for so many");

static const nvmlClockType_t clocks[] = {NVML_CLOCK_SM, NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM,
					 NVML_CLOCK_VIDEO};

struct own {
	struct limits {
		uint64_t values[METRICS_MOST], valid;
	} limits[NVIDIA_DEVICES_MOST];
};

/* Sets values[index] and returns its bit where the call has worked. */
static uint64_t take(uint64_t *values, unsigned int index, bool has_worked, uint64_t value)
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
		return take(values, USED, true, newer.used_bytes) |
		       take(values, RESERVED, true, newer.reserved_bytes);
	/* a statement of its own: what it fills must not be read before */
	has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetMemoryInfo, &memory);
	return take(values, USED, has_worked, has_worked ? memory.used_bytes : 0);
}

static uint64_t read_state(struct source_state *state, struct tick *tick, size_t index,
			   uint64_t *values)
{
	const struct limits *limits = &((struct own *)state->own)->limits[index];
	struct nvidia *nvidia = tick->context;
	unsigned long long energy_mj = 0;
	uint64_t valid = limits->valid;
	unsigned value = 0;
	bool has_worked;

	memcpy(values, limits->values, sizeof(limits->values));
	has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetPowerUsage, &value);
	valid |= take(values, POWER, has_worked, value);
	has_worked =
		NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetTotalEnergyConsumption, &energy_mj);
	valid |= take(values, ENERGY, has_worked, energy_mj * 1000);
	has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU,
				&value);
	valid |= take(values, TEMPERATURE, has_worked, (uint64_t)value * 1000);
	for (unsigned int i = 0; i < ARRAY_COUNT(clocks); i++) {
		has_worked =
			NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetClockInfo, clocks[i], &value);
		valid |= take(values, CLOCKS + i, has_worked, (uint64_t)value * 1000000);
	}
	return valid | read_memory(nvidia, tick, index, values);
}

static void ask_limits(struct nvidia *nvidia, const struct tick *tick, size_t index,
		       struct limits *limits)
{
	uint64_t *values = limits->values;
	unsigned value = 0;
	bool has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetEnforcedPowerLimit, &value);

	limits->valid |= take(values, POWER_MOST, has_worked, value);
	for (unsigned int i = 0; i < ARRAY_COUNT(clocks); i++) {
		has_worked = NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetMaxClockInfo, clocks[i],
					&value);
		limits->valid |=
			take(values, CLOCKS_MOST + i, has_worked, (uint64_t)value * 1000000);
	}
	limits->valid |= take(values, MEMORY_ALL, nvidia->devices[index].memory_bytes != 0,
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

static void read_all(struct source_state *state, struct tick *tick)
{
	nvidia_read_each(state, tick, read_state);
}

extern const struct source nvidia_state_source;
const struct source nvidia_state_source = {
	.name = "state",
	.file = "NVML",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.most_hz = 100,
	.things_most = NVIDIA_DEVICES_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_state,
	.read = read_all,
};

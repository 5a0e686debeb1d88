/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvidia.h - functions for all sources of NVIDIA's counters
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/counter/source.h"
#include "collect/nvidia/nvml.h"

extern const struct source_list nvidia_sources;

/* The sources, one file each. */
extern const struct source nvidia_codec_source;
extern const struct source nvidia_fields_source;
extern const struct source nvidia_gpm_source;
extern const struct source nvidia_load_source;
extern const struct source nvidia_pcie_source;
extern const struct source nvidia_pm_source;
extern const struct source nvidia_process_source;
extern const struct source nvidia_state_source;
extern const struct source nvidia_energy_source;
extern const struct source nvidia_throttle_source;

/* The context of all sources. Members that are not atomic are set before the sources start. */
struct nvidia {
	struct nvml nvml;
	size_t count;
	struct nvidia_device devices[MAX_NVIDIA_DEVICES];
	uint32_t ids[MAX_NVIDIA_DEVICES]; /* ids of the trace */
	atomic_bool is_lost[MAX_NVIDIA_DEVICES];
	bool has_pids; /* NVML's pids are ours */
};

/* Whether a call has succeeded. A device that is reported as lost has ended, and is not asked any
 * more. */
bool nvidia_has_answered(struct nvidia *nvidia, const struct tick *tick, size_t index,
			 nvmlReturn_t result);

/* Calls NVML and checks the result: NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetPowerUsage,
 * &mw). */
#define NVIDIA_ASK(nvidia, tick, index, name, ...) \
	nvidia_has_answered(                       \
		(nvidia), (tick), (index),         \
		NVML_CALL(&(nvidia)->nvml, name, (nvidia)->devices[index].handle, __VA_ARGS__))

/* Reads all devices once; each device is an instance. */
void nvidia_read_each(struct source_state *state, struct tick *tick);

/* Returns the nth entity (below 16) of a device. NULL: there are too many. */
struct metric_instance *nvidia_instance(struct source_state *state, const struct tick *tick,
					size_t index, unsigned int nth);

/* Whether there is any device. */
bool nvidia_open_any(struct source_state *state, const struct tick *tick);

/* Current time of CLOCK_REALTIME, which the driver uses for its samples. */
uint64_t nvidia_wall_ns(void);

/* Turns percentages of past intervals into sums whose differences are exact. */
struct share {
	uint64_t part_ns, of_ns;
	uint64_t until_ns; /* 0: the first interval comes next */
};
void share_add(struct share *share, uint64_t until_ns, double percent);
/* The same for a period that starts at begin_ns. Between the previous period and this one the share
 * is 0. */
void share_add_period(struct share *share, uint64_t begin_ns, uint64_t until_ns, double percent);
/* A percentage of a duration. */
uint64_t part_of_ns(uint64_t took_ns, double percent);

/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/nvidia.h - what the sources of NVIDIA's counters share
 */
#ifndef COLLECT_NVIDIA_NVIDIA_H
#define COLLECT_NVIDIA_NVIDIA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/nvidia/nvml.h"
#include "collect/source.h"

extern const struct source_list nvidia_sources;

/* The context of all of them. What is not atomic is written before they begin. */
struct nvidia {
	struct nvml nvml;
	size_t count;
	struct nvidia_device devices[NVIDIA_DEVICES_MOST];
	uint32_t ids[NVIDIA_DEVICES_MOST]; /* the trace's */
	atomic_bool is_lost[NVIDIA_DEVICES_MOST];
	bool has_pids; /* NVML counts processes as we do */
};

/* Whether a call has worked. A device that is lost by its answer has ended: it is asked nothing more. */
bool nvidia_has_answered(struct nvidia *nvidia, const struct tick *tick, size_t index,
			 nvmlReturn_t result);

/* NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetPowerUsage, &mw) */
#define NVIDIA_ASK(nvidia, tick, index, name, ...) \
	nvidia_has_answered(                       \
		(nvidia), (tick), (index),         \
		NVML_CALL(&(nvidia)->nvml, name, (nvidia)->devices[index].handle, __VA_ARGS__))

/* A round over all devices that are there, each of which is one thing: read returns the values it has read, as bits. */
void nvidia_read_each(struct source_state *state, struct tick *tick,
		      uint64_t (*read)(struct source_state *state, struct tick *tick, size_t index,
				       uint64_t *values));

/* The thing that is the nth (below 16) of a device. NULL: there are too many. */
struct thing *nvidia_thing(struct source_state *state, const struct tick *tick, size_t index,
			   unsigned int nth);

/* Whether there is a device at all. */
bool nvidia_open_any(struct source_state *state, const struct tick *tick);

/* Now, by the clock that the driver gives its samples the time of: CLOCK_REALTIME. */
uint64_t nvidia_wall_ns(void);

/* Of a share that is told as a percentage of time that has just gone by: sums of which the parts are exact. */
struct share {
	uint64_t part_ns, of_ns;
	uint64_t until_ns; /* 0: it begins with the next */
};
void share_add(struct share *share, uint64_t until_ns, double percent);
/* The same of a time that begins with begin_ns. From what was told before up to then there was nothing. */
void share_add_period(struct share *share, uint64_t begin_ns, uint64_t until_ns, double percent);
/* So many percent of a time. */
uint64_t part_of_ns(uint64_t took_ns, double percent);

#endif

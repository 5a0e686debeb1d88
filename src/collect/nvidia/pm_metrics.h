/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_metrics.h - which counters of a GPU are sampled together, and what their values become
 *
 * All of this is the host's half of CUPTI: it needs a chip's name, and no GPU.
 */
#ifndef COLLECT_NVIDIA_PM_METRICS_H
#define COLLECT_NVIDIA_PM_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/metric.h"
#include "collect/nvidia/cupti.h"

enum { PM_METRICS = 16 };

/* In the order in which they are wanted. */
extern const struct metric pm_metrics[PM_METRICS];

/* What fits into one pass of the hardware, made ready. */
struct pm_set {
	cupti_host_object host; /* owned */
	uint8_t *config;        /* owned; has to stay as long as sampling is on */
	size_t config_bytes;
	const char *names[PM_METRICS]; /* CUPTI's, of those that are chosen … */
	uint8_t indices[PM_METRICS];   /* … and which of pm_metrics they are */
	size_t count;
	bool is_left_out
		[PM_METRICS]; /* the chip has not this one, or not together with those before */
};

/* chip: "GH100"; availability: what this GPU and user have of its counters, NULL: all. False: not one metric can be
 * sampled, or a function has failed, which the cupti tells. Takes 20 to 40 ms once the library for the chip is loaded. */
bool pm_set_open(struct pm_set *set, struct cupti *cupti, const char *chip,
		 const uint8_t *availability);
void pm_set_close(struct pm_set *set, struct cupti *cupti); /* half-built-safe */

/* The values of a sample, in the order of the names; not a number: it was not counted. */
bool pm_set_evaluate(const struct pm_set *set, struct cupti *cupti, const uint8_t *image,
		     size_t image_bytes, size_t index, double values[PM_METRICS]);

/* What a value of metric `index` is as a row over took_ns. False: it is none. */
struct pm_value {
	int64_t value;
	uint64_t of;
};
bool pm_value_make(size_t index, double value, uint64_t took_ns, struct pm_value *ret_value);

/* The top of an honest chart, as in an event_series. */
uint64_t pm_limit(size_t index);

#endif

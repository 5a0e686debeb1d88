/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_metrics.h - chooses the counters sampled together, and converts their values
 *
 * This file uses the host part of CUPTI, which needs the name of a chip and no GPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/counter/metric.h"
#include "collect/nvidia/cupti.h"

enum { PM_METRICS = 16 };

/* In the order of priority. */
extern const struct metric pm_metrics[PM_METRICS];

/* A prepared set of metrics that fits into one hardware pass. */
struct pm_set {
	cupti_host_object host; /* owned */
	uint8_t *config;        /* owned; must stay while sampling is on */
	size_t config_bytes;
	const char *names[PM_METRICS]; /* CUPTI's names of the chosen metrics */
	uint8_t indices[PM_METRICS];   /* their indices in pm_metrics */
	size_t count;
	/* The chip lacks the metric, or it does not fit beside those before it. */
	bool is_left_out[PM_METRICS];
};

/* chip: "GH100"; availability: the counters that this GPU and user may use, NULL: all; unwanted:
 * bits of metrics that the user did not choose. False: no metric can be sampled, or a function
 * failed (see the cupti's last failure). Takes 20 to 40 ms once the library for the chip is loaded.
 */
bool pm_set_open(struct pm_set *set, struct cupti *cupti, const char *chip,
		 const uint8_t *availability, uint64_t unwanted);
void pm_set_close(struct pm_set *set, struct cupti *cupti); /* safe on a half-built object */

/* Reads the values of a sample, in the order of the names; not a number: not counted. */
bool pm_set_evaluate(const struct pm_set *set, struct cupti *cupti, const uint8_t *image,
		     size_t image_bytes, size_t index, double values[PM_METRICS]);

/* Converts a value of metric `index` to a row's value over took_ns. False: not a number. */
struct pm_value {
	int64_t value;
	uint64_t of;
};
bool pm_value_make(size_t index, double value, uint64_t took_ns, struct pm_value *ret_value);

/* Upper limit of a chart's axis, as in struct event_series. */
uint64_t pm_limit(size_t index);

/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_pm.h - the host's half of PM sampling: metrics to a configuration,
 * counters to values
 */
#pragma once

#include "capture_cupti.h"

enum { MAX_PM_METRICS = 160 };

struct pm_host {
	const struct capture_cupti *cupti;
	struct capture_file *file; /* NULL: facts are not written */
	cupti_host_object object;
	const char *metrics[MAX_PM_METRICS];
	size_t metric_count;
	uint8_t *config;
	size_t config_bytes;
};

/* availability may be NULL: every counter of the chip is there. */
bool pm_host_open(struct pm_host *host, const char *chip, const uint8_t *availability);
/* Opens it with what fits into one pass of the names, in their order. False: nothing does. */
bool pm_host_choose(struct pm_host *host, const char *chip, const uint8_t *availability,
		    const char *const *names, size_t count);
/* Opens it with all of the names. */
bool pm_host_take(struct pm_host *host, const char *chip, const uint8_t *availability,
		  const char *const *names, size_t count);
bool pm_host_evaluate(struct pm_host *host, const uint8_t *counters, size_t bytes, size_t index,
		      double *ret_values);
void pm_host_close(struct pm_host *host);
/* The names of a set, base or triage, that the chip may have: how many. They stay. */
size_t pm_host_names(struct pm_host *host, const char *chip, const uint8_t *availability,
		     const char *set, const char *ret_names[MAX_PM_METRICS]);

/* capture_pm_offline.c: evaluates the images of a file, prints what it found. Returns the exit
 * status. */
int pm_offline(const char *path);
/* Prints which metrics of a set fit into one pass of a chip. */
int pm_show_metrics(const char *chip, const char *set);

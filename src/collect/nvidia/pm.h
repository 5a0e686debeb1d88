/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm.h - PM sampling: hardware counters of whole GPUs, thousands of times a second
 */
#pragma once

#include <stdint.h>

#include "collect/counter/counter_choice.h"
#include "collect/recording.h"

struct pm;

/* Parses "pm" (1000 Hz), "pm=2000", "pm=2000Hz", "pm=20kHz". Returns 0 and *ret_hz; -ENOENT:
 * another option; -EINVAL: an invalid rate, with the range in the error chain. */
int pm_option_read(const char *option, uint32_t *ret_hz);
enum { PM_USUAL_HZ = 1000, PM_LEAST_HZ = 10, PM_MAX_HZ = 200000 };

/* Samples all GPUs that CUDA shows. A GPU that refuses is noted, and the others are sampled.
 * Errors, with the remedy in the error chain: -ENOENT, -ENODEV, -EIO: no GPU is sampled;
 * -ENOMEM. */
int pm_open(struct recording *recording, uint32_t hz, const struct counter_choice *choice,
	    struct pm **ret_pm);
void pm_drain(struct pm *pm);
/* Reads the clocks and writes losses. */
void pm_each_second(struct pm *pm, uint64_t now_ns);
/* A GPU whose thread hangs in the driver keeps its memory. NULL-safe. */
void pm_close(struct pm *pm);

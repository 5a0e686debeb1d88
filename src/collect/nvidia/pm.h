/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm.h - PM sampling: counters of whole GPUs, thousands of times a second, by their hardware
 */
#ifndef COLLECT_NVIDIA_PM_H
#define COLLECT_NVIDIA_PM_H

#include <stdint.h>

#include "collect/recording.h"

struct pm;

/* "pm" (1000 Hz), "pm=2000", "pm=2000Hz", "pm=20kHz". 0 and *ret_hz; -ENOENT: it is no such option; -EINVAL with what can be
 * said in the error chain. */
int pm_option_read(const char *option, uint32_t *ret_hz);
enum { PM_USUAL_HZ = 1000, PM_LEAST_HZ = 10, PM_MOST_HZ = 200000 };

/* Samples all GPUs that CUDA shows here. One that refuses is noted, and the others are sampled. Errors: -ENOENT, -ENODEV,
 * -EIO where not one is sampled, -ENOMEM; with what to do in the error chain. */
int pm_open(struct recording *recording, uint32_t hz, struct pm **ret_pm);
void pm_drain(struct pm *pm);
/* Clocks are read together, losses written. */
void pm_each_second(struct pm *pm, uint64_t now_ns);
/* A GPU that hangs in its driver is left behind, with what it works with. NULL-safe. */
void pm_close(struct pm *pm);

#endif

/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/nvml_load.c - the simulated NVML: the load of the GPUs
 *
 * Runs in:  a program that watches GPUs
 * Gets:     nvml_load of SIM_NVIDIA, or the kernels of the simulated driver
 * Gives:    the share of time in which a GPU is busy
 * Owns:     the time of nvmlInit
 * Why:      a scripted load has a known mean for any interval, so a test can compare a recorder's
 *           values exactly, however late they were read
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nvml.h"

enum { MAX_STEPS = 32 };

static uint64_t begin_ns;
static double steps[MAX_STEPS];
static uint32_t step_count; /* 0: nothing is scripted */

void sim_nvml_begin(void)
{
	const char *text = sim_options()->nvml_load;
	char *end = NULL;

	begin_ns = sim_now();
	for (step_count = 0; *text && step_count < MAX_STEPS; step_count++) {
		steps[step_count] = strtod(text, &end);
		if (end == text || (*end && *end != '/')) {
			fprintf(stderr, "sim-nvidia: SIM_NVIDIA: nvml_load makes no sense\n");
			abort();
		}
		text = *end ? end + 1 : end;
	}
}

uint64_t sim_nvml_begin_ns(void)
{
	return begin_ns;
}

bool sim_nvml_is_lost(void)
{
	uint64_t lost_ms = (uint64_t)sim_options()->nvml_lost_ms;

	return lost_ms && sim_now() >= begin_ns + lost_ms * 1000000;
}

/* The mean of the steps over [from_ns, to_ns), which is at most some seconds. */
static double scripted(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t step_ns = (uint64_t)sim_options()->nvml_step_ms * 1000000;
	double sum = 0;

	from_ns = from_ns > begin_ns ? from_ns - begin_ns : 0;
	to_ns = to_ns > begin_ns ? to_ns - begin_ns : 0;
	if (to_ns <= from_ns)
		return steps[to_ns / step_ns % step_count];
	for (uint64_t at_ns = from_ns, next_ns; at_ns < to_ns; at_ns = next_ns) {
		next_ns = (at_ns / step_ns + 1) * step_ns;
		if (next_ns > to_ns)
			next_ns = to_ns;
		sum += steps[at_ns / step_ns % step_count] * (double)(next_ns - at_ns);
	}
	return sum / (double)(to_ns - from_ns);
}

double sim_nvml_load(nvmlDevice_t device, uint64_t from_ns, uint64_t to_ns)
{
	const struct sim_driver *driver = sim_find_driver();
	double wave = 0.1 + 0.1 * sin((double)(to_ns / 1000) / 1e6), load = 0;

	if (step_count)
		return scripted(from_ns, to_ns);
	if (driver && to_ns > from_ns)
		load = (double)driver->busy_ns(device->index, from_ns, to_ns) /
		       (double)(to_ns - from_ns);
	return load > wave ? load : wave;
}

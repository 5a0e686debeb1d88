/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/options.c - SIM_NVIDIA, a list of name=value with commas between
 *
 * Runs in:  a program that uses CUDA; each of the three libraries reads them once
 * Gives:    the options, the failures to simulate, the durations of kernels
 * Fails:    aborts with a line on stderr: a test with a misspelled option must not pass
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../option_list.h"
#include "sim.h"

static struct sim_options options = {
	.devices = 1,
	.driver = 13000,
	.version = 130001,
	.sms = 132,
	.sm_mhz = 1980,
	.subscriber = 1,
	.stream_step = 1,
	.privileges = 1,
	.correlation = 1,
	.pc_buffer = 1000000,
	.pm_buffer = 4096,
	.pm_load = -1,
	.nvml_step_ms = 1000,
	.nvml_reasons = -1,
	.gpm = 1,
	.kernel_us = 20,
	.copy_gbps = 20,
	.latency_us = 3,
	.drift_ppm = 30,
	.chip = "GH100",
};

enum { FAILURES, DURATIONS, PREFIXES };
static struct option_prefix prefixes[PREFIXES] = {
	[FAILURES] = {.prefix = "fail_"},
	[DURATIONS] = {.prefix = "us_"},
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define ROW(member, type) OPTION_ROW(sim_options, member, type)

static const struct option_row rows[] = {
	ROW(devices, INTEGER),
	ROW(driver, INTEGER),
	ROW(version, INTEGER),
	ROW(sms, INTEGER),
	ROW(sm_mhz, INTEGER),
	ROW(subscriber, INTEGER),
	ROW(privileges, INTEGER),
	ROW(busy, INTEGER),
	ROW(correlation, INTEGER),
	ROW(no_kind, INTEGER),
	ROW(drop_every, INTEGER),
	ROW(untimed_every, INTEGER),
	ROW(stream_step, INTEGER),
	ROW(silent_sets, INTEGER),
	ROW(range_first, INTEGER),
	ROW(range_last, INTEGER),
	ROW(null_crash, INTEGER),
	ROW(bad_after, INTEGER),
	ROW(flush_hang, INTEGER),
	ROW(finalize_crash, INTEGER),
	ROW(stray_buffer, INTEGER),
	ROW(pc_buffer, INTEGER),
	ROW(pc_lag_us, INTEGER),
	ROW(pc_late, INTEGER),
	ROW(pc_slow_ms, INTEGER),
	ROW(pc_chips, INTEGER),
	ROW(context_reuse, INTEGER),
	ROW(pc_keep, INTEGER),
	ROW(pc_fixed, INTEGER),
	ROW(pc_forget, INTEGER),
	ROW(pc_plan, TEXT),
	ROW(pm_buffer, INTEGER),
	ROW(pm_nan_every, INTEGER),
	ROW(pm_other_every, INTEGER),
	ROW(pm_full_ms, INTEGER),
	ROW(pm_hang_ms, INTEGER),
	ROW(pm_clock, INTEGER),
	ROW(pm_load, REAL),
	ROW(nvml_unsupported, INTEGER),
	ROW(nvml_step_ms, INTEGER),
	ROW(nvml_pid, INTEGER),
	ROW(nvml_reasons, INTEGER),
	ROW(nvml_lost_ms, INTEGER),
	ROW(nvml_no_fields, INTEGER),
	ROW(mig, INTEGER),
	ROW(gpm, INTEGER),
	ROW(gpm_least_ms, INTEGER),
	ROW(kernel_us, REAL),
	ROW(copy_gbps, REAL),
	ROW(latency_us, REAL),
	ROW(queue_us, REAL),
	ROW(drift_ppm, REAL),
	ROW(chip, TEXT),
	ROW(log, TEXT),
	ROW(calls, TEXT),
	ROW(gate, TEXT),
	ROW(nvml_load, TEXT),
};

static const struct option_list list = {
	.variable = "SIM_NVIDIA",
	.options = &options,
	.rows = rows,
	.rows_count = sizeof(rows) / sizeof(rows[0]),
	.prefixes = prefixes,
	.prefixes_count = PREFIXES,
};

static void complain(const char *text)
{
	fprintf(stderr, "sim-nvidia: SIM_NVIDIA: '%s' makes no sense\n", text);
	abort();
}

static void read_options(void)
{
	char wrong[4096];

	if (!option_list_read(&list, wrong, sizeof(wrong)))
		complain(wrong);
	if (options.devices < 0 || options.devices > MAX_SIM_DEVICES || options.copy_gbps <= 0 ||
	    options.sm_mhz <= 0 || options.sms <= 0 || options.pm_buffer <= 0 ||
	    options.nvml_step_ms <= 0 || options.mig < 0 || options.mig > MAX_SIM_INSTANCES)
		complain("devices, copy_gbps, sm_mhz, sms, pm_buffer, nvml_step_ms or mig");
}

const struct sim_options *sim_options(void)
{
	pthread_once(&once, read_options);
	return &options;
}

int sim_failure(const char *function)
{
	sim_options();
	return (int)option_prefix_find(&prefixes[FAILURES], function, 0);
}

uint64_t sim_kernel_ns(const char *name)
{
	double us = sim_options()->kernel_us;

	return (uint64_t)(option_prefix_find(&prefixes[DURATIONS], name, us) * 1000);
}

/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/options.c - SIM_OPENCL, a list of name=value with commas between
 *
 * Runs in:  the test program, once, when the loader asks for platforms
 * Fails:    with a line on stderr: a test with a misspelled option must not pass
 */
#include <stdio.h>
#include <string.h>

#include "../option_list.h"
#include "sim.h"

struct sim_options sim_options = {
	.devices = 1,
	.engines = 4,
	.latency_ns = 3000,
	.uuid = 1,
	.pci = 1,
	.kernel_us = 20,
	.copy_ns = 1000,
	.copy_gbps = 8,
};

#define ROW(member, type) OPTION_ROW(sim_options, member, type)

static const struct option_row rows[] = {
	ROW(devices, INTEGER),
	ROW(first, INTEGER),
	ROW(engines, INTEGER),
	ROW(offset_ns, INTEGER),
	ROW(drift_ppm, REAL),
	ROW(tick_ns, REAL),
	ROW(tick_reads_ns, REAL),
	ROW(timer, INTEGER),
	ROW(query_ns, INTEGER),
	ROW(latency_ns, INTEGER),
	ROW(doze_ms, INTEGER),
	ROW(wake_us, INTEGER),
	ROW(kernel_us, REAL),
	ROW(copy_ns, INTEGER),
	ROW(copy_gbps, REAL),
	ROW(fail_every, INTEGER),
	ROW(bad_stamp_every, INTEGER),
	ROW(never_every, INTEGER),
	ROW(uuid, INTEGER),
	ROW(pci, INTEGER),
	ROW(no_profiling, INTEGER),
	ROW(local_bytes, INTEGER),
	ROW(private_bytes, INTEGER),
	ROW(no_needs, INTEGER),
	ROW(cpu, INTEGER),
	ROW(odd_context, INTEGER),
	ROW(no_success, INTEGER),
	ROW(log, TEXT),
};

static const struct word {
	const char *name, *text;
	int value;
} words[] = {
	{"clock", "device", SIM_CLOCK_DEVICE},
	{"clock", "hull", SIM_CLOCK_DEVICE},
	{"clock", "pairs", SIM_CLOCK_DEVICE},
	{"clock", "monotonic", SIM_CLOCK_MONOTONIC},
	{"clock", "raw", SIM_CLOCK_RAW},
	{"clock", "boottime", SIM_CLOCK_BOOTTIME},
	{"clock", "realtime", SIM_CLOCK_REALTIME},
	{"clock", "tsc", SIM_CLOCK_TSC},
	{"bad_stamp", "reversed", SIM_BAD_REVERSED},
	{"bad_stamp", "untouched", SIM_BAD_UNTOUCHED},
	{"bad_stamp", "zero", SIM_BAD_ZERO},
	{"bad_stamp", "far", SIM_BAD_FAR},
};

static bool take_word(const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].name, name) != 0 || strcmp(words[i].text, value) != 0)
			continue;
		if (strcmp(name, "clock") == 0)
			sim_options.clock = words[i].value;
		else
			sim_options.bad_stamp = words[i].value;
		if (strcmp(value, "pairs") == 0)
			sim_options.timer = 1;
		return true;
	}
	return false;
}

static struct option_prefix durations = {.prefix = "us_"};

static const struct option_list list = {
	.variable = "SIM_OPENCL",
	.options = &sim_options,
	.rows = rows,
	.rows_count = sizeof(rows) / sizeof(rows[0]),
	.prefixes = &durations,
	.prefixes_count = 1,
	.take_other = take_word,
};

static bool is_within(int64_t value, int64_t least, int64_t most)
{
	return value >= least && value <= most;
}

bool sim_options_read(void)
{
	char wrong[2048];

	if (!option_list_read(&list, wrong, sizeof(wrong))) {
		fprintf(stderr, "sim-opencl: SIM_OPENCL: '%s' makes no sense\n", wrong);
		return false;
	}
	sim_options.drift_ppb = (int64_t)(sim_options.drift_ppm * 1000);
	if (is_within(sim_options.devices, 1, MAX_SIM_DEVICES) &&
	    is_within(sim_options.engines, 1, MAX_SIM_ENGINES) &&
	    is_within(sim_options.first, 0, sim_options.devices - 1) &&
	    is_within(sim_options.copy_ns, 1, MAX_SIM_COPY_NS) && sim_options.copy_gbps > 0)
		return true;
	fprintf(stderr, "sim-opencl: SIM_OPENCL: devices, engines, first, copy_ns or copy_gbps is "
			"out of range\n");
	return false;
}

double sim_kernel_us(const char *name)
{
	return option_prefix_find(&durations, name, sim_options.kernel_us);
}

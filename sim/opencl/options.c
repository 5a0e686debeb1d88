/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/options.c - SIM_OPENCL, a list of name=value with commas between
 *
 * Runs in:  the test program, once, when the loader asks for platforms
 * Fails:    with a line on stderr: a test with a misspelled option must not pass
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct sim_options sim_options = {
	.devices = 1,
	.engines = 4,
	.latency_ns = 3000,
	.uuid = 1,
	.pci = 1,
	.kernel_us = 20,
	.copy_gbps = 8,
};

enum type { INTEGER, REAL, CLOCK, BAD_STAMP, TEXT };

#define OPTION(name, type)                                      \
	{                                                       \
#name, type, offsetof(struct sim_options, name) \
	}

static const struct row {
	const char *name;
	enum type type;
	size_t offset;
} rows[] = {
	OPTION(devices, INTEGER),
	OPTION(first, INTEGER),
	OPTION(engines, INTEGER),
	OPTION(clock, CLOCK),
	OPTION(offset_ns, INTEGER),
	OPTION(drift_ppm, REAL),
	OPTION(tick_ns, REAL),
	OPTION(tick_reads_ns, REAL),
	OPTION(timer, INTEGER),
	OPTION(query_ns, INTEGER),
	OPTION(latency_ns, INTEGER),
	OPTION(kernel_us, REAL),
	OPTION(copy_gbps, REAL),
	OPTION(fail_every, INTEGER),
	OPTION(bad_stamp_every, INTEGER),
	OPTION(bad_stamp, BAD_STAMP),
	OPTION(never_every, INTEGER),
	OPTION(uuid, INTEGER),
	OPTION(pci, INTEGER),
	OPTION(no_profiling, INTEGER),
	OPTION(local_bytes, INTEGER),
	OPTION(private_bytes, INTEGER),
	OPTION(no_needs, INTEGER),
	OPTION(log, TEXT),
};

static const struct word {
	enum type type;
	const char *text;
	int value;
} words[] = {
	{CLOCK, "device", SIM_CLOCK_DEVICE},
	{CLOCK, "hull", SIM_CLOCK_DEVICE},
	{CLOCK, "pairs", SIM_CLOCK_DEVICE},
	{CLOCK, "monotonic", SIM_CLOCK_MONOTONIC},
	{CLOCK, "raw", SIM_CLOCK_RAW},
	{CLOCK, "boottime", SIM_CLOCK_BOOTTIME},
	{CLOCK, "realtime", SIM_CLOCK_REALTIME},
	{CLOCK, "tsc", SIM_CLOCK_TSC},
	{BAD_STAMP, "reversed", SIM_BAD_REVERSED},
	{BAD_STAMP, "untouched", SIM_BAD_UNTOUCHED},
	{BAD_STAMP, "zero", SIM_BAD_ZERO},
	{BAD_STAMP, "far", SIM_BAD_FAR},
};

static bool set_word(const struct row *row, const char *value)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].type != row->type || strcmp(words[i].text, value) != 0)
			continue;
		*(int *)((char *)&sim_options + row->offset) = words[i].value;
		if (strcmp(value, "pairs") == 0)
			sim_options.timer = 1;
		return true;
	}
	return false;
}

static bool set_value(const struct row *row, const char *value)
{
	char *place = (char *)&sim_options + row->offset, *end = NULL;

	switch (row->type) {
	case INTEGER:
		*(int64_t *)place = strtoll(value, &end, 10);
		return *value && !*end;
	case REAL:
		*(double *)place = strtod(value, &end);
		return *value && !*end;
	case TEXT:
		snprintf(place, sizeof(sim_options.log), "%s", value);
		return true;
	default:
		return set_word(row, value);
	}
}

static bool set_option(char *text)
{
	char *value = strchr(text, '=');

	if (!value)
		return false;
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, text) == 0)
			return set_value(&rows[i], value);
	return false;
}

static bool is_within(int64_t value, int64_t least, int64_t most)
{
	return value >= least && value <= most;
}

bool sim_options_read(void)
{
	const char *given = getenv("SIM_OPENCL");
	char copy[2048], *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", given ? given : "");
	for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (!set_option(one)) {
			fprintf(stderr, "sim-opencl: SIM_OPENCL: '%s' makes no sense\n", one);
			return false;
		}
	}
	sim_options.drift_ppb = (int64_t)(sim_options.drift_ppm * 1000);
	if (is_within(sim_options.devices, 1, SIM_DEVICES_MOST) &&
	    is_within(sim_options.engines, 1, SIM_ENGINES_MOST) &&
	    is_within(sim_options.first, 0, sim_options.devices - 1) && sim_options.copy_gbps > 0)
		return true;
	fprintf(stderr, "sim-opencl: SIM_OPENCL: devices, engines, first or copy_gbps is out of "
			"range\n");
	return false;
}

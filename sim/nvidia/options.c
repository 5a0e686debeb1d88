/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/options.c - SIM_NVIDIA, a list of name=value with commas between
 *
 * Runs in:  a program that uses CUDA; each of the three libraries reads it for itself, once
 * Gives:    the options, the failures to pretend, how long kernels take
 * Fails:    aborts with a line on stderr: a test with a misspelled option must not pass
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct override {
	char name[SIM_NAME_BYTES];
	double value;
};

static struct sim_options options = {
	.devices = 1,
	.driver = 13000,
	.version = 130001,
	.sms = 132,
	.sm_mhz = 1980,
	.subscriber = 1,
	.privileges = 1,
	.pc_buffer = 1000000,
	.pm_buffer = 4096,
	.gpm = 1,
	.kernel_us = 20,
	.copy_gbps = 20,
	.latency_us = 3,
	.drift_ppm = 30,
	.chip = "GH100",
};

static struct override failures[SIM_OVERRIDES_MOST], durations[SIM_OVERRIDES_MOST];
static size_t failure_count, duration_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

enum type { INTEGER, REAL, TEXT };

#define OPTION(name, type)                                                            \
	{                                                                             \
#name, type, offsetof(struct sim_options, name), sizeof(options.name) \
	}

static const struct row {
	const char *name;
	enum type type;
	size_t offset, bytes;
} rows[] = {
	OPTION(devices, INTEGER),
	OPTION(driver, INTEGER),
	OPTION(version, INTEGER),
	OPTION(sms, INTEGER),
	OPTION(sm_mhz, INTEGER),
	OPTION(subscriber, INTEGER),
	OPTION(privileges, INTEGER),
	OPTION(busy, INTEGER),
	OPTION(drop_every, INTEGER),
	OPTION(untimed_every, INTEGER),
	OPTION(null_crash, INTEGER),
	OPTION(bad_after, INTEGER),
	OPTION(flush_hang, INTEGER),
	OPTION(stray_buffer, INTEGER),
	OPTION(pc_buffer, INTEGER),
	OPTION(pc_lag_us, INTEGER),
	OPTION(pc_keep, INTEGER),
	OPTION(pm_buffer, INTEGER),
	OPTION(pm_nan_every, INTEGER),
	OPTION(pm_other_every, INTEGER),
	OPTION(nvml_unsupported, INTEGER),
	OPTION(gpm, INTEGER),
	OPTION(kernel_us, REAL),
	OPTION(copy_gbps, REAL),
	OPTION(latency_us, REAL),
	OPTION(queue_us, REAL),
	OPTION(drift_ppm, REAL),
	OPTION(chip, TEXT),
	OPTION(log, TEXT),
};

static bool add_override(struct override *list, size_t *count, const char *name, const char *value)
{
	struct override *one = &list[*count];
	char *end;

	if (*count == SIM_OVERRIDES_MOST || strlen(name) >= sizeof(one->name) || !*value)
		return false;
	one->value = strtod(value, &end);
	strcpy(one->name, name);
	(*count)++;
	return !*end;
}

static bool set_value(const struct row *row, const char *value)
{
	char *place = (char *)&options + row->offset, *end = NULL;

	switch (row->type) {
	case INTEGER:
		*(int64_t *)place = strtoll(value, &end, 10);
		return *value && !*end;
	case REAL:
		*(double *)place = strtod(value, &end);
		return *value && !*end;
	default:
		snprintf(place, row->bytes, "%s", value);
		return true;
	}
}

static bool set_option(char *text)
{
	char *value = strchr(text, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (strncmp(text, "fail_", 5) == 0)
		return add_override(failures, &failure_count, text + 5, value);
	if (strncmp(text, "us_", 3) == 0)
		return add_override(durations, &duration_count, text + 3, value);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, text) == 0)
			return set_value(&rows[i], value);
	return false;
}

static void complain(const char *text)
{
	fprintf(stderr, "sim-nvidia: SIM_NVIDIA: '%s' makes no sense\n", text);
	abort();
}

static void read_options(void)
{
	const char *given = getenv("SIM_NVIDIA");
	char copy[4096], one_copy[4096], *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", given ? given : "");
	for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		strcpy(one_copy, one);
		if (!set_option(one))
			complain(one_copy);
	}
	if (options.devices < 0 || options.devices > SIM_DEVICES_MOST || options.copy_gbps <= 0 ||
	    options.sm_mhz <= 0 || options.sms <= 0 || options.pm_buffer <= 0)
		complain("devices, copy_gbps, sm_mhz, sms or pm_buffer");
}

const struct sim_options *sim_options(void)
{
	pthread_once(&once, read_options);
	return &options;
}

int sim_failure(const char *function)
{
	sim_options();
	for (size_t i = 0; i < failure_count; i++)
		if (strcmp(failures[i].name, function) == 0)
			return (int)failures[i].value;
	return 0;
}

uint64_t sim_kernel_ns(const char *name)
{
	double us = sim_options()->kernel_us;

	for (size_t i = 0; i < duration_count; i++)
		if (strcmp(durations[i].name, name) == 0)
			us = durations[i].value;
	return (uint64_t)(us * 1000);
}

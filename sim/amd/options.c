/* SPDX-License-Identifier: MIT
 *
 * sim/amd/options.c - SIM_KFD, a list of name=value with commas between
 *
 * Runs in:  a program that uses ROCr, once, at the first query of an option
 * Gives:    the options, and the durations of kernels
 * Fails:    aborts with a line on stderr: a test with a misspelled option must not pass
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../option_list.h"
#include "sim.h"

static struct sim_options options = {
	.gpus = 1,
	.jump_at = 1,
	.jump_gpu = 1,
	.execute = 1,
	.kernel_us = 20,
	.copy_gbps = 20,
	.gfx = "gfx90a",
};

static struct option_prefix durations = {.prefix = "us_"};
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define ROW(member, type) OPTION_ROW(sim_options, member, type)

static const struct option_row rows[] = {
	ROW(gpus, INTEGER),     ROW(gfx, TEXT),        ROW(kernel_us, REAL),
	ROW(item_ns, REAL),     ROW(copy_gbps, REAL),  ROW(drift_ppm, REAL),
	ROW(jump_ms, REAL),     ROW(jump_at, INTEGER), ROW(jump_at_ns, INTEGER),
	ROW(jump_gpu, INTEGER), ROW(never, TEXT),      ROW(never_at, INTEGER),
	ROW(execute, INTEGER),  ROW(gws, INTEGER),     ROW(log, TEXT),
	ROW(trace, INTEGER),
};

static const struct option_list list = {
	.variable = "SIM_KFD",
	.options = &options,
	.rows = rows,
	.rows_count = sizeof(rows) / sizeof(rows[0]),
	.prefixes = &durations,
	.prefixes_count = 1,
};

/* gfx90a is 9, 0, 10: the last two are one hexadecimal digit each. */
static bool read_target(void)
{
	size_t length = strlen(options.gfx);
	char major[8] = "", last[2][2];

	if (length < 6 || length > 8 || strncmp(options.gfx, "gfx", 3) != 0)
		return false;
	memcpy(major, options.gfx + 3, length - 5);
	for (int i = 0; i < 2; i++)
		memcpy(last[i], (char[2]){options.gfx[length - 2 + (size_t)i], '\0'}, 2);
	options.gfx_major = (uint32_t)strtoul(major, NULL, 10);
	options.gfx_minor = (uint32_t)strtoul(last[0], NULL, 16);
	options.gfx_step = (uint32_t)strtoul(last[1], NULL, 16);
	return options.gfx_major >= 9;
}

static bool is_sane(void)
{
	return options.gpus >= 1 && options.gpus <= MAX_SIM_GPUS && options.kernel_us >= 0 &&
	       options.item_ns >= 0 && options.copy_gbps > 0 && options.jump_ms >= 0;
}

static void read_options(void)
{
	char wrong[4096];

	if (!option_list_read(&list, wrong, sizeof(wrong)))
		sim_die("SIM_KFD: '%s' makes no sense", wrong);
	if (!read_target())
		sim_die("SIM_KFD: gfx=%s is no target from gfx900 on", options.gfx);
	if (!is_sane())
		sim_die("SIM_KFD: gpus, kernel_us, item_ns, copy_gbps or jump_ms is out of range");
}

const struct sim_options *sim_options(void)
{
	pthread_once(&once, read_options);
	return &options;
}

uint64_t sim_kernel_ns(const char *name)
{
	double us = sim_options()->kernel_us;

	return (uint64_t)(option_prefix_find(&durations, name, us) * 1000);
}

/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/options.c - SIM_LEVEL_ZERO, a list of name=value with commas between
 *
 * Runs in:  the test program, once, when the loader initialises the driver
 * Fails:    with a line on stderr: a test with a misspelled option must not pass
 */
#include <stdio.h>

#include "../option_list.h"
#include "sim.h"

/* The frequency and the 32 bits are those of many of Intel's devices: stamps wrap after 224 s. */
struct sim_options sim_options = {
	.devices = 2,
	.hz = 19200000,
	.stamp_bits = 32,
	.clock_bits = 36,
	.offset_ns = 123456789,
	.code = 0x800000000000,
	.kernel_us = 50,
	.copy_gbps = 8,
	.latency_us = 5,
	.slow_ms = 1500,
};

#define ROW(member, type) OPTION_ROW(sim_options, member, type)

static const struct option_row rows[] = {
	ROW(devices, INTEGER),    ROW(hz, INTEGER),        ROW(stamp_bits, INTEGER),
	ROW(clock_bits, INTEGER), ROW(offset_ns, INTEGER), ROW(no_base_address, INTEGER),
	ROW(no_binary, INTEGER),  ROW(kernel_us, REAL),    ROW(copy_gbps, REAL),
	ROW(latency_us, REAL),    ROW(log, TEXT),          ROW(node, TEXT),
	ROW(code, INTEGER),       ROW(gone, TEXT),         ROW(query_us, REAL),
	ROW(slow, TEXT),          ROW(slow_ms, INTEGER),
};

static const struct option_list list = {
	.variable = "SIM_LEVEL_ZERO",
	.options = &sim_options,
	.rows = rows,
	.rows_count = sizeof(rows) / sizeof(rows[0]),
};

bool sim_options_read(void)
{
	char wrong[1024];

	if (!option_list_read(&list, wrong, sizeof(wrong))) {
		fprintf(stderr, "sim-level_zero: SIM_LEVEL_ZERO: '%s' makes no sense\n", wrong);
		return false;
	}
	if (sim_options.devices >= 1 && sim_options.devices <= MAX_SIM_DEVICES &&
	    sim_options.hz > 0 && sim_options.copy_gbps > 0 && sim_options.stamp_bits > 0 &&
	    sim_options.stamp_bits <= 64 && sim_options.clock_bits > 0 &&
	    sim_options.clock_bits <= 64 && (sim_options.code & 0xfff) == 0)
		return true;
	fprintf(stderr, "sim-level_zero: SIM_LEVEL_ZERO: devices, hz, copy_gbps, stamp_bits, "
			"clock_bits or code is out of range\n");
	return false;
}

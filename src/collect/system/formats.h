/* SPDX-License-Identifier: MIT
 *
 * collect/system/formats.h - parsers of the kernel's files, each a function of a text and its
 * length
 *
 * The text is not NUL-terminated; it may be cut anywhere and contain anything. values[] has
 * MAX_METRICS entries in the order of the source's table of metrics. Each value that is found sets
 * a bit, which is returned or set in `valid`; other values are unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/counter/metric.h"
#include "collect/counter/scan.h"
#include "collect/counter/sensors.h"

/* One instance in a file: a line, or the lines about it. */
struct format_row {
	const char *name; /* points into the text */
	size_t name_length;
	uint64_t number; /* number of a processor; CPU_ALL: the sum of all */
	uint64_t values[MAX_METRICS];
	uint64_t valid;
};
#define CPU_ALL UINT64_MAX

/* /proc/stat: one processor's line after the other; and the other lines. ticks_hz: the unit of
 * times. */
bool stat_next_cpu(struct scan *rest, uint64_t ticks_hz, struct format_row *ret_row);
uint64_t stat_parse(const char *text, size_t length, uint64_t *values);

uint64_t pressure_parse(const char *text, size_t length, uint64_t *values);
uint64_t loadavg_parse(const char *text, size_t length, uint64_t *values);
uint64_t meminfo_parse(const char *text, size_t length, uint64_t *values);
uint64_t vmstat_parse(const char *text, size_t length, uint64_t *values);
bool diskstats_next(struct scan *rest, struct format_row *ret_row);
uint64_t inflight_parse(const char *text, size_t length, uint64_t *values);
bool netdev_next(struct scan *rest, struct format_row *ret_row);
/* Files in /proc/PID. */
uint64_t schedstat_parse(const char *text, size_t length, uint64_t *values);
uint64_t statm_parse(const char *text, size_t length, uint64_t *values);
uint64_t io_parse(const char *text, size_t length, uint64_t *values);
uint64_t status_parse(const char *text, size_t length, uint64_t *values);
uint64_t smaps_rollup_parse(const char *text, size_t length, uint64_t *values);
uint64_t temperature_parse(const char *text, size_t length, uint64_t *values);
/* Finds the path of the process in /proc/PID/cgroup, in a controller's hierarchy ("": version
 * 2). */
bool cgroup_path(const char *text, size_t length, const char *controller, struct scan *ret_path);
uint64_t cpu_stat_parse(const char *text, size_t length, uint64_t *values);
/* Parses cpu.max: allowed CPU time per second, in ns. */
bool cpu_max_parse(const char *text, size_t length, uint64_t *ret_ns);

/* SPDX-License-Identifier: MIT
 *
 * collect/system/formats.h - the kernel's files, each a function of a text and its length
 *
 * The text ends where its length says, may be cut anywhere and say anything. values[] has METRICS_MOST places, in the
 * order of the source's table of metrics; a bit is returned, or set in valid, for each that was found. What is not
 * found is untouched.
 */
#ifndef COLLECT_SYSTEM_FORMATS_H
#define COLLECT_SYSTEM_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/metric.h"
#include "collect/scan.h"
#include "collect/sensors.h"

/* One of many things in a file: a line, or what its lines say together. */
struct format_row {
	const char *name; /* in the text */
	size_t name_length;
	uint64_t number; /* of a processor; CPU_ALL: all of them */
	uint64_t values[METRICS_MOST];
	uint64_t valid;
};
#define CPU_ALL UINT64_MAX

/* /proc/stat: the lines of processors one after the other; and what the others say. ticks_hz: of its unit. */
bool stat_next_cpu(struct scan *rest, uint64_t ticks_hz, struct format_row *ret_row);
uint64_t stat_parse(const char *text, size_t length, uint64_t *values);

uint64_t pressure_parse(const char *text, size_t length, uint64_t *values);
uint64_t loadavg_parse(const char *text, size_t length, uint64_t *values);
uint64_t meminfo_parse(const char *text, size_t length, uint64_t *values);
uint64_t vmstat_parse(const char *text, size_t length, uint64_t *values);
bool diskstats_next(struct scan *rest, struct format_row *ret_row);
uint64_t inflight_parse(const char *text, size_t length, uint64_t *values);
bool netdev_next(struct scan *rest, struct format_row *ret_row);
/* /proc/PID/… */
uint64_t schedstat_parse(const char *text, size_t length, uint64_t *values);
uint64_t statm_parse(const char *text, size_t length, uint64_t *values);
uint64_t io_parse(const char *text, size_t length, uint64_t *values);
uint64_t status_parse(const char *text, size_t length, uint64_t *values);
uint64_t smaps_rollup_parse(const char *text, size_t length, uint64_t *values);
uint64_t temperature_parse(const char *text, size_t length, uint64_t *values);
/* /proc/PID/cgroup: the path of the process in the hierarchy of a controller ("": the one of version 2). */
bool cgroup_path(const char *text, size_t length, const char *controller, struct scan *ret_path);
uint64_t cpu_stat_parse(const char *text, size_t length, uint64_t *values);
/* cpu.max: what may be used in a second, ns. */
bool cpu_max_parse(const char *text, size_t length, uint64_t *ret_ns);

#endif

/* SPDX-License-Identifier: MIT
 *
 * collect/system/sources.c - the sources of the collector, in the order of reading
 *
 * Runs in:  the recorder
 * Gets:     nothing
 * Gives:    the table
 * Owns:     nothing
 * Fails:    never
 * Why:      A new source needs one file, and one row in this table
 */
#include "base/array.h"
#include "collect/system/sources.h"

static const struct source *const all[] = {
	&stat_source,          &pressure_source,
	&loadavg_source,       &tasks_source,
	&meminfo_source,       &vmstat_source,
	&disk_source,          &net_source,
	&process_cpu_source,   &process_status_source,
	&process_statm_source, &process_io_source,
	&process_smaps_source, &cgroup_source,
	&thermal_source,       &powercap_source,
	&cpufreq_source,       &own_source, /* last, to include the cost of the others in a tick */
};
const struct source_list system_sources = {all, ARRAY_COUNT(all)};

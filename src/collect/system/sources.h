/* SPDX-License-Identifier: MIT
 *
 * collect/system/sources.h - the sources of the machine and of processes
 */
#pragma once

#include "collect/counter/source.h"

extern const struct source_list system_sources;

/* The sources: one file each, or two per file. */
extern const struct source cgroup_source;
extern const struct source cpufreq_source;
extern const struct source disk_source;
extern const struct source loadavg_source;
extern const struct source meminfo_source;
extern const struct source net_source;
extern const struct source powercap_source;
extern const struct source pressure_source;
extern const struct source process_cpu_source;
extern const struct source process_io_source;
extern const struct source process_smaps_source;
extern const struct source process_statm_source;
extern const struct source process_status_source;
extern const struct source stat_source;
extern const struct source tasks_source;
extern const struct source thermal_source;
extern const struct source vmstat_source;

/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/totals_private.h - the parts of totals
 */
#pragma once

#include "agent/endpoints/gauges.h"
#include "agent/endpoints/label_table.h"
#include "agent/endpoints/totals.h"
#include "analyze/account/account.h"
#include "event/event.h"

/* The counters of a row, by table. */
enum device_value {
	DEVICE_BUSY,
	DEVICE_KERNELS,
	DEVICE_COPIES,
	DEVICE_UNMEASURED,
	DEVICE_LAUNCHES,
	DEVICE_EXECUTIONS,
	DEVICE_IN_FLIGHT, /* a gauge: the present value */
	DEVICE_CAUSES,    /* the first of CAUSE_COUNT */
	DEVICE_VALUES = DEVICE_CAUSES + CAUSE_COUNT
};
enum kernel_value { KERNEL_BUSY, KERNEL_DURATION, KERNEL_EXECUTIONS, KERNEL_VALUES };
enum process_value {
	PROCESS_BUSY,
	PROCESS_LAUNCHES,
	PROCESS_EXECUTIONS,
	PROCESS_CALLS,
	PROCESS_CALLS_TIME,
	PROCESS_ON_CPU,
	PROCESS_BLOCKED,
	PROCESS_VALUES
};
enum copy_value { COPY_BYTES, COPY_TIME, COPY_COUNT, COPY_VALUES };

enum totals_table {
	TOTALS_DEVICES,
	TOTALS_KERNELS,
	TOTALS_PROCESSES,
	TOTALS_COPIES,
	TOTALS_TABLES
};

struct totals {
	struct totals_options options;
	struct label_table tables[TOTALS_TABLES];
	struct gauges gauges;
	uint64_t lost[EVENT_KIND_COUNT]; /* rows; kind EVENT_PADDING: all other kinds */
	uint64_t unknown_losses;
	bool has_cpu_times; /* a process had times on and off its processors */
	uint64_t states[TOTALS_STATE_COUNT];
	uint64_t real_ns;
};

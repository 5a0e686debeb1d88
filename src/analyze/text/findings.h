/* SPDX-License-Identifier: MIT
 *
 * analyze/text/findings.h - findings: probable problems in a recording, with their numbers
 *
 * The rules, with the reason of each threshold, are docs/design/findings.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"

/* Each kind, and its stable name for programs. The order is that of the rules. */
#define FINDING_KINDS(KIND)                            \
	KIND(FAILED_LAUNCHES, failed_launches)         \
	KIND(FAILED_BUILDS, failed_builds)             \
	KIND(FAILED_ALLOCATIONS, failed_allocations)   \
	KIND(FAILED_COMMANDS, failed_commands)         \
	KIND(SMALL_TRANSFERS, small_transfers)         \
	KIND(CPU_PREEMPTION, cpu_preemption)           \
	KIND(STARVED_QUEUE, starved_queue)             \
	KIND(BLOCKED_HOST, blocked_host)               \
	KIND(DEVICE_SHARED, device_shared)             \
	KIND(NO_OVERLAP, no_overlap)                   \
	KIND(SYNC_COPIES, sync_copies)                 \
	KIND(SERIAL_QUEUES, serial_queues)             \
	KIND(LATE_RANKS, late_ranks)                   \
	KIND(LAUNCH_BOUND, launch_bound)               \
	KIND(TINY_KERNELS, tiny_kernels)               \
	KIND(LOW_OCCUPANCY, low_occupancy)             \
	KIND(LAUNCH_LATENCY, launch_latency)           \
	KIND(WAIT_UNDER_GIL, wait_under_gil)           \
	KIND(HIDDEN_LAUNCHES, hidden_launches)         \
	KIND(COMPILE_TIME, compile_time)               \
	KIND(COMMAND_BUFFER_FULL, command_buffer_full) \
	KIND(PROFILER_OVERHEAD, profiler_overhead)     \
	KIND(COPY_BOUND, copy_bound)

#define FINDING_KIND(KIND, name) FINDING_##KIND,
enum finding_kind { FINDING_KINDS(FINDING_KIND) FINDING_COUNT };

#define FINDING_NO_DEVICE SIZE_MAX
enum { FINDING_NUMBERS = 16 };

/* One number of a finding. Its name is a JSON key and must not change. */
struct finding_number {
	const char *name; /* the name includes the unit: "preempted_ns" */
	uint64_t value;
};

struct finding {
	enum finding_kind kind;
	size_t device;    /* index into the analysis, or FINDING_NO_DEVICE */
	uint64_t cost_ns; /* upper limit of the time that a change would save; 0: not known */
	const struct analysis_failure *failure; /* FINDING_FAILED_… */
	const struct analysis_kernel
		*kernel; /* LOW_OCCUPANCY; TINY_KERNELS: the one with the most tiny executions */
	const struct analysis_queue *queue; /* LAUNCH_LATENCY */
	/* LATE_RANKS: the two that arrived last most often; other_rank: NULL if much less often */
	const struct collectives_rank *rank, *other_rank;
	const struct analysis_copy
		*copy; /* COPY_BOUND: most of the time; NULL: no direction has half */
	const struct analysis_gil *gil;       /* WAIT_UNDER_GIL: the one with the longest waits */
	const struct analysis_waited *waited; /* LAUNCH_BOUND: the gaps with the most time */
	const struct analysis_call *call;     /* COMPILE_TIME: the function with the most time */
	struct finding_number numbers[FINDING_NUMBERS];
	size_t numbers_count;
};

struct findings {
	struct finding *list; /* failures first, then by falling cost */
	size_t count, capacity;
};

/* "small_transfers", … */
const char *finding_id(enum finding_kind kind);
/* "info" for a cost below a tenth of the wall time, otherwise "warning". Failures and small
 * transfers have no cost and are always warnings. */
const char *finding_severity(const struct analysis *analysis, const struct finding *finding);
/* The finding's number of this name; 0 if it has none. */
uint64_t finding_value(const struct finding *finding, const char *name);

/* analysis must outlive the findings. Errors: -ENOMEM. */
int findings_find(const struct analysis *analysis, struct findings *ret_findings);
void findings_fini(struct findings *findings); /* NULL-safe */

/* Whether samples of instructions show that launches of a device were missed. */
bool findings_has_hidden(const struct analysis *analysis, size_t device);

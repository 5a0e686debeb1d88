/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/own.h - metrics of duet itself: its cost, its spool, its pushes
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/endpoints/families.h"
#include "agent/endpoints/real_clock.h"
#include "net/push_queue.h"
#include "net/pusher.h"

/* State of the agent's spool folder. */
struct endpoints_spool {
	uint64_t files, bytes, max_bytes;
	uint64_t added, dropped, dropped_bytes;
	uint64_t skipped, skipped_ns;
	uint64_t start_ns; /* CLOCK_REALTIME at which the counts began; 0: not known */
};

enum { OWN_STREAMS_MAX = 4, OWN_ROLES = 2 };

struct own_process {
	const char *role; /* "recorder", "endpoints"; NULL: none */
	uint64_t cpu_ns, resident_bytes;
	pid_t pid;         /* at the last reading */
	uint64_t ended_ns; /* part of cpu_ns, by processes before this pid */
	uint64_t start_ns; /* CLOCK_REALTIME at which the first of them started; 0: not known */
};

struct own_stream {
	const char *name;
	const char *url; /* borrowed; as configured */
	bool is_on, is_failing;
	uint64_t problem_ns; /* CLOCK_MONOTONIC of the last problem; 0: there was none */
	char problem[PUSHER_PROBLEM];
	struct push_counts counts;
};

struct own {
	uint64_t start_ns; /* CLOCK_REALTIME from which counters count */
	struct own_process processes[OWN_ROLES];
	bool has_spool;
	struct endpoints_spool spool;
	struct own_stream streams[OWN_STREAMS_MAX];
	size_t streams_count;
	uint64_t analysis_ns; /* time spent with reading and analysing */
	uint64_t behind_ns;   /* age of the newest counted time */
};

/* Reads the processor time of a process, with its ended children, and its memory; false: it is
 * gone. The time of a process with another pid is added to that of the process before. */
bool own_read_process(pid_t pid, const struct real_clock *clock, struct own_process *process);

void own_visit(const struct own *own, const struct metric_visitor *visitor);

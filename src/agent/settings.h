/* SPDX-License-Identifier: MIT
 *
 * agent/settings.h - the group `agent` of a configuration
 */
#pragma once

#include <stdint.h>

#include "agent/filter.h"
#include "collect/session.h"

struct agent_settings {
	const char *spool;   /* folder of the recordings */
	const char *runtime; /* folder of the status */
	const char *user;    /* whom the recorder becomes; NULL: it stays the caller */
	uint64_t max_disk_bytes, max_age_ns;    /* limits of the spool; 0: none */
	uint64_t segment_ns, segment_bytes;     /* limits for one recording */
	uint64_t sample_ns, sample_interval_ns; /* recorded part of each process; 0: all of it */
	uint64_t max_memory_bytes; /* private memory at which the recorder is replaced */
	struct agent_filter filter;
};

struct endpoints_options;

/* A configuration that was read; belongs to who loaded it. */
struct agent_setup {
	struct agent_settings settings;
	const struct endpoints_options *endpoints;
	struct session_options session; /* without output and callbacks */
};

/* Smallest values that keep the promises of the spool. */
enum { AGENT_RING_SEGMENTS = 2 };
#define AGENT_MIN_DISK       (UINT64_C(16) << 20)
#define AGENT_MIN_SEGMENT    (UINT64_C(1) << 20)
#define AGENT_MIN_SEGMENT_NS UINT64_C(1000000000)
#define AGENT_MIN_MEMORY     (UINT64_C(32) << 20)

/* SPDX-License-Identifier: MIT
 *
 * agent/watch.h - decides whether a child of the agent must be replaced
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/child.h"

/* How a child is doing. */
struct agent_vitals {
	uint64_t beat_ns; /* CLOCK_MONOTONIC of its last sign of life; 0: none yet */
	bool is_ready;    /* it has done its first round */
	uint64_t private_bytes;
	uint64_t file_end; /* size of the file that it writes, holes included */
};

struct agent_limits {
	uint64_t memory_bytes; /* 0: none */
	uint64_t file_end;     /* 0: none */
};

enum agent_verdict {
	CHILD_IS_WELL,
	CHILD_HANGS,         /* kill it */
	CHILD_IS_LARGE,      /* its memory has reached the limit: ask it to end */
	CHILD_FILE_IS_LARGE, /* the same for its file */
	AGENT_VERDICTS
};

/* replaced_ns: time of the last replacement for a limit; changed with a verdict for one. */
enum agent_verdict agent_watch_judge(const struct agent_child *child,
				     const struct agent_vitals *vitals,
				     const struct agent_limits *limits, uint64_t now_ns,
				     uint64_t *replaced_ns);

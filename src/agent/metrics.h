/* SPDX-License-Identifier: MIT
 *
 * agent/metrics.h - the child process that serves and pushes metrics
 */
#pragma once

#include "agent/settings.h"
#include "agent/status.h"

struct metrics_hooks {
	const char *version; /* duet's */
	void (*on_message)(void *context, const char *text);
	void *context;
};

/* Whether the configuration has an endpoint. */
bool metrics_is_wanted(const struct agent_setup *setup);

/* How often the recorder must write rows out and end segments for it. */
#define METRICS_FLUSH_NS   UINT64_C(200000000)
#define METRICS_SEGMENT_NS UINT64_C(1000000000)

/* Runs until SIGTERM. Returns the exit status of the process. */
int metrics_run(const struct agent_setup *setup, struct agent_status *status,
		const struct metrics_hooks *hooks);

/* SPDX-License-Identifier: MIT
 *
 * analyze/join/launch_outcomes.h - determines before an export which launches will get a device
 * slice, and the ledger
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/ledger.h"
#include "base/pair_map.h"
#include "event/event.h"

struct model;

enum launch_outcome {
	VERDICT_DRAWN,        /* its execution gets a slice */
	VERDICT_DRAWN_BEFORE, /* it gets a slice that begins before the launch, and no arrow */
	VERDICT_FAILED_CALL,
	VERDICT_UNTIMED,
	VERDICT_NO_SPAN,
	VERDICT_UNPLACED,
	VERDICT_BACKWARDS,
	VERDICT_NEVER,
	VERDICT_NOT_EXECUTED, /* a later command of its queue ran: analyze/join/unexecuted.h */
	VERDICT_REPLACED,
	VERDICT_OUTSIDE
};

/* Stores only verdicts that differ from the one expected from the launch's own row. */
struct verdicts {
	const struct model *model; /* borrowed */
	struct pair_map map;       /* (thread, enter) -> enum launch_outcome */
	uint64_t from_ns, to_ns;   /* the exported part */
	bool lost_executions;      /* executions were lost: a launch without one may have ended */
	struct analysis_ledger ledger; /* for the whole trace */
	/* delay by which the exporter's pass must hold executions back to see each launch before
	 * them */
	uint64_t delay_ns;
};

/* Reads all launches and executions once. Errors: -ENOMEM and those of the reader. */
int verdicts_init(struct verdicts *verdicts, const struct model *model, uint64_t from_ns,
		  uint64_t to_ns);
void verdicts_fini(struct verdicts *verdicts); /* NULL-safe */

enum launch_outcome verdicts_of(const struct verdicts *verdicts, const struct event_launch *row);

/* Whether it is known until when a launch is in flight: until its execution, or until the end of
 * the recording. It is not known for a launch that was not executed, nor for one without an
 * execution if executions were lost. */
bool verdicts_has_end(const struct verdicts *verdicts, enum launch_outcome verdict);

/* The reason why there is no slice, as text for users; NULL if there is a slice. */
const char *verdict_text(enum launch_outcome verdict);

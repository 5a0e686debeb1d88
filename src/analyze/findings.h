/* SPDX-License-Identifier: MIT
 *
 * analyze/findings.h - what somebody who knows would point at in a report
 *
 * The rules, with the reason of each threshold, are docs/design/findings.md.
 */
#ifndef ANALYZE_FINDINGS_H
#define ANALYZE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"

enum finding_kind {
	FINDING_FAILED_LAUNCHES,
	FINDING_FAILED_BUILDS,
	FINDING_FAILED_COMMANDS,
	FINDING_SMALL_TRANSFERS,
	FINDING_COUNT
};

#define FINDING_NO_DEVICE SIZE_MAX

struct finding {
	enum finding_kind kind;
	size_t device;                          /* index into the analysis, or FINDING_NO_DEVICE */
	const struct analysis_failure *failure; /* FINDING_FAILED_… */
	/* FINDING_SMALL_TRANSFERS */
	struct analysis_transfers small;
	uint64_t copies_ns; /* of all copies of the device */
};

/* "small_transfers", …: stable, for programs. */
const char *finding_id(enum finding_kind kind);

/* The finding at *cursor or behind it, which is moved past it; starts at 0. False: no more. */
bool findings_next(const struct analysis *analysis, size_t *cursor, struct finding *ret_finding);

#endif

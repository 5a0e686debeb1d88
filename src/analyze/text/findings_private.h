/* SPDX-License-Identifier: MIT
 *
 * analyze/text/findings_private.h - what the files with rules of findings share
 */
#pragma once

#include "analyze/text/findings.h"
#include "base/array.h"

static inline void finding_add_number(struct finding *finding, const char *name, uint64_t value)
{
	if (finding->numbers_count < FINDING_NUMBERS)
		finding->numbers[finding->numbers_count++] = (struct finding_number){name, value};
}

/* -ENOMEM. */
static inline int findings_append(struct findings *findings, const struct finding *finding)
{
	return array_append(findings->list, findings->capacity, findings->count, *finding);
}

/* ---- failures.c ---- */

int findings_add_failures(const struct analysis *analysis, struct findings *findings);

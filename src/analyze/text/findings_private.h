/* SPDX-License-Identifier: MIT
 *
 * analyze/text/findings_private.h - what the files with rules of findings share
 */
#pragma once

#include "analyze/text/findings.h"

void finding_add_number(struct finding *finding, const char *name, uint64_t value);
int findings_append(struct findings *findings, const struct finding *finding);

/* ---- failures.c ---- */

int findings_add_failures(const struct analysis *analysis, struct findings *findings);

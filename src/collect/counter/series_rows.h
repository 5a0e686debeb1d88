/* SPDX-License-Identifier: MIT
 *
 * collect/counter/series_rows.h - writes queued items as rows of the trace
 */
#pragma once

#include "collect/counter/series.h"
#include "collect/recording.h"

/* Writes all queued items. collector: the name for notes; source: the origin and clock of the
 * rows. */
void series_rows_write(struct series *series, struct recording *recording, const char *collector,
		       const struct trace_source *source);

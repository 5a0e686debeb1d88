/* SPDX-License-Identifier: MIT
 *
 * collect/series_rows.h - what was put into a series becomes rows of the trace
 */
#ifndef COLLECT_SERIES_ROWS_H
#define COLLECT_SERIES_ROWS_H

#include "collect/recording.h"
#include "collect/series.h"

/* Writes all that there is by now. collector: in whose name things are noted; source: whose rows they are, and by which
 * clock. */
void series_rows_write(struct series *series, struct recording *recording, const char *collector,
		       const struct trace_source *source);

#endif

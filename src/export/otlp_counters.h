/* SPDX-License-Identifier: MIT
 *
 * export/otlp_counters.h - what was counted, as metrics of OpenTelemetry
 */
#ifndef EXPORT_OTLP_COUNTERS_H
#define EXPORT_OTLP_COUNTERS_H

#include <stdint.h>

struct export_options;
struct model;
struct protobuf;

/* Metrics of a scope, a point for each reading. Nothing where the trace does not know the time of day, which every
 * point has. -ENOMEM, what the reader fails with. */
int otlp_put_counters(struct protobuf *message, const struct model *model,
		      const struct export_options *options, uint64_t *inout_points);

#endif

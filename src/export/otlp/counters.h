/* SPDX-License-Identifier: MIT
 *
 * export/otlp/counters.h - export counters as metrics of OpenTelemetry
 */
#pragma once

#include <stdint.h>

struct output_options;
struct model;
struct protobuf;

/* Writes the metrics of a scope, a point for each reading. Every point needs a time of day, so
 * nothing is written if the trace contains none. Errors: -ENOMEM, errors of the reader. */
int otlp_put_counters(struct protobuf *message, const struct model *model,
		      const struct output_options *options, uint64_t *inout_points);

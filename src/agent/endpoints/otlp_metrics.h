/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/otlp_metrics.h - metrics as a request of OTLP
 */
#pragma once

#include "agent/endpoints/families.h"
#include "export/common/protobuf.h"

struct otlp_metrics {
	struct protobuf message; /* an ExportMetricsServiceRequest; keeps -ENOMEM */
	const char *host, *os_version, *version;
	uint64_t time_ns;       /* CLOCK_REALTIME of all points */
	size_t resource, scope; /* starts of the open inner messages */
	size_t before, metric, data;
	const struct metric_family *family; /* the open one; NULL: none */
	bool has_point;
};

/* Starts the request. host, os_version, version, time_ns must be set. */
void otlp_metrics_begin(struct otlp_metrics *metrics);
/* A visitor that appends metrics. */
struct metric_visitor otlp_metrics_visitor(struct otlp_metrics *metrics);
void otlp_metrics_end(struct otlp_metrics *metrics);
void otlp_metrics_fini(struct otlp_metrics *metrics);

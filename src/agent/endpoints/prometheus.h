/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/prometheus.h - metrics as text for Prometheus
 */
#pragma once

#include "agent/endpoints/families.h"
#include "base/string.h"

enum prometheus_format { PROMETHEUS_TEXT, PROMETHEUS_OPENMETRICS, PROMETHEUS_FORMATS };

/* The format that a request's header Accept prefers. */
enum prometheus_format prometheus_choose(const char *accept);
const char *prometheus_content_type(enum prometheus_format format);

struct prometheus {
	enum prometheus_format format;
	struct string_builder text; /* keeps -ENOMEM */
	bool has_head;              /* the present family's head is written */
};

/* A visitor that appends to the text. */
struct metric_visitor prometheus_visitor(struct prometheus *prometheus);
void prometheus_end(struct prometheus *prometheus);

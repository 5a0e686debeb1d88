/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/families.h - the metrics that endpoints show: names, units and help texts
 *
 * One description serves the Prometheus text and OTLP. docs/man/duet-endpoints.7.md lists it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO };

struct metric_family {
	const char *name;      /* Prometheus' name, with its unit, without _total */
	const char *otlp_name; /* "duet.device.busy" */
	const char *unit;      /* Prometheus' unit, the end of the name; "": none */
	const char *otlp_unit; /* UCUM */
	const char *help;
	enum metric_type type;
	bool is_ns; /* values are ns: seconds in Prometheus */
};

struct metric_label {
	const char *name, *value; /* an empty value: the label is left out */
};

enum { METRIC_LABELS_MAX = 6 };

struct metric_point {
	struct metric_label labels[METRIC_LABELS_MAX];
	size_t labels_count;
	bool is_real;
	uint64_t value; /* unless is_real */
	double real;
	uint64_t born_ns; /* CLOCK_REALTIME from which a counter counts; 0: not known */
};

/* Receives all metrics. The points of a family follow it; a family may have none. */
struct metric_visitor {
	void (*on_family)(void *context, const struct metric_family *family);
	void (*on_point)(void *context, const struct metric_family *family,
			 const struct metric_point *point);
	void *context;
};

/* OTLP's attribute for a label, "duet.kernel" or a name of OpenTelemetry's conventions. */
const char *metric_label_attribute(const char *name);

/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/otlp_metrics.c - metrics as a request of OTLP
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     families and points
 * Gives:    an ExportMetricsServiceRequest; its fields are those of MetricsData in proto/otlp.proto
 * Owns:     the message
 * Fails:    the message keeps -ENOMEM
 *
 * Why cumulative: a push that was dropped costs a point of the series and no part of the sum.
 */
#include "agent/endpoints/otlp_metrics.h"

#include "export/otlp/common.h"
#include "otlp.numbers.h"

void otlp_metrics_begin(struct otlp_metrics *metrics)
{
	struct protobuf *message = &metrics->message;
	size_t inner;

	protobuf_init(message);
	metrics->resource = protobuf_begin(message, OTLP_METRICS_DATA_RESOURCE_METRICS);
	inner = protobuf_begin(message, OTLP_RESOURCE_METRICS_RESOURCE);
	otlp_put_text(message, OTLP_RESOURCE_ATTRIBUTES, "service.name", "duet");
	otlp_put_text(message, OTLP_RESOURCE_ATTRIBUTES, "host.name", metrics->host);
	otlp_put_text(message, OTLP_RESOURCE_ATTRIBUTES, "os.type", "linux");
	otlp_put_text(message, OTLP_RESOURCE_ATTRIBUTES, "os.version", metrics->os_version);
	protobuf_end(message, inner);
	metrics->scope = protobuf_begin(message, OTLP_RESOURCE_METRICS_SCOPE_METRICS);
	inner = protobuf_begin(message, OTLP_SCOPE_METRICS_SCOPE);
	protobuf_text(message, OTLP_INSTRUMENTATION_SCOPE_NAME, "duet");
	protobuf_text(message, OTLP_INSTRUMENTATION_SCOPE_VERSION, metrics->version);
	protobuf_end(message, inner);
}

/* Receivers reject a metric without a point. */
static void end_family(struct otlp_metrics *metrics)
{
	struct protobuf *message = &metrics->message;

	if (!metrics->family)
		return;
	if (!metrics->has_point) {
		message->size = metrics->before;
		metrics->family = NULL;
		return;
	}
	if (metrics->family->type == METRIC_COUNTER) {
		protobuf_u64(message, OTLP_SUM_AGGREGATION_TEMPORALITY,
			     OTLP_AGGREGATION_TEMPORALITY_CUMULATIVE);
		protobuf_u64(message, OTLP_SUM_IS_MONOTONIC, 1);
	}
	protobuf_end(message, metrics->data);
	protobuf_end(message, metrics->metric);
	metrics->family = NULL;
}

static void on_family(void *context, const struct metric_family *family)
{
	struct otlp_metrics *metrics = context;
	struct protobuf *message = &metrics->message;

	end_family(metrics);
	metrics->before = message->size;
	metrics->metric = protobuf_begin(message, OTLP_SCOPE_METRICS_METRICS);
	protobuf_text(message, OTLP_METRIC_NAME, family->otlp_name);
	protobuf_text(message, OTLP_METRIC_DESCRIPTION, family->help);
	protobuf_text(message, OTLP_METRIC_UNIT, family->otlp_unit);
	metrics->data = protobuf_begin(message, family->type == METRIC_COUNTER ? OTLP_METRIC_SUM
									       : OTLP_METRIC_GAUGE);
	metrics->family = family;
	metrics->has_point = false;
}

static void on_point(void *context, const struct metric_family *family,
		     const struct metric_point *point)
{
	struct otlp_metrics *metrics = context;
	struct protobuf *message = &metrics->message;
	size_t begin = protobuf_begin(message, OTLP_SUM_DATA_POINTS);

	/* A start that is not known is left out. One that the clock showed before it was set back
	 * must not be after the point. */
	if (family->type == METRIC_COUNTER && point->born_ns)
		protobuf_fixed64(message, OTLP_NUMBER_DATA_POINT_START_TIME_UNIX_NANO,
				 point->born_ns < metrics->time_ns ? point->born_ns
								   : metrics->time_ns);
	protobuf_fixed64(message, OTLP_NUMBER_DATA_POINT_TIME_UNIX_NANO, metrics->time_ns);
	if (point->is_real)
		protobuf_double(message, OTLP_NUMBER_DATA_POINT_AS_DOUBLE, point->real);
	else
		protobuf_fixed64(message, OTLP_NUMBER_DATA_POINT_AS_INT,
				 point->value > INT64_MAX ? INT64_MAX : point->value);
	for (size_t i = 0; i < point->labels_count; i++)
		otlp_put_text(message, OTLP_NUMBER_DATA_POINT_ATTRIBUTES,
			      metric_label_attribute(point->labels[i].name),
			      point->labels[i].value);
	protobuf_end(message, begin);
	metrics->has_point = true;
}

struct metric_visitor otlp_metrics_visitor(struct otlp_metrics *metrics)
{
	return (struct metric_visitor){on_family, on_point, metrics};
}

void otlp_metrics_end(struct otlp_metrics *metrics)
{
	end_family(metrics);
	protobuf_end(&metrics->message, metrics->scope);
	protobuf_end(&metrics->message, metrics->resource);
}

void otlp_metrics_fini(struct otlp_metrics *metrics)
{
	protobuf_fini(&metrics->message);
}

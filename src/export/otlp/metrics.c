/* SPDX-License-Identifier: MIT
 *
 * export/otlp/metrics.c - export OpenTelemetry's metrics: the account of each device, with the
 * names hw.gpu.*
 *
 * Runs in:  our own process
 * Gets:     a model and a window
 * Gives:    one MetricsData (proto/otlp.proto)
 * Owns:     the message
 * Fails:    -EINVAL with --pid, -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why hw.gpu.* excludes CPU devices: a dashboard that adds up GPUs must not count a processor.
 *           duet.device.* contains every device.
 */
#include <errno.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/error.h"
#include "base/file/stream.h"
#include "export/common/protobuf.h"
#include "export/formats.h"
#include "export/otlp/common.h"
#include "export/otlp/counters.h"
#include "otlp.numbers.h"

struct metrics {
	const struct output_options *options;
	const struct analysis *analysis;
	struct protobuf message;
	uint64_t from_unix_ns, to_unix_ns; /* 0: the trace has no time of day */
	uint64_t points;
	size_t before; /* size of the message before the open metric */
	uint64_t before_points;
	size_t metric, data; /* starts of the open inner messages */
	bool is_sum, is_monotonic;
};

struct metric {
	const char *name, *unit, *description;
	bool is_sum, is_monotonic;
};

static void begin_metric(struct metrics *metrics, const struct metric *metric)
{
	struct protobuf *message = &metrics->message;

	metrics->before = message->size;
	metrics->before_points = metrics->points;
	metrics->metric = protobuf_begin(message, OTLP_SCOPE_METRICS_METRICS);
	protobuf_text(message, OTLP_METRIC_NAME, metric->name);
	protobuf_text(message, OTLP_METRIC_DESCRIPTION, metric->description);
	protobuf_text(message, OTLP_METRIC_UNIT, metric->unit);
	metrics->data =
		protobuf_begin(message, metric->is_sum ? OTLP_METRIC_SUM : OTLP_METRIC_GAUGE);
	metrics->is_sum = metric->is_sum;
	metrics->is_monotonic = metric->is_monotonic;
}

/* A metric without a point is left out: receivers reject it or show an empty chart. */
static void end_metric(struct metrics *metrics)
{
	struct protobuf *message = &metrics->message;

	if (metrics->points == metrics->before_points) {
		message->size = metrics->before;
		return;
	}
	if (metrics->is_sum)
		protobuf_u64(message, OTLP_SUM_AGGREGATION_TEMPORALITY,
			     OTLP_AGGREGATION_TEMPORALITY_CUMULATIVE);
	if (metrics->is_sum && metrics->is_monotonic)
		protobuf_u64(message, OTLP_SUM_IS_MONOTONIC, 1);
	protobuf_end(message, metrics->data);
	protobuf_end(message, metrics->metric);
}

static size_t begin_point(struct metrics *metrics)
{
	size_t begin = protobuf_begin(&metrics->message, OTLP_SUM_DATA_POINTS);

	if (metrics->from_unix_ns)
		protobuf_fixed64(&metrics->message, OTLP_NUMBER_DATA_POINT_START_TIME_UNIX_NANO,
				 metrics->from_unix_ns);
	if (metrics->to_unix_ns)
		protobuf_fixed64(&metrics->message, OTLP_NUMBER_DATA_POINT_TIME_UNIX_NANO,
				 metrics->to_unix_ns);
	metrics->points++;
	return begin;
}

static void put_text(struct metrics *metrics, const char *key, const char *text)
{
	otlp_put_text(&metrics->message, OTLP_NUMBER_DATA_POINT_ATTRIBUTES, key, text);
}

static void end_point(struct metrics *metrics, size_t begin, uint64_t value)
{
	protobuf_fixed64(&metrics->message, OTLP_NUMBER_DATA_POINT_AS_INT,
			 value > INT64_MAX ? INT64_MAX : value);
	protobuf_end(&metrics->message, begin);
}

static size_t begin_device_point(struct metrics *metrics, const struct analysis_device *device)
{
	const struct model *model = metrics->analysis->model;
	const struct event_device *row = device->device;
	size_t begin = begin_point(metrics);

	put_text(metrics, "hw.id", *device->key ? device->key : device->name);
	put_text(metrics, "hw.name", device->name);
	put_text(metrics, "hw.vendor", device->vendor);
	put_text(metrics, "hw.driver_version", model_text(model, row ? row->driver_string : 0, ""));
	put_text(metrics, "hw.type", row && row->type == DEVICE_CPU ? "cpu" : "gpu");
	return begin;
}

/* ---- devices --------------------------------------------------------------------------------- */

static bool is_gpu(const struct analysis_device *device)
{
	return !device->device || device->device->type != DEVICE_CPU;
}

static void put_utilization(struct metrics *metrics)
{
	static const struct metric metric = {
		"hw.gpu.utilization", "1",
		"Share of the recording in which the device executed a command", .is_sum = false};
	const struct analysis *analysis = metrics->analysis;

	begin_metric(metrics, &metric);
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++) {
		const struct analysis_device *device = &analysis->devices[i];
		size_t point;

		if (!is_gpu(device) || !device->is_measured || !device->account.wall_ns)
			continue;
		point = begin_device_point(metrics, device);
		put_text(metrics, "hw.gpu.task", "general");
		protobuf_double(&metrics->message, OTLP_NUMBER_DATA_POINT_AS_DOUBLE,
				(double)device->account.busy_ns / (double)device->account.wall_ns);
		protobuf_end(&metrics->message, point);
	}
	end_metric(metrics);
}

static void put_memory(struct metrics *metrics)
{
	static const struct metric metric = {"hw.gpu.memory.limit", "By", "Size of the GPU memory",
					     .is_sum = true};
	const struct analysis *analysis = metrics->analysis;

	begin_metric(metrics, &metric);
	for (size_t i = 0; i < analysis->devices_count; i++) {
		const struct analysis_device *device = &analysis->devices[i];

		if (is_gpu(device) && device->device->memory_bytes)
			end_point(metrics, begin_device_point(metrics, device),
				  device->device->memory_bytes);
	}
	end_metric(metrics);
}

static void put_transfers(struct metrics *metrics)
{
	static const struct metric metric = {"hw.gpu.io", "By",
					     "Bytes that copies moved to and from the GPU",
					     .is_sum = true, .is_monotonic = true};
	const struct analysis *analysis = metrics->analysis;

	begin_metric(metrics, &metric);
	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];
		const struct analysis_device *device = &analysis->devices[copy->device];
		size_t point;

		if (!is_gpu(device) ||
		    (copy->command != COMMAND_READ && copy->command != COMMAND_WRITE))
			continue;
		point = begin_device_point(metrics, device);
		put_text(metrics, "network.io.direction",
			 copy->command == COMMAND_WRITE ? "receive" : "transmit");
		end_point(metrics, point, copy->bytes);
	}
	end_metric(metrics);
}

static void put_part(struct metrics *metrics, const struct analysis_device *device,
		     const struct account_part *part)
{
	size_t point = begin_device_point(metrics, device);

	put_text(metrics, "duet.part", part->is_busy ? "busy" : "idle");
	put_text(metrics, "duet.what", part->what);
	end_point(metrics, point, part->time_ns);
}

static void put_account(struct metrics *metrics)
{
	static const struct metric metric = {
		"duet.device.time", "ns",
		"Device time by activity or by cause of idleness; the parts "
		"add up to the recording",
		.is_sum = true, .is_monotonic = true};
	const struct analysis *analysis = metrics->analysis;

	begin_metric(metrics, &metric);
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++) {
		struct account_part part;

		for (size_t k = 0; account_part(&analysis->devices[i].account, k, &part); k++)
			put_part(metrics, &analysis->devices[i], &part);
	}
	end_metric(metrics);
}

/* ---- kernels --------------------------------------------------------------------------------- */

enum kernel_value { KERNEL_COUNT, KERNEL_TOTAL, KERNEL_SHARE };

static void put_kernels(struct metrics *metrics, enum kernel_value value)
{
	static const struct metric table[] = {
		[KERNEL_COUNT] = {"duet.kernel.executions", "{execution}",
				  "Executions of the kernel", .is_sum = true, .is_monotonic = true},
		[KERNEL_TOTAL] = {"duet.kernel.duration", "ns",
				  "Sum of the durations of the kernel's executions", .is_sum = true,
				  .is_monotonic = true},
		[KERNEL_SHARE] = {"duet.kernel.time", "ns",
				  "Device time of the kernel; concurrent executions share the time",
				  .is_sum = true, .is_monotonic = true}};
	const struct analysis *analysis = metrics->analysis;

	begin_metric(metrics, &table[value]);
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];
		size_t point = begin_device_point(metrics, &analysis->devices[kernel->device]);

		put_text(metrics, "duet.kernel", kernel->name);
		end_point(metrics, point,
			  value == KERNEL_COUNT   ? kernel->count
			  : value == KERNEL_TOTAL ? kernel->total_ns
						  : kernel->share_ns);
	}
	end_metric(metrics);
}

/* ---- completeness ---------------------------------------------------------------------------- */

static void put_state(struct metrics *metrics, const char *state, uint64_t count)
{
	size_t point = begin_point(metrics);

	put_text(metrics, "duet.state", state);
	end_point(metrics, point, count);
}

static void put_ledger(struct metrics *metrics)
{
	static const struct metric metric = {"duet.commands", "{command}",
					     "Launched commands by outcome", .is_sum = true,
					     .is_monotonic = true};
	const struct analysis_ledger *ledger = &metrics->analysis->ledger;

	begin_metric(metrics, &metric);
	put_state(metrics, "matched", ledger->matched);
	put_state(metrics, "not_executed", ledger->not_executed);
	put_state(metrics, "in_flight_at_exit", ledger->in_flight_at_exit);
	put_state(metrics, "dropped", ledger->dropped);
	put_state(metrics, "rejected", ledger->rejected);
	end_metric(metrics);
}

static void put_contradictions(struct metrics *metrics)
{
	static const struct metric metric = {"duet.contradictions", "1",
					     "Samples in kernels while the account has their "
					     "device idle, and accounts that do not add up",
					     .is_sum = true, .is_monotonic = true};

	begin_metric(metrics, &metric);
	end_point(metrics, begin_point(metrics), metrics->analysis->ledger.contradictions);
	end_metric(metrics);
}

static void put_losses(struct metrics *metrics)
{
	static const struct metric metric = {"duet.lost", "{row}", "Rows that are not in the trace",
					     .is_sum = true, .is_monotonic = true};
	const struct analysis *analysis = metrics->analysis;

	begin_metric(metrics, &metric);
	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];
		size_t point;

		if (!loss->count)
			continue;
		point = begin_point(metrics);
		put_text(metrics, "duet.kind", analysis_kind_name(loss->kind));
		put_text(metrics, "duet.reason",
			 loss->reason ? analysis_loss_name(loss->reason) : "damage");
		end_point(metrics, point, loss->count);
	}
	end_metric(metrics);
}

/* ---- the message ----------------------------------------------------------------------------- */

static bool is_wanted(const struct metrics *metrics, const char *kind)
{
	return filter_is_wanted(metrics->options->kinds, kind, kind);
}

static int put_metrics(struct metrics *metrics)
{
	int error = 0;

	if (is_wanted(metrics, "device")) {
		put_utilization(metrics);
		put_memory(metrics);
		put_transfers(metrics);
		put_account(metrics);
	}
	if (is_wanted(metrics, "kernel")) {
		put_kernels(metrics, KERNEL_COUNT);
		put_kernels(metrics, KERNEL_TOTAL);
		put_kernels(metrics, KERNEL_SHARE);
	}
	if (is_wanted(metrics, "ledger")) {
		put_ledger(metrics);
		put_contradictions(metrics);
		put_losses(metrics);
	}
	if (is_wanted(metrics, "counter"))
		error = otlp_put_counters(&metrics->message, metrics->analysis->model,
					  metrics->options, &metrics->points);
	return error;
}

static int put_resources(struct metrics *metrics)
{
	struct protobuf *message = &metrics->message;
	size_t begin = protobuf_begin(message, OTLP_METRICS_DATA_RESOURCE_METRICS), scopes;
	int error;

	otlp_put_resource(message, metrics->analysis);
	scopes = protobuf_begin(message, OTLP_RESOURCE_METRICS_SCOPE_METRICS);
	otlp_put_scope(message, metrics->analysis, metrics->options);
	error = put_metrics(metrics);
	protobuf_end(message, scopes);
	protobuf_end(message, begin);
	return error ? error : message->error;
}

static int check_options(const struct output_options *options)
{
	return options->pid ? error_set(-EINVAL, "--pid: device metrics cannot be "
						 "limited to a process")
			    : 0;
}

static int write_metrics(const struct model *model, const struct output_options *options,
			 FILE *file, uint64_t *ret_rows)
{
	const struct analysis_options window = filter_window(options);
	struct metrics metrics = {.options = options};
	struct analysis *analysis = NULL;
	int error = analysis_new(model, &window, &analysis);

	if (error)
		return error;
	metrics.analysis = analysis;
	if (!model_wall_clock(model, analysis->from_ns, &metrics.from_unix_ns) ||
	    !model_wall_clock(model, analysis->to_ns, &metrics.to_unix_ns))
		metrics.from_unix_ns = metrics.to_unix_ns = 0;
	error = put_resources(&metrics);
	if (!error)
		protobuf_write(&metrics.message, file);
	*ret_rows = metrics.points;
	protobuf_fini(&metrics.message);
	analysis_free(analysis);
	return error ? error : stream_flush(file);
}

const struct exporter export_otlp_metrics = {
	.name = "otlp-metrics",
	.help = "OpenTelemetry metrics, MetricsData in protobuf: use of each device (hw.gpu.*), "
		"its time by state, counters",
	.kinds = "device, kernel, ledger, counter",
	.is_binary = true,
	.check = check_options,
	.write = write_metrics,
};

/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/totals_families.c - the metrics of totals: names, units, help texts, labels
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     totals
 * Gives:    families and points to a visitor
 * Owns:     nothing
 * Fails:    never
 * Why a table: a metric is one row, which the Prometheus text, OTLP and the test of the manual page
 *           read.
 */
#include <string.h>

#include "agent/endpoints/totals.h"
#include "agent/endpoints/totals_private.h"
#include "analyze/analysis.h"
#include "base/array.h"

#define SECONDS(name_, otlp_name_, help_)                                             \
	{                                                                             \
		.name = name_ "_seconds", .otlp_name = otlp_name_, .unit = "seconds", \
		.otlp_unit = "ns", .help = help_, .is_ns = true                       \
	}
#define BYTES(name_, otlp_name_, help_)                                           \
	{                                                                         \
		.name = name_ "_bytes", .otlp_name = otlp_name_, .unit = "bytes", \
		.otlp_unit = "By", .help = help_                                  \
	}
#define COUNT(name_, otlp_name_, what_, help_)                                                  \
	{                                                                                       \
		.name = name_, .otlp_name = otlp_name_, .unit = "", .otlp_unit = "{" what_ "}", \
		.help = help_                                                                   \
	}

struct row_family {
	enum totals_table table;
	unsigned int value;
	struct metric_family family;
};

static const struct row_family row_families[] = {
	{TOTALS_DEVICES, DEVICE_BUSY,
	 SECONDS("duet_device_busy", "duet.device.busy",
		 "Time in which the device executed a command")},
	{TOTALS_DEVICES, DEVICE_KERNELS,
	 SECONDS("duet_device_kernel", "duet.device.kernel",
		 "Part of the busy time in which the device executed kernels")},
	{TOTALS_DEVICES, DEVICE_COPIES,
	 SECONDS("duet_device_copy", "duet.device.copy",
		 "Part of the busy time in which the device executed copies")},
	{TOTALS_DEVICES, DEVICE_UNMEASURED,
	 SECONDS("duet_device_unmeasured", "duet.device.unmeasured",
		 "Time in which it is not known whether the device was busy")},
	{TOTALS_DEVICES, DEVICE_LAUNCHES,
	 COUNT("duet_device_launches", "duet.device.launches", "launch",
	       "Commands that programs launched on the device")},
	{TOTALS_DEVICES, DEVICE_EXECUTIONS,
	 COUNT("duet_device_executions", "duet.device.executions", "execution",
	       "Commands that the device executed")},
	{TOTALS_KERNELS, KERNEL_BUSY,
	 SECONDS("duet_kernel_busy", "duet.kernel.busy",
		 "Part of the device's busy time that belongs to the kernel")},
	{TOTALS_KERNELS, KERNEL_DURATION,
	 SECONDS("duet_kernel_execution", "duet.kernel.execution",
		 "Sum of the durations of the kernel's executions")},
	{TOTALS_KERNELS, KERNEL_EXECUTIONS,
	 COUNT("duet_kernel_executions", "duet.kernel.executions", "execution",
	       "Executions of the kernel")},
	{TOTALS_PROCESSES, PROCESS_BUSY,
	 SECONDS("duet_process_busy", "duet.process.busy",
		 "Part of all devices' busy time that belongs to the process")},
	{TOTALS_PROCESSES, PROCESS_LAUNCHES,
	 COUNT("duet_process_launches", "duet.process.launches", "launch",
	       "Commands that the process launched")},
	{TOTALS_PROCESSES, PROCESS_EXECUTIONS,
	 COUNT("duet_process_executions", "duet.process.executions", "execution",
	       "Commands of the process that devices executed")},
	{TOTALS_PROCESSES, PROCESS_CALLS,
	 COUNT("duet_process_api_calls", "duet.process.api.calls", "call",
	       "Recorded calls of the process")},
	{TOTALS_PROCESSES, PROCESS_CALLS_TIME,
	 SECONDS("duet_process_api_call", "duet.process.api.time",
		 "Time in recorded calls of the process, all threads added up")},
	{TOTALS_PROCESSES, PROCESS_ON_CPU,
	 SECONDS("duet_process_cpu", "duet.process.cpu",
		 "Processor time of the process, where it was recorded")},
	{TOTALS_PROCESSES, PROCESS_BLOCKED,
	 SECONDS("duet_process_blocked", "duet.process.blocked",
		 "Blocked time of the process' threads, where it was recorded")},
	{TOTALS_COPIES, COPY_BYTES,
	 BYTES("duet_copy_transferred", "duet.copy.transferred", "Bytes that copies moved")},
	{TOTALS_COPIES, COPY_TIME,
	 SECONDS("duet_copy_execution", "duet.copy.execution", "Sum of the durations of copies")},
	{TOTALS_COPIES, COPY_COUNT,
	 COUNT("duet_copies", "duet.copy.executions", "copy", "Copies that the device executed")},
};

static const char *const label_names[TOTALS_TABLES][LABELS_MAX] = {
	[TOTALS_DEVICES] = {"device", "device_name", NULL},
	[TOTALS_KERNELS] = {"device", "device_name", "kernel"},
	[TOTALS_PROCESSES] = {"pid", "cgroup", "command"},
	[TOTALS_COPIES] = {"device", "device_name", "direction"},
};

static const struct metric_family idle_family =
	SECONDS("duet_device_idle", "duet.device.idle",
		"Time in which the device executed nothing, by exclusive cause");
static const struct metric_family in_flight_family = {
	.name = "duet_device_in_flight",
	.otlp_name = "duet.device.in_flight",
	.unit = "",
	.otlp_unit = "{launch}",
	.help = "Commands that were launched and have not ended",
	.type = METRIC_GAUGE};
static const struct metric_family device_family = {.name = "duet_device",
						   .otlp_name = "duet.device.info",
						   .unit = "",
						   .otlp_unit = "1",
						   .help = "A device and its vendor",
						   .type = METRIC_INFO};
static const struct metric_family build_family = {.name = "duet_build",
						  .otlp_name = "duet.build.info",
						  .unit = "",
						  .otlp_unit = "1",
						  .help = "Version of duet",
						  .type = METRIC_INFO};
static const struct metric_family time_family =
	SECONDS("duet_recording", "duet.recording",
		"Time of the recording, by how the endpoints handled it");
static const struct metric_family forgotten_seconds =
	SECONDS("duet_forgotten", "duet.forgotten.time",
		"Sum of the counters of forgotten rows, by counter");
static const struct metric_family forgotten_counts =
	COUNT("duet_forgotten_events", "duet.forgotten.events", "event",
	      "Sum of the counters of forgotten rows, by counter");
static const struct metric_family rows_family =
	COUNT("duet_forgotten_rows", "duet.forgotten.rows", "row",
	      "Kernels and processes whose rows were forgotten after a time without use");
static const struct metric_family refused_family =
	COUNT("duet_metric_readings_dropped", "duet.metric.readings.dropped", "reading",
	      "Readings of metrics that were left out because there are too many");

static const struct metric_family lost_family =
	COUNT("duet_lost_rows", "duet.lost.rows", "row",
	      "Rows that the recorder could not store, by kind");
static const struct metric_family unknown_family =
	COUNT("duet_losses_of_unknown_size", "duet.lost.unknown", "loss",
	      "Losses of rows whose number is not known");

/* ---- labels ---- */

static void add_label(struct metric_point *point, const char *name, const char *value)
{
	if (*value)
		point->labels[point->labels_count++] = (struct metric_label){name, value};
}

static void add_row_labels(enum totals_table table, const struct label_row *row,
			   struct metric_point *point)
{
	for (size_t i = 0; i < LABELS_MAX; i++)
		if (label_names[table][i])
			add_label(point, label_names[table][i], row->texts[i]);
}

const char *metric_label_attribute(const char *name)
{
	static const char *const names[][2] = {
		{"device", "hw.id"},
		{"device_name", "hw.name"},
		{"vendor", "hw.vendor"},
		{"pid", "process.pid"},
		{"command", "process.executable.name"},
		{"cgroup", "process.linux.cgroup"},
		{"kernel", "duet.kernel"},
		{"cause", "duet.cause"},
		{"direction", "duet.direction"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strcmp(names[i][0], name) == 0)
			return names[i][1];
	return name;
}

/* ---- points ---- */

/* A value that is not recorded is absent, not 0. */
static bool is_recorded(const struct totals *totals, const struct row_family *family)
{
	return totals->has_cpu_times || family->table != TOTALS_PROCESSES ||
	       (family->value != PROCESS_ON_CPU && family->value != PROCESS_BLOCKED);
}

static void visit_rows(const struct totals *totals, const struct row_family *row_family,
		       const struct metric_visitor *visitor)
{
	const struct label_table *table = &totals->tables[row_family->table];

	visitor->on_family(visitor->context, &row_family->family);
	for (size_t i = 0; i < table->count; i++) {
		struct metric_point point = {.value = table->rows[i].values[row_family->value],
					     .born_ns = table->rows[i].born_ns};

		add_row_labels(row_family->table, &table->rows[i], &point);
		visitor->on_point(visitor->context, &row_family->family, &point);
	}
}

static void visit_idle(const struct totals *totals, const struct metric_visitor *visitor)
{
	const struct label_table *table = &totals->tables[TOTALS_DEVICES];

	visitor->on_family(visitor->context, &idle_family);
	for (size_t i = 0; i < table->count; i++)
		for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
			struct metric_point point = {
				.value = table->rows[i].values[DEVICE_CAUSES + cause],
				.born_ns = table->rows[i].born_ns};

			add_row_labels(TOTALS_DEVICES, &table->rows[i], &point);
			add_label(&point, "cause", account_cause_name((enum account_cause)cause));
			visitor->on_point(visitor->context, &idle_family, &point);
		}
}

/* The devices of the last interval. */
static void visit_present(const struct totals *totals, const struct metric_visitor *visitor)
{
	const struct label_table *table = &totals->tables[TOTALS_DEVICES];

	visitor->on_family(visitor->context, &in_flight_family);
	for (size_t i = 0; i < table->count; i++) {
		struct metric_point point = {.value = table->rows[i].values[DEVICE_IN_FLIGHT]};

		if (table->rows[i].used_ns != totals->real_ns)
			continue;
		add_row_labels(TOTALS_DEVICES, &table->rows[i], &point);
		visitor->on_point(visitor->context, &in_flight_family, &point);
	}
	visitor->on_family(visitor->context, &device_family);
	for (size_t i = 0; i < table->count; i++) {
		struct metric_point point = {.value = 1};

		add_row_labels(TOTALS_DEVICES, &table->rows[i], &point);
		add_label(&point, "vendor", table->rows[i].texts[2]);
		visitor->on_point(visitor->context, &device_family, &point);
	}
}

static void visit_forgotten_of(const struct totals *totals, bool is_ns,
			       const struct metric_visitor *visitor)
{
	const struct metric_family *family = is_ns ? &forgotten_seconds : &forgotten_counts;

	visitor->on_family(visitor->context, family);
	for (size_t i = 0; i < ARRAY_COUNT(row_families); i++) {
		const struct row_family *of = &row_families[i];
		const struct label_table *table = &totals->tables[of->table];
		struct metric_point point = {.value = table->forgotten[of->value],
					     .born_ns = totals->options.start_real_ns};

		if (!table->can_forget || of->family.is_ns != is_ns || !is_recorded(totals, of))
			continue;
		add_label(&point, "metric", of->family.name);
		visitor->on_point(visitor->context, family, &point);
	}
}

static void visit_single(const struct totals *totals, const struct metric_family *family,
			 const char *label, const char *text, uint64_t value,
			 const struct metric_visitor *visitor)
{
	struct metric_point point = {.value = value, .born_ns = totals->options.start_real_ns};

	if (label)
		add_label(&point, label, text);
	visitor->on_point(visitor->context, family, &point);
}

static void visit_forgotten(const struct totals *totals, const struct metric_visitor *visitor)
{
	visit_forgotten_of(totals, true, visitor);
	visit_forgotten_of(totals, false, visitor);
	visitor->on_family(visitor->context, &rows_family);
	visit_single(totals, &rows_family, "table", "kernel",
		     totals->tables[TOTALS_KERNELS].forgotten_rows, visitor);
	visit_single(totals, &rows_family, "table", "process",
		     totals->tables[TOTALS_PROCESSES].forgotten_rows, visitor);
}

static void visit_losses(const struct totals *totals, const struct metric_visitor *visitor)
{
	visitor->on_family(visitor->context, &lost_family);
	for (unsigned int kind = EVENT_API; kind < EVENT_KIND_COUNT; kind++)
		if (totals->lost[kind] || kind == EVENT_LAUNCH || kind == EVENT_EXECUTION)
			visit_single(totals, &lost_family, "kind", analysis_kind_name(kind),
				     totals->lost[kind], visitor);
	if (totals->lost[EVENT_PADDING])
		visit_single(totals, &lost_family, "kind", "other", totals->lost[EVENT_PADDING],
			     visitor);
	visitor->on_family(visitor->context, &unknown_family);
	visit_single(totals, &unknown_family, NULL, NULL, totals->unknown_losses, visitor);
}

static void visit_recording(const struct totals *totals, const struct metric_visitor *visitor)
{
	visitor->on_family(visitor->context, &build_family);
	visit_single(totals, &build_family, "version", totals->options.version, 1, visitor);
	visitor->on_family(visitor->context, &time_family);
	for (unsigned int state = 0; state < TOTALS_STATE_COUNT; state++)
		visit_single(totals, &time_family, "state",
			     totals_state_name((enum totals_state)state), totals->states[state],
			     visitor);
	visit_losses(totals, visitor);
}

void totals_visit(const struct totals *totals, const struct metric_visitor *visitor)
{
	visit_recording(totals, visitor);
	for (size_t i = 0; i < ARRAY_COUNT(row_families); i++)
		if (is_recorded(totals, &row_families[i]))
			visit_rows(totals, &row_families[i], visitor);
	visit_idle(totals, visitor);
	visit_present(totals, visitor);
	visit_forgotten(totals, visitor);
	gauges_visit(&totals->gauges, visitor);
	visitor->on_family(visitor->context, &refused_family);
	visit_single(totals, &refused_family, NULL, NULL, totals->gauges.refused, visitor);
}

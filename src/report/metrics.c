/* SPDX-License-Identifier: MIT
 *
 * report/metrics.c - counters: a table with min, mean, p95 and max, rows as JSON
 *
 * Runs in:  our own process
 * Gets:     a model and the window of its analysis
 * Gives:    a table on stdout, rows as JSON
 * Owns:     the sums while they are printed
 * Fails:    -ENOMEM, errors of the reader
 * Why single processors, duet's own counters and counters that were always 0 are not in the table:
 *           on 32 processors, single processors and counters that were always 0 are 224 of 300
 *           lines. JSON has all of them.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/text/metrics.h"
#include "analyze/text/units.h"
#include "base/array.h"
#include "base/json.h"
#include "base/string.h"
#include "report/table.h"

enum { NAME_WIDTH = 48, MIN_NAME = 8 };

static int make_metrics(const struct report *report, struct metrics *ret_metrics)
{
	return metrics_new(report->model, report->analysis->from_ns, report->analysis->to_ns,
			   ret_metrics);
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool is_own(const struct report *report, const struct metric_summary *summary)
{
	return !strncmp(model_text(report->model, summary->series->metric_string, ""), "duet.", 5);
}

static bool is_shown(const struct report *report, const struct metric_summary *summary)
{
	return !summary->series->cpu && (summary->min != 0 || summary->max != 0) &&
	       !is_own(report, summary);
}

/* The device's index, as --device uses it, if there are several devices. */
static void append_device(const struct report *report, uint32_t id, struct string_builder *name)
{
	const struct analysis *analysis = report->analysis;
	size_t shown = analysis_devices_shown(analysis);

	for (size_t i = 0; i < shown && shown > 1; i++)
		if (analysis->devices[i].device && analysis->devices[i].device->id == id)
			string_builder_appendf(name, " device %zu", i);
}

static bool is_inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Cuts the middle of a long name, because the begin and the end of a path matter most. */
static void append_without_middle(struct string_builder *name, const char *text, size_t width)
{
	size_t length = strlen(text), head = length, tail = length;

	string_builder_append(name, " ");
	if (length > width) {
		head = width / 2;
		tail = length - (width - head - 1);
	}
	while (head && is_inside_character(text[head]))
		head--;
	while (is_inside_character(text[tail]))
		tail++;
	string_builder_append_bytes(name, text, head);
	string_builder_append(name, head < tail ? "…" : "");
	string_builder_append(name, text + tail);
}

/* Appends the pid, the device and the unit, which follow the names. */
static void append_rest(const struct report *report, const struct event_series *series,
			const struct event_process *process, const struct unit_shown *unit,
			struct string_builder *rest)
{
	if (process)
		string_builder_appendf(rest, " %" PRIu32, process->pid);
	append_device(report, series->device, rest);
	string_builder_appendf(rest, "%s%s", *unit->text ? ", " : "", unit->text);
}

void report_name_series(const struct report *report, const struct event_series *series,
			const struct unit_shown *unit, size_t width, struct string_builder *name)
{
	const struct event_process *process =
		model_entity(report->model, EVENT_PROCESS, series->process);
	const char *metric = model_text(report->model, series->metric_string, "?");
	const char *names[] = {model_text(report->model, series->instance_string, ""),
			       process ? model_text(report->model, process->name_string, "") : ""};
	size_t used, count = (size_t)(*names[0] != '\0') + (*names[1] != '\0');
	struct string_builder rest = {0};

	append_rest(report, series, process, unit, &rest);
	used = strlen(metric) + rest.length + count;
	string_builder_append(name, metric);
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		size_t room = used < width ? (width - used) / (count ? count : 1) : 0;

		if (*names[i])
			append_without_middle(name, names[i], room > MIN_NAME ? room : MIN_NAME);
	}
	string_builder_append(name, string_builder_text(&rest));
	string_builder_fini(&rest);
}

static void put_name(const struct report *report, const struct event_series *series,
		     const struct unit_shown *unit)
{
	struct string_builder name = {0};

	report_name_series(report, series, unit, report_name_width(report, NAME_WIDTH) - 2, &name);
	table_put_name(string_builder_text(&name), report_name_width(report, NAME_WIDTH));
	string_builder_fini(&name);
}

static void put_metric(const struct report *report, const struct metric_summary *summary)
{
	const struct event_series *series = summary->series;
	const char *unit = model_text(report->model, series->unit_string, "");
	struct unit_shown shown = unit_shown(unit, series->type);

	put_name(report, series, &shown);
	table_put_cell(format_value(summary->min * shown.factor));
	table_put_cell(format_value(summary->mean * shown.factor));
	table_put_cell(format_value(summary->p95 * shown.factor));
	table_put_cell(format_value(summary->max * shown.factor));
	if (series->limit)
		table_put_cell(format_value((double)series->limit * shown.factor));
	else
		table_put_right("-", TABLE_CELL);
	putchar('\n');
}

/* Prints the cost of sampling the counters. */
static void put_cost(const struct report *report, const struct metrics *metrics)
{
	const struct metric_summary *summary;
	double cpu_ns = 0, share = 0, overruns = 0, late_ns = 0;
	size_t index = 0;

	while ((summary = metrics_find(report->model, metrics, "duet.sampler.cpu", &index))) {
		cpu_ns += summary->sum;
		share += summary->mean * 100e-9;
	}
	for (index = 0;
	     (summary = metrics_find(report->model, metrics, "duet.sampler.overruns", &index));)
		overruns += summary->sum;
	for (index = 0;
	     (summary = metrics_find(report->model, metrics, "duet.sampler.late", &index));)
		late_ns = summary->max > late_ns ? summary->max : late_ns;
	if (cpu_ns > 0)
		printf("  sampling took %s of processor time (%.2f %% of one processor), was at "
		       "most %s late and missed %.0f %s\n",
		       format_duration((uint64_t)cpu_ns).text, share,
		       format_duration((uint64_t)late_ns).text, overruns,
		       table_noun((uint64_t)overruns, "tick", "ticks"));
}

/* Prints a warning for comparisons with other recordings. */
static void put_held(const struct report *report, const struct metrics *metrics)
{
	for (size_t i = 0; i < metrics->count; i++) {
		const struct event_series *series = metrics->all[i].series;

		if (strncmp(model_text(report->model, series->metric_string, ""), "gpu.pm.", 7))
			continue;
		report_put_hint(report,
				"kernel times may differ from those without gpu.pm, because the "
				"driver may fix the GPU's clocks for it");
		return;
	}
}

int report_put_metrics(const struct report *report)
{
	static const char *const columns[] = {"min", "mean", "p95", "max", "limit", NULL};
	size_t shown = 0;
	struct metrics metrics;
	int error = model_has(report->model, EVENT_COUNTER) ? make_metrics(report, &metrics) : 1;

	if (error)
		return error > 0 ? 0 : error;
	if (metrics.count)
		table_put_title("METRICS", report_name_width(report, NAME_WIDTH), columns);
	for (size_t i = 0; i < metrics.count; i++) {
		if (!is_shown(report, &metrics.all[i]))
			continue;
		put_metric(report, &metrics.all[i]);
		shown++;
	}
	if (metrics.count > shown)
		printf("  … %zu more: per processor, always 0, or duet's own (--json has all)\n",
		       metrics.count - shown);
	put_held(report, &metrics);
	put_cost(report, &metrics);
	metrics_fini(&metrics);
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void report_write_series(const struct report *report, const struct event_series *series,
			 struct json_writer *json)
{
	const struct event_process *process =
		model_entity(report->model, EVENT_PROCESS, series->process);
	const struct event_device *device =
		model_entity(report->model, EVENT_DEVICE, series->device);

	json_pair_text(json, "name", model_text(report->model, series->metric_string, ""));
	if (series->instance_string)
		json_pair_text(json, "instance",
			       model_text(report->model, series->instance_string, ""));
	if (process) {
		json_pair_u64(json, "pid", process->pid);
		json_pair_text(json, "process",
			       model_text(report->model, process->name_string, ""));
	}
	if (device)
		json_pair_text(json, "device", model_text(report->model, device->key_string, ""));
	if (series->cpu)
		json_pair_u64(json, "cpu", series->cpu - 1);
}

static void write_metric(const struct report *report, const struct metric_summary *summary,
			 struct json_writer *json)
{
	const struct event_series *series = summary->series;
	const char *unit = model_text(report->model, series->unit_string, "");
	struct unit_shown shown = unit_shown(unit, series->type);

	report_write_series(report, series, json);
	json_pair_text(json, "type", analysis_series_type(series->type));
	json_pair_text(json, "unit", shown.text);
	json_pair_text(json, "source", model_text(report->model, series->source_string, ""));
	json_pair_double(json, "min", summary->min * shown.factor);
	json_pair_double(json, "mean", summary->mean * shown.factor);
	json_pair_double(json, "p95", summary->p95 * shown.factor);
	json_pair_double(json, "max", summary->max * shown.factor);
	if (series->limit)
		json_pair_double(json, "limit", (double)series->limit * shown.factor);
	json_pair_u64(json, "readings", summary->readings);
	json_pair_u64(json, "covered_ns", summary->covered_ns);
	if (series->type != SERIES_AMOUNT)
		return;
	json_pair_double(json, "sum", summary->sum);
	json_pair_text(json, "sum_unit", unit);
}

int report_write_metrics(const struct report *report, struct json_writer *json)
{
	struct metrics metrics = {0};
	int error = make_metrics(report, &metrics);

	for (size_t i = 0; i < metrics.count && !error; i++) {
		json_line_begin(json);
		write_metric(report, &metrics.all[i], json);
		json_object_end(json);
	}
	metrics_fini(&metrics);
	return error;
}

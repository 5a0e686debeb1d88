/* SPDX-License-Identifier: MIT
 *
 * flame/about.c - the lines above a flame graph: its contents, and what is missing
 *
 * Runs in:  our own process
 * Gets:     a drawing and its analysis
 * Gives:    the lines above the picture, the warnings, and the reason why a view cannot be drawn
 * Owns:     nothing
 * Fails:    out of memory: the builder keeps the error
 * Why lines above the picture: a picture is sent to others without its trace, so the picture itself
 *           must contain its subject, time and totals
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/text/incomplete.h"
#include "base/error.h"
#include "base/format.h"
#include "base/number.h"
#include "base/string.h"
#include "flame/drawing.h"

/* Number of instruction samples on the displayed devices (is_shown) or on unknown devices. */
static uint64_t count_samples(const struct drawing *drawing, bool is_shown)
{
	const struct analysis *analysis = drawing->analysis;
	uint64_t count = 0;

	for (size_t i = 0; i < analysis->instructions_count; i++) {
		const struct analysis_instruction *row = &analysis->instructions[i];
		size_t device = analysis_instruction_device(analysis, row);

		if (is_shown ? drawing_shows(drawing, device) : device == ANALYSIS_NO_DEVICE)
			count = add_saturated(count, row->samples);
	}
	return count;
}

static bool has_event(const struct analysis *analysis, size_t count, const char *event)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(analysis->samples[i].source, event) == 0)
			return true;
	return false;
}

/* Fails with the events of the trace. */
static int refuse_event(const struct analysis *analysis, const char *event)
{
	struct string_builder list = {0};
	int error;

	for (size_t i = 0; i < analysis->samples_count; i++)
		if (!has_event(analysis, i, analysis->samples[i].source))
			string_builder_appendf(&list, "%s%s", list.length ? ", " : "",
					       analysis->samples[i].source);
	error = error_set(-ENODATA, "--event: no sample of '%s'; events of the trace: %s", event,
			  list.length ? string_builder_text(&list) : "none");
	string_builder_fini(&list);
	return error;
}

int drawing_choose_event(struct drawing *drawing, const char *event)
{
	drawing->event = event;
	if (!event)
		return 0;
	if (!drawing->view->cpu)
		return error_set(-EINVAL, "--event: only the view cpu draws events");
	return has_event(drawing->analysis, drawing->analysis->samples_count, event)
		       ? 0
		       : refuse_event(drawing->analysis, event);
}

const char *drawing_refusal(const struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	const char *reason = NULL;

	if (drawing->view->cpu && model_has_recorded(drawing->model, "cpu"))
		return analysis->samples_count ? NULL
					       : "the collector cpu was on, but the run ended "
						 "before the first sample was due (duet record "
						 "-F HZ samples more often)";
	if (drawing->view->cpu)
		return analysis->samples_count
			       ? NULL
			       : "no CPU samples were recorded (duet record --collect cpu)";
	if (drawing->view->offcpu && !model_has(drawing->model, EVENT_SWITCH))
		return "no switches of threads were recorded (duet record --collect cpu)";
	if (drawing->view->offcpu)
		return analysis->cpu.knows_switches
			       ? NULL
			       : "thread switches were lost, so waiting times are not known "
				 "(duet report prints the number of lost switches)";
	if (drawing->view->stall && !analysis->instructions_count)
		return "no device instructions were sampled (duet doctor lists the collectors that "
		       "can)";
	if (drawing->view->stall)
		return count_samples(drawing, true)
			       ? NULL
			       : "no instruction sample is of this device (duet report --by "
				 "stall shows all)";
	if (analysis->samples_count && !analysis_devices_shown(analysis))
		return "no device was used (--view cpu draws processor time, --view offcpu draws "
		       "waiting time)";
	for (size_t i = 0; !drawing->view->count && i < analysis_devices_shown(analysis); i++) {
		if (!drawing_shows(drawing, i))
			continue;
		if (analysis->devices[i].is_measured)
			return NULL;
		reason = incomplete_unmeasured(analysis, i);
	}
	return reason;
}

/* Number of shown devices from `device` on that have its name; 0: an earlier one has it. */
static size_t count_alike(const struct drawing *drawing, size_t device)
{
	const struct analysis_device *devices = drawing->analysis->devices;
	size_t count = 0;

	for (size_t i = 0; i < analysis_devices_shown(drawing->analysis); i++) {
		if (!drawing_shows(drawing, i) || strcmp(devices[i].name, devices[device].name))
			continue;
		if (i < device)
			return 0;
		count++;
	}
	return count;
}

static void append_devices(const struct drawing *drawing, struct string_builder *text)
{
	const struct analysis *analysis = drawing->analysis;
	size_t shown = 0;

	for (size_t i = 0; i < analysis_devices_shown(analysis); i++) {
		const size_t alike = drawing_shows(drawing, i) ? count_alike(drawing, i) : 0;

		if (!alike)
			continue;
		string_builder_append(text, shown++ ? ", " : " \302\267 ");
		if (alike > 1)
			string_builder_appendf(text, "%zu \303\227 ", alike);
		string_builder_append(text, analysis->devices[i].name);
	}
	if (!shown)
		string_builder_append(text, " \302\267 no device");
}

static void append_counts(const struct drawing *drawing, struct string_builder *text)
{
	const struct analysis *analysis = drawing->analysis;
	uint64_t launched = 0, executed = 0;

	for (size_t i = 0; i < analysis->launches_count; i++)
		if (drawing_shows(drawing, analysis->launches[i].device))
			launched += analysis->launches[i].launched;
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++)
		if (drawing_shows(drawing, i))
			executed += analysis->devices[i].executions;
	string_builder_appendf(text, " \302\267 %" PRIu64 " %s, %" PRIu64 " %s", launched,
			       format_noun(launched, "launch", "launches"), executed,
			       format_noun(executed, "execution", "executions"));
}

static void append_date(const struct drawing *drawing, struct string_builder *text)
{
	uint64_t realtime_ns;

	if (model_wall_clock(drawing->model, drawing->analysis->begin_ns, &realtime_ns))
		string_builder_appendf(text, ", %s", format_realtime(realtime_ns).text);
}

static void append_window(const struct analysis *analysis, struct string_builder *text)
{
	uint64_t all_ns = analysis->end_ns - analysis->begin_ns;

	if (analysis->has_window)
		string_builder_appendf(text, "%s to %s of ",
				       format_duration(analysis->from_ns - analysis->begin_ns).text,
				       format_duration(analysis->to_ns - analysis->begin_ns).text);
	string_builder_append(text, format_duration(all_ns).text);
}

void drawing_describe(const struct drawing *drawing, struct string_builder *subtitle)
{
	const struct analysis *analysis = drawing->analysis;
	const char *command = model_command(drawing->model);

	if (*command)
		string_builder_appendf(subtitle, "%s\n", command);
	append_window(analysis, subtitle);
	if (analysis->host)
		string_builder_appendf(
			subtitle, " on %s",
			model_text(drawing->model, analysis->host->name_string, "a host"));
	append_date(drawing, subtitle);
	append_devices(drawing, subtitle);
	append_counts(drawing, subtitle);
}

static void warn_of_left_out(const struct drawing *drawing, struct string_builder *warning)
{
	uint64_t count;

	if (!drawing->view->stall || drawing->device == DRAWING_ALL_DEVICES)
		return;
	count = count_samples(drawing, false);
	if (count)
		string_builder_appendf(
			warning, "%sleft out: %" PRIu64 " %s of instructions on an unknown device",
			warning->length ? "\n" : "", count,
			format_noun(count, "sample", "samples"));
}

void drawing_warn(const struct drawing *drawing, struct string_builder *warning)
{
	const struct analysis *analysis = drawing->analysis;
	struct incomplete incomplete = incomplete_analysis(analysis);

	if (incomplete.text[0])
		string_builder_appendf(warning, "INCOMPLETE: %s", incomplete.text);
	warn_of_left_out(drawing, warning);
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++) {
		const struct analysis_device *device = &analysis->devices[i];

		if (drawing_shows(drawing, i) && !device->is_measured)
			string_builder_appendf(warning, "%snot measured: %s: %s",
					       warning->length ? "\n" : "", device->name,
					       incomplete_unmeasured(analysis, i));
	}
}

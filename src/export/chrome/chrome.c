/* SPDX-License-Identifier: MIT
 *
 * export/chrome/chrome.c - export to Chrome's Trace Event Format: a timeline as JSON
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    one JSON document, one event per line
 * Owns:     the commands in flight of each queue, calls that start at the same time as the latest
 *           one, ids of stacks
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why complete events (X) and not pairs of B and E: a row has both times, so each row is one event.
 *           Viewers sort slices by start time and keep the file's order for equal times. If two
 *           slices have the same start, the outer one must come first, otherwise viewers drop it.
 *           Only calls with the same start time are collected and sorted.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/join/commands.h"
#include "analyze/join/launch_outcomes.h"
#include "analyze/join/ordered_points.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/text/about_json.h"
#include "analyze/text/incomplete.h"
#include "analyze/text/row_names.h"
#include "analyze/text/units.h"
#include "base/array.h"
#include "base/file/stream.h"
#include "base/json.h"
#include "base/string.h"
#include "export/chrome/events.h"
#include "export/chrome/links.h"
#include "export/chrome/rows.h"
#include "export/chrome/stacks.h"
#include "export/chrome/torch.h"
#include "export/common/stack_set.h"
#include "export/formats.h"

/* A call, a launch or a range. */
struct call {
	uint64_t begin, end;
	uint64_t operator; /* number of an operator; otherwise 0 */
	struct chrome_link link;
	union {
		struct event_api api;
		struct event_launch launch;
		struct event_range range;
	} row;
	enum event_kind kind;
};

struct chrome {
	struct filter filter;
	struct json_writer json;
	struct chrome_events events;
	struct chrome_rows rows;
	struct chrome_links links;
	struct verdicts verdicts;
	struct stack_set stacks;
	struct call *calls; /* those with the start time of the latest one */
	size_t calls_count, calls_capacity;
	struct moments moments;  /* starts and ends of commands; slice: index of the queue */
	int64_t *depths;         /* commands in flight by index of the queue */
	uint32_t *queues;        /* their ids */
	uint64_t counted_ns;     /* depth counters are written up to this time */
	uint64_t count, started; /* started: number of started ranges, used as ids */
	bool has_counters, has_flows;
	FILE *file;
};

/* ---- calls ---- */

static int write_launch(struct chrome *chrome, const struct call *call,
			const struct chrome_place *place)
{
	const struct event_launch *row = &call->row.launch;
	enum launch_outcome verdict = verdicts_of(&chrome->verdicts, row);

	chrome_events_launch(&chrome->events, place, row, verdict, &call->link);
	if (verdict == VERDICT_DRAWN && chrome->has_flows)
		chrome_events_flow(&chrome->events, place, call->link.correlation, row->enter,
				   false);
	return stack_set_add(&chrome->stacks, row->stack);
}

/* Only pushed ranges are placed among the calls of a thread. Started ranges may overlap others, and
 * marks have no duration. */
static int write_range(struct chrome *chrome, const struct event_range *row)
{
	bool is_nested = row->type == RANGE_PUSH;
	struct chrome_place place;
	int error = is_nested ? chrome_rows_call(&chrome->rows, row->thread, row->begin, row->end,
						 &place)
			      : chrome_rows_thread(&chrome->rows, row->thread, &place);

	if (error)
		return error;
	chrome->count++;
	if (is_nested)
		chrome_events_range(&chrome->events, &place, row);
	else if (row->type == RANGE_MARK)
		chrome_events_mark(&chrome->events, &place, row);
	else
		chrome_events_started(&chrome->events, &place, row, ++chrome->started);
	return is_nested ? stack_set_add(&chrome->stacks, row->stack) : 0;
}

static int write_call(struct chrome *chrome, const struct call *call)
{
	bool is_launch = call->kind == EVENT_LAUNCH;
	uint32_t thread = is_launch ? call->row.launch.thread : call->row.api.thread;
	struct chrome_place place;
	int error;

	if (call->kind == EVENT_RANGE)
		return write_range(chrome, &call->row.range);
	error = chrome_rows_call(&chrome->rows, thread, call->begin, call->end, &place);
	if (error)
		return error;
	chrome->count++;
	if (is_launch)
		return write_launch(chrome, call, &place);
	chrome_events_api(&chrome->events, &place, &call->row.api, call->operator);
	return stack_set_add(&chrome->stacks, call->row.api.stack);
}

/* Sorts the longer call first: it is the outer one. */
static int compare_calls(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	return (a->end < b->end) - (a->end > b->end);
}

static int write_calls(struct chrome *chrome)
{
	int error = 0;

	if (chrome->calls_count > 1)
		qsort(chrome->calls, chrome->calls_count, sizeof(*chrome->calls), compare_calls);
	for (size_t i = 0; i < chrome->calls_count && !error; i++)
		error = write_call(chrome, &chrome->calls[i]);
	chrome->calls_count = 0;
	return error;
}

static int add_call(struct chrome *chrome, const struct call *call)
{
	int error = 0;

	if (chrome->calls_count && chrome->calls->begin != call->begin)
		error = write_calls(chrome);
	if (!error && array_grow(chrome->calls, chrome->calls_capacity, chrome->calls_count + 1))
		error = -ENOMEM;
	if (!error)
		chrome->calls[chrome->calls_count++] = *call;
	return error;
}

/* ---- commands in flight ---- */

static int write_depths(struct chrome *chrome, uint64_t until)
{
	struct chrome_place place;
	struct moment moment;
	int error = 0;

	while (!error && moments_take(&chrome->moments, until, &moment)) {
		uint32_t queue = chrome->queues[moment.slice];

		chrome->depths[moment.slice] += moment_is_end(&moment) ? -1 : 1;
		if (!filter_has_time(&chrome->filter, moment.time))
			continue;
		error = chrome_rows_queue(&chrome->rows, queue, &place);
		if (!error)
			chrome_events_depth(&chrome->events, &place, queue, moment.time,
					    chrome->depths[moment.slice]);
	}
	if (chrome->counted_ns < until)
		chrome->counted_ns = until;
	return error;
}

/* by: 1 or -1. comes_then: the command leaves at the time at which it came, so it counts for no
 * time. */
static int change_depth(struct chrome *chrome, uint32_t queue, uint64_t time_ns, int by,
			bool comes_then)
{
	size_t index = chrome_rows_queue_index(&chrome->rows, queue);

	chrome->queues[index] = queue;
	return moments_add_point(&chrome->moments, (uint32_t)index, time_ns, by < 0, comes_then);
}

/* A command leaves its queue at its end, or without device times when the host saw its end. The
 * time is moved to the launch if it is earlier, and to the end of the written counters. */
static int end_in_flight(struct chrome *chrome, const struct command *command)
{
	const struct event_execution *row = command->execution;
	uint64_t time_ns = command_has_span(command) ? row->ended : row->seen;
	uint64_t enter_ns = command->launch->enter;

	if (time_ns < chrome->counted_ns)
		time_ns = chrome->counted_ns;
	if (time_ns < enter_ns)
		time_ns = enter_ns;
	return change_depth(chrome, command->launch->queue, time_ns, -1, time_ns == enter_ns);
}

/* Writes the depth counters up to enter_ns minus the clocks' error: later events cannot be earlier
 * than that. */
static int count_until(struct chrome *chrome, uint64_t enter_ns)
{
	uint64_t delay_ns = chrome->verdicts.delay_ns;

	return enter_ns > delay_ns ? write_depths(chrome, enter_ns - delay_ns) : 0;
}

/* ---- rows ---- */

static int on_launch(void *context, const struct event_launch *row, uint64_t number,
		     uint64_t *ret_tag)
{
	struct chrome *chrome = context;
	struct call call = {
		.begin = row->enter, .end = row->exit, .row.launch = *row, .kind = EVENT_LAUNCH};
	const bool has_command =
		chrome->has_flows && verdicts_of(&chrome->verdicts, row) == VERDICT_DRAWN;
	int error;

	(void)number;
	if (!filter_has_thread(&chrome->filter, row->thread))
		return 0;
	error = chrome_links_launch(&chrome->links, row, has_command, &call.link);
	if (!error && has_command)
		error = chrome_links_hold(&chrome->links, &call.link, ret_tag);
	if (!error && chrome->has_counters)
		error = count_until(chrome, row->enter);
	if (!error && chrome->has_counters && !row->result &&
	    verdicts_has_end(&chrome->verdicts, verdicts_of(&chrome->verdicts, row)))
		error = change_depth(chrome, row->queue, row->enter, 1, true);
	/* a command without a call has all that its launch contains */
	if (!error && !call.link.has_no_call && filter_has_time(&chrome->filter, row->enter) &&
	    filter_has_kind(&chrome->filter, EVENT_LAUNCH))
		error = add_call(chrome, &call);
	return error;
}

static int on_command(void *context, const struct command *command)
{
	struct chrome *chrome = context;
	const struct event_execution *row = command->execution;
	struct chrome_place place;
	struct chrome_link link;
	int error = chrome_links_take(&chrome->links, command, &link);

	if (error || !row || !filter_has_process(&chrome->filter, command->process))
		return error;
	if (chrome->has_counters && command->launch &&
	    verdicts_has_end(&chrome->verdicts, verdicts_of(&chrome->verdicts, command->launch)))
		error = end_in_flight(chrome, command);
	if (error || !command_has_span(command) ||
	    !filter_has_time(&chrome->filter, row->started) ||
	    !filter_has_kind(&chrome->filter, EVENT_EXECUTION))
		return error;
	/* All calls up to this time are known. They are written first because the start of a flow
	 * arrow must precede its end in the file. */
	if (chrome->calls_count && chrome->calls->begin <= row->started)
		error = write_calls(chrome);
	if (!error)
		error = chrome_rows_command(&chrome->rows, command->queue, row->started, row->ended,
					    &place);
	if (error)
		return error;
	chrome->count++;
	chrome_events_execution(&chrome->events, &place, command, &link);
	if (command->tag && !link.has_no_call &&
	    filter_has_time(&chrome->filter, command->launch->enter))
		chrome_events_flow(&chrome->events, &place, link.correlation, row->started, true);
	return ferror(chrome->file) ? stream_flush(chrome->file) : 0;
}

static int on_loss(struct chrome *chrome, const struct event_loss *row)
{
	struct chrome_place place;
	int error = chrome_rows_duet(&chrome->rows, &place);

	if (error)
		return error;
	chrome->count++;
	chrome_events_loss(&chrome->events, &place, row);
	return 0;
}

/* Leaves out readings without a value and readings of a series that the trace does not describe. */
static int on_counter(struct chrome *chrome, const struct event_counter *row)
{
	const struct model *model = chrome->events.model;
	const struct event_series *series = model_entity(model, EVENT_SERIES, row->series);
	struct unit_shown unit = {0};
	struct chrome_place place;
	struct string_builder name = {0};
	double value = NAN;
	int error;

	if (series) {
		unit = unit_shown_of(model, series);
		value = unit_value_of(&unit, series->type, row);
	}
	if (isnan(value))
		return 0;
	error = chrome_rows_series(&chrome->rows, series, &place);
	if (error)
		return error;
	row_name_series(model, series, &name);
	chrome->count++;
	chrome_events_counter(&chrome->events, &place, string_builder_text(&name), unit.text, value,
			      row->begin);
	error = name.error;
	string_builder_fini(&name);
	return error;
}

static int on_row(void *context, const struct order_item *item)
{
	struct chrome *chrome = context;
	const uint64_t *times = item->row; /* start and end come first in calls and ranges */
	struct call call = {.kind = item->kind};
	int error = 0;

	if (!filter_has_item(&chrome->filter, item))
		return 0;
	if (item->kind == EVENT_LOSS)
		return on_loss(chrome, item->row);
	if (item->kind == EVENT_COUNTER)
		return on_counter(chrome, item->row);
	if (item->kind == EVENT_RANGE)
		call.row.range = *(const struct event_range *)item->row;
	else
		call.row.api = *(const struct event_api *)item->row;
	call.begin = times[0];
	call.end = times[1];
	if (item->kind == EVENT_API && call.row.api.type == API_TYPE_OPERATOR)
		error = chrome_links_operator(&chrome->links, &call.row.api, &call.operator);
	return error ? error : add_call(chrome, &call);
}

/* ---- the document ---- */

static int write_events(struct chrome *chrome)
{
	const struct commands_visitor visitor = {.on_launch = on_launch,
						 .on_command = on_command,
						 .more_kinds = 1u << EVENT_API | 1u << EVENT_RANGE |
							       1u << EVENT_COUNTER |
							       1u << EVENT_LOSS,
						 .on_row = on_row,
						 .delay_ns = chrome->verdicts.delay_ns,
						 .in_order = true};
	const struct model *model = chrome->events.model;
	int error;

	json_newline(&chrome->json);
	json_key(&chrome->json, "traceEvents");
	json_array_begin(&chrome->json);
	error = chrome_rows_init(&chrome->rows, model, &chrome->filter, &chrome->json);
	if (!error)
		error = chrome_links_init(&chrome->links, model);
	chrome->depths = calloc(chrome->rows.all_queues.count + 1, sizeof(*chrome->depths));
	chrome->queues = calloc(chrome->rows.all_queues.count + 1, sizeof(*chrome->queues));
	if (!error && (!chrome->depths || !chrome->queues))
		error = -ENOMEM;
	if (!error)
		error = commands_each(model, &visitor, chrome);
	if (!error)
		error = write_calls(chrome);
	if (!error)
		error = write_depths(chrome, UINT64_MAX);
	json_array_end(&chrome->json);
	return error;
}

static int write_stacks(struct chrome *chrome)
{
	int error;

	json_newline(&chrome->json);
	json_key(&chrome->json, "samples");
	error = chrome_stacks_samples(&chrome->events, &chrome->rows, &chrome->filter,
				      &chrome->stacks, &chrome->count);
	if (error)
		return error;
	json_newline(&chrome->json);
	json_key(&chrome->json, "stackFrames");
	return chrome_stacks_frames(&chrome->json, chrome->filter.options, &chrome->stacks);
}

static int write_about(struct chrome *chrome)
{
	const struct analysis_options options = {0};
	const struct model *model = chrome->events.model;
	struct json_writer *json = &chrome->json;
	struct incomplete incomplete;
	struct analysis *analysis;
	int error = analysis_new(model, &options, &analysis);

	if (error)
		return error;
	incomplete = incomplete_analysis(analysis);
	json_key(json, "otherData");
	json_object_begin(json);
	json_about_recording(json, analysis, chrome->filter.options->version);
	json_pair_u64(json, "ts_zero_ns", chrome->events.base_ns);
	if (*incomplete.text)
		json_pair_text(json, "incomplete", incomplete.text);
	json_key(json, "clocks");
	json_about_clocks(json, model);
	json_key(json, "collectors");
	json_about_collectors(json, model);
	json_key(json, "ledger");
	json_object_begin(json);
	json_about_ledger(json, &analysis->ledger);
	json_object_end(json);
	json_object_end(json);
	analysis_free(analysis);
	return 0;
}

/* Time 0 of the file is the start of the recording or the first row, whichever is earlier: some
 * readers lose the sign of times between -1 us and 0. */
static int open_chrome(struct chrome *chrome, const struct model *model,
		       const struct output_options *options)
{
	const struct order_options order_options = {.kinds = ANALYSIS_ORDER_KINDS |
							     1u << EVENT_LOSS};
	struct order *order = NULL;
	int error = model_order(model, &order_options, &order);

	if (error)
		return error;
	filter_init(&chrome->filter, model, options, order);
	if (!options->is_absolute)
		chrome->events.base_ns = chrome->filter.begin_ns < order_begin_ns(order)
						 ? chrome->filter.begin_ns
						 : order_begin_ns(order);
	/* Times keep their fractions of a microsecond: HolisticTraceAnalysis cuts them off. */
	chrome->events.base_ns -= chrome->events.base_ns % 1000;
	order_free(order);
	return verdicts_init(&chrome->verdicts, model, chrome->filter.from_ns,
			     chrome->filter.to_ns);
}

static int write_document(struct chrome *chrome)
{
	int error;

	json_object_begin(&chrome->json);
	json_pair_u64(&chrome->json, "schemaVersion", 1); /* PyTorch's */
	json_pair_text(&chrome->json, "displayTimeUnit", "ns");
	chrome_torch_document(&chrome->json, chrome->events.model);
	error = write_about(chrome);
	if (!error)
		error = write_events(chrome);
	if (!error)
		error = write_stacks(chrome);
	if (error)
		return error;
	json_object_end(&chrome->json);
	putc('\n', chrome->file);
	return stream_flush(chrome->file);
}

static void chrome_fini(struct chrome *chrome)
{
	chrome_rows_fini(&chrome->rows);
	chrome_links_fini(&chrome->links);
	verdicts_fini(&chrome->verdicts);
	stack_set_fini(&chrome->stacks);
	moments_fini(&chrome->moments);
	free(chrome->calls);
	free(chrome->depths);
	free(chrome->queues);
}

static int write_chrome(const struct model *model, const struct output_options *options, FILE *file,
			uint64_t *ret_rows)
{
	const char *kinds = options->kinds;
	struct chrome chrome = {.events.model = model,
				.file = file,
				.has_counters = filter_is_wanted(kinds, "counter", "counter"),
				.has_flows = filter_is_wanted(kinds, "launch", "launch") &&
					     filter_is_wanted(kinds, "execution", "execution")};
	int error;

	chrome.events.json = &chrome.json;
	json_init_file(&chrome.json, file);
	stack_set_init(&chrome.stacks, model);
	error = open_chrome(&chrome, model, options);
	if (!error)
		error = write_document(&chrome);
	*ret_rows = chrome.count;
	chrome_fini(&chrome);
	return error;
}

const struct exporter export_chrome = {
	.name = "chrome",
	.help = "a timeline in Chrome's Trace Event Format (JSON); prefer perfetto for large "
		"traces",
	.kinds = "api, launch, execution, cpu_sample, range, loss, counter",
	.has_no_instructions = true,
	.write = write_chrome,
};

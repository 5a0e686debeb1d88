/* SPDX-License-Identifier: MIT
 *
 * import/chrome/chrome.c - import Chrome's Trace Event Format: slices of threads become calls,
 * slices of devices become commands
 *
 * Runs in:  our own process
 * Gets:     JSON of PyTorch (Kineto), duet and many others
 * Gives:    calls, launches, executions, samples
 * Owns:     the two passes over the file
 * Fails:    -EBADMSG with line and byte
 * Why two passes: the row of a launch contains its queue, its kernel and its stack. In this format
 *           only the event of the command has queue and kernel, and only the slices around the
 *           call are its stack. Both may be anywhere in the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "event/absent_call.h"
#include "import/chrome/private.h"
#include "import/common/collectives.h"
#include "import/formats.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"

/* The driver's or the profiler's own time. PyTorch writes -1 and 0 if the thread is not known. */
static int on_overhead(struct chrome *chrome, const struct chrome_event *event)
{
	const uint64_t begin_ns = chrome_time(chrome, event->ts_ns.value);
	struct event_range row = {.begin = begin_ns,
				  .end = begin_ns + (uint64_t)event->dur_ns.value};
	struct chrome_thread *thread;

	if (chrome_number_of(string_builder_text(&event->pid), 0) &&
	    chrome_number_of(string_builder_text(&event->tid), 0)) {
		int error = chrome_find_row(chrome, event, &thread);

		if (error)
			return error;
		row.process = thread->process;
		row.thread = thread->thread;
	}
	return chrome_overheads_add(&chrome->overheads, chrome->target,
				    string_builder_text(&event->name), &row);
}

/* ---- the second pass ---- */

static int check_times(const struct chrome_event *event)
{
	const bool is_slice = strcmp(string_builder_text(&event->phase), "X") == 0;

	if (!event->ts_ns.is_known || (is_slice && !event->dur_ns.is_known))
		return chrome_file_fail(event, "expected 'ts'%s in an event of ph '%s'",
					is_slice ? " and 'dur'" : "",
					string_builder_text(&event->phase));
	return chrome_file_fail(event, "expected a non-negative 'dur'");
}

static int read_event(struct chrome *chrome, const struct chrome_event *event)
{
	switch (chrome_kind_of(event)) {
	case KIND_META:
	case KIND_ARROW:
		return 0;
	case KIND_OVERHEAD:
		return on_overhead(chrome, event);
	case KIND_COMMAND:
		return chrome_on_command(chrome, event);
	case KIND_SLICE:
		return chrome_on_slice(chrome, event);
	case KIND_BEGIN:
		return chrome_on_begin(chrome, event);
	case KIND_END:
		return chrome_on_end(chrome, event);
	case KIND_MEMORY:
		return chrome_on_memory(chrome, event);
	case KIND_INVALID:
		return check_times(event);
	default:
		chrome->left_out++;
		return 0;
	}
}

static int on_event(void *context, struct chrome_event *event)
{
	struct chrome *chrome = context;
	int error;

	chrome_names_set_categories(&chrome->scan.names, event);
	error = read_event(chrome, event);
	chrome->number++;
	chrome->with_phase += *string_builder_text(&event->phase) != '\0';
	chrome->usable += !error;
	return error ? import_faults_add(&chrome->faults, error) : 0;
}

/* Any JSON array of objects passes the parser, so a file without phases is refused here. */
static int check_events(struct chrome *chrome)
{
	if (chrome->number && !chrome->with_phase)
		return error_set(-EBADMSG,
				 "expected events with the key 'ph', found none in %" PRIu32
				 " %s: not a Chrome trace",
				 chrome->number, format_noun(chrome->number, "object", "objects"));
	return import_faults_end(&chrome->faults, chrome->usable, "event");
}

static int on_sample(void *context, const struct chrome_sample *sample)
{
	struct chrome *chrome = context;
	uint64_t index = hash_map_get(&chrome->tids,
				      chrome_number_of(string_builder_text(&sample->tid), 0), 0);
	struct event_cpu_sample row = {
		.weight = sample->weight.value > 0 ? (uint64_t)sample->weight.value : 1,
		.cpu = (uint32_t)sample->cpu.value,
		.thread = index ? chrome->rows[index - 1].thread : 0};
	int error = import_target_text(chrome->target, string_builder_text(&sample->name),
				       &row.source_string);

	if (!sample->ts_ns.is_known || sample->ts_ns.value < chrome->scan.first_ns) {
		chrome->left_out++;
		return error;
	}
	row.time = chrome_time(chrome, sample->ts_ns.value);
	if (!error)
		error = chrome_names_stack(&chrome->scan.names, chrome->target,
					   string_builder_text(&sample->stack), &row.stack);
	return error ? error : import_target_sample(chrome->target, &row);
}

/* A launch whose command has no event. One under a capture is a call: no command of it may have run
 * unseen. In a file without any command the device was not recorded, and launches are calls, too.
 */
static int write_unmatched(void *context, const struct event_launch *row, bool is_named)
{
	struct chrome *chrome = context;
	struct event_launch launch = *row;
	const bool is_captured = chrome_captures_has(&chrome->captures, row);
	const bool is_call = is_named && (is_captured || !chrome->commands);
	const struct event_api call = {.begin = row->enter,
				       .end = row->exit,
				       .thread = row->thread,
				       .function_string = row->function_string,
				       .result = row->result,
				       .type = row->flags & LAUNCH_BLOCKING ? API_TYPE_WAIT
									    : API_TYPE_CALL,
				       .stack = row->stack};

	chrome->captured += is_named && is_captured;
	chrome->without_event += is_named && !is_captured;
	if (is_call)
		return import_target_call(chrome->target, &call);
	launch.correlation = launch.result ? 0 : import_target_correlation(chrome->target);
	return import_target_launch(chrome->target, &launch);
}

static int write_rest(struct chrome *chrome)
{
	int error = chrome_overheads_write(&chrome->overheads, chrome->target);

	chrome_captures_sort(&chrome->captures);
	if (!error)
		error = chrome_unmatched_visit_all(chrome->unmatched, write_unmatched, chrome);
	if (!error)
		error = import_sequences_write(chrome->sequences, chrome->target);
	return error ? error : chrome_end_slices(chrome);
}

static void put_notes(struct chrome *chrome)
{
	struct import_target *target = chrome->target;

	import_target_note(target,
			   "times are the file's own; losses of its recording are not known");
	if (chrome->scan.first_ns < 0)
		import_target_note(target,
				   "times are moved by %" PRId64 " ns, so that none is negative",
				   -chrome->scan.first_ns);
	import_target_note_count(target, chrome->made_up, "command", "commands",
				 "without a call: duet adds a launch of no duration");
	import_target_note_count(target, chrome->captured, "launch", "launches",
				 "under a stream capture: imported as a call, because it became a "
				 "node of a graph");
	import_target_note_count(
		target, chrome->without_event, "launch", "launches",
		chrome->commands
			? "without an event of a command"
			: "imported as a call, because the file has no events of commands");
	import_target_note_count(target, chrome->unbalanced, "slice", "slices",
				 "without begin or end event");
	import_target_note_count(target, chrome->left_out, "event", "events",
				 "left out: counters, instants, flow arrows, …");
	if (chrome->scan.is_cut)
		import_target_note(target,
				   "the array of events has no end: the file may be cut off");
}

static void chrome_fini(struct chrome *chrome)
{
	chrome_scan_fini(&chrome->scan);
	chrome_captures_fini(&chrome->captures);
	chrome_overheads_fini(&chrome->overheads);
	chrome_unmatched_free(chrome->unmatched);
	import_sequences_free(chrome->sequences);
	hash_map_fini(&chrome->tids);
	free(chrome->strings);
	free(chrome->rows);
	open_slices_fini(&chrome->open);
}

static int read_chrome(struct import_source *source, struct import_target *target)
{
	static const struct chrome_visitor visitor = {.on_event = on_event, .on_sample = on_sample};
	struct chrome chrome = {.target = target, .faults = {target, "event", "events"}};
	bool is_cut;
	int error = chrome_unmatched_new(&chrome.unmatched);

	open_slices_init(&chrome.open, sizeof(struct event_api), 0);
	if (!error)
		error = import_sequences_new(&chrome.sequences);
	if (!error)
		error = chrome_scan_read(&chrome.scan, source, target);
	if (!error)
		error = import_source_rewind(source);
	if (!error)
		error = chrome_scan_set_clock(&chrome.scan, target);
	if (!error)
		error = import_target_text(target, ABSENT_CALL, &chrome.absent);
	if (!error)
		error = chrome_file_read(source, &visitor, &chrome, &is_cut);
	if (!error)
		error = check_events(&chrome);
	if (!error)
		error = write_rest(&chrome);
	put_notes(&chrome);
	chrome_fini(&chrome);
	return error;
}

/* Members that PyTorch and others write may precede the events. */
static bool recognize_chrome(const struct import_probe *probe)
{
	if (!import_probe_is_json(probe))
		return false;
	return *probe->text == '[' ? import_probe_contains(probe, "\"ph\"")
				   : import_probe_contains(probe, "\"traceEvents\"") ||
					     import_probe_contains(probe, "\"deviceProperties\"");
}

const struct importer import_chrome = {
	.name = "chrome",
	.help = "Chrome's Trace Event Format (JSON): timelines of PyTorch, duet and many other "
		"programs",
	.read = read_chrome,
	.recognize = recognize_chrome,
};

/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/slices.c - slices of tracks: calls, launches, ranges, times off the processor
 *
 * Runs in:  our own process
 * Gets:     events
 * Gives:    rows of the trace; calls that wait for their command
 * Owns:     the open slices
 * Fails:    errors of the target
 * Why an end closes the slice that began last in the file: rocprofv3 writes both ends of a slice
 *           together, and all other writers write a track in the order of time
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "import/common/commands.h"
#include "import/perfetto/import.h"
#include "import/target.h"
#include "perfetto_trace.numbers.h"

/* ---- the beginning ---- */

static bool waits(const struct perfetto_import *import, const struct perfetto_event *event)
{
	const char *name = perfetto_import_text(import, event->name);

	if (import->tracks.is_own)
		return event->categories & PERFETTO_WAIT;
	return import_call_waits(name);
}

/* The command that duet wrote at a launch. */
static int name_command(struct perfetto_import *import, const struct perfetto_event *event,
			struct perfetto_slice *slice)
{
	const char *command = perfetto_import_argument(import, event, ARGUMENT_COMMAND);

	slice->launch.command = import_command_named(command, COMMAND_KERNEL);
	perfetto_commands_take_sizes(import, event, &slice->launch);
	if (slice->launch.command != COMMAND_KERNEL || !*command)
		return 0;
	return import_target_kernel(import->target, slice->process, "", command,
				    &slice->launch.kernel);
}

static int begin_call(struct perfetto_import *import, const struct perfetto_event *event,
		      struct perfetto_slice *slice)
{
	uint32_t categories = perfetto_import_categories(import, event);
	bool is_wait = categories && waits(import, event);

	slice->type = SLICE_CALL;
	slice->call = perfetto_import_call(import, event);
	slice->is_launch = categories & PERFETTO_LAUNCH;
	slice->api_type = categories & PERFETTO_META ? API_TYPE_DUET
			  : is_wait                  ? API_TYPE_WAIT
			  : categories               ? API_TYPE_CALL
						     : API_TYPE_FUNCTION;
	slice->argument = (uint64_t)event->arguments[ARGUMENT_ARGUMENT].number;
	slice->launch.result = (int32_t)event->arguments[ARGUMENT_RESULT].number;
	slice->launch.flags = (is_wait ? LAUNCH_BLOCKING : 0) |
			      (event->arguments[ARGUMENT_FURTHER].number ? LAUNCH_FURTHER : 0);
	if (slice->is_launch && !slice->call) {
		int error = name_command(import, event, slice);

		if (error)
			return error;
	}
	return import_target_text(import->target, perfetto_import_text(import, event->name),
				  &slice->launch.function_string);
}

static int begin_range(struct perfetto_import *import, const struct perfetto_event *event,
		       struct perfetto_slice *slice)
{
	const char *domain = perfetto_import_argument(import, event, ARGUMENT_DOMAIN);
	bool is_rocprof = event->categories & PERFETTO_ROCPROF;
	struct event_range *range = &slice->range;
	int error = import_target_text(import->target, perfetto_import_text(import, event->name),
				       &range->name_string);

	slice->type = SLICE_RANGE;
	range->flags = (event->arguments[ARGUMENT_OPEN].number ? RANGE_OPEN : 0) |
		       (event->arguments[ARGUMENT_UNBEGUN].number ? RANGE_UNBEGUN : 0);
	range->begin = event->time_ns;
	range->thread = slice->launch.thread;
	range->process = slice->process;
	return error ? error
		     : import_target_text(import->target, is_rocprof ? "roctx" : domain,
					  &range->domain_string);
}

/* "blocked: futex", "preempted": the thread leaves its processor. */
static int begin_away(struct perfetto_import *import, const struct perfetto_event *event,
		      struct perfetto_slice *slice)
{
	const char *name = perfetto_import_text(import, event->name);
	const char *wait = strstr(name, ": ");
	struct event_switch row = {.time = event->time_ns,
				   .previous = slice->launch.thread,
				   .reason = strncmp(name, "preempted", 9) == 0 ? SWITCH_PREEMPTED
										: SWITCH_BLOCKED};
	int error = import_target_text(import->target, wait ? wait + 2 : "", &row.wait_string);

	slice->type = SLICE_AWAY;
	return error ? error : import_target_switch(import->target, &row);
}

static int begin_slice(struct perfetto_import *import, const struct perfetto_event *event,
		       struct perfetto_slice *slice)
{
	uint32_t categories = perfetto_import_categories(import, event);
	struct perfetto_track *track;
	int error;

	*slice = (struct perfetto_slice){.launch.enter = event->time_ns};
	if (import->pass == PASS_COMMANDS)
		return categories & PERFETTO_COMMAND ? perfetto_commands_begin(import, event, slice)
						     : 0;
	if (categories & PERFETTO_COMMAND)
		return 0;
	track = perfetto_tracks_find(&import->tracks, event->track);
	if (!track)
		return -ENOMEM;
	error = perfetto_tracks_thread(&import->tracks, track, &slice->launch.thread,
				       &slice->process);
	if (error)
		return error;
	if (categories & PERFETTO_OFF_CPU)
		return begin_away(import, event, slice);
	return categories & PERFETTO_RANGE ? begin_range(import, event, slice)
					   : begin_call(import, event, slice);
}

/* ---- the end ---- */

/* Keeps a call for the pass over the commands. */
static bool keep_call(struct perfetto_import *import, const struct perfetto_slice *slice)
{
	const struct event_launch *launch = &slice->launch;

	if (!slice->call || import->calls[slice->call - 1].is_known)
		return false;
	import->calls[slice->call - 1] = (struct perfetto_call){.enter = launch->enter,
								.exit = launch->exit,
								.thread = launch->thread,
								.process = slice->process,
								.function = launch->function_string,
								.flags = launch->flags,
								.result = launch->result,
								.is_known = true};
	return true;
}

static int write_call(struct perfetto_import *import, const struct perfetto_slice *slice)
{
	const struct event_api row = {.begin = slice->launch.enter,
				      .end = slice->launch.exit,
				      .thread = slice->launch.thread,
				      .function_string = slice->launch.function_string,
				      .result = slice->launch.result,
				      .type = slice->api_type,
				      .argument = slice->argument};

	return import_target_call(import->target, &row);
}

static int end_call(struct perfetto_import *import, struct perfetto_slice *slice, uint64_t end_ns)
{
	struct event_launch *launch = &slice->launch;

	launch->exit = end_ns;
	if (keep_call(import, slice))
		return 0;
	if (!slice->is_launch)
		return write_call(import, slice);
	launch->correlation = launch->result ? 0 : import_target_correlation(import->target);
	return import_target_launch(import->target, launch);
}

static int end_away(struct perfetto_import *import, const struct perfetto_slice *slice,
		    uint64_t end_ns)
{
	const struct event_switch row = {.time = end_ns, .next = slice->launch.thread};

	return import_target_switch(import->target, &row);
}

static int end_slice(struct perfetto_import *import, struct perfetto_slice *slice, uint64_t end_ns)
{
	end_ns = end_ns > slice->launch.enter ? end_ns : slice->launch.enter;
	switch (slice->type) {
	case SLICE_CALL:
		return end_call(import, slice, end_ns);
	case SLICE_RANGE:
		slice->range.end = end_ns;
		return import_target_range(import->target, &slice->range);
	case SLICE_AWAY:
		return end_away(import, slice, end_ns);
	case SLICE_COMMAND:
		slice->execution.ended = slice->execution.seen = end_ns;
		return perfetto_commands_write(import, slice);
	default:
		return 0;
	}
}

/* The ends of slices inside of one without a place are theirs, not those of the slices around. */
static int leave_out(struct perfetto_import *import, struct perfetto_track *track)
{
	import->counts.too_deep += import->pass == PASS_CALLS;
	track->left_out++;
	return 0;
}

static int open_slice(struct perfetto_import *import, const struct perfetto_event *event)
{
	struct perfetto_track *track = perfetto_tracks_find(&import->tracks, event->track);
	struct perfetto_slice slice;
	int error;

	if (!track)
		return -ENOMEM;
	if (track->left_out || open_slices_is_full(&import->open))
		return leave_out(import, track);
	error = begin_slice(import, event, &slice);
	return error ? error : open_slices_push(&import->open, &track->open, &slice);
}

static int close_slice(struct perfetto_import *import, struct perfetto_track *track,
		       uint64_t end_ns)
{
	int error = end_slice(import, open_slices_top(&import->open, track->open), end_ns);

	open_slices_pop(&import->open, &track->open);
	return error;
}

static int on_end(struct perfetto_import *import, const struct perfetto_event *event)
{
	struct perfetto_track *track = perfetto_tracks_find(&import->tracks, event->track);

	if (!track)
		return -ENOMEM;
	if (track->left_out) {
		track->left_out--;
		return 0;
	}
	if (track->open)
		return close_slice(import, track, event->time_ns);
	import->counts.unbalanced += import->pass == PASS_CALLS;
	return 0;
}

static int on_whole(struct perfetto_import *import, const struct perfetto_event *event)
{
	struct perfetto_slice slice;
	int error = begin_slice(import, event, &slice);

	return error ? error
		     : end_slice(import, &slice, event->time_ns + (uint64_t)event->duration_ns);
}

/* Moments that duet wrote are marks of ranges, or about the recording. */
static int on_instant(struct perfetto_import *import, const struct perfetto_event *event)
{
	uint32_t categories = perfetto_import_categories(import, event);
	struct perfetto_slice slice;
	int error;

	if (import->pass != PASS_CALLS || (categories & PERFETTO_META))
		return 0;
	if (!(categories & PERFETTO_RANGE)) {
		import->counts.losses += (categories & PERFETTO_LOSS) != 0;
		import->counts.instants += !(categories & PERFETTO_LOSS);
		return 0;
	}
	error = begin_slice(import, event, &slice);
	slice.range.type = RANGE_MARK;
	return error ? error : end_slice(import, &slice, event->time_ns);
}

int perfetto_slices_take(struct perfetto_import *import, const struct perfetto_event *event)
{
	if (event->duration_ns >= 0)
		return on_whole(import, event);
	switch (event->type) {
	case PF_TYPE_SLICE_BEGIN:
		return open_slice(import, event);
	case PF_TYPE_SLICE_END:
		return on_end(import, event);
	default:
		return on_instant(import, event);
	}
}

int perfetto_slices_end(struct perfetto_import *import)
{
	int error = 0;

	for (size_t i = 0; i < import->tracks.count && !error; i++) {
		import->tracks.rows[i].left_out = 0;
		while (import->tracks.rows[i].open && !error) {
			import->counts.unbalanced += import->pass == PASS_CALLS;
			error = close_slice(import, &import->tracks.rows[i], import->last_ns);
		}
	}
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * import/chrome/calls.c - the slices of threads in a Chrome trace: calls, functions, ranges
 *
 * Runs in:  our own process
 * Gets:     slices, in the second pass
 * Gives:    calls and ranges
 * Owns:     nothing
 * Fails:    -ENOMEM, -errno of a write
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "import/chrome/commands.h"
#include "import/chrome/private.h"
#include "import/common/commands.h"
#include "import/target.h"

static int name_command(struct chrome *chrome, const struct chrome_event *event, uint32_t process,
			struct event_launch *call)
{
	const char *command = string_builder_text(&event->arguments.command);

	if (!*command)
		return 0;
	call->command = chrome_commands_by_name(command, COMMAND_KERNEL);
	if (call->command != COMMAND_KERNEL)
		return 0;
	return import_target_kernel(chrome->target, process, "", command, &call->kernel);
}

static int write_call(struct chrome *chrome, const struct chrome_event *event,
		      const struct event_launch *call)
{
	const struct event_api row = {.begin = call->enter,
				      .end = call->exit,
				      .thread = call->thread,
				      .function_string = call->function_string,
				      .result = call->result,
				      .type = chrome_call_type(event),
				      .stack = call->stack};

	return import_target_call(chrome->target, &row);
}

/* A range named by the program: record_function of PyTorch, ranges of duet. */
static int write_range(struct chrome *chrome, const struct chrome_event *event,
		       const struct chrome_thread *row, const struct event_launch *call)
{
	struct event_range range = {.begin = call->enter,
				    .end = call->exit,
				    .thread = row->thread,
				    .process = row->process,
				    .type = RANGE_PUSH,
				    .name_string = call->function_string,
				    .stack = call->stack};
	int error =
		import_target_text(chrome->target, string_builder_text(&event->arguments.domain),
				   &range.domain_string);

	return error ? error : import_target_range(chrome->target, &range);
}

/* A launch whose command has no event is written when all launches are known. */
static int take_call(struct chrome *chrome, const struct chrome_event *event,
		     const struct chrome_thread *row, struct event_launch *call)
{
	const char *name = string_builder_text(&event->name);
	const bool is_launch =
		event->categories & CATEGORY_LAUNCH || event->arguments.command.length;
	const bool has_id = event->arguments.correlation.value != 0;
	const bool is_named = has_id && !is_launch && chrome_commands_is_launch(name);
	bool has_command;
	int error = chrome_captures_add(&chrome->captures, name, call);

	if (!error && has_id)
		chrome_overheads_add_process(&chrome->overheads, row->process);
	if (!error)
		error = chrome_launches_has_command(chrome->scan.launches, chrome->number,
						    &has_command);
	if (error || has_command)
		return error;
	if (!is_launch && !is_named)
		return write_call(chrome, event, call);
	if (chrome_call_type(event) == API_TYPE_WAIT)
		call->flags |= LAUNCH_BLOCKING;
	call->command = import_command_of_call(name);
	error = name_command(chrome, event, row->process, call);
	return error ? error
		     : chrome_unmatched_add(chrome->unmatched, row->process, call, is_named);
}

static int make_call(struct chrome *chrome, const struct chrome_event *event,
		     const struct chrome_thread *row, struct event_launch *call)
{
	const struct json_integer *result = &event->arguments.result;

	call->enter = chrome_time(chrome, event->ts_ns.value);
	call->exit = call->enter + (uint64_t)event->dur_ns.value;
	call->thread = row->thread;
	call->result = result->is_known ? (int32_t)result->value : 0;
	call->flags = event->arguments.further.is_known ? LAUNCH_FURTHER : 0;
	return import_target_text(chrome->target, string_builder_text(&event->name),
				  &call->function_string);
}

int chrome_on_slice(struct chrome *chrome, const struct chrome_event *event)
{
	struct event_launch call = {0};
	struct chrome_thread *row;
	int error = chrome_find_row(chrome, event, &row);

	if (!error)
		error = make_call(chrome, event, row, &call);
	if (!error)
		error = chrome_slices_find(chrome->scan.slices, chrome->number, &call.stack);
	if (error)
		return error;
	if (chrome_is_range(event))
		return write_range(chrome, event, row, &call);
	if (event->categories & (CATEGORY_FUNCTION | CATEGORY_OPERATOR))
		return write_call(chrome, event, &call);
	return take_call(chrome, event, row, &call);
}

/* ---- slices of a B and an E event ---- */

int chrome_on_begin(struct chrome *chrome, const struct chrome_event *event)
{
	struct event_launch call = {0};
	struct event_api slice = {0};
	struct chrome_thread *row;
	int error = chrome_find_row(chrome, event, &row);

	if (!error)
		error = make_call(chrome, event, row, &call);
	if (error)
		return error;
	slice.begin = call.enter;
	slice.thread = call.thread;
	slice.function_string = call.function_string;
	slice.type = chrome_call_type(event);
	return open_slices_push(&chrome->open, &row->open, &slice);
}

static int end_slice(struct chrome *chrome, struct chrome_thread *row, uint64_t end_ns,
		     uint32_t number)
{
	struct event_api *slice = open_slices_top(&chrome->open, row->open);
	int error = chrome_slices_find(chrome->scan.slices, number, &slice->stack);

	slice->end = end_ns > slice->begin ? end_ns : slice->begin;
	open_slices_pop(&chrome->open, &row->open);
	return error ? error : import_target_call(chrome->target, slice);
}

int chrome_on_end(struct chrome *chrome, const struct chrome_event *event)
{
	struct chrome_thread *row;
	int error = chrome_find_row(chrome, event, &row);

	if (error)
		return error;
	if (row->open)
		return end_slice(chrome, row, chrome_time(chrome, event->ts_ns.value),
				 chrome->number);
	chrome->unbalanced++;
	return 0;
}

int chrome_end_slices(struct chrome *chrome)
{
	uint32_t number = chrome->number;
	int error = 0;

	for (size_t i = 0; i < chrome->rows_capacity && i < chrome->scan.rows.count; i++)
		while (chrome->rows[i].open && !error) {
			error = end_slice(chrome, &chrome->rows[i],
					  chrome_time(chrome, chrome->scan.last_ns), number++);
			chrome->unbalanced++;
		}
	return error;
}

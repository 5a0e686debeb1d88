/* SPDX-License-Identifier: MIT
 *
 * import/chrome/executions.c - the commands of a Chrome trace, with their launches
 *
 * Runs in:  our own process
 * Gets:     events of devices, in the second pass
 * Gives:    executions and launches
 * Owns:     nothing
 * Fails:    -ENOMEM, -errno of a write
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/chrome/commands.h"
#include "import/chrome/private.h"
#include "import/target.h"

/* A command, and what is known of its launch. */
struct command {
	const struct chrome_event *event;
	struct event_execution row;
	struct event_launch launch;
	struct chrome_call call;
	bool has_call;
};

/* A launch without a call in the file starts with the command, and takes no time. */
static int fill_launch(struct chrome *chrome, struct command *command)
{
	struct event_launch *launch = &command->launch;
	const struct chrome_call *call = &command->call;
	const struct chrome_row *row;
	int error;

	if (!command->has_call) {
		launch->enter = launch->exit = command->row.started;
		launch->function_string = chrome->absent;
		chrome->made_up++;
		return import_target_thread(chrome->target, command->row.process, 0,
					    "[unknown thread]", &launch->thread);
	}
	error = chrome_row_of(chrome, call->row, &row);
	if (error)
		return error;
	launch->thread = row->thread;
	launch->enter = chrome_time(chrome, call->begin_ns);
	launch->exit = chrome_time(chrome, call->end_ns);
	launch->stack = call->stack;
	launch->result = call->result;
	launch->flags = call->is_further ? LAUNCH_FURTHER : 0;
	if (call->type == API_TYPE_WAIT && launch->command != COMMAND_COPY &&
	    launch->command != COMMAND_FILL)
		launch->flags |= LAUNCH_BLOCKING;
	return chrome_string(chrome, call->name, &launch->function_string);
}

static int find_process(struct chrome *chrome, struct command *command)
{
	const struct chrome_arguments *arguments = &command->event->arguments;
	const char *program = chrome_names_program(&chrome->scan.names);
	const struct chrome_row *row;
	char owner[24];
	int error;

	if (arguments->pid.is_known) {
		snprintf(owner, sizeof(owner), "%" PRId64, arguments->pid.value);
		return chrome_find_process(chrome, owner, &command->row.process);
	}
	if (command->has_call) {
		error = chrome_row_of(chrome, command->call.row, &row);
		command->row.process = error ? 0 : row->process;
		return error;
	}
	if (program)
		return chrome_find_process(chrome, program, &command->row.process);
	return import_target_process(chrome->target, "", 0, "[unknown process]",
				     &command->row.process);
}

static int find_queue(struct chrome *chrome, struct command *command)
{
	const struct chrome_arguments *arguments = &command->event->arguments;
	const bool is_stream = arguments->stream.length && !arguments->queue.length;
	const struct string_builder *queue = arguments->queue.length    ? &arguments->queue
					     : arguments->stream.length ? &arguments->stream
									: &command->event->tid;
	struct event_queue row = {.process = command->row.process};
	char name[64];
	int error = chrome_find_device(chrome, command->event, &row.device);

	snprintf(name, sizeof(name), "stream %s", string_builder_text(queue));
	if (!error && is_stream)
		error = import_target_text(chrome->target, name, &row.name_string);
	return error ? error
		     : import_target_describe_queue(chrome->target, string_builder_text(queue),
						    &row, &command->row.queue);
}

static void describe_command(struct command *command)
{
	const struct chrome_event *event = command->event;
	const struct chrome_arguments *arguments = &event->arguments;

	command->launch.command = chrome_commands_type(event);
	command->launch.bytes = arguments->bytes.value > 0 ? (uint64_t)arguments->bytes.value : 0;
	chrome_commands_take_sizes(arguments, &command->launch);
	if (command->launch.command != COMMAND_KERNEL)
		chrome_commands_take_memories(string_builder_text(&event->name), &command->row);
	if (event->categories & CATEGORY_REJECTED)
		command->row.status =
			arguments->status.value < 0 ? (int32_t)arguments->status.value : -1;
}

static int write_launch(struct chrome *chrome, struct command *command)
{
	struct event_launch *launch = &command->launch;
	int error = fill_launch(chrome, command);

	launch->queue = command->row.queue;
	launch->correlation = command->row.correlation;
	if (!error && launch->command == COMMAND_KERNEL)
		error = import_target_kernel(chrome->target, command->row.process, "",
					     string_builder_text(&command->event->name),
					     &launch->kernel);
	if (!error && command->has_call)
		error = chrome_unmatched_add_mark(chrome->unmatched, launch);
	return error ? error : import_target_launch(chrome->target, launch);
}

int chrome_on_command(struct chrome *chrome, const struct chrome_event *event)
{
	struct command command = {.event = event};
	int error = chrome_launches_find_call(chrome->scan.launches, chrome->number, &command.call,
					      &command.has_call);

	command.row.started = chrome_time(chrome, event->ts_ns.value);
	command.row.ended = command.row.seen = command.row.started + (uint64_t)event->dur_ns.value;
	chrome_commands_take_times(event, &command.row);
	describe_command(&command);
	if (!error)
		error = find_process(chrome, &command);
	if (!error)
		error = find_queue(chrome, &command);
	command.row.correlation = import_target_correlation(chrome->target);
	/* duet's own file marks a command without a launch */
	if (!error && !event->arguments.no_launch.length)
		error = write_launch(chrome, &command);
	return error ? error : import_target_execution(chrome->target, &command.row);
}

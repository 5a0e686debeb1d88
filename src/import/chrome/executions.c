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
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/chrome/commands.h"
#include "import/chrome/private.h"
#include "import/common/collectives.h"
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
	const struct chrome_thread *row;
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
	/* an accelerator's runtime submits a command and waits for it in one call */
	if (command->event->categories & CATEGORY_ACCELERATOR && command->row.ended <= launch->exit)
		launch->flags |= LAUNCH_BLOCKING;
	return chrome_string(chrome, call->name, &launch->function_string);
}

static int find_process(struct chrome *chrome, struct command *command)
{
	const struct chrome_arguments *arguments = &command->event->arguments;
	const char *program = chrome->scan.names.program;
	const struct chrome_thread *row;
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

	const int64_t bytes = event->categories & CATEGORY_ACCELERATOR ? arguments->size.value
								       : arguments->bytes.value;

	command->launch.command = chrome_commands_type(event);
	command->launch.bytes = bytes > 0 ? (uint64_t)bytes : 0;
	chrome_commands_take_sizes(arguments, &command->launch);
	if (event->categories & CATEGORY_REJECTED)
		command->row.status =
			arguments->status.value < 0 ? (int32_t)arguments->status.value : -1;
}

static uint32_t memory_of(const char *text, size_t length)
{
	static const struct {
		const char *name;
		enum event_memory memory;
	} rows[] = {{"Pageable", MEMORY_PAGEABLE},     {"Pinned", MEMORY_PINNED},
		    {"Device", MEMORY_DEVICE},         {"Managed", MEMORY_MANAGED},
		    {"Array", MEMORY_ARRAY},           {"Device Static", MEMORY_DEVICE_STATIC},
		    {"Managed Static", MEMORY_MANAGED}};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (strlen(rows[i].name) == length && strncmp(rows[i].name, text, length) == 0)
			return rows[i].memory;
	return MEMORY_UNKNOWN;
}

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)" */
static void take_memories(const char *name, struct event_execution *row)
{
	const char *begin = strchr(name, '('), *end = begin ? strchr(begin, ')') : NULL;
	const char *arrow = end ? strstr(begin, " -> ") : NULL;

	if (!end)
		return;
	if (arrow && arrow < end) {
		row->source_memory = memory_of(begin + 1, (size_t)(arrow - begin - 1));
		begin = arrow + 3;
	}
	row->destination_memory = memory_of(begin + 1, (size_t)(end - begin - 1));
}

/* PyTorch's arguments of a command. */
static void take_details(const struct chrome_event *event, struct event_execution *row)
{
	const struct chrome_arguments *arguments = &event->arguments;

	if (event->categories & (CATEGORY_COPY | CATEGORY_FILL))
		take_memories(string_builder_text(&event->name), row);
	if (arguments->graph.value > 0)
		row->graph = (uint64_t)arguments->graph.value;
	if (arguments->graph_node.value > 0)
		row->graph_node = (uint64_t)arguments->graph_node.value;
	if (arguments->shared_bytes.value > 0)
		row->local_bytes = (uint64_t)arguments->shared_bytes.value;
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
		error = chrome_unmatched_add_mark(chrome->unmatched, command->row.process, launch);
	return error ? error : import_target_launch(chrome->target, launch);
}

/* ---- collectives ---- */

/* The process group with its ranks. A file without groups has the name of the kernel. */
static int name_communicator(struct chrome *chrome, const struct chrome_event *event,
			     const struct chrome_operation *operation, uint32_t *ret_string)
{
	const char *kernel = string_builder_text(&event->name);
	const char *group = chrome_names_text(&chrome->scan.names, operation->group);
	const char *ranks = chrome_names_text(&chrome->scan.names, operation->ranks);
	struct string_builder text = {0};
	int error;

	if (!*group)
		return import_collective_of_all(chrome->target, kernel, ret_string);
	string_builder_appendf(&text, "%s%s%s", group, *ranks ? " " : "", ranks);
	error = text.error ? text.error
			   : import_target_text(chrome->target, string_builder_text(&text),
						ret_string);
	string_builder_fini(&text);
	return error;
}

/* The index of the file's rank in "[0, 2, 4]", plus 1; 0: not known. */
static uint32_t rank_in(const struct chrome_names *names, const char *ranks)
{
	uint32_t index = 0;
	char *end;

	if (!names->document.rank.is_known)
		return 0;
	for (ranks += *ranks == '['; *ranks && *ranks != ']'; index++) {
		const long long rank = strtoll(ranks, &end, 10);

		if (end == ranks)
			return 0;
		if (rank == names->document.rank.value)
			return index + 1;
		ranks = end + strspn(end, ", ");
	}
	return 0;
}

/* The arguments of the kernel go before those of the slice around its call. */
static int find_operation(struct chrome *chrome, const struct command *command,
			  struct chrome_operation *operation, bool *ret_is)
{
	const uint32_t around = command->has_call ? command->call.collective : 0;
	int error = chrome_collectives_of_kernel(&chrome->scan.names, command->event, operation,
						 ret_is);

	if (!error && *ret_is && around && !operation->group)
		*operation = chrome->scan.collectives.list[around - 1];
	return error;
}

static int write_collective(struct chrome *chrome, const struct command *command)
{
	struct chrome_operation operation;
	const char *name;
	struct event_collective row = {.begin = command->row.started,
				       .end = command->row.ended,
				       .process = command->row.process,
				       .thread = command->has_call ? command->launch.thread : 0,
				       .correlation = command->row.correlation};
	bool is_collective;
	int error = find_operation(chrome, command, &operation, &is_collective);

	if (error || !is_collective)
		return error;
	row.sequence = operation.has_sequence ? operation.sequence + 1 : 0;
	row.rank_count = operation.rank_count;
	row.rank = rank_in(&chrome->scan.names,
			   chrome_names_text(&chrome->scan.names, operation.ranks));
	row.bytes = operation.bytes;
	row.bytes_out = operation.bytes_out;
	name = chrome_names_text(&chrome->scan.names, operation.name);
	error = import_collective_name(chrome->target, name, strlen(name), &row.name_string);
	if (!error)
		error = name_communicator(chrome, command->event, &operation,
					  &row.communicator_string);
	if (!error)
		error = chrome_string(chrome, operation.datatype, &row.datatype_string);
	return error ? error : import_sequences_add(chrome->sequences, &row);
}

int chrome_on_command(struct chrome *chrome, const struct chrome_event *event)
{
	struct command command = {.event = event};
	int error;

	chrome->commands++;
	error = chrome_launches_find_call(chrome->scan.launches, chrome->number, &command.call,
					  &command.has_call);

	command.row.started = chrome_time(chrome, event->ts_ns.value);
	command.row.ended = command.row.seen = command.row.started + (uint64_t)event->dur_ns.value;
	chrome_commands_take_times(event, &command.row);
	describe_command(&command);
	take_details(event, &command.row);
	if (!error)
		error = find_process(chrome, &command);
	if (!error)
		error = find_queue(chrome, &command);
	command.row.correlation = import_target_correlation(chrome->target);
	/* duet's own file marks a command without a launch */
	if (!error && !event->arguments.no_launch.length)
		error = write_launch(chrome, &command);
	if (!error && command.launch.command == COMMAND_KERNEL)
		error = write_collective(chrome, &command);
	return error ? error : import_target_execution(chrome->target, &command.row);
}

/* SPDX-License-Identifier: MIT
 *
 * import/chrome/chrome.c - import Chrome's Trace Event Format: slices of threads become calls,
 * slices of devices become commands
 *
 * Runs in:  our own process
 * Gets:     JSON of PyTorch (Kineto), duet and many others
 * Gives:    calls, launches, executions, samples
 * Owns:     calls with a correlation id that wait for their command, and commands that wait for
 *           their call
 * Fails:    -EBADMSG with line and byte
 * Why a call waits for its command: the row of a launch contains its queue and kernel, and in this
 *           format only the event of the command has them. A waiting call takes about 200 bytes. If
 *           the file lists all calls first, all launches wait.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/format.h"
#include "import/chrome/captures.h"
#include "import/chrome/commands.h"
#include "import/chrome/file.h"
#include "import/chrome/join.h"
#include "import/chrome/names.h"
#include "import/chrome/overheads.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"

/* Tids that are not numbers get ids from here on; no thread of Linux has such an id. */
#define TEXT_TID 0x80000000u

/* A slice whose B event was read, and whose E event was not. */
struct open_slice {
	struct event_api row;
	uint32_t below; /* index + 1 of the slice around it on its row, or of the next free place;
			   0: none */
};

struct row {
	uint32_t process, thread, open; /* ids; the innermost open slice */
};

struct chrome {
	struct import_target *target;
	struct chrome_names names;
	struct string_table texts;
	struct string_table row_keys;
	struct row *rows; /* by id of a key - 1 */
	size_t rows_capacity;
	struct hash_map tids; /* tid -> index of a row + 1, for samples, which have no pid */
	struct chrome_join join;
	struct chrome_captures captures;
	struct open_slice *open;
	size_t open_count, open_capacity;
	uint32_t free_open; /* index + 1 */
	uint32_t absent;    /* function name of launches that are not in the file */
	struct chrome_overheads overheads;
	uint64_t last_ns;
	uint64_t made_up, unbalanced, left_out, captured;
	struct import_faults faults;
	uint64_t events, with_phase, usable;
};

/* ---- rows, devices, texts ---- */

static uint64_t time_of(const struct chrome *chrome, int64_t ts_ns)
{
	return (uint64_t)(ts_ns - chrome->names.first_ns);
}

static bool is_phase(const struct chrome_event *event, const char *phase)
{
	return strcmp(string_builder_text(&event->phase), phase) == 0;
}

static uint32_t number_of(const char *text, uint32_t otherwise)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && value < TEXT_TID ? (uint32_t)value
									  : otherwise;
}

static int find_process(struct chrome *chrome, const char *pid, uint32_t *ret_process)
{
	const char *name = chrome_names_get(&chrome->names, pid, "");

	return import_target_process(chrome->target, pid, number_of(pid, 0), *name ? name : pid,
				     ret_process);
}

static int add_row(struct chrome *chrome, const char *pid, const char *tid, uint32_t id)
{
	uint32_t number = number_of(tid, TEXT_TID + id);
	const char *name = chrome_names_get(&chrome->names, pid, tid);
	struct row *row;
	int error;

	if (array_grow(chrome->rows, chrome->rows_capacity, id))
		return -ENOMEM;
	row = &chrome->rows[id - 1];
	error = find_process(chrome, pid, &row->process);
	if (!error && !*name && number >= TEXT_TID)
		name = tid;
	if (!error)
		error = import_target_thread(chrome->target, row->process, number, name,
					     &row->thread);
	return error ? error : hash_map_put(&chrome->tids, number, id);
}

static int find_row(struct chrome *chrome, const struct chrome_event *event, struct row **ret_row)
{
	const char *pid = string_builder_text(&event->pid), *tid = string_builder_text(&event->tid);
	uint32_t before = chrome->row_keys.count, id = 0;
	struct string_builder key = {0};
	int error;

	string_builder_append(&key, pid);
	string_builder_append_char(&key, '\n');
	string_builder_append(&key, tid);
	if (!key.error)
		id = string_table_add(&chrome->row_keys, string_builder_text(&key), key.length);
	string_builder_fini(&key);
	error = id ? 0 : -ENOMEM;
	if (id > before)
		error = add_row(chrome, pid, tid, id);
	*ret_row = error ? NULL : &chrome->rows[id - 1];
	return error;
}

/* Finds the device of a pid by PyTorch's label, or by the name that duet's own exporter gives
 * it. */
static int find_device(struct chrome *chrome, const char *pid, uint32_t *ret_device)
{
	static const struct {
		const char *prefix;
		enum event_device_type type;
	} types[] = {{"CPU device ", DEVICE_CPU},
		     {"GPU ", DEVICE_GPU},
		     {"accelerator ", DEVICE_ACCELERATOR},
		     {"device ", DEVICE_OTHER}};
	const char *name = chrome_names_labels(&chrome->names, pid);
	enum event_device_type type = DEVICE_GPU;
	struct string_builder made = {0};
	bool is_labelled = *name;
	int error;

	if (!is_labelled)
		name = chrome_names_get(&chrome->names, pid, "");
	for (size_t i = 0; !is_labelled && i < ARRAY_COUNT(types); i++) {
		if (strncmp(name, types[i].prefix, strlen(types[i].prefix)) == 0) {
			name += strlen(types[i].prefix);
			type = types[i].type;
			break;
		}
	}
	string_builder_appendf(&made, "GPU %s", pid);
	error = made.error ? made.error
			   : import_target_device(chrome->target, pid,
						  *name ? name : string_builder_text(&made), type,
						  ret_device);
	string_builder_fini(&made);
	return error;
}

static int add_text(struct chrome *chrome, const char *text, uint32_t *ret_id)
{
	*ret_id = string_table_add(&chrome->texts, text, strlen(text));
	return *ret_id || !*text ? 0 : -ENOMEM;
}

/* ---- calls with their commands ---- */

static int find_joined(struct chrome *chrome, const struct chrome_event *event, const char *pid,
		       struct chrome_joined **ret_joined)
{
	return chrome_join_find(&chrome->join, chrome->names.has_owners ? number_of(pid, 0) : 0,
				event->arguments.correlation.value, ret_joined);
}

/* The launch of a command: the first command uses the call; later ones get a synthetic launch at
 * the call's or the command's start. */
static void fill_launch(struct chrome *chrome, struct chrome_joined *joined,
			const struct chrome_command *command, struct event_launch *launch)
{
	*launch = (struct event_launch){.enter = command->row.started,
					.function_string = chrome->absent};
	if (joined && joined->held) {
		chrome_join_take_call(&chrome->join, joined, launch);
	} else {
		if (joined && joined->has_call) {
			launch->enter = joined->enter;
			launch->thread = joined->thread;
			launch->stack = joined->stack;
		}
		launch->exit = launch->enter;
		chrome->made_up++;
	}
	launch->command = command->launch.command;
	launch->bytes = command->launch.bytes;
	launch->dimensions = command->launch.dimensions;
	memcpy(launch->global_size, command->launch.global_size, sizeof(launch->global_size));
	memcpy(launch->local_size, command->launch.local_size, sizeof(launch->local_size));
}

static int process_of(struct chrome *chrome, const struct chrome_joined *joined,
		      const struct chrome_command *command, uint32_t *ret_process)
{
	*ret_process = joined && joined->has_call ? joined->process : 0;
	if (command->has_owner)
		*ret_process = command->row.process;
	if (*ret_process)
		return 0;
	return import_target_process(chrome->target, "", 0, "[unknown process]", ret_process);
}

/* A launch without a call gets an unknown thread of the process: every launch needs a thread. */
static int find_thread(struct chrome *chrome, uint32_t process, struct event_launch *launch)
{
	if (launch->thread)
		return 0;
	return import_target_thread(chrome->target, process, 0, "[unknown thread]",
				    &launch->thread);
}

/* Writes a command and its launch; has_launch false: duet's own file marks a command without a
 * launch. To be called when no command of the same id waits. */
static int write_command(struct chrome *chrome, struct chrome_joined *joined,
			 const struct chrome_command *command, bool has_launch)
{
	struct event_execution row = command->row;
	struct event_launch launch;
	int error = process_of(chrome, joined, command, &row.process);

	if (!error)
		error = import_target_queue(
			chrome->target, row.process, command->device,
			string_table_text(&chrome->texts, command->queue_key, NULL), &row.queue);
	row.correlation = import_target_correlation(chrome->target);
	if (!error && has_launch) {
		fill_launch(chrome, joined, command, &launch);
		launch.queue = row.queue;
		launch.correlation = row.correlation;
		error = find_thread(chrome, row.process, &launch);
		if (!error && command->kernel_name)
			error = import_target_kernel(
				chrome->target, row.process, "",
				string_table_text(&chrome->texts, command->kernel_name, NULL),
				&launch.kernel);
		if (!error)
			error = import_target_launch(chrome->target, &launch);
	}
	return error ? error : import_target_execution(chrome->target, &row);
}

/* ---- commands ---- */

static int describe_command(struct chrome *chrome, const struct chrome_event *event,
			    struct chrome_command *command)
{
	const struct chrome_arguments *arguments = &event->arguments;
	const char *name = string_builder_text(&event->name);
	const char *queue = arguments->queue.length    ? string_builder_text(&arguments->queue)
			    : arguments->stream.length ? string_builder_text(&arguments->stream)
						       : string_builder_text(&event->tid);
	struct event_launch *launch = &command->launch;
	int error = find_device(chrome, string_builder_text(&event->pid), &command->device);

	launch->command = chrome_commands_type(chrome_class_of(event), name);
	launch->bytes = arguments->bytes.is_known && arguments->bytes.value > 0
				? (uint64_t)arguments->bytes.value
				: 0;
	chrome_commands_take_sizes(arguments, launch);
	if (!error)
		error = add_text(chrome, queue, &command->queue_key);
	if (!error && launch->command == COMMAND_KERNEL)
		error = add_text(chrome, name, &command->kernel_name);
	return error;
}

static void format_owner(const struct chrome_event *event, char *text, size_t size)
{
	snprintf(text, size, "%" PRId64, event->arguments.pid.value);
}

static int on_command(struct chrome *chrome, const struct chrome_event *event)
{
	const struct chrome_arguments *arguments = &event->arguments;
	struct chrome_command command = {0};
	struct chrome_joined *joined = NULL;
	char owner[24] = "";
	int error = describe_command(chrome, event, &command);

	command.row.started = time_of(chrome, event->ts_ns.value);
	command.row.ended = command.row.seen = command.row.started + (uint64_t)event->dur_ns.value;
	chrome_commands_take_times(event, &command.row);
	if (chrome_class_of(event) == CHROME_REJECTED)
		command.row.status =
			arguments->status.value < 0 ? (int32_t)arguments->status.value : -1;
	if (arguments->pid.is_known) {
		format_owner(event, owner, sizeof(owner));
		command.has_owner = true;
		if (!error)
			error = find_process(chrome, owner, &command.row.process);
	}
	if (!error && arguments->no_launch.length)
		return write_command(chrome, NULL, &command, false);
	if (!error && arguments->correlation.is_known)
		error = find_joined(chrome, event, owner, &joined);
	if (!error && joined && !joined->has_call && !joined->has_command)
		return chrome_join_hold_command(&chrome->join, joined, &command);
	if (!error && joined && joined->has_command)
		joined = NULL; /* command of a graph whose call is yet to come; the first command
				  gets that call */
	return error ? error : write_command(chrome, joined, &command, true);
}

/* ---- calls ---- */

static int write_call(struct chrome *chrome, const struct event_launch *call, bool waits)
{
	const struct event_api row = {.begin = call->enter,
				      .end = call->exit,
				      .thread = call->thread,
				      .function_string = call->function_string,
				      .result = call->result,
				      .type = waits ? API_TYPE_WAIT : API_TYPE_CALL,
				      .stack = call->stack};

	return import_target_call(chrome->target, &row);
}

/* Writes a call whose command is not in the file. */
static int write_alone(struct chrome *chrome, const struct event_launch *call, bool is_launch)
{
	struct event_launch launch = *call;

	if (!is_launch)
		return write_call(chrome, &launch, launch.flags & LAUNCH_BLOCKING);
	launch.correlation = launch.result ? 0 : import_target_correlation(chrome->target);
	return import_target_launch(chrome->target, &launch);
}

/* Writes a call that has the name of a launch and no command in the file. To be called once all
 * captures are known. */
static int write_named_launch(struct chrome *chrome, const struct event_launch *call)
{
	bool is_captured = chrome_captures_has(&chrome->captures, call);

	chrome->captured += is_captured;
	return write_alone(chrome, call, !is_captured);
}

/* Writes a waiting call whose command is not in the file. */
static int write_held(struct chrome *chrome, struct chrome_joined *joined)
{
	struct event_launch call;

	chrome_join_take_call(&chrome->join, joined, &call);
	return joined->is_named_launch ? write_named_launch(chrome, &call)
				       : write_alone(chrome, &call, joined->is_launch);
}

/* The id of a waiting call is used again, so its command will not come. */
static int replace_held(struct chrome *chrome, struct chrome_joined *joined)
{
	if (joined->is_named_launch)
		return chrome_join_set_aside(&chrome->join, joined);
	return write_held(chrome, joined);
}

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

static bool waits(const struct chrome_event *event)
{
	return chrome_has_category(event, "wait") ||
	       strstr(string_builder_text(&event->name), "Synchronize");
}

/* Writes a command that waited for this call. */
static int write_early(struct chrome *chrome, struct chrome_joined *joined, const struct row *row,
		       const struct event_launch *call)
{
	struct chrome_command command;
	int error;

	chrome_join_take_command(&chrome->join, joined, &command);
	error = chrome_join_hold_call(&chrome->join, joined, call, row->process);
	return error ? error : write_command(chrome, joined, &command, true);
}

static int on_call(struct chrome *chrome, const struct chrome_event *event, const struct row *row,
		   const struct event_launch *call)
{
	struct chrome_joined *joined = NULL;
	bool is_launch = chrome_has_category(event, "launch");
	int error = chrome_captures_add(&chrome->captures, string_builder_text(&event->name), call);

	if (error)
		return error;
	if (!event->arguments.correlation.is_known)
		return write_alone(chrome, call, is_launch);
	chrome_overheads_add_process(&chrome->overheads, row->process);
	error = find_joined(chrome, event, string_builder_text(&event->pid), &joined);
	if (error)
		return error;
	if (joined->has_command)
		return write_early(chrome, joined, row, call);
	if (joined->held)
		error = replace_held(chrome, joined);
	joined->is_named_launch =
		!is_launch && chrome_commands_is_launch(string_builder_text(&event->name));
	joined->is_launch = is_launch || joined->is_named_launch;
	return error ? error : chrome_join_hold_call(&chrome->join, joined, call, row->process);
}

static int make_call(struct chrome *chrome, const struct chrome_event *event, const struct row *row,
		     struct event_launch *call)
{
	const struct chrome_number *result = &event->arguments.result;
	int error = import_target_text(chrome->target, string_builder_text(&event->name),
				       &call->function_string);

	call->thread = row->thread;
	call->result = result->is_known ? (int32_t)result->value : 0;
	call->flags = (waits(event) ? LAUNCH_BLOCKING : 0) |
		      (event->arguments.further.is_known ? LAUNCH_FURTHER : 0);
	if (!error)
		error = chrome_names_stack(&chrome->names, chrome->target,
					   string_builder_text(&event->stack), &call->stack);
	return error ? error : name_command(chrome, event, row->process, call);
}

/* A range named by the program: record_function of PyTorch, ranges of duet. */
static int write_range(struct chrome *chrome, const struct chrome_event *event,
		       const struct row *row)
{
	const char *domain = string_builder_text(&event->arguments.domain);
	struct event_range range = {.begin = time_of(chrome, event->ts_ns.value),
				    .thread = row->thread,
				    .process = row->process,
				    .type = RANGE_PUSH};
	int error = import_target_text(chrome->target, string_builder_text(&event->name),
				       &range.name_string);

	range.end = range.begin + (uint64_t)event->dur_ns.value;
	if (!error)
		error = import_target_text(chrome->target, domain, &range.domain_string);
	if (!error)
		error = chrome_names_stack(&chrome->names, chrome->target,
					   string_builder_text(&event->stack), &range.stack);
	return error ? error : import_target_range(chrome->target, &range);
}

static int on_slice(struct chrome *chrome, const struct chrome_event *event)
{
	struct event_launch call = {.enter = time_of(chrome, event->ts_ns.value)};
	struct row *row;
	int error = find_row(chrome, event, &row);

	call.exit = call.enter + (uint64_t)event->dur_ns.value;
	if (!error && chrome_has_category(event, "user_annotation"))
		return write_range(chrome, event, row);
	if (!error)
		error = make_call(chrome, event, row, &call);
	return error ? error : on_call(chrome, event, row, &call);
}

/* The driver's or the profiler's own time: the file has no thread of it. */
static int on_overhead(struct chrome *chrome, const struct chrome_event *event)
{
	const uint64_t begin_ns = time_of(chrome, event->ts_ns.value);

	return chrome_overheads_add(&chrome->overheads, chrome->target,
				    string_builder_text(&event->name), begin_ns,
				    begin_ns + (uint64_t)event->dur_ns.value);
}

/* ---- slices of a B and an E event ---- */

/* Returns the index + 1 of a free place; 0 if memory has run out. */
static uint32_t take_open(struct chrome *chrome)
{
	uint32_t taken = chrome->free_open;

	if (taken) {
		chrome->free_open = chrome->open[taken - 1].below;
		return taken;
	}
	if (array_grow(chrome->open, chrome->open_capacity, chrome->open_count + 1))
		return 0;
	return (uint32_t)++chrome->open_count;
}

static int on_begin(struct chrome *chrome, const struct chrome_event *event)
{
	struct event_launch call = {.enter = time_of(chrome, event->ts_ns.value)};
	struct row *row;
	uint32_t taken;
	int error = find_row(chrome, event, &row);

	if (!error)
		error = make_call(chrome, event, row, &call);
	if (error)
		return error;
	taken = take_open(chrome);
	if (!taken)
		return -ENOMEM;
	chrome->open[taken - 1] = (struct open_slice){
		.row = {.begin = call.enter,
			.thread = call.thread,
			.function_string = call.function_string,
			.type = call.flags & LAUNCH_BLOCKING ? API_TYPE_WAIT : API_TYPE_CALL,
			.stack = call.stack},
		.below = row->open};
	row->open = taken;
	return 0;
}

static int end_slice(struct chrome *chrome, struct row *row, uint64_t end_ns)
{
	uint32_t taken = row->open;
	struct open_slice *slice = &chrome->open[taken - 1];

	slice->row.end = end_ns > slice->row.begin ? end_ns : slice->row.begin;
	row->open = slice->below;
	slice->below = chrome->free_open;
	chrome->free_open = taken;
	return import_target_call(chrome->target, &slice->row);
}

static int on_end(struct chrome *chrome, const struct chrome_event *event)
{
	struct row *row;
	int error = find_row(chrome, event, &row);

	if (error)
		return error;
	if (row->open)
		return end_slice(chrome, row, time_of(chrome, event->ts_ns.value));
	chrome->unbalanced++;
	return 0;
}

/* ---- the second pass ---- */

static int read_event(struct chrome *chrome, const struct chrome_event *event)
{
	bool is_slice = is_phase(event, "X"),
	     is_half = is_phase(event, "B") || is_phase(event, "E");

	if (is_phase(event, "M"))
		return 0;
	if ((!is_slice && !is_half) || chrome_has_category(event, "gpu_user_annotation")) {
		chrome->left_out++;
		return 0;
	}
	if (!event->ts_ns.is_known || (is_slice && !event->dur_ns.is_known))
		return chrome_file_fail(event, "expected 'ts'%s in an event of ph '%s'",
					is_slice ? " and 'dur'" : "",
					string_builder_text(&event->phase));
	if (event->dur_ns.value < 0)
		return chrome_file_fail(event, "expected a non-negative 'dur'");
	if (time_of(chrome, event->ts_ns.value) > chrome->last_ns)
		chrome->last_ns = time_of(chrome, event->ts_ns.value);
	if (is_slice && chrome_has_category(event, "overhead"))
		return on_overhead(chrome, event);
	if (is_half)
		return is_phase(event, "B") ? on_begin(chrome, event) : on_end(chrome, event);
	return chrome_class_of(event) != CHROME_NO_CLASS ? on_command(chrome, event)
							 : on_slice(chrome, event);
}

static int on_event(void *context, const struct chrome_event *event)
{
	struct chrome *chrome = context;
	int error = read_event(chrome, event);

	chrome->events++;
	chrome->with_phase += *string_builder_text(&event->phase) != '\0';
	chrome->usable += !error;
	return error ? import_faults_add(&chrome->faults, error) : 0;
}

/* Any JSON array of objects passes the parser, so a file without phases is refused here. */
static int check_events(struct chrome *chrome)
{
	if (chrome->events && !chrome->with_phase)
		return error_set(-EBADMSG,
				 "expected events with the key 'ph', found none in %" PRIu64
				 " %s: not a Chrome trace",
				 chrome->events, format_noun(chrome->events, "object", "objects"));
	return import_faults_end(&chrome->faults, chrome->usable, "event");
}

static int on_sample(void *context, const struct chrome_sample *sample)
{
	struct chrome *chrome = context;
	uint64_t index =
		hash_map_get(&chrome->tids, number_of(string_builder_text(&sample->tid), 0), 0);
	struct event_cpu_sample row = {
		.weight = sample->weight.value > 0 ? (uint64_t)sample->weight.value : 1,
		.cpu = (uint32_t)sample->cpu.value,
		.thread = index ? chrome->rows[index - 1].thread : 0};
	int error = import_target_text(chrome->target, string_builder_text(&sample->name),
				       &row.source_string);

	if (!sample->ts_ns.is_known || sample->ts_ns.value < chrome->names.first_ns) {
		chrome->left_out++;
		return error;
	}
	row.time = time_of(chrome, sample->ts_ns.value);
	if (!error)
		error = chrome_names_stack(&chrome->names, chrome->target,
					   string_builder_text(&sample->stack), &row.stack);
	return error ? error : import_target_sample(chrome->target, &row);
}

/* Writes calls and commands without a counterpart. */
static int write_rest(struct chrome *chrome)
{
	int error = 0;

	error = chrome_overheads_write(&chrome->overheads, chrome->target);
	chrome_captures_sort(&chrome->captures);
	for (size_t i = 0; i < chrome->join.aside_count && !error; i++)
		error = write_named_launch(chrome, &chrome->join.aside[i]);
	for (size_t i = 0; i < chrome->join.keys.count && !error; i++) {
		struct chrome_joined *joined = &chrome->join.joined[i];
		struct chrome_command command;

		if (joined->has_command) {
			chrome_join_take_command(&chrome->join, joined, &command);
			error = write_command(chrome, NULL, &command, true);
		} else if (joined->held) {
			error = write_held(chrome, joined);
		}
	}
	for (size_t i = 0; i < chrome->row_keys.count && !error; i++) {
		while (chrome->rows[i].open && !error) {
			error = end_slice(chrome, &chrome->rows[i], chrome->last_ns);
			chrome->unbalanced++;
		}
	}
	return error;
}

static void put_notes(struct chrome *chrome)
{
	struct import_target *target = chrome->target;

	import_target_note(target,
			   "times are the file's own; losses of its recording are not known");
	if (chrome->names.first_ns < 0)
		import_target_note(target,
				   "times are moved by %" PRId64 " ns, so that none is negative",
				   -chrome->names.first_ns);
	import_target_note_count(target, chrome->made_up, "command", "commands",
				 "without a call: duet adds a launch of no duration");
	import_target_note_count(target, chrome->captured, "launch", "launches",
				 "under a stream capture: imported as a call, because it became a "
				 "node of a graph");
	import_target_note_count(target, chrome->unbalanced, "slice", "slices",
				 "without begin or end event");
	import_target_note_count(target, chrome->left_out, "event", "events",
				 "left out: counters, instants, flow arrows, …");
	if (chrome->names.is_cut)
		import_target_note(target,
				   "the array of events has no end: the file may be cut off");
}

static void chrome_fini(struct chrome *chrome)
{
	chrome_names_fini(&chrome->names);
	string_table_fini(&chrome->texts);
	string_table_fini(&chrome->row_keys);
	chrome_join_fini(&chrome->join);
	chrome_captures_fini(&chrome->captures);
	chrome_overheads_fini(&chrome->overheads);
	hash_map_fini(&chrome->tids);
	free(chrome->rows);
	free(chrome->open);
}

static int read_chrome(struct import_source *source, struct import_target *target)
{
	static const struct chrome_visitor visitor = {.on_event = on_event, .on_sample = on_sample};
	struct chrome chrome = {.target = target, .faults = {target, "event", "events"}};
	bool is_cut;
	int error;

	chrome_join_init(&chrome.join);
	error = chrome_names_read(&chrome.names, source);
	if (!error)
		error = import_source_rewind(source);
	if (!error)
		error = chrome_names_set_clock(&chrome.names, target);
	if (!error)
		error = import_target_text(target, "(not in the file)", &chrome.absent);
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

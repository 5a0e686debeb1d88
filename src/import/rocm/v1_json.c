/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v1_json.c - import the JSON and the database of rocprof, version 1 and 2
 *
 * Runs in:  our own process
 * Gets:     JSON in Chrome's format, whose arguments have the exact times; or tables whose columns
 *           have the names of these arguments
 * Gives:    calls, launches, executions
 * Owns:     the current event, the arrows
 * Fails:    -EBADMSG with line and byte
 * Why not as any Chrome trace: its times are rounded to microseconds, so that short kernels of one
 *           queue would overlap; all numbers are texts; and there are no categories
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/pair_map.h"
#include "base/string.h"
#include "import/common/probe.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/json_fields.h"
#include "import/common/rocm.h"
#include "import/rocm/process.h"
#include "import/rocm/v1_arrows.h"
#include "import/source.h"
#include "import/sqlite_file.h"
#include "import/target.h"

struct v1_event {
	struct string_builder phase, kernel, name;
	struct json_whole dispatched, begin, end, complete;
	struct json_whole gpu, device, queue, pid, process, tid, index;
	struct json_whole grid, workgroup, local_bytes, private_bytes, vector, accumulation, object;
	struct json_whole bytes;
	struct json_whole row_pid, row_tid, us, id; /* the slice's row; a moment; of an arrow */
};

#define WHOLE(key, member) JSON_FIELD(JSON_FIELD_WHOLE, key, v1_event, member)
#define TEXT(key, member)  JSON_FIELD(JSON_FIELD_TEXT, key, v1_event, member)

static const struct json_field argument_rows[] = {
	TEXT("KernelName", kernel),
	TEXT("Name", name),
	WHOLE("DispatchNs", dispatched),
	WHOLE("BeginNs", begin),
	WHOLE("EndNs", end),
	WHOLE("CompleteNs", complete),
	WHOLE("gpu-id", gpu),
	WHOLE("dev-id", device),
	WHOLE("queue-id", queue),
	WHOLE("pid", pid),
	WHOLE("proc-id", process),
	WHOLE("tid", tid),
	WHOLE("Index", index),
	WHOLE("grd", grid),
	WHOLE("wgr", workgroup),
	WHOLE("lds", local_bytes),
	WHOLE("scr", private_bytes),
	WHOLE("arch_vgpr", vector),
	WHOLE("accum_vgpr", accumulation),
	WHOLE("Size", bytes),
};
static const struct json_fields argument_fields = {argument_rows, ARRAY_COUNT(argument_rows)};

static const struct json_field event_rows[] = {
	TEXT("ph", phase), WHOLE("pid", row_pid), WHOLE("tid", row_tid),
	WHOLE("ts", us),   WHOLE("id", id),       JSON_INNER("args", argument_fields)};
static const struct json_fields event_fields = {event_rows, ARRAY_COUNT(event_rows)};

struct v1_json {
	struct import_target *target;
	struct json_reader *reader;
	struct v1_event event;
	struct rocm_join join;
	struct v1_arrows arrows;        /* from calls to operations, if those have no index */
	struct rocm_process *processes; /* they share agents[0] */
	size_t processes_count, processes_capacity;
	struct pair_map by_pid; /* (pid, 0) -> index */
	bool has_events;
	uint64_t usable, other;
	struct import_faults faults;
};

static int add_process(struct v1_json *json, uint64_t pid)
{
	struct rocm_process process = {.target = json->target,
				       .join = &json->join,
				       .agents.target = json->target,
				       .kernels.target = json->target};
	char key[32];
	int error;

	snprintf(key, sizeof(key), "%" PRIu64, pid);
	error = import_target_process(json->target, key, (uint32_t)pid, "[imported]", &process.id);
	process.kernels.process = process.id;
	if (!error)
		error = array_append(json->processes, json->processes_capacity,
				     json->processes_count, process);
	return error ? error
		     : pair_map_put(&json->by_pid, pid, 0, (uint32_t)(json->processes_count - 1));
}

static int find_process(struct v1_json *json, struct rocm_process **ret_process)
{
	const struct v1_event *event = &json->event;
	uint64_t pid = event->process.is_known ? event->process.value : event->pid.value;
	uint32_t index = pair_map_find(&json->by_pid, pid, 0);
	int error = 0;

	if (index == PAIR_MAP_NONE) {
		error = add_process(json, pid);
		index = (uint32_t)json->processes_count - 1;
	}
	if (!error)
		*ret_process = &json->processes[index];
	return error;
}

/* ---- arrows ---- */

static int on_arrow(void *context)
{
	struct v1_json *json = context;
	const struct v1_event *event = &json->event;
	const char *phase = string_builder_text(&event->phase);
	const struct v1_point point = {event->row_pid.value, event->row_tid.value, event->us.value};

	if (!event->id.is_known || !event->us.is_known || phase[0] == '\0' || phase[1] ||
	    !strchr("stf", *phase))
		return 0;
	return v1_arrows_add(&json->arrows, event->id.value, &point, *phase != 's');
}

/* An arrow may leave before its call, where the clocks of the file differ. */
static bool is_launch(const char *name)
{
	return strstr(name, "Launch") || strstr(name, "Memcpy") || strstr(name, "Memset") ||
	       strstr(name, "copy");
}

/* A number that a call and the commands that it launched have in common. */
static uint64_t link_of(struct v1_json *json, bool is_command)
{
	const struct v1_event *event = &json->event;
	const struct v1_point point = {event->row_pid.value, event->row_tid.value,
				       event->begin.value / 1000};

	if (event->index.is_known)
		return event->index.value + 1;
	if (is_command)
		return v1_arrows_to(&json->arrows, &point);
	return is_launch(string_builder_text(&event->name))
		       ? v1_arrows_from(&json->arrows, &point,
					(event->begin.value / 2 + event->end.value / 2) / 1000,
					event->end.value / 1000)
		       : 0;
}

/* ---- events ---- */

static int find_kernel(struct v1_json *json, struct rocm_process *process, const char *name,
		       struct rocm_command *command)
{
	const struct v1_event *event = &json->event;
	uint64_t registers = event->vector.value + event->accumulation.value;
	const struct event_code row = {
		.local_bytes =
			event->local_bytes.is_known ? event->local_bytes.value : CODE_UNKNOWN,
		.private_bytes =
			event->private_bytes.is_known ? event->private_bytes.value : CODE_UNKNOWN,
		.registers = registers > UINT16_MAX ? 0 : (uint32_t)registers};

	return rocm_kernels_named(&process->kernels, name, command->device, &row, &command->kernel);
}

static uint32_t command_type(const char *name)
{
	uint32_t command = rocm_names_command(name);

	/* the operations of other names than copies are kernels, named by the kernel */
	return command == COMMAND_OTHER ? COMMAND_KERNEL : command;
}

static int on_command(struct v1_json *json, struct rocm_process *process)
{
	const struct v1_event *event = &json->event;
	const char *kernel = string_builder_text(&event->kernel);
	const char *name = *kernel ? kernel : string_builder_text(&event->name);
	struct rocm_command command = {.begin = event->begin.value,
				       .end = event->end.value,
				       .queued = event->dispatched.value,
				       .seen = event->complete.value,
				       .link = link_of(json, true),
				       .part = event->begin.value,
				       .tid = (uint32_t)event->tid.value,
				       .command = *kernel ? COMMAND_KERNEL : command_type(name),
				       .bytes = event->bytes.value,
				       .global = {event->grid.value},
				       .local = {event->workgroup.value},
				       .hardware_queue = event->queue.value,
				       .has_hardware_queue = true};
	int error = rocm_agents_device(&json->processes[0].agents,
				       event->gpu.is_known ? event->gpu.value : event->device.value,
				       &command.device);

	if (!error && command.command == COMMAND_KERNEL)
		error = find_kernel(json, process, name, &command);
	return error ? error : rocm_process_add_command(process, ROCM_COMMAND, &command);
}

static int add_row(struct v1_json *json)
{
	const struct v1_event *event = &json->event;
	bool is_command = event->gpu.is_known || event->device.is_known;
	struct rocm_process *process;
	int error;

	if (!event->begin.is_known || !event->end.is_known) {
		json->other++;
		return 0;
	}
	json->usable++;
	error = find_process(json, &process);
	if (error)
		return error;
	return is_command ? on_command(json, process)
			  : rocm_process_add_call(process, (uint32_t)event->tid.value,
						  string_builder_text(&event->name),
						  link_of(json, false), event->begin.value,
						  event->end.value);
}

static int on_event(void *context)
{
	struct v1_json *json = context;
	int error = strcmp(string_builder_text(&json->event.phase), "X") == 0 ? add_row(json) : 0;

	if (error == -EBADMSG)
		error_note(error, "line %" PRIu64 ", byte %" PRIu64, json_reader_line(json->reader),
			   json_reader_byte(json->reader));
	return error ? import_faults_add(&json->faults, error) : 0;
}

/* ---- the document ---- */

static int read_events(struct v1_json *json, int (*on_one)(void *context))
{
	int error = json_reader_expect(json->reader, JSON_OBJECT_BEGIN), token;

	while (!error && (token = json_reader_next(json->reader)) == JSON_KEY) {
		bool is_events = strcmp(json_reader_text(json->reader, NULL), "traceEvents") == 0;

		token = json_reader_next(json->reader);
		json->has_events |= is_events;
		error = is_events && token == JSON_ARRAY_BEGIN
				? json_fields_each(json->reader, &event_fields, &json->event,
						   "an event", on_one, json)
				: json_reader_skip(json->reader, token);
	}
	if (!error)
		error = token < 0 ? token : json_reader_expect(json->reader, JSON_END);
	if (!error && !json->has_events)
		error = error_set(-EBADMSG, "expected the key 'traceEvents', found none");
	return error;
}

/* The arrows come after the slices, so the file is read twice. */
static int read_document(struct v1_json *json, struct import_source *source)
{
	int error = json_reader_new(import_source_read, source, &json->reader);

	if (!error)
		error = read_events(json, on_arrow);
	if (!error)
		error = v1_arrows_sort(&json->arrows);
	json_reader_free(json->reader);
	json->reader = NULL;
	if (!error)
		error = import_source_rewind(source);
	if (!error)
		error = json_reader_new(import_source_read, source, &json->reader);
	if (!error)
		error = read_events(json, on_event);
	if (!error && !json->usable)
		error = error_set(-EBADMSG, "expected events of rocprof with 'BeginNs' and 'EndNs' "
					    "in their 'args', found none; for other timelines use "
					    "--format chrome");
	return error;
}

static void v1_json_fini(struct v1_json *json)
{
	for (size_t i = 0; i < json->processes_count; i++)
		rocm_process_fini(&json->processes[i]);
	free(json->processes);
	pair_map_fini(&json->by_pid);
	json_fields_fini(&event_fields, &json->event);
	json_reader_free(json->reader);
	rocm_join_fini(&json->join);
	v1_arrows_fini(&json->arrows);
}

static int read_v1_json(struct import_source *source, struct import_target *target)
{
	struct v1_json json = {.target = target, .faults = {target, "event", "events"}};
	int error = rocm_join_init(&json.join, target);

	if (!error)
		error = read_document(&json, source);
	if (!error)
		error = rocm_join_write(&json.join);
	if (!error)
		error = import_faults_end(&json.faults,
					  json.join.commands + json.usable - json.faults.count,
					  "event");
	if (!error)
		import_target_note_count(target, json.other, "event", "events",
					 "without exact times left out");
	v1_json_fini(&json);
	return error;
}

/* ---- the database ---- */

enum { ARGUMENTS = ARRAY_COUNT(argument_rows) };

/* The columns have the names of the arguments. */
static void take_columns(struct v1_json *json, const struct sqlite_cursor *row)
{
	json_fields_clear(&event_fields, &json->event);
	for (size_t i = 0; i < ARGUMENTS; i++) {
		void *member = (char *)&json->event + argument_rows[i].offset;

		if (!sqlite_cursor_has(row, i))
			continue;
		if (argument_rows[i].type == JSON_FIELD_TEXT)
			string_builder_append(member, sqlite_cursor_text(row, i));
		else
			*(struct json_whole *)member =
				(struct json_whole){true, (uint64_t)sqlite_cursor_number(row, i)};
	}
}

/* Dispatches are counted from 0, calls and their operations from 1. Names of kernels stand in
 * quotation marks and may end with that of the descriptor. */
static int on_dispatch(void *context, const struct sqlite_cursor *row)
{
	struct v1_json *json = context;
	struct string_builder *kernel = &json->event.kernel;
	const char *quoted;

	take_columns(json, row);
	json->event.index.is_known = false;
	quoted = string_builder_text(kernel);
	if (*quoted == '"') {
		char *name = strndup(quoted + 1, strcspn(quoted + 1, "\""));

		if (!name)
			return -ENOMEM;
		name[rocm_names_kernel_length(name)] = '\0';
		string_builder_clear(kernel);
		string_builder_append(kernel, name);
		free(name);
	}
	return add_row(json);
}

static int on_traced(void *context, const struct sqlite_cursor *row)
{
	take_columns(context, row);
	return add_row(context);
}

static int read_table(struct v1_json *json, struct sqlite_file *file, const char *table,
		      int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	const char *names[ARGUMENTS];

	for (size_t i = 0; i < ARGUMENTS; i++)
		names[i] = argument_rows[i].key;
	return sqlite_file_each_row_if_any(
		file, &(struct sqlite_query){table, SQLITE_COLUMNS(names, 0), NULL, NULL},
		&json->faults, on_row, json);
}

static int read_database(struct v1_json *json, struct sqlite_file *file)
{
	static const char *const traced[] = {"HIP", "HSA", "COPY"};
	int error = read_table(json, file, "KERN", on_dispatch);
	const bool has_dispatches = json->usable;

	for (size_t i = 0; i < ARRAY_COUNT(traced) && !error; i++)
		error = read_table(json, file, traced[i], on_traced);
	/* operations of HIP are the dispatches again */
	return error || has_dispatches ? error : read_table(json, file, "OPS", on_traced);
}

static int read_v1_db(struct import_source *source, struct import_target *target)
{
	struct v1_json json = {.target = target, .faults = {target, "row", "rows"}};
	struct sqlite_file file = {0};
	int error = sqlite_file_open(&file, import_source_path(source));

	if (!error)
		error = rocm_join_init(&json.join, target);
	if (!error)
		error = read_database(&json, &file);
	if (!error)
		error = rocm_join_write(&json.join);
	if (!error)
		error = import_faults_end(&json.faults, json.usable, "row");
	if (!error)
		import_target_note_count(target, json.other, "row", "rows",
					 "without exact times left out");
	v1_json_fini(&json);
	sqlite_file_close(&file);
	return error;
}

static bool recognize_v1_db(const struct import_probe *probe)
{
	return import_probe_has_table(probe, "KERN");
}

const struct importer import_rocprof_db = {
	.name = "rocprof-db",
	.help = "SQLite files of rocprof (version 1 and 2), which have the rows of its JSON",
	.read = read_v1_db,
	.recognize = recognize_v1_db,
};

static bool recognize_v1_json(const struct import_probe *probe)
{
	return import_probe_is_json(probe) && import_probe_contains(probe, "\"traceEvents\"") &&
	       import_probe_contains(probe, "\"BeginNs\"");
}

const struct importer import_rocprof_json = {
	.name = "rocprof-json",
	.help = "JSON of rocprof (version 1 and 2): kernels with all four times, copies, HIP calls",
	.read = read_v1_json,
	.recognize = recognize_v1_json,
};

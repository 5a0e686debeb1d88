/* SPDX-License-Identifier: MIT
 *
 * import/rocm/rocpd_rows.c - regions, dispatches, copies, allocations, samples and counter values
 * of a database of rocprofv3
 *
 * Runs in:  our own process
 * Gets:     the tables rocpd_region, rocpd_kernel_dispatch and others
 * Gives:    rows of the join
 * Owns:     cursors while it reads
 * Fails:    -EBADMSG with the table and row, errors of the target and the join, -ENOMEM
 * Why the order of event ids: rocpd_event has the link of a call and its commands, and the counter
 *           values name a command by its event. All are read side by side in that order
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "import/json_fields.h"
#include "import/common/rocm.h"
#include "import/rocm/rocpd_tables.h"
#include "import/target.h"

enum { MAX_VALUES = 1024 };

static const char *const event_columns[] = {"id", "category_id", "stack_id", "extdata"};
enum { EVENT_COLUMN_ID, EVENT_CATEGORY, EVENT_LINK, EVENT_MORE };
static const struct rocpd_query event_query = {"rocpd_event", SQLITE_COLUMNS(event_columns, 3),
					       NULL, "id"};

/* The event of a row; valid until the next row. */
struct event_facts {
	uint64_t link;
	const char *category, *more;
};

static int find_event(struct rocpd_import *rocpd, int64_t id, struct event_facts *ret_facts)
{
	const struct sqlite_cursor *row = &rocpd->events.cursor;
	int status = rocm_side_move(&rocpd->events, id);

	*ret_facts = (struct event_facts){.category = "", .more = ""};
	if (status <= 0)
		return status;
	ret_facts->link = (uint64_t)sqlite_cursor_number(row, EVENT_LINK);
	ret_facts->more = sqlite_cursor_text(row, EVENT_MORE);
	return import_strings_find(&rocpd->strings, sqlite_cursor_number(row, EVENT_CATEGORY),
				   &ret_facts->category);
}

/* ---- regions ---- */

static const char *const region_columns[] = {"id",  "start",   "end",     "pid",
					     "tid", "name_id", "event_id"};
enum {
	REGION_ID,
	REGION_START,
	REGION_END,
	REGION_PROCESS,
	REGION_THREAD,
	REGION_NAME,
	REGION_EVENT
};

/* The message of a marker: {"message": "epoch 3"}. */
struct message {
	struct string_builder text;
};
static const struct json_field message_rows[] = {
	JSON_FIELD(JSON_FIELD_TEXT, "message", message, text)};
static const struct json_fields message_fields = {message_rows, ARRAY_COUNT(message_rows)};

static int read_message(const char *json, struct message *message)
{
	int error = json_fields_parse(json, &message_fields, message);

	return error == -ENOMEM ? error : 0;
}

static bool has_word(const char *category, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(category, *words))
			return true;
	return false;
}

static bool is_api(const char *category)
{
	static const char *const words[] = {"HIP", "HSA", "RCCL", "ROCDECODE", "ROCJPEG", NULL};

	return !*category || has_word(category, words);
}

static bool is_marker(const char *category)
{
	static const char *const words[] = {"MARKER", "ROCTX", NULL};

	return has_word(category, words);
}

/* Ranges of roctx have their text in the event; those of other tools have it as their name. */
static int write_range(struct rocpd_import *rocpd, const struct event_facts *event, uint32_t tid,
		       const char *function, uint64_t begin, uint64_t end)
{
	struct message message = {0};
	int error = read_message(event->more, &message);
	const char *text = string_builder_text(&message.text);

	if (!error)
		error = rocm_process_write_range(&rocpd->process, tid,
						 is_marker(event->category) ? "roctx"
									    : event->category,
						 function, *text ? text : function, begin, end);
	json_fields_fini(&message_fields, &message);
	return error;
}

static int on_region(void *context, const struct sqlite_cursor *row)
{
	struct rocpd_import *rocpd = context;
	struct event_facts event;
	const char *name = "";
	uint64_t begin, end;
	uint32_t tid = rocpd_tid(rocpd, sqlite_cursor_number(row, REGION_THREAD));
	int error = sqlite_cursor_take_times(row, REGION_START, &begin, &end);

	if (!error)
		error = rocpd_set_process(rocpd, sqlite_cursor_number(row, REGION_PROCESS));
	if (!error)
		error = import_strings_find(&rocpd->strings, sqlite_cursor_number(row, REGION_NAME),
					    &name);
	if (!error)
		error = find_event(rocpd, sqlite_cursor_number(row, REGION_EVENT), &event);
	if (!error)
		error = is_api(event.category) ? rocm_process_add_call(&rocpd->process, tid, name,
								       event.link, begin, end)
					       : write_range(rocpd, &event, tid, name, begin, end);
	rocpd->usable += !error;
	return error;
}

/* ---- counter values ---- */

static const char *const value_columns[] = {"event_id", "pmc_id", "value"};
enum { VALUE_EVENT, VALUE_COUNTER, VALUE_VALUE };
static const struct rocpd_query value_query = {"rocpd_pmc_event", SQLITE_COLUMNS(value_columns, 3),
					       "event_id IS NOT NULL", "event_id"};

/* The values of one event; a counter has one for each part of the GPU. */
struct event_values {
	struct rocm_side side;
	char table[128];
	size_t count;
	struct {
		uint64_t counter;
		double value;
	} rows[MAX_VALUES];
};

static int add_value(struct event_values *values, uint64_t counter, double value)
{
	size_t i = 0;

	while (i < values->count && values->rows[i].counter != counter)
		i++;
	if (i == MAX_VALUES)
		return error_set(-EBADMSG, "table %s: expected at most %d counters of an event",
				 values->table, MAX_VALUES);
	if (i == values->count) {
		values->rows[i].counter = counter;
		values->rows[i].value = 0;
		values->count++;
	}
	values->rows[i].value += value;
	return 0;
}

static int read_values(struct event_values *values, int64_t event)
{
	const struct sqlite_cursor *row = &values->side.cursor;
	int status = rocm_side_move(&values->side, event), error = 0;

	values->count = 0;
	while (status > 0 && !error) {
		error = add_value(values, (uint64_t)sqlite_cursor_number(row, VALUE_COUNTER),
				  sqlite_cursor_real(row, VALUE_VALUE));
		if (!error)
			status = rocm_side_next(&values->side, event);
	}
	return error ? error : status;
}

static const char *counter_name(const struct rocpd_import *rocpd, uint64_t counter, char number[32])
{
	const char *name = string_table_text(
		&rocpd->texts, (uint32_t)hash_map_get(&rocpd->counters, counter, 0), NULL);

	snprintf(number, 32, "counter %" PRIu64, counter);
	return *name ? name : number;
}

/* ---- dispatches ---- */

static const char *const dispatch_columns[] = {"id",
					       "start",
					       "end",
					       "pid",
					       "tid",
					       "agent_id",
					       "kernel_id",
					       "dispatch_id",
					       "queue_id",
					       "stream_id",
					       "event_id",
					       "workgroup_size_x",
					       "workgroup_size_y",
					       "workgroup_size_z",
					       "grid_size_x",
					       "grid_size_y",
					       "grid_size_z"};
enum {
	DISPATCH_ID,
	DISPATCH_START,
	DISPATCH_END,
	DISPATCH_PROCESS,
	DISPATCH_THREAD,
	DISPATCH_AGENT,
	DISPATCH_KERNEL,
	DISPATCH_NUMBER,
	DISPATCH_QUEUE,
	DISPATCH_STREAM,
	DISPATCH_EVENT,
	DISPATCH_GROUP,
	DISPATCH_GRID = DISPATCH_GROUP + 3
};

/* Context while a table of commands is read. */
struct command_reading {
	struct rocpd_import *rocpd;
	struct event_values *values;
};

static void take_sizes(const struct sqlite_cursor *row, struct rocm_command *command)
{
	for (size_t i = 0; i < 3; i++) {
		int64_t group = sqlite_cursor_number(row, DISPATCH_GROUP + i);
		int64_t grid = sqlite_cursor_number(row, DISPATCH_GRID + i);

		command->local[i] = group > 0 ? (uint64_t)group : 0;
		command->global[i] = grid > 0 ? (uint64_t)grid : 0;
	}
}

static int make_dispatch(struct rocpd_import *rocpd, const struct sqlite_cursor *row,
			 struct rocm_command *command)
{
	struct event_facts event;
	int error;

	*command = (struct rocm_command){
		.command = COMMAND_KERNEL,
		.part = (uint64_t)sqlite_cursor_number(row, DISPATCH_NUMBER),
		.tid = rocpd_tid(rocpd, sqlite_cursor_number(row, DISPATCH_THREAD)),
		.stream = (uint64_t)sqlite_cursor_number(row, DISPATCH_STREAM),
		.hardware_queue = (uint64_t)sqlite_cursor_number(row, DISPATCH_QUEUE),
		.has_hardware_queue = sqlite_cursor_has(row, DISPATCH_QUEUE)};
	take_sizes(row, command);
	error = sqlite_cursor_take_times(row, DISPATCH_START, &command->begin, &command->end);
	if (!error)
		error = rocpd_set_process(rocpd, sqlite_cursor_number(row, DISPATCH_PROCESS));
	if (!error)
		error = rocm_agents_device(&rocpd->process.agents,
					   (uint64_t)sqlite_cursor_number(row, DISPATCH_AGENT),
					   &command->device);
	if (!error)
		error = rocm_kernels_find(&rocpd->process.kernels,
					  (uint64_t)sqlite_cursor_number(row, DISPATCH_KERNEL),
					  command->device, &command->kernel);
	if (!error)
		error = find_event(rocpd, sqlite_cursor_number(row, DISPATCH_EVENT), &event);
	command->link = error ? 0 : event.link;
	return error;
}

static int on_dispatch(void *context, const struct sqlite_cursor *row)
{
	struct command_reading *reading = context;
	struct rocpd_import *rocpd = reading->rocpd;
	struct event_values *values = reading->values;
	struct rocm_command command;
	char number[32];
	int error = make_dispatch(rocpd, row, &command);

	if (!error)
		error = rocm_process_add_command(&rocpd->process, ROCM_COMMAND, &command);
	if (error)
		return error;
	rocpd->usable++;
	error = read_values(values, sqlite_cursor_number(row, DISPATCH_EVENT));
	for (size_t i = 0; i < values->count && !error; i++)
		error = rocm_process_add_value(&rocpd->process, &command,
					       counter_name(rocpd, values->rows[i].counter, number),
					       values->rows[i].value);
	return error;
}

/* ---- copies and allocations ---- */

static const char *const copy_columns[] = {"id",           "start",   "end",       "pid",
					   "tid",          "name_id", "event_id",  "src_agent_id",
					   "dst_agent_id", "size",    "stream_id", "queue_id"};
enum {
	COPY_ID,
	COPY_START,
	COPY_END,
	COPY_PROCESS,
	COPY_THREAD,
	COPY_NAME,
	COPY_EVENT,
	COPY_SOURCE,
	COPY_DESTINATION,
	COPY_SIZE,
	COPY_STREAM,
	COPY_QUEUE
};

static int find_ends(struct rocpd_import *rocpd, const struct sqlite_cursor *row,
		     struct rocm_command *command)
{
	struct rocm_agents *agents = &rocpd->process.agents;
	int error = 0;

	if (sqlite_cursor_has(row, COPY_SOURCE))
		error = rocm_agents_device(agents, (uint64_t)sqlite_cursor_number(row, COPY_SOURCE),
					   &command->source_device);
	if (!error && sqlite_cursor_has(row, COPY_DESTINATION))
		error = rocm_agents_device(agents,
					   (uint64_t)sqlite_cursor_number(row, COPY_DESTINATION),
					   &command->destination_device);
	command->device =
		command->destination_device ? command->destination_device : command->source_device;
	return error;
}

static int on_copy(void *context, const struct sqlite_cursor *row)
{
	const int64_t bytes = sqlite_cursor_number(row, COPY_SIZE);
	struct rocpd_import *rocpd = context;
	struct rocm_command command = {
		.tid = rocpd_tid(rocpd, sqlite_cursor_number(row, COPY_THREAD)),
		.bytes = bytes > 0 ? (uint64_t)bytes : 0,
		.stream = (uint64_t)sqlite_cursor_number(row, COPY_STREAM),
		.hardware_queue = (uint64_t)sqlite_cursor_number(row, COPY_QUEUE),
		.has_hardware_queue = sqlite_cursor_number(row, COPY_QUEUE) > 0};
	struct event_facts event = {0};
	const char *name = "";
	int error = sqlite_cursor_take_times(row, COPY_START, &command.begin, &command.end);

	if (!error)
		error = rocpd_set_process(rocpd, sqlite_cursor_number(row, COPY_PROCESS));
	if (!error)
		error = import_strings_find(&rocpd->strings, sqlite_cursor_number(row, COPY_NAME),
					    &name);
	if (!error)
		error = find_ends(rocpd, row, &command);
	if (!error)
		error = find_event(rocpd, sqlite_cursor_number(row, COPY_EVENT), &event);
	command.command = rocm_names_command(name);
	command.part = command.begin;
	command.link = event.link;
	if (!error)
		error = rocm_process_add_command(&rocpd->process, ROCM_COMMAND, &command);
	rocpd->usable += !error;
	return error;
}

static const char *const allocation_columns[] = {"id",       "start", "end",     "pid",  "type",
						 "agent_id", "size",  "address", "level"};
enum {
	ALLOCATION_ID,
	ALLOCATION_START,
	ALLOCATION_END,
	ALLOCATION_PROCESS,
	ALLOCATION_TYPE,
	ALLOCATION_AGENT,
	ALLOCATION_SIZE,
	ALLOCATION_ADDRESS,
	ALLOCATION_LEVEL
};

/* Scratch memory belongs to a queue and is not allocated by the program. */
static int on_allocation(void *context, const struct sqlite_cursor *row)
{
	const int64_t bytes = sqlite_cursor_number(row, ALLOCATION_SIZE);
	struct rocpd_import *rocpd = context;
	struct rocm_allocation allocation = {
		.address = (uint64_t)sqlite_cursor_number(row, ALLOCATION_ADDRESS),
		.bytes = bytes > 0 ? (uint64_t)bytes : 0};
	uint64_t begin, end;
	int error = sqlite_cursor_take_times(row, ALLOCATION_START, &begin, &end);

	if (error || strcmp(sqlite_cursor_text(row, ALLOCATION_LEVEL), "SCRATCH") == 0)
		return error;
	error = rocpd_set_process(rocpd, sqlite_cursor_number(row, ALLOCATION_PROCESS));
	if (!error && sqlite_cursor_has(row, ALLOCATION_AGENT))
		error = rocm_agents_device(&rocpd->process.agents,
					   (uint64_t)sqlite_cursor_number(row, ALLOCATION_AGENT),
					   &allocation.device);
	return error ? error
		     : rocm_process_add_allocation(&rocpd->process,
						   sqlite_cursor_text(row, ALLOCATION_TYPE), end,
						   &allocation);
}

/* ---- samples ---- */

static const char *const sample_columns[] = {"id", "timestamp", "event_id", "track_id"};
enum { SAMPLE_ID, SAMPLE_TIME, SAMPLE_EVENT, SAMPLE_TRACK };
static const char *const track_columns[] = {"pid", "tid", "name_id", "id"};
enum { TRACK_PROCESS, TRACK_THREAD, TRACK_NAME };

struct sample_reading {
	struct rocpd_import *rocpd;
	struct event_values *values;
	struct sqlite_cursor tracks;
	bool has_tracks;
};

static int write_value(struct rocpd_import *rocpd, uint64_t counter, double value, uint64_t time)
{
	const uint64_t *agent = hash_map_find(&rocpd->agents, counter);
	char number[32];
	uint32_t device = 0;
	int error = agent ? rocm_agents_device(&rocpd->process.agents, *agent, &device) : 0;

	return error ? error
		     : rocm_process_write_level(&rocpd->process, device,
						counter_name(rocpd, counter, number), value, time);
}

/* Sets the process of a sample. Returns its tid in *ret_tid. */
static int find_track(struct sample_reading *reading, int64_t track, uint32_t *ret_tid)
{
	struct sqlite_cursor *tracks = &reading->tracks;
	int status = reading->has_tracks ? sqlite_cursor_restart(tracks, track, 0) : 0;

	*ret_tid = 0;
	if (!status && reading->has_tracks)
		status = sqlite_cursor_next(tracks);
	if (status <= 0)
		return status ? status : rocpd_set_process(reading->rocpd, 0);
	if (sqlite_cursor_has(tracks, TRACK_THREAD))
		*ret_tid = rocpd_tid(reading->rocpd, sqlite_cursor_number(tracks, TRACK_THREAD));
	return rocpd_set_process(reading->rocpd, sqlite_cursor_number(tracks, TRACK_PROCESS));
}

/* A sample has counter values, or it is a marker without duration. */
static int on_sample(void *context, const struct sqlite_cursor *row)
{
	struct sample_reading *reading = context;
	struct rocpd_import *rocpd = reading->rocpd;
	struct event_values *values = reading->values;
	struct event_facts event = {0};
	int64_t time;
	uint32_t tid;
	int error = sqlite_cursor_take_number(row, SAMPLE_TIME, "ns", 0, INT64_MAX, &time);

	if (!error)
		error = find_track(reading, sqlite_cursor_number(row, SAMPLE_TRACK), &tid);
	if (!error)
		error = find_event(rocpd, sqlite_cursor_number(row, SAMPLE_EVENT), &event);
	if (!error)
		error = read_values(values, sqlite_cursor_number(row, SAMPLE_EVENT));
	if (error)
		return error;
	for (size_t i = 0; i < values->count && !error; i++)
		error = write_value(rocpd, values->rows[i].counter, values->rows[i].value,
				    (uint64_t)time);
	if (!values->count && is_marker(event.category))
		error = write_range(rocpd, &event, tid, "roctxMark", (uint64_t)time,
				    (uint64_t)time);
	else if (!values->count)
		rocpd->samples++;
	rocpd->usable += !error;
	return error;
}

/* ---- the tables ---- */

static int read_table(struct rocpd_import *rocpd, const struct rocpd_query *query, void *context,
		      int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	char table[128];
	int error = rocpd_side_open(rocpd, &event_query, &rocpd->events, table);

	if (!error)
		error = rocpd_each_row_with(rocpd, query, context, on_row);
	rocm_side_close(&rocpd->events);
	return error;
}

static int read_dispatches(struct rocpd_import *rocpd, struct event_values *values)
{
	static const struct rocpd_query query = {
		"rocpd_kernel_dispatch", SQLITE_COLUMNS(dispatch_columns, 8), NULL, "event_id"};
	struct command_reading reading = {rocpd, values};
	int error = rocpd_side_open(rocpd, &value_query, &values->side, values->table);

	if (!error)
		error = read_table(rocpd, &query, &reading, on_dispatch);
	rocm_side_close(&values->side);
	return error;
}

static int read_samples(struct rocpd_import *rocpd, struct event_values *values)
{
	static const struct rocpd_query query = {"rocpd_sample", SQLITE_COLUMNS(sample_columns, 2),
						 NULL, "event_id"};
	static const struct rocpd_query tracks = {"rocpd_track", SQLITE_COLUMNS(track_columns, 1),
						  "id = ?1", NULL};
	struct sample_reading reading = {.rocpd = rocpd, .values = values};
	char table[128];
	int error = rocpd_side_open(rocpd, &value_query, &values->side, values->table);

	if (!error)
		error = rocpd_cursor_open(rocpd, &tracks, &reading.tracks, table,
					  &reading.has_tracks);
	if (!error)
		error = read_table(rocpd, &query, &reading, on_sample);
	sqlite_cursor_close(&reading.tracks);
	rocm_side_close(&values->side);
	return error;
}

int rocpd_read_rows(struct rocpd_import *rocpd)
{
	static const struct rocpd_query regions = {
		"rocpd_region", SQLITE_COLUMNS(region_columns, 6), NULL, "event_id"};
	static const struct rocpd_query copies = {
		"rocpd_memory_copy", SQLITE_COLUMNS(copy_columns, 6), NULL, "event_id"};
	static const struct rocpd_query allocations = {
		"rocpd_memory_allocate", SQLITE_COLUMNS(allocation_columns, 7), NULL, NULL};
	struct event_values *values = calloc(1, sizeof(*values));
	int error = values ? read_table(rocpd, &regions, rocpd, on_region) : -ENOMEM;

	if (!error)
		error = read_dispatches(rocpd, values);
	if (!error)
		error = read_table(rocpd, &copies, rocpd, on_copy);
	if (!error)
		error = rocpd_each_row(rocpd, &allocations, on_allocation);
	if (!error)
		error = read_samples(rocpd, values);
	free(values);
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * export/chrome/rows.c - assign pids and tids of a Chrome trace, and place slices on rows
 *
 * Runs in:  our own process
 * Gets:     entities of a model; the spans of calls and commands, ordered by start
 * Gives:    events of type M that name rows, and the row of each span
 * Owns:     the assigned numbers, the lanes of each row
 * Fails:    -ENOMEM; the writer keeps errors of writing
 * Why numbers from 2^22 + 1 on: the Linux kernel assigns no pid above 2^22, so a number of our own
 *           is never that of a process.
 */
#include "export/chrome/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/filter.h"
#include "analyze/model.h"
#include "analyze/text/row_names.h"
#include "base/array.h"
#include "base/json.h"
#include "base/string.h"
#include "export/chrome/torch.h"

#define MAX_PID   ((uint64_t)1 << 22)
#define NO_NUMBER UINT64_MAX

/* ---- numbers and names ---- */

/* Assigns the number `wanted`, or one of our own if `wanted` is NO_NUMBER or taken. Errors:
 * -ENOMEM.
 */
static int assign_number(struct chrome_rows *rows, struct hash_map *taken, uint64_t wanted,
			 uint64_t *ret_number)
{
	uint64_t number = wanted;

	while (number == NO_NUMBER || hash_map_find(taken, number))
		number = MAX_PID + ++rows->made;
	*ret_number = number;
	return hash_map_put(taken, number, 1);
}

static void put_meta(struct chrome_rows *rows, uint64_t pid, uint64_t tid, const char *what)
{
	struct json_writer *json = rows->json;

	json_newline(json);
	json_object_begin(json);
	json_pair_text(json, "ph", "M");
	json_pair_u64(json, "pid", pid);
	json_pair_u64(json, "tid", tid);
	json_pair_text(json, "name", what);
	json_key(json, "args");
	json_object_begin(json);
}

static void end_meta(struct chrome_rows *rows)
{
	json_object_end(rows->json);
	json_object_end(rows->json);
}

static void put_name(struct chrome_rows *rows, uint64_t pid, uint64_t tid, const char *what,
		     const char *name)
{
	put_meta(rows, pid, tid, what);
	json_pair_text(rows->json, "name", name);
	end_meta(rows);
}

/* ---- processes and devices ---- */

/* Writes the name of a pid unless there is an error, and frees the text. */
static int end_process(struct chrome_rows *rows, uint64_t pid, struct string_builder *text,
		       int error)
{
	if (!error)
		error = text->error;
	if (!error)
		put_name(rows, pid, 0, "process_name", string_builder_text(text));
	string_builder_fini(text);
	return error;
}

static int describe_process(struct chrome_rows *rows, const struct event_process *row,
			    uint64_t *ret_pid)
{
	struct string_builder text = {0};
	int error =
		assign_number(rows, &rows->pids, row && row->pid ? row->pid : NO_NUMBER, ret_pid);

	string_builder_append(
		&text, model_text(rows->model, row ? row->name_string : 0, "[unknown process]"));
	if (row && *ret_pid != row->pid)
		string_builder_appendf(&text, " (pid %" PRIu32 ")", row->pid);
	return end_process(rows, *ret_pid, &text, error);
}

static int describe_device(struct chrome_rows *rows, const struct event_device *row,
			   uint64_t *ret_pid)
{
	struct string_builder text = {0};
	uint64_t wanted = row ? chrome_torch_device(rows->model, row) : NO_NUMBER;
	int error = assign_number(rows, &rows->pids, wanted, ret_pid);

	row_name_device(rows->model, row, &text);
	return end_process(rows, *ret_pid, &text, error);
}

static int process_pid(struct chrome_rows *rows, uint32_t id, uint64_t *ret_pid)
{
	size_t index = entity_index_find(&rows->all_processes, id);
	uint64_t *pid = &rows->processes[index];
	int error =
		*pid ? 0
		     : describe_process(rows, entity_index_row(&rows->all_processes, index), pid);

	*ret_pid = *pid;
	return error;
}

static int device_pid(struct chrome_rows *rows, uint32_t id, uint64_t *ret_pid)
{
	size_t index = entity_index_find(&rows->all_devices, id);
	uint64_t *pid = &rows->devices[index];
	int error = 0;

	if (*pid == NO_NUMBER)
		error = describe_device(rows, entity_index_row(&rows->all_devices, index), pid);
	*ret_pid = *pid;
	return error;
}

/* ---- rows and their lanes ---- */

/* Lanes of one row get the same sort index. Viewers sort by index and then by tid, so the lanes
 * stay together. */
static int add_lane(struct chrome_rows *rows, struct chrome_row *row, uint64_t wanted,
		    const char *name)
{
	uint64_t tid;
	int error = assign_number(rows, &rows->tids, wanted, &tid);

	if (error || array_grow(row->tids, row->tids_capacity, row->tids_count + 1))
		return -ENOMEM;
	row->tids[row->tids_count++] = tid;
	put_name(rows, row->pid, tid, "thread_name", name);
	put_meta(rows, row->pid, tid, "thread_sort_index");
	json_pair_u64(rows->json, "sort_index", row->tids[0]);
	end_meta(rows);
	return 0;
}

static void name_thread(const struct chrome_rows *rows, uint32_t id, struct string_builder *name)
{
	const struct event_thread *thread = model_entity(rows->model, EVENT_THREAD, id);
	const char *own =
		thread ? model_text(rows->model, thread->name_string, "") : "[unknown thread]";

	string_builder_append(name, own);
	if (!*own)
		string_builder_appendf(name, "thread %" PRIu32, thread->tid);
}

static void name_queue(const struct chrome_rows *rows, uint32_t id, struct string_builder *name)
{
	row_name_queue(rows->model, model_entity(rows->model, EVENT_QUEUE, id), name);
}

typedef void append_row_name(const struct chrome_rows *rows, uint32_t id,
			     struct string_builder *name);

/* Adds a row's first lane. tid: the wanted one; error: that of the row's process. */
static int describe_row(struct chrome_rows *rows, struct chrome_row *row, uint32_t id, uint64_t tid,
			append_row_name *append_name, int error)
{
	struct string_builder name = {0};

	append_name(rows, id, &name);
	if (!error)
		error = add_lane(rows, row, tid, string_builder_text(&name));
	row->is_described = !error;
	string_builder_fini(&name);
	return error;
}

static int find_thread(struct chrome_rows *rows, uint32_t id, struct chrome_row **ret_row)
{
	const struct event_thread *thread = model_entity(rows->model, EVENT_THREAD, id);
	struct chrome_row *row = &rows->threads[entity_index_find(&rows->all_threads, id)];

	*ret_row = row;
	if (row->is_described)
		return 0;
	return describe_row(rows, row, id, thread && thread->tid ? thread->tid : NO_NUMBER,
			    name_thread,
			    process_pid(rows, thread ? thread->process : 0, &row->pid));
}

/* Streams of one device in several processes or contexts may have the same number in their runtime.
 */
static int number_stream(struct chrome_rows *rows, struct chrome_row *row,
			 const struct event_queue *queue)
{
	const struct event_device *device =
		model_entity(rows->model, EVENT_DEVICE, queue ? queue->device : 0);

	row->device = device ? chrome_torch_device(rows->model, device) : row->pid;
	row->stream = queue ? chrome_torch_stream(rows->model, queue) : MAX_PID + ++rows->made;
	if (pair_map_find(&rows->streams, row->device, row->stream) != PAIR_MAP_NONE)
		row->stream = MAX_PID + ++rows->made;
	return pair_map_put(&rows->streams, row->device, row->stream, 1);
}

static int find_queue(struct chrome_rows *rows, uint32_t id, struct chrome_row **ret_row)
{
	const struct event_queue *queue = model_entity(rows->model, EVENT_QUEUE, id);
	struct chrome_row *row = &rows->queues[chrome_rows_queue_index(rows, id)];
	int error;

	*ret_row = row;
	if (row->is_described)
		return 0;
	error = device_pid(rows, queue ? queue->device : 0, &row->pid);
	if (!error)
		error = number_stream(rows, row, queue);
	return describe_row(rows, row, id, row->stream, name_queue, error);
}

static int place_span(struct chrome_rows *rows, struct chrome_row *row, size_t lane, uint32_t id,
		      append_row_name *append_name, struct chrome_place *ret_place)
{
	struct string_builder name;
	int error = 0;

	if (lane == row->tids_count) {
		string_builder_init(&name);
		append_name(rows, id, &name);
		string_builder_appendf(&name, ", lane %zu", lane + 1);
		error = add_lane(rows, row, NO_NUMBER, string_builder_text(&name));
		string_builder_fini(&name);
	}
	if (!error)
		*ret_place =
			(struct chrome_place){row->pid, row->tids[lane], row->device, row->stream};
	return error;
}

int chrome_rows_call(struct chrome_rows *rows, uint32_t thread, uint64_t begin, uint64_t end,
		     struct chrome_place *ret_place)
{
	struct chrome_row *row;
	size_t lane = 0;
	int error = find_thread(rows, thread, &row);

	if (!error)
		error = lanes_place_call(&row->lanes, begin, end, &lane);
	return error ? error : place_span(rows, row, lane, thread, name_thread, ret_place);
}

int chrome_rows_thread(struct chrome_rows *rows, uint32_t thread, struct chrome_place *ret_place)
{
	struct chrome_row *row;
	int error = find_thread(rows, thread, &row);

	return error ? error : place_span(rows, row, 0, thread, name_thread, ret_place);
}

int chrome_rows_command(struct chrome_rows *rows, uint32_t queue, uint64_t begin, uint64_t end,
			struct chrome_place *ret_place)
{
	struct chrome_row *row;
	size_t lane = 0;
	int error = find_queue(rows, queue, &row);

	if (!error)
		error = lanes_place_command(&row->lanes, begin, end, &lane);
	return error ? error : place_span(rows, row, lane, queue, name_queue, ret_place);
}

uint64_t chrome_rows_tid(const struct chrome_rows *rows, uint32_t thread)
{
	const struct chrome_row *row =
		&rows->threads[entity_index_find(&rows->all_threads, thread)];

	return row->is_described ? row->tids[0] : 0;
}

int chrome_rows_queue(struct chrome_rows *rows, uint32_t queue, struct chrome_place *ret_place)
{
	struct chrome_row *row;
	int error = find_queue(rows, queue, &row);

	return error ? error : place_span(rows, row, 0, queue, name_queue, ret_place);
}

/* Finds or adds a row that viewers show as a process, such as "duet" or "system". */
static int find_made(struct chrome_rows *rows, const char *name, uint64_t *pid)
{
	int error;

	if (*pid)
		return 0;
	error = assign_number(rows, &rows->pids, NO_NUMBER, pid);
	if (!error)
		put_name(rows, *pid, 0, "process_name", name);
	return error;
}

int chrome_rows_duet(struct chrome_rows *rows, struct chrome_place *ret_place)
{
	int error = find_made(rows, "duet", &rows->duet);

	*ret_place = (struct chrome_place){.pid = rows->duet, .tid = rows->duet};
	return error;
}

int chrome_rows_series(struct chrome_rows *rows, const struct event_series *series,
		       struct chrome_place *ret_place)
{
	int error;

	*ret_place = (struct chrome_place){0};
	if (series->process)
		return process_pid(rows, series->process, &ret_place->pid);
	if (series->device)
		return device_pid(rows, series->device, &ret_place->pid);
	error = find_made(rows, "system", &rows->system);
	ret_place->pid = rows->system;
	return error;
}

size_t chrome_rows_queue_index(const struct chrome_rows *rows, uint32_t queue)
{
	return entity_index_find(&rows->all_queues, queue);
}

/* ---- entities of the trace ---- */

static int add_process(struct chrome_rows *rows, uint32_t id)
{
	uint64_t pid;

	return process_pid(rows, id, &pid);
}

static int add_thread(struct chrome_rows *rows, uint32_t id)
{
	struct chrome_row *row;

	return find_thread(rows, id, &row);
}

static int add_queue(struct chrome_rows *rows, uint32_t id)
{
	struct chrome_row *row;

	return find_queue(rows, id, &row);
}

/* Adds rows for all entities, also for those without events. */
static int describe_entities(struct chrome_rows *rows)
{
	const struct {
		const struct entity_index *entities;
		size_t process; /* offset of a row's process id */
		int (*add)(struct chrome_rows *rows, uint32_t id);
	} kinds[] = {
		{&rows->all_processes, offsetof(struct event_process, id), add_process},
		{&rows->all_threads, offsetof(struct event_thread, process), add_thread},
		{&rows->all_queues, offsetof(struct event_queue, process), add_queue},
	};
	int error = 0;

	for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
		for (size_t i = 0; i < kinds[k].entities->count && !error; i++) {
			const char *row = entity_index_row(kinds[k].entities, i);
			const uint32_t *id = (const void *)row;
			const uint32_t *process = (const void *)(row + kinds[k].process);

			if (filter_has_process(rows->filter, *process))
				error = kinds[k].add(rows, *id);
		}
	}
	return error;
}

static int allocate(struct chrome_rows *rows)
{
	rows->processes = calloc(rows->all_processes.count + 1, sizeof(*rows->processes));
	rows->threads = calloc(rows->all_threads.count + 1, sizeof(*rows->threads));
	rows->devices = calloc(rows->all_devices.count + 1, sizeof(*rows->devices));
	rows->queues = calloc(rows->all_queues.count + 1, sizeof(*rows->queues));
	if (!rows->processes || !rows->threads || !rows->devices || !rows->queues)
		return -ENOMEM;
	memset(rows->devices, 0xff, (rows->all_devices.count + 1) * sizeof(*rows->devices));
	return 0;
}

int chrome_rows_init(struct chrome_rows *rows, const struct model *model,
		     const struct filter *filter, struct json_writer *json)
{
	int error;

	*rows = (struct chrome_rows){.model = model, .filter = filter, .json = json};
	entity_index_init(&rows->all_processes, model->reader, EVENT_PROCESS);
	entity_index_init(&rows->all_devices, model->reader, EVENT_DEVICE);
	entity_index_init(&rows->all_threads, model->reader, EVENT_THREAD);
	entity_index_init(&rows->all_queues, model->reader, EVENT_QUEUE);
	error = allocate(rows);
	return error ? error : describe_entities(rows);
}

static void free_rows(struct chrome_row *rows, size_t count)
{
	for (size_t i = 0; rows && i <= count; i++) {
		lanes_fini(&rows[i].lanes);
		free(rows[i].tids);
	}
	free(rows);
}

void chrome_rows_fini(struct chrome_rows *rows)
{
	if (!rows)
		return;
	free_rows(rows->threads, rows->all_threads.count);
	free_rows(rows->queues, rows->all_queues.count);
	free(rows->processes);
	free(rows->devices);
	hash_map_fini(&rows->pids);
	hash_map_fini(&rows->tids);
	pair_map_fini(&rows->streams);
}

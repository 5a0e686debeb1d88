/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/machine.c - processes, threads, devices and streams of a file of nvprof
 *
 * Runs in:  our own process
 * Gets:     ids of the file
 * Gives:    entities of the trace, each at its first use
 * Owns:     names, ids of entities
 * Fails:    -ENOMEM; -EBADMSG of SQLite
 * Why one process: nvprof writes a file for each process, and no table of commands has a column for
 *           it. Calls and markers have one
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "import/nvvp/import.h"
#include "import/target.h"

/* Max number of names, and of contexts; further ones are left out. */
#define NAMES_MAX 65536

/* Ids of threads in Linux are smaller. */
#define TID_MAX (UINT32_C(1) << 22)

/* The year 2000, in ns since 1970. */
#define YEAR_2000 INT64_C(946684800000000000)

/* ---- objects ---- */

static uint32_t word_at(const uint8_t *bytes, size_t index)
{
	uint32_t word;

	memcpy(&word, bytes + index * sizeof(word), sizeof(word));
	return word;
}

/* CUPTI's union of (pid, thread) and (device, context, stream). */
bool nvvp_read_object(const struct sqlite_cursor *row, size_t kind_column, size_t id_column,
		      struct nvvp_object *ret_object)
{
	const int64_t kind = sqlite_cursor_number(row, kind_column);
	size_t size;
	const uint8_t *bytes = sqlite_cursor_bytes(row, id_column, &size);

	if (kind < NVVP_PROCESS || kind > NVVP_STREAM || size < 12)
		return false;
	*ret_object = (struct nvvp_object){(enum nvvp_object_kind)kind, word_at(bytes, 0),
					   word_at(bytes, 1), word_at(bytes, 2)};
	if (kind == NVVP_PROCESS || kind == NVVP_DEVICE)
		ret_object->second = 0;
	if (kind != NVVP_STREAM)
		ret_object->third = 0;
	return true;
}

static uint64_t name_key(const struct nvvp_object *object)
{
	return (uint64_t)object->first << 32 | object->second;
}

static int find_name(struct nvvp *nvvp, const struct nvvp_object *object, const char **ret_name)
{
	const uint32_t text =
		pair_map_find(&nvvp->machine.names, (uint64_t)object->third << 8 | object->kind,
			      name_key(object));

	*ret_name = "";
	return text == PAIR_MAP_NONE ? 0 : import_strings_read(&nvvp->strings, text, ret_name);
}

static int on_name(void *context, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = context;
	const int64_t text = sqlite_cursor_number(row, 2);
	struct nvvp_object object;

	if (!nvvp_read_object(row, 0, 1, &object) || text < 0 || text >= PAIR_MAP_NONE)
		return 0;
	if (nvvp->machine.names.count >= NAMES_MAX) {
		nvvp->machine.names_left_out++;
		return 0;
	}
	return pair_map_put(&nvvp->machine.names, (uint64_t)object.third << 8 | object.kind,
			    name_key(&object), (uint32_t)text);
}

/* ---- the process and the clock ---- */

static int on_context(void *context, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = context;

	if (nvvp->machine.contexts.count >= NAMES_MAX) {
		nvvp->machine.contexts_left_out++;
		return 0;
	}
	return hash_map_put(&nvvp->machine.contexts, (uint64_t)sqlite_cursor_number(row, 0),
			    (uint64_t)sqlite_cursor_number(row, 1));
}

/* Takes the process and a time from the first row of a table. */
static int read_first(struct nvvp *nvvp, const char *table, bool *has_pid, uint64_t *time_ns)
{
	static const char *const columns[] = {"processId", "start"};
	const struct sqlite_query query = {table, SQLITE_COLUMNS(columns, 0), NULL, NULL};
	struct sqlite_cursor cursor = {0};
	bool has;
	int status = sqlite_file_has_table(&nvvp->file, table, &has);

	if (status || !has)
		return status;
	status = sqlite_cursor_open(&cursor, &nvvp->file, &query);
	if (!status)
		status = sqlite_cursor_next(&cursor);
	if (status > 0 && !*has_pid && sqlite_cursor_has(&cursor, 0)) {
		nvvp->machine.pid = (uint32_t)sqlite_cursor_number(&cursor, 0);
		*has_pid = true;
	}
	if (status > 0 && !*time_ns && sqlite_cursor_number(&cursor, 1) > 0)
		*time_ns = (uint64_t)sqlite_cursor_number(&cursor, 1);
	sqlite_cursor_close(&cursor);
	return status < 0 ? status : 0;
}

/* nvprof's times count from 1970. */
static int set_clock(struct nvvp *nvvp, uint64_t time_ns)
{
	int error;

	if (time_ns < YEAR_2000)
		return 0;
	error = import_target_clock(nvvp->target, IMPORT_CLOCK_UTC, 0);
	return error ? error : import_target_wall_clock(nvvp->target, time_ns, time_ns);
}

int nvvp_machine_open(struct nvvp *nvvp)
{
	static const char *const tables[] = {
		"CUPTI_ACTIVITY_KIND_RUNTIME",
		"CUPTI_ACTIVITY_KIND_DRIVER",
		"CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER",
		"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
		"CUPTI_ACTIVITY_KIND_KERNEL",
		"CUPTI_ACTIVITY_KIND_MEMCPY",
	};
	static const char *const name_columns[] = {"objectKind", "objectId", "name"};
	static const struct sqlite_query names = {"CUPTI_ACTIVITY_KIND_NAME",
						  SQLITE_COLUMNS(name_columns, 3)};
	static const char *const context_columns[] = {"contextId", "deviceId"};
	static const struct sqlite_query contexts = {"CUPTI_ACTIVITY_KIND_CONTEXT",
						     SQLITE_COLUMNS(context_columns, 2)};
	uint64_t time_ns = 0;
	bool has_pid = false;
	int error = nvvp_each_row(nvvp, &names, on_name, nvvp);

	if (!error)
		error = nvvp_each_row(nvvp, &contexts, on_context, nvvp);
	import_target_note_count(nvvp->target, nvvp->machine.names_left_out, "row of NAME",
				 "rows of NAME", "left out: more than 65536");
	import_target_note_count(nvvp->target, nvvp->machine.contexts_left_out, "row of CONTEXT",
				 "rows of CONTEXT", "left out: more than 65536");
	for (size_t i = 0; i < ARRAY_COUNT(tables) && !error; i++)
		error = read_first(nvvp, tables[i], &has_pid, &time_ns);
	return error ? error : set_clock(nvvp, time_ns);
}

void nvvp_machine_close(struct nvvp *nvvp)
{
	struct nvvp_machine *machine = &nvvp->machine;

	pair_map_fini(&machine->names);
	hash_map_fini(&machine->processes);
	pair_map_fini(&machine->threads);
	hash_map_fini(&machine->devices);
	hash_map_fini(&machine->contexts);
	string_table_fini(&machine->queue_keys);
	free(machine->queues);
}

/* ---- processes and threads ---- */

int nvvp_machine_process(struct nvvp *nvvp, uint32_t pid, uint32_t *ret_process)
{
	const struct nvvp_object object = {.kind = NVVP_PROCESS, .first = pid};
	const uint64_t *known = hash_map_find(&nvvp->machine.processes, pid);
	const char *name;
	char key[16];
	int error;

	if (known) {
		*ret_process = (uint32_t)*known;
		return 0;
	}
	error = find_name(nvvp, &object, &name);
	snprintf(key, sizeof(key), "%u", pid);
	if (!error)
		error = import_target_process(nvvp->target, key, pid,
					      *name ? path_base(name) : "[unknown process]",
					      ret_process);
	return error ? error : hash_map_put(&nvvp->machine.processes, pid, *ret_process);
}

int nvvp_machine_thread(struct nvvp *nvvp, uint32_t pid, uint32_t thread, uint32_t *ret_thread)
{
	const struct nvvp_object object = {.kind = NVVP_THREAD, .first = pid, .second = thread};
	const char *name;
	uint32_t process;
	int error;

	*ret_thread = pair_map_find(&nvvp->machine.threads, pid, thread);
	if (*ret_thread != PAIR_MAP_NONE)
		return 0;
	error = nvvp_machine_process(nvvp, pid, &process);
	if (!error)
		error = find_name(nvvp, &object, &name);
	if (!error)
		error = import_target_thread(nvvp->target, process, thread, name, ret_thread);
	nvvp->machine.has_pthreads |= thread >= TID_MAX;
	return error ? error : pair_map_put(&nvvp->machine.threads, pid, thread, *ret_thread);
}

/* ---- devices ---- */

enum { DEVICE_ID, DEVICE_NAME, DEVICE_UUID, DEVICE_MEMORY, DEVICE_UNITS, DEVICE_SHARED };
static const char *const device_columns[] = {
	"id",
	"name",
	"uuid",
	"globalMemorySize",
	"numMultiprocessors",
	"maxSharedMemoryPerMultiprocessor",
};

struct device_search {
	struct nvvp *nvvp;
	int64_t device;
	struct event_device row;
	char key[64], name[128];
};

/* 16 bytes; all 0: not known. */
static void format_uuid(const uint8_t *bytes, char *text, size_t size)
{
	static const uint8_t none[16];

	if (memcmp(bytes, none, sizeof(none)) == 0)
		return;
	snprintf(text, size,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
		 bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14],
		 bytes[15]);
}

static int on_device(void *context, const struct sqlite_cursor *row)
{
	struct device_search *search = context;
	const char *name;
	size_t size;
	const uint8_t *uuid = sqlite_cursor_bytes(row, DEVICE_UUID, &size);
	int error;

	if (sqlite_cursor_number(row, DEVICE_ID) != search->device || *search->name)
		return 0;
	if (size >= 16)
		format_uuid(uuid, search->key, sizeof(search->key));
	search->row.memory_bytes = import_cuda_positive(row, DEVICE_MEMORY);
	search->row.compute_units = (uint32_t)import_cuda_positive(row, DEVICE_UNITS);
	search->row.local_bytes = import_cuda_positive(row, DEVICE_SHARED);
	error = import_strings_read(&search->nvvp->strings, sqlite_cursor_number(row, DEVICE_NAME),
				    &name);
	if (!error)
		snprintf(search->name, sizeof(search->name), "%s", name);
	return error;
}

static int make_device(struct nvvp *nvvp, int64_t device, uint32_t *ret_device)
{
	static const struct sqlite_query devices = {"CUPTI_ACTIVITY_KIND_DEVICE",
						    SQLITE_COLUMNS(device_columns, 1)};
	struct device_search search = {.nvvp = nvvp, .device = device, .row.type = DEVICE_GPU};
	int error = nvvp_each_row(nvvp, &devices, on_device, &search);

	if (!*search.key)
		snprintf(search.key, sizeof(search.key), "GPU %" PRId64, device);
	if (!*search.name)
		snprintf(search.name, sizeof(search.name), "GPU %" PRId64, device);
	if (!error)
		error = import_target_text(nvvp->target, "NVIDIA", &search.row.vendor_string);
	return error ? error
		     : import_target_describe_device(nvvp->target, search.key, search.name,
						     &search.row, ret_device);
}

int nvvp_machine_device(struct nvvp *nvvp, int64_t device, uint32_t *ret_device)
{
	const uint64_t *known = hash_map_find(&nvvp->machine.devices, (uint64_t)device);
	int error;

	if (known) {
		*ret_device = (uint32_t)*known;
		return 0;
	}
	error = make_device(nvvp, device, ret_device);
	return error ? error : hash_map_put(&nvvp->machine.devices, (uint64_t)device, *ret_device);
}

int nvvp_machine_device_of(struct nvvp *nvvp, int64_t context, uint32_t *ret_device)
{
	const uint64_t *device = hash_map_find(&nvvp->machine.contexts, (uint64_t)context);

	*ret_device = 0;
	return device ? nvvp_machine_device(nvvp, (int64_t)*device, ret_device) : 0;
}

/* ---- streams ---- */

static int name_queue(struct nvvp *nvvp, const struct nvvp_stream *stream, uint32_t *ret_string)
{
	const uint64_t *device = hash_map_find(&nvvp->machine.contexts, (uint64_t)stream->context);
	const struct nvvp_object object = {.kind = NVVP_STREAM,
					   .first = device ? (uint32_t)*device : 0,
					   .second = (uint32_t)stream->context,
					   .third = (uint32_t)stream->stream};
	const char *name;
	char made[48];
	int error = find_name(nvvp, &object, &name);

	snprintf(made, sizeof(made),
		 stream->context || stream->stream ? "stream %" PRId64 : "unified memory",
		 stream->stream);
	return error ? error : import_target_text(nvvp->target, *name ? name : made, ret_string);
}

static int make_queue(struct nvvp *nvvp, const struct nvvp_stream *stream, uint32_t *ret_queue)
{
	struct event_queue row = {.process = stream->process,
				  .device = stream->device,
				  .handle = (uint64_t)stream->stream};
	char key[48];
	int error = name_queue(nvvp, stream, &row.name_string);

	if (!error && stream->context)
		error = import_target_context(nvvp->target, row.process, (uint64_t)stream->context,
					      0, &row.context);
	snprintf(key, sizeof(key), "%" PRId64 "/%" PRId64, stream->context, stream->stream);
	return error ? error : import_target_describe_queue(nvvp->target, key, &row, ret_queue);
}

static uint32_t queue_id(struct nvvp_machine *machine, const struct nvvp_stream *stream,
			 bool is_new)
{
	const int64_t key[] = {stream->process, stream->device, stream->context, stream->stream};

	return is_new ? string_table_add(&machine->queue_keys, key, sizeof(key))
		      : string_table_find(&machine->queue_keys, key, sizeof(key));
}

int nvvp_machine_queue(struct nvvp *nvvp, const struct nvvp_stream *stream, uint32_t *ret_queue)
{
	struct nvvp_machine *machine = &nvvp->machine;
	const uint32_t known = queue_id(machine, stream, false);
	uint32_t id;
	int error;

	if (known) {
		*ret_queue = machine->queues[known - 1];
		return 0;
	}
	error = make_queue(nvvp, stream, ret_queue);
	if (error)
		return error;
	id = queue_id(machine, stream, true);
	if (!id || array_grow(machine->queues, machine->queues_capacity, id))
		return -ENOMEM;
	machine->queues[id - 1] = *ret_queue;
	return 0;
}

uint32_t nvvp_machine_find_queue(struct nvvp *nvvp, const struct nvvp_stream *stream)
{
	struct nvvp_stream whole = *stream;
	uint32_t id = 0;

	if (!nvvp_machine_device_of(nvvp, stream->context, &whole.device))
		id = queue_id(&nvvp->machine, &whole, false);
	return id ? nvvp->machine.queues[id - 1] : 0;
}

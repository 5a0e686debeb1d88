/* SPDX-License-Identifier: MIT
 *
 * import/nsys/machine.c - processes, threads and streams of a file of Nsight Systems
 *
 * Runs in:  our own process
 * Gets:     ids of the file
 * Gives:    entities of the trace, each at its first use
 * Owns:     names of processes and threads, ids of entities
 * Fails:    -ENOMEM; -EBADMSG of SQLite
 * Why at the first use: the file lists all processes and threads of the machine, 1770 and 8536 in
 *           one file, of which two processes had rows of any other table
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "import/nsys/import.h"
#include "import/target.h"

/* More names than this are not kept: 1.5 MiB each. */
#define NAMES_MAX 65536

/* ---- names ---- */

enum { PROCESS_GLOBAL, PROCESS_NAME };
static const char *const process_columns[] = {"globalPid", "name"};
enum { THREAD_GLOBAL, THREAD_NAME };
static const char *const thread_columns[] = {"globalTid", "nameId"};

static int on_process(void *context, const struct sqlite_cursor *row)
{
	struct nsys_machine *machine = &((struct nsys *)context)->machine;
	const char *name = sqlite_cursor_text(row, PROCESS_NAME);
	uint32_t id;

	if (machine->process_names.count >= NAMES_MAX || !*name)
		return 0;
	id = string_table_add(&machine->names, name, strlen(name));
	return id ? hash_map_put(&machine->process_names,
				 (uint64_t)sqlite_cursor_number(row, PROCESS_GLOBAL), id)
		  : -ENOMEM;
}

static int on_thread(void *context, const struct sqlite_cursor *row)
{
	struct nsys_machine *machine = &((struct nsys *)context)->machine;

	if (machine->thread_names.count >= NAMES_MAX)
		return 0;
	return hash_map_put(&machine->thread_names,
			    (uint64_t)sqlite_cursor_number(row, THREAD_GLOBAL),
			    (uint64_t)sqlite_cursor_number(row, THREAD_NAME));
}

int nsys_machine_open(struct nsys *nsys)
{
	static const struct sqlite_query processes = {"PROCESSES",
						      SQLITE_COLUMNS(process_columns, 2)};
	static const struct sqlite_query threads = {"ThreadNames",
						    SQLITE_COLUMNS(thread_columns, 2)};
	int error = nsys_each_row(nsys, &processes, on_process, nsys);

	return error ? error : nsys_each_row(nsys, &threads, on_thread, nsys);
}

void nsys_machine_close(struct nsys *nsys)
{
	struct nsys_machine *machine = &nsys->machine;

	hash_map_fini(&machine->process_names);
	hash_map_fini(&machine->thread_names);
	string_table_fini(&machine->names);
	hash_map_fini(&machine->processes);
	hash_map_fini(&machine->threads);
	string_table_fini(&machine->device_keys);
	string_table_fini(&machine->queue_keys);
	hash_map_fini(&machine->kernels);
	free(machine->devices);
	free(machine->queues);
}

/* ---- processes and threads ---- */

/* globalTid = machine and container (16 bits), pid (24 bits), tid (24 bits) */
static uint32_t pid_of(uint64_t global)
{
	return (uint32_t)(global >> 24) & 0xffffff;
}

/* The name of a process; that of its main thread if the file has no names of processes. */
static int name_process(struct nsys *nsys, uint64_t global, const char **ret_name)
{
	const struct nsys_machine *machine = &nsys->machine;
	const uint64_t *id = hash_map_find(&machine->process_names, global);
	const uint64_t *thread = hash_map_find(&machine->thread_names, global | pid_of(global));

	*ret_name = id ? string_table_text(&machine->names, (uint32_t)*id, NULL) : "";
	return id || !thread ? 0 : nsys_texts_get(nsys, (int64_t)*thread, ret_name);
}

int nsys_machine_process(struct nsys *nsys, uint64_t global, uint32_t *ret_process)
{
	const uint64_t process = global & ~UINT64_C(0xffffff);
	const uint64_t *known = hash_map_find(&nsys->machine.processes, process);
	const char *name;
	char key[24];
	int error;

	if (known) {
		*ret_process = (uint32_t)*known;
		return 0;
	}
	error = name_process(nsys, process, &name);
	snprintf(key, sizeof(key), "%" PRIx64, process);
	if (!error)
		error = import_target_process(nsys->target, key, pid_of(process),
					      *name ? path_base(name) : "[unknown process]",
					      ret_process);
	return error ? error : hash_map_put(&nsys->machine.processes, process, *ret_process);
}

int nsys_machine_thread(struct nsys *nsys, uint64_t global, uint32_t *ret_thread)
{
	const uint64_t *known = hash_map_find(&nsys->machine.threads, global);
	const uint64_t *name_id = hash_map_find(&nsys->machine.thread_names, global);
	const char *name = "";
	uint32_t process;
	int error;

	if (known) {
		*ret_thread = (uint32_t)*known;
		return 0;
	}
	error = nsys_machine_process(nsys, global, &process);
	if (!error && name_id)
		error = nsys_texts_get(nsys, (int64_t)*name_id, &name);
	if (!error)
		error = import_target_thread(nsys->target, process, (uint32_t)global & 0xffffff,
					     name, ret_thread);
	return error ? error : hash_map_put(&nsys->machine.threads, global, *ret_thread);
}

/* ---- streams ---- */

static int make_queue(struct nsys *nsys, const struct nsys_stream *stream, uint32_t *ret_queue)
{
	struct event_queue row = {.handle = (uint64_t)stream->stream};
	char key[72], name[48];
	int error = nsys_machine_process(nsys, stream->global, &row.process);

	if (!error)
		error = nsys_machine_device(nsys, stream->global, stream->device, &row.device);
	if (!error && stream->context)
		error = import_target_context(nsys->target, row.process, (uint64_t)stream->context,
					      stream->green, &row.context);
	snprintf(name, sizeof(name),
		 stream->context || stream->stream ? "stream %" PRId64 : "unified memory",
		 stream->stream);
	if (!error)
		error = import_target_text(nsys->target, name, &row.name_string);
	snprintf(key, sizeof(key), "%" PRId64 "/%u/%" PRId64, stream->context, stream->green,
		 stream->stream);
	return error ? error : import_target_describe_queue(nsys->target, key, &row, ret_queue);
}

/* The id of a key that has no device, so that rows with an unreliable device find the stream. */
static uint32_t bare_key(struct nsys_machine *machine, const struct nsys_stream *stream,
			 bool is_new)
{
	const int64_t key[] = {(int64_t)(stream->global >> 24), stream->context, stream->stream};

	return is_new ? string_table_add(&machine->queue_keys, key, sizeof(key))
		      : string_table_find(&machine->queue_keys, key, sizeof(key));
}

static int keep_queue(struct nsys_machine *machine, uint32_t id, uint32_t queue)
{
	if (!id || array_grow(machine->queues, machine->queues_capacity, id))
		return -ENOMEM;
	machine->queues[id - 1] = queue;
	return 0;
}

int nsys_machine_queue(struct nsys *nsys, const struct nsys_stream *stream, uint32_t *ret_queue)
{
	struct nsys_machine *machine = &nsys->machine;
	const int64_t key[] = {(int64_t)(stream->global >> 24), stream->device, stream->context,
			       stream->stream, stream->green};
	const uint32_t known = string_table_find(&machine->queue_keys, key, sizeof(key));
	int error;

	if (known) {
		*ret_queue = machine->queues[known - 1];
		return 0;
	}
	error = make_queue(nsys, stream, ret_queue);
	if (!error)
		error = keep_queue(machine,
				   string_table_add(&machine->queue_keys, key, sizeof(key)),
				   *ret_queue);
	return error ? error : keep_queue(machine, bare_key(machine, stream, true), *ret_queue);
}

uint32_t nsys_machine_find_queue(struct nsys *nsys, const struct nsys_stream *stream)
{
	const uint32_t id = bare_key(&nsys->machine, stream, false);

	return id ? nsys->machine.queues[id - 1] : 0;
}

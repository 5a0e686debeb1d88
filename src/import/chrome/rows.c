/* SPDX-License-Identifier: MIT
 *
 * import/chrome/rows.c - the processes, threads and devices of a Chrome trace
 *
 * Runs in:  our own process
 * Gets:     pids and tids of events, names of the first pass
 * Gives:    entities of the trace
 * Owns:     nothing
 * Fails:    -ENOMEM, -errno of a write
 * Why the program is looked up: PyTorch writes slices of threads that it does not know for the pid
 *           0, which is also that of the first GPU. They are threads of the one process that calls
 *           the runtime.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/chrome/private.h"
#include "import/common/commands.h"
#include "import/target.h"

static void add_job(const struct chrome *chrome, const struct chrome_row_name *row, bool is_program,
		    struct event_process *process)
{
	const struct chrome_document *document = &chrome->scan.names.document;

	process->rank = row->rank;
	if (!is_program)
		return;
	if (!process->rank && document->rank.is_known && document->rank.value >= 0 &&
	    document->rank.value < UINT32_MAX)
		process->rank = (uint32_t)document->rank.value + 1;
	if (document->rank_count.value > 0 && document->rank_count.value < UINT32_MAX)
		process->rank_count = (uint32_t)document->rank_count.value;
}

int chrome_find_process(struct chrome *chrome, const char *pid, uint32_t *ret_process)
{
	struct chrome_names *names = &chrome->scan.names;
	const char *program = names->program, *name;
	const struct chrome_row_name *row = chrome_names_row(names, pid, "");
	struct event_process process = {0};

	if (program && strcmp(pid, program) != 0 &&
	    (chrome_names_is_device(names, row) || (strcmp(pid, "0") == 0 && !row->has_calls))) {
		pid = program;
		row = chrome_names_row(names, pid, "");
	}
	process.pid = row->raw_pid ? row->raw_pid : chrome_number_of(pid, 0);
	add_job(chrome, row, program && strcmp(pid, program) == 0, &process);
	name = chrome_names_text(names, row->name);
	return import_target_describe_process(chrome->target, pid, *name ? name : pid, &process,
					      ret_process);
}

static int add_row(struct chrome *chrome, const char *pid, const char *tid, uint32_t id)
{
	uint32_t number = chrome_number_of(tid, TEXT_TID + id);
	struct chrome_thread *row = &chrome->rows[id - 1];
	const struct chrome_row_name *known;
	const char *name;
	int error = chrome_find_process(chrome, pid, &row->process);

	known = chrome_names_row(&chrome->scan.names, pid, tid);
	name = chrome_names_text(&chrome->scan.names, known->name);
	if (!*name && number >= TEXT_TID)
		name = tid;
	if (!*name && !number)
		name = "[unknown thread]";
	if (!error)
		error = import_target_thread(chrome->target, row->process, number, name,
					     &row->thread);
	row->is_known = !error;
	return error ? error : hash_map_put(&chrome->tids, number, id);
}

int chrome_find_row(struct chrome *chrome, const struct chrome_event *event,
		    struct chrome_thread **ret_row)
{
	uint32_t id;
	int error = chrome_scan_row(&chrome->scan, event, &id);

	if (!error && array_grow(chrome->rows, chrome->rows_capacity, id))
		return -ENOMEM;
	if (!error && !chrome->rows[id - 1].is_known)
		error = add_row(chrome, string_builder_text(&event->pid),
				string_builder_text(&event->tid), id);
	*ret_row = error ? NULL : &chrome->rows[id - 1];
	return error;
}

/* Splits a key "pid\ntid" of a thread that no event of the second pass has named yet. */
static int add_row_of_key(struct chrome *chrome, uint32_t id)
{
	const char *key = string_table_text(&chrome->scan.rows, id, NULL);
	const size_t length = strcspn(key, "\n");
	char *pid = strndup(key, length);
	int error = pid ? add_row(chrome, pid, key + length + (key[length] != '\0'), id) : -ENOMEM;

	free(pid);
	return error;
}

int chrome_row_of(struct chrome *chrome, uint32_t id, const struct chrome_thread **ret_row)
{
	int error = 0;

	if (array_grow(chrome->rows, chrome->rows_capacity, id))
		return -ENOMEM;
	if (!chrome->rows[id - 1].is_known)
		error = add_row_of_key(chrome, id);
	*ret_row = &chrome->rows[id - 1];
	return error;
}

int chrome_string(struct chrome *chrome, uint32_t text, uint32_t *ret_string)
{
	int error = 0;

	*ret_string = 0;
	if (!text)
		return 0;
	if (array_grow(chrome->strings, chrome->strings_capacity, text))
		return -ENOMEM;
	if (!chrome->strings[text - 1])
		error = import_target_text(chrome->target,
					   chrome_names_text(&chrome->scan.names, text),
					   &chrome->strings[text - 1]);
	*ret_string = chrome->strings[text - 1];
	return error;
}

/* ---- devices ---- */

/* "RANK 0 - GPU", by a program that merged files. */
static bool is_ranks(const char *name)
{
	return strncmp(name, "RANK ", 5) == 0;
}

/* Returns the name; "": none. */
static const char *describe_device(struct chrome *chrome, const struct chrome_row_name *row,
				   int64_t number, struct event_device *device)
{
	const struct chrome_names *names = &chrome->scan.names;
	const struct chrome_device_name *known = chrome_names_device(names, number);
	const char *name = chrome_names_text(names, row->label);
	enum event_device_type type = DEVICE_GPU;

	if (known) {
		import_device_name(chrome_names_text(names, row->name), &type);
		name = chrome_names_text(names, known->name);
		device->memory_bytes = known->memory_bytes;
		device->compute_units = known->compute_units;
	} else if (!*name && !is_ranks(chrome_names_text(names, row->name))) {
		name = import_device_name(chrome_names_text(names, row->name), &type);
	}
	device->type = row->is_accelerator ? DEVICE_ACCELERATOR : type;
	return name;
}

int chrome_device_of_pid(struct chrome *chrome, const char *pid, const struct json_integer *number,
			 uint32_t *ret_device)
{
	const struct chrome_row_name *row = chrome_names_row(&chrome->scan.names, pid, "");
	const int64_t id = number->is_known ? number->value : (int64_t)chrome_number_of(pid, 0);
	struct event_device device = {0};
	const char *name = describe_device(chrome, row, id, &device);
	struct string_builder made = {0};
	int error;

	string_builder_append(&made, row->is_accelerator ? "accelerator " : "GPU ");
	if (number->is_known)
		string_builder_appendf(&made, "%" PRId64, id);
	else
		string_builder_append(&made, pid);
	error = made.error
			? made.error
			: import_target_describe_device(chrome->target, pid,
							*name ? name : string_builder_text(&made),
							&device, ret_device);
	string_builder_fini(&made);
	return error;
}

int chrome_find_device(struct chrome *chrome, const struct chrome_event *event,
		       uint32_t *ret_device)
{
	return chrome_device_of_pid(chrome, string_builder_text(&event->pid),
				    &event->arguments.device, ret_device);
}

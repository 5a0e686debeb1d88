/* SPDX-License-Identifier: MIT
 *
 * import/chrome/names.c - data of a Chrome trace that may follow their first use: names of rows,
 * stacks, properties of devices
 *
 * Runs in:  our own process
 * Gets:     the parts of a file, in the first pass over it
 * Gives:    names, stacks
 * Owns:     texts and the file's stacks
 * Fails:    -ENOMEM
 * Why a separate pass: duet writes stacks after the events, and names may be anywhere. The
 *           alternative is to keep all events of a file of a gigabyte in memory.
 */
#include "import/chrome/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "import/chrome/categories.h"
#include "import/common/rocm.h"
#include "import/target.h"

/* Max callers of one stack; more are a cycle. */
#define MAX_DEPTH 4096

/* ---- rows ---- */

int chrome_names_add_text(struct chrome_names *names, const char *text, uint32_t *ret_id)
{
	*ret_id = string_table_add(&names->texts, text, strlen(text));
	return *ret_id || !*text ? 0 : -ENOMEM;
}

const char *chrome_names_text(const struct chrome_names *names, uint32_t id)
{
	return string_table_text(&names->texts, id, NULL);
}

static int make_key(struct chrome_names *names, const char *pid, const char *tid)
{
	string_builder_clear(&names->key);
	string_builder_append(&names->key, pid);
	string_builder_append_char(&names->key, '\n');
	string_builder_append(&names->key, tid);
	return names->key.error;
}

static int add_row(struct chrome_names *names, const char *pid, const char *tid,
		   struct chrome_row_name **ret_row)
{
	uint32_t id = 0;

	if (!make_key(names, pid, tid))
		id = string_table_add(&names->rows, string_builder_text(&names->key),
				      names->key.length);
	if (!id || array_grow(names->list, names->list_capacity, id))
		return -ENOMEM;
	*ret_row = &names->list[id - 1];
	return *tid ? 0 : chrome_names_add_text(names, pid, &(*ret_row)->pid);
}

int chrome_names_add_process(struct chrome_names *names, const char *pid,
			     struct chrome_row_name **ret_row)
{
	return add_row(names, pid, "", ret_row);
}

const struct chrome_row_name *chrome_names_row(struct chrome_names *names, const char *pid,
					       const char *tid)
{
	static const struct chrome_row_name none;
	uint32_t id = 0;

	if (!make_key(names, pid, tid))
		id = string_table_find(&names->rows, string_builder_text(&names->key),
				       names->key.length);
	return id ? &names->list[id - 1] : &none;
}

/* ---- the first pass ---- */

static int add_raw(struct chrome_names *names, const struct chrome_event *event)
{
	const struct chrome_arguments *arguments = &event->arguments;
	struct chrome_row_name *row;
	int error;

	if (!arguments->rank.is_known || arguments->rank.value < 0 ||
	    arguments->rank.value >= UINT32_MAX)
		return 0;
	error = chrome_names_add_process(names, string_builder_text(&event->pid), &row);
	if (error)
		return error;
	row->rank = (uint32_t)arguments->rank.value + 1;
	if (arguments->raw_pid.value > 0 && arguments->raw_pid.value < INT32_MAX)
		row->raw_pid = (uint32_t)arguments->raw_pid.value;
	return 0;
}

static void note_operations(struct chrome_names *names, const struct chrome_event *event,
			    struct chrome_row_name *row)
{
	const char *name = string_builder_text(&event->arguments.name);

	row->has_operations = strncmp(name, "GPU", 3) == 0 &&
			      strcmp(name + 3, string_builder_text(&event->pid)) == 0;
	names->has_operations |= row->has_operations;
}

int chrome_names_add_meta(struct chrome_names *names, const struct chrome_event *event)
{
	const struct chrome_arguments *arguments = &event->arguments;
	const char *what = string_builder_text(&event->name);
	const bool is_label = strcmp(what, "process_labels") == 0;
	const bool is_thread = strcmp(what, "thread_name") == 0;
	struct chrome_row_name *row;
	uint32_t text;
	int error = add_raw(names, event);

	if (error || (!is_label && !is_thread && strcmp(what, "process_name") != 0))
		return error;
	error = chrome_names_add_text(
		names, string_builder_text(is_label ? &arguments->labels : &arguments->name),
		&text);
	if (!error)
		error = add_row(names, string_builder_text(&event->pid),
				is_thread ? string_builder_text(&event->tid) : "", &row);
	if (error)
		return error;
	*(is_label ? &row->label : &row->name) = text;
	if (!is_label && !is_thread)
		note_operations(names, event, row);
	return 0;
}

/* rpd2tracing names a device "GPU2", whose pid is 2. The ranges around the calls of commands are
 * repeated in the row of the device. */
void chrome_names_set_categories(struct chrome_names *names, struct chrome_event *event)
{
	const char *description = string_builder_text(&event->arguments.description);

	if (!names->has_operations || event->category.length || !*description)
		return;
	if (!chrome_names_row(names, string_builder_text(&event->pid), "")->has_operations)
		event->categories |=
			rocm_names_is_call(string_builder_text(&event->name)) ? 0 : CATEGORY_RANGE;
	else if (strncmp(description, "UserMarker frame", 16) == 0)
		event->categories |= CATEGORY_TWICE;
	else
		event->categories |= CATEGORY_OPERATION;
}

int chrome_names_add_device(struct chrome_names *names, const struct chrome_device *device)
{
	struct chrome_device_name row = {.id = device->id.value};
	int error;

	if (!device->id.is_known)
		return 0;
	row.memory_bytes =
		device->memory_bytes.value > 0 ? (uint64_t)device->memory_bytes.value : 0;
	if (device->compute_units.value > 0 && device->compute_units.value < UINT32_MAX)
		row.compute_units = (uint32_t)device->compute_units.value;
	error = chrome_names_add_text(names, string_builder_text(&device->name), &row.name);
	if (error || hash_map_find(&names->devices_index, (uint64_t)row.id))
		return error;
	names->has_names |= names->devices_count && row.name != names->devices[0].name;
	if (array_append(names->devices, names->devices_capacity, names->devices_count, row))
		return -ENOMEM;
	return hash_map_put(&names->devices_index, (uint64_t)row.id, names->devices_count - 1);
}

int chrome_names_add_document(struct chrome_names *names, const struct chrome_document *document)
{
	if (document->rank.is_known)
		names->document.rank = document->rank;
	if (document->rank_count.is_known)
		names->document.rank_count = document->rank_count;
	if (document->base_ns.is_known)
		names->document.base_ns = document->base_ns;
	return 0;
}

/* ROCm numbers its devices from another base than PyTorch. If all devices have one name, the name
 * is that of each. */
const struct chrome_device_name *chrome_names_device(const struct chrome_names *names, int64_t id)
{
	const struct chrome_device_name *device;

	if (!names->devices_count)
		return NULL;
	if (!hash_map_find(&names->devices_index, (uint64_t)id) && names->has_names)
		return NULL;
	device = &names->devices[hash_map_get(&names->devices_index, (uint64_t)id, 0)];
	return device->name ? device : NULL;
}

/* A row of calls alone may be a process. One of calls and commands may be, too: in a container the
 * program may have the number of a device. MTIA has calls of synchronization on its device. */
bool chrome_names_is_device(const struct chrome_names *names, const struct chrome_row_name *row)
{
	if (row->has_calls)
		return row->has_commands &&
		       strncmp(chrome_names_text(names, row->name), "MTIA ", 5) == 0;
	return row->has_commands || strncmp(chrome_names_text(names, row->label), "GPU ", 4) == 0;
}

/* The pid of the only row with commands, or with calls; NULL: none or several. */
static const char *only_pid(const struct chrome_names *names, bool with_commands)
{
	const char *found = NULL;

	for (uint32_t id = 1; id <= names->rows.count; id++) {
		const struct chrome_row_name *row = &names->list[id - 1];

		if (!(with_commands ? row->has_commands
				    : row->has_calls && !chrome_names_is_device(names, row)))
			continue;
		if (found)
			return NULL;
		found = chrome_names_text(names, row->pid);
	}
	return found;
}

void chrome_names_finish(struct chrome_names *names)
{
	names->only_device = only_pid(names, true);
	names->program = only_pid(names, false);
}

int chrome_names_add_key(struct chrome_names *names, const char *key, uint32_t *ret_id)
{
	*ret_id = 0;
	if (!*key)
		return 0;
	*ret_id = string_table_add(&names->stack_keys, key, strlen(key));
	if (!*ret_id || array_grow(names->stacks, names->stacks_capacity, *ret_id))
		return -ENOMEM;
	return 0;
}

int chrome_names_add_frame(struct chrome_names *names, const struct chrome_frame *frame)
{
	const char *parent = string_builder_text(&frame->parent);
	struct chrome_stack stack = {.is_told = true};
	uint32_t id;
	int error = chrome_names_add_text(names, string_builder_text(&frame->name), &stack.name);

	if (!error)
		error = chrome_names_add_text(names, string_builder_text(&frame->category),
					      &stack.module);
	if (!error && *parent)
		error = chrome_names_add_key(names, parent, &stack.parent);
	if (!error && frame->id.length)
		error = chrome_names_add_key(names, string_builder_text(&frame->id), &id);
	if (!error && frame->id.length)
		names->stacks[id - 1] = stack;
	return error;
}

void chrome_names_fini(struct chrome_names *names)
{
	string_table_fini(&names->texts);
	string_table_fini(&names->rows);
	string_table_fini(&names->stack_keys);
	free(names->list);
	free(names->stacks);
	free(names->devices);
	hash_map_fini(&names->devices_index);
	string_builder_fini(&names->key);
}

/* ---- stacks ---- */

/* Writes a stack and its unwritten callers, the outermost first. */
static int make_stack(struct chrome_names *names, struct import_target *target, uint32_t id)
{
	uint32_t *chain = malloc(MAX_DEPTH * sizeof(*chain));
	size_t depth = 0;
	uint32_t stack = 0;
	int error = chain ? 0 : -ENOMEM;

	for (; !error && id && depth < MAX_DEPTH; id = names->stacks[id - 1].parent) {
		if (names->stacks[id - 1].is_made) {
			stack = names->stacks[id - 1].stack;
			break;
		}
		if (names->stacks[id - 1].is_told)
			chain[depth++] = id;
		else
			break;
	}
	while (!error && depth-- > 0) {
		struct chrome_stack *row = &names->stacks[chain[depth] - 1];

		error = import_target_push(
			target, FRAME_NATIVE, 0, string_table_text(&names->texts, row->name, NULL),
			string_table_text(&names->texts, row->module, NULL), &stack);
		row->stack = stack;
		row->is_made = true;
	}
	free(chain);
	return error;
}

int chrome_names_stack_of(struct chrome_names *names, struct import_target *target, uint32_t id,
			  uint32_t *ret_stack)
{
	int error = names->stacks[id - 1].is_made ? 0 : make_stack(names, target, id);

	*ret_stack = names->stacks[id - 1].stack;
	return error;
}

int chrome_names_stack(struct chrome_names *names, struct import_target *target, const char *key,
		       uint32_t *ret_stack)
{
	uint32_t id = string_table_find(&names->stack_keys, key, strlen(key));

	*ret_stack = 0;
	return id ? chrome_names_stack_of(names, target, id, ret_stack) : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * import/chrome/names.c - first pass over a Chrome trace: data that may follow their first use (row
 * names, stacks, earliest time)
 *
 * Runs in:  our own process
 * Gets:     a source, which is read once
 * Gives:    names, stacks
 * Owns:     texts and the file's stacks
 * Fails:    like chrome_file_read
 * Why a separate pass: duet writes stacks after the events, and names may be anywhere. The
 *           alternative is to keep all events of a file of a gigabyte in memory.
 */
#include "import/chrome/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/string.h"
#include "import/source.h"
#include "import/target.h"

/* Max callers of one stack; more are a cycle. */
#define MAX_DEPTH 4096

/* ---- categories ---- */

bool chrome_has_category(const struct chrome_event *event, const char *word)
{
	const char *at = string_builder_text(&event->category), *own;
	const size_t length = strlen(word);
	size_t own_length;

	while ((own = word_list_next(&at, &own_length)))
		if (own_length == length && strncasecmp(own, word, length) == 0)
			return true;
	return false;
}

enum chrome_class chrome_class_of(const struct chrome_event *event)
{
	static const struct {
		const char *category;
		enum chrome_class command;
	} rows[] = {{"kernel", CHROME_KERNEL},    {"gpu_memcpy", CHROME_COPY},
		    {"memcpy", CHROME_COPY},      {"gpu_memset", CHROME_FILL},
		    {"memset", CHROME_FILL},      {"gpu_command", CHROME_OTHER},
		    {"rejected", CHROME_REJECTED}};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (chrome_has_category(event, rows[i].category))
			return rows[i].command;
	return CHROME_NO_CLASS;
}

/* ---- rows ---- */

static int row_key(const char *pid, const char *tid, struct string_builder *key)
{
	string_builder_append(key, pid);
	string_builder_append_char(key, '\n');
	string_builder_append(key, tid);
	return key->error;
}

static int add_text(struct chrome_names *names, const char *text, uint32_t *ret_string)
{
	*ret_string = string_table_add(&names->texts, text, strlen(text));
	return *ret_string || !*text ? 0 : -ENOMEM;
}

static int name_row(struct chrome_names *names, const char *pid, const char *tid, const char *text,
		    bool is_label)
{
	struct string_builder key = {0};
	uint32_t id = 0, string;
	int error;

	error = row_key(pid, tid, &key);
	if (!error)
		id = string_table_add(&names->rows, string_builder_text(&key), key.length);
	string_builder_fini(&key);
	if (!id || add_text(names, text, &string) ||
	    array_grow(names->names, names->names_capacity, id) ||
	    array_grow(names->labels, names->labels_capacity, id))
		return -ENOMEM;
	(is_label ? names->labels : names->names)[id - 1] = string;
	return 0;
}

static const char *find_row(const struct chrome_names *names, const uint32_t *strings,
			    const char *pid, const char *tid)
{
	struct string_builder key = {0};
	uint32_t id;

	row_key(pid, tid, &key);
	id = string_table_find(&names->rows, string_builder_text(&key), key.length);
	string_builder_fini(&key);
	return id ? string_table_text(&names->texts, strings[id - 1], NULL) : "";
}

const char *chrome_names_get(const struct chrome_names *names, const char *pid, const char *tid)
{
	return find_row(names, names->names, pid, tid);
}

const char *chrome_names_labels(const struct chrome_names *names, const char *pid)
{
	return find_row(names, names->labels, pid, "");
}

/* ---- the pass ---- */

static int on_meta(struct chrome_names *names, const struct chrome_event *event)
{
	const struct chrome_arguments *arguments = &event->arguments;
	const char *what = string_builder_text(&event->name);
	const char *pid = string_builder_text(&event->pid);

	if (strcmp(what, "process_name") == 0)
		return name_row(names, pid, "", string_builder_text(&arguments->name), false);
	if (strcmp(what, "process_labels") == 0)
		return name_row(names, pid, "", string_builder_text(&arguments->labels), true);
	if (strcmp(what, "thread_name") == 0)
		return name_row(names, pid, string_builder_text(&event->tid),
				string_builder_text(&arguments->name), false);
	return 0;
}

static int on_event(void *context, const struct chrome_event *event)
{
	struct chrome_names *names = context;

	if (strcmp(string_builder_text(&event->phase), "M") == 0)
		return on_meta(names, event);
	if (event->ts_ns.is_known && event->ts_ns.value < names->first_ns)
		names->first_ns = event->ts_ns.value;
	if (event->ts_ns.is_known && event->ts_ns.value < names->least_ns)
		names->least_ns = event->ts_ns.value;
	if (chrome_class_of(event) != CHROME_NO_CLASS && event->arguments.pid.is_known)
		names->has_owners = true;
	return 0;
}

static int find_stack(struct chrome_names *names, const char *key, uint32_t *ret_id)
{
	*ret_id = string_table_add(&names->stack_keys, key, strlen(key));
	if (!*ret_id || array_grow(names->stacks, names->stacks_capacity, *ret_id))
		return -ENOMEM;
	return 0;
}

static int on_frame(void *context, const struct chrome_frame *frame)
{
	struct chrome_names *names = context;
	const char *parent = string_builder_text(&frame->parent);
	struct chrome_stack stack = {.is_told = true};
	uint32_t id;
	int error = add_text(names, string_builder_text(&frame->name), &stack.name);

	if (!error)
		error = add_text(names, string_builder_text(&frame->category), &stack.module);
	if (!error && *parent)
		error = find_stack(names, parent, &stack.parent);
	if (!error && frame->id.length)
		error = find_stack(names, string_builder_text(&frame->id), &id);
	if (!error && frame->id.length)
		names->stacks[id - 1] = stack;
	return error;
}

static void on_base(void *context, const struct chrome_number *base_ns)
{
	struct chrome_names *names = context;

	names->base_ns = *base_ns;
}

int chrome_names_set_clock(const struct chrome_names *names, struct import_target *target)
{
	const int64_t since_2001 = 1000000000000000000, base = names->base_ns.value;

	if (names->base_ns.is_known && base >= 0 && base < 2 * since_2001)
		return import_target_clock(target, IMPORT_CLOCK_UTC, base + names->first_ns);
	if (names->least_ns >= since_2001 && names->least_ns < INT64_MAX)
		return import_target_clock(target, IMPORT_CLOCK_UTC, names->first_ns);
	return 0;
}

int chrome_names_read(struct chrome_names *names, struct import_source *source)
{
	const struct chrome_visitor visitor = {
		.on_event = on_event, .on_frame = on_frame, .on_base = on_base};

	*names = (struct chrome_names){.least_ns = INT64_MAX};
	return chrome_file_read(source, &visitor, names, &names->is_cut);
}

void chrome_names_fini(struct chrome_names *names)
{
	string_table_fini(&names->texts);
	string_table_fini(&names->rows);
	string_table_fini(&names->stack_keys);
	free(names->names);
	free(names->labels);
	free(names->stacks);
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

int chrome_names_stack(struct chrome_names *names, struct import_target *target, const char *key,
		       uint32_t *ret_stack)
{
	uint32_t id = string_table_find(&names->stack_keys, key, strlen(key));
	int error = 0;

	*ret_stack = 0;
	if (!id)
		return 0;
	if (!names->stacks[id - 1].is_made)
		error = make_stack(names, target, id);
	*ret_stack = names->stacks[id - 1].stack;
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * import/iaprof/rows.c - the texts, stacks, intervals and samples of an iaprof profile, in any form
 *
 * Runs in:  our own process
 * Gets:     fields of lines
 * Gives:    instruction samples in the target
 * Owns:     nothing; the state is that of the import
 * Fails:    -EBADMSG with a text, -ENOMEM
 * Why the last origin (process, code and stack) is kept: a sample usually has the origin of the
 *           sample before it, so most samples need no lookup
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/frame.h"
#include "import/iaprof/line.h"
#include "import/iaprof/private.h"
#include "import/source.h"
#include "import/target.h"

enum {
	MAX_FRAMES = 512,   /* max frames of a stack */
	FRAMES_OUTER = 255, /* outer frames that a deeper stack keeps, besides the innermost 256 */
	MAX_NAME_BYTES = 65536,
	INTERVAL_NS = 10000000 /* the program's default */
};

static const char *const names_text[IAPROF_NUMBERS_COUNT] = {"string",   "USTACK",     "KSTACK",
							     "GPU_FILE", "GPU_SYMBOL", "INSN_TEXT"};

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *text_of(const struct iaprof_import *iaprof, uint32_t id)
{
	return string_table_text(&iaprof->texts, id, NULL);
}

/* Returns an unescaped copy of a name; "" if it is the text for unknown values. */
static char *known_name(const struct iaprof_import *iaprof, uint32_t id, const char *not_known)
{
	char *name = strdup(text_of(iaprof, id));

	if (name && strcmp(name, not_known) == 0)
		*name = 0;
	if (name)
		import_frame_unescape(name);
	return name;
}

int iaprof_import_intern_name(struct iaprof_import *iaprof, uint32_t id, const char *not_known,
			      uint32_t *ret_string)
{
	auto_free char *name = known_name(iaprof, id, not_known);

	return name ? import_target_text(iaprof->target, name, ret_string) : -ENOMEM;
}

int iaprof_import_define(struct iaprof_import *iaprof, enum iaprof_number_space names,
			 const char *number, const char *text)
{
	uint64_t id, *known;
	uint32_t string;
	int error =
		iaprof_line_number(iaprof->source, "the number of a text", number, UINT64_MAX, &id);

	if (error)
		return error;
	if (!id)
		return import_source_fail(iaprof->source, "a number from 1 on: 0 means no text",
					  "0");
	string = string_table_add(&iaprof->texts, text, strlen(text));
	if (!string && *text)
		return -ENOMEM;
	known = hash_map_find(&iaprof->ids[names], id);
	iaprof->again += known && *known != string;
	return hash_map_put(&iaprof->ids[names], id, string);
}

/* Finds the text of a number; number 0 means no text. */
int iaprof_import_find_text(struct iaprof_import *iaprof, enum iaprof_number_space names,
			    const char *field, uint32_t *ret_text)
{
	char expected[96];
	uint64_t id, *known;
	int error =
		iaprof_line_number(iaprof->source, "the number of a text", field, UINT64_MAX, &id);

	if (error)
		return error;
	known = id ? hash_map_find(&iaprof->ids[names], id) : NULL;
	if (id && !known) {
		snprintf(expected, sizeof(expected),
			 "a line '%s' of that number before it (is the file's start missing?)",
			 names_text[names]);
		return import_source_fail(iaprof->source, expected, field);
	}
	*ret_text = known ? (uint32_t)*known : 0;
	return 0;
}

/* The same for a name, which must not exceed MAX_NAME_BYTES; a stack may be longer. */
int iaprof_import_find_name(struct iaprof_import *iaprof, enum iaprof_number_space names,
			    const char *field, uint32_t *ret_text)
{
	int error = iaprof_import_find_text(iaprof, names, field, ret_text);

	if (!error && strlen(text_of(iaprof, *ret_text)) > MAX_NAME_BYTES)
		return import_source_fail(iaprof->source, "the number of a name of at most 64 KiB",
					  field);
	return error;
}

int iaprof_import_parse_pid(struct iaprof_import *iaprof, const char *field, uint32_t *ret_pid)
{
	uint64_t pid;
	int error = iaprof_line_number(iaprof->source, "a pid", field, UINT32_MAX, &pid);

	if (!error)
		*ret_pid = (uint32_t)pid;
	return error;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static size_t count_frames(const char *text)
{
	size_t count = 0;

	for (size_t length; *text; text += length + (text[length] != 0)) {
		length = strcspn(text, ";");
		count += length > 0;
	}
	return count;
}

/* Cuts a frame's name at MAX_NAME_BYTES. */
static int push_frame(struct iaprof_import *iaprof, char *frame, enum event_frame_type type,
		      uint32_t *stack)
{
	if (strlen(frame) > MAX_NAME_BYTES)
		frame[MAX_NAME_BYTES] = 0;
	return import_frame_push(iaprof->target, frame, type, stack);
}

/* Pushes the frames of a text: root first, separated by ';', which may also follow the last. A
 * stack above MAX_FRAMES keeps both ends. */
static int push_frames(struct iaprof_import *iaprof, uint32_t id, enum event_frame_type type,
		       uint32_t *stack)
{
	auto_free char *text = strdup(text_of(iaprof, id));
	size_t count = text ? count_frames(text) : 0, at = 0;
	bool is_cut = count > MAX_FRAMES;
	char *rest = text, *frame;
	int error = text ? 0 : -ENOMEM;

	iaprof->cut_stacks += is_cut;
	while (!error && (frame = strsep(&rest, ";"))) {
		char gap[] = "[truncated]";

		if (!*frame)
			continue;
		if (!is_cut || at < FRAMES_OUTER || at + MAX_FRAMES / 2 >= count)
			error = push_frame(iaprof, frame, type, stack);
		else if (at == FRAMES_OUTER)
			error = import_frame_push(iaprof->target, gap, type, stack);
		at++;
	}
	return error;
}

static int find_stack(struct iaprof_import *iaprof, const struct iaprof_origin *place,
		      uint32_t *ret_stack)
{
	uint64_t key = (uint64_t)place->ustack << 32 | place->kstack;
	uint64_t *known = hash_map_find(&iaprof->stacks, key);
	int error;

	*ret_stack = known ? (uint32_t)*known : 0;
	if (known)
		return 0;
	error = push_frames(iaprof, place->ustack, FRAME_NATIVE, ret_stack);
	if (!error)
		error = push_frames(iaprof, place->kstack, FRAME_KERNEL, ret_stack);
	return error ? error : hash_map_put(&iaprof->stacks, key, *ret_stack);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Finds the process of a sample; 0 if neither its name nor its pid is known. */
static int find_process(struct iaprof_import *iaprof, const struct iaprof_origin *place,
			uint32_t *ret_process)
{
	auto_free char *comm = known_name(iaprof, place->comm, "");
	auto_free char *key = NULL;

	*ret_process = 0;
	if (!comm)
		return -ENOMEM;
	if (!*comm && !place->pid)
		return 0;
	if (asprintf(&key, "%u/%s", place->pid, comm) < 0)
		return -ENOMEM;
	return import_target_process(iaprof->target, key, place->pid, comm, ret_process);
}

static int find_code(struct iaprof_import *iaprof, const struct iaprof_origin *place,
		     uint32_t *ret_code)
{
	auto_free char *file = known_name(iaprof, place->file, IAPROF_NO_FILE);
	auto_free char *symbol = known_name(iaprof, place->symbol, IAPROF_NO_SYMBOL);

	if (!file || !symbol)
		return -ENOMEM;
	iaprof->code = 0;
	return import_target_kernel(iaprof->target, iaprof->process, file, symbol, ret_code);
}

int iaprof_import_find_device(struct iaprof_import *iaprof)
{
	int error = 0;

	if (!iaprof->device)
		error = import_target_device(iaprof->target, "iaprof", "Intel GPU", DEVICE_GPU,
					     &iaprof->device);
	if (!error && !iaprof->unit_string)
		error = import_target_text(iaprof->target, "samples", &iaprof->unit_string);
	return error;
}

static int resolve(struct iaprof_import *iaprof, const struct iaprof_origin *place)
{
	int error;

	if (iaprof->has_last && memcmp(&iaprof->last, place, sizeof(*place)) == 0)
		return 0;
	iaprof->has_last = false;
	error = iaprof_import_find_device(iaprof);
	if (!error)
		error = find_process(iaprof, place, &iaprof->process);
	if (!error)
		error = find_code(iaprof, place, &iaprof->code);
	if (!error)
		error = find_stack(iaprof, place, &iaprof->stack);
	if (!error)
		error = iaprof_import_intern_name(iaprof, place->text, IAPROF_NO_TEXT,
						  &iaprof->text_string);
	iaprof->last = *place;
	iaprof->has_last = !error;
	return error;
}

int iaprof_import_add_row(struct iaprof_import *iaprof, const struct iaprof_origin *place,
			  uint32_t stall, uint64_t offset, uint64_t count)
{
	struct event_instruction_sample row = {.begin = iaprof->begin_ns,
					       .end = iaprof->end_ns,
					       .offset = offset,
					       .count = count,
					       .period = 1,
					       .stall_string = stall};
	int error;

	iaprof->counted++;
	if (!count)
		return 0;
	if (count > IAPROF_MAX_COUNT - iaprof->samples)
		return import_source_fail(iaprof->source,
					  "no more than 2^63 - 1 samples in all, with this count",
					  NULL);
	error = resolve(iaprof, place);
	if (error)
		return error;
	row.process = iaprof->process;
	row.device = iaprof->device;
	row.code = iaprof->code;
	row.stack = iaprof->stack;
	row.text_string = iaprof->text_string;
	row.period_unit_string = iaprof->unit_string;
	iaprof->samples += count;
	return import_target_instruction(iaprof->target, &row);
}

int iaprof_import_parse_count(struct iaprof_import *iaprof, const char *field, uint64_t *ret_count)
{
	return iaprof_line_number(iaprof->source, "a count", field, IAPROF_MAX_COUNT, ret_count);
}

int iaprof_import_take_string(struct iaprof_import *iaprof, char **fields)
{
	static const char end[] = "_[g]";
	size_t length = strlen(fields[2]);

	/* A whole stack of form tiber. It repeats other lines, and there is one per instruction. */
	if (length > strlen(end) && strcmp(fields[2] + length - strlen(end), end) == 0 &&
	    strstr(fields[2], ";-;") && strstr(fields[2], "_[G];"))
		return 0;
	return iaprof_import_define(iaprof, IAPROF_NUMBERS_STRING, fields[1], fields[2]);
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* The timestamp is the time at which the samples were written, so they are from the interval that
 * ends there. */
int iaprof_import_take_interval(struct iaprof_import *iaprof, char **fields)
{
	uint64_t number, time_ns;
	int error = iaprof_line_number(iaprof->source, "the number of an interval", fields[1],
				       UINT64_MAX, &number);

	if (!error)
		error = iaprof_line_time(iaprof->source, fields[2], &time_ns);
	if (error)
		return error;
	/* an earlier time starts another recording, whose first interval has the default length */
	if (iaprof->has_times && time_ns < iaprof->end_ns) {
		iaprof->has_times = false;
		iaprof->anew++;
	}
	iaprof->begin_ns = iaprof->has_times       ? iaprof->end_ns
			   : time_ns > INTERVAL_NS ? time_ns - INTERVAL_NS
						   : 0;
	iaprof->end_ns = time_ns;
	iaprof->has_times = true;
	return 0;
}

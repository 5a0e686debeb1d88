/* SPDX-License-Identifier: MIT
 *
 * collect/guest/stacks.c - turns the stacks that a guest's thread describes into stacks of the
 * trace
 *
 * Runs in:  the recorder
 * Gets:     records of modules, Python functions and stacks, whose bytes may be anything
 * Gives:    frames and stacks of the trace
 * Owns:     the tables of each ring
 * Fails:    a record that makes no sense is refused; the memory for stacks of a process is limited
 * Why:      A frame in the trace is (file, build id, offset) or (function, file, line). Such a
 *           frame can be symbolized without the process. A library that a hundred processes use has
 *           its frames in the trace once.
 */
#include "collect/guest/stacks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/elf/names.h"
#include "symbol/remote/python_lines.h"

enum { MAX_STACKS = 1 << 21, MAX_FUNCTIONS = 1 << 20, MAX_MODULES = 1 << 15, MAX_FRAMES = 4096 };

void stacks_fini(struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->functions_capacity; i++)
		free(stacks->functions[i].lines);
	free(stacks->ids);
	free(stacks->functions);
	for (size_t i = 0; i < stacks->modules_capacity; i++)
		free(stacks->modules[i].path);
	free(stacks->modules);
	hash_map_fini(&stacks->frames);
	*stacks = (struct stacks){0};
}

static bool take_room(const struct stacks_owner *owner, uint64_t bytes)
{
	return guest_budget_hold_part(owner->budget, &owner->budget->stacks, bytes);
}

/* array_grow, charged to the guest's budget. */
static bool grow(const struct stacks_owner *owner, void **items, size_t *capacity, size_t count,
		 size_t size)
{
	size_t wanted = *capacity ? *capacity : 8;

	while (wanted < count)
		wanted *= 2;
	return count <= *capacity || (take_room(owner, (wanted - *capacity) * size) &&
				      array_reserve(items, capacity, count, size) == 0);
}

/* The result for a valid record without room: true, and the loss is counted. */
static bool refuse(const struct stacks_owner *owner)
{
	++*owner->refused;
	return true;
}

static uint32_t text(const struct stacks_owner *owner, const char *bytes)
{
	return recording_string(owner->recording, bytes);
}

/* Returns the text at *at and moves *at behind it; NULL if it does not end within the record. */
static const char *take_text(const struct record *record, const char **at)
{
	const char *begin = *at, *end = (const char *)record + record->size;
	const char *stop = begin < end ? memchr(begin, '\0', (size_t)(end - begin)) : NULL;

	if (!stop)
		return NULL;
	*at = stop + 1;
	return begin;
}

/* ---- modules --------------------------------------------------------------------------------- */

enum { BUILD_ID_TEXT = 2 * sizeof(((struct record_module *)0)->build_id) + 1 };

static void build_id_text(const struct record_module *record, char hex[BUILD_ID_TEXT])
{
	hex[0] = '\0';
	for (uint32_t i = 0; i < record->build_id_bytes && i < sizeof(record->build_id); i++)
		snprintf(hex + 2 * i, 3, "%02x", record->build_id[i]);
}

/* A deleted file can only be symbolized from a copy. The recorder keeps one, or another copy with
 * the same build id exists. */
static void keep_image(const struct stacks_owner *owner, struct image *image, const char *build_id)
{
	struct recording *recording = owner->recording;
	char note[PATH_MAX + 160];

	if (image->fd >= 0 && recording->keeps_files &&
	    retained_files_add(&recording->kept, take_fd(&image->fd), image->path, build_id))
		return;
	if (image->fd >= 0)
		close(take_fd(&image->fd));
	if (!image->is_gone || recording->file_notes.gone_count >= RECORDING_GONE ||
	    identities_find(&recording->file_notes.gone, image->path))
		return;
	identities_remember(&recording->file_notes.gone, image->path,
			    ++recording->file_notes.gone_count);
	snprintf(note, sizeof(note),
		 "functions of '%s' in process %u have no names because the file was deleted or "
		 "replaced while mapped, %s",
		 image->path, owner->pid,
		 recording->keeps_files ? "and the file could not be kept (that takes root)"
					: "unless 'duet record --archive' keeps the file");
	recording_note(recording, owner->collector, COLLECTOR_PARTIAL, owner->process, note);
}

bool stacks_take_module(struct stacks *stacks, const struct stacks_owner *owner,
			const struct record *head)
{
	const struct record_module *record = (const struct record_module *)head;
	const char *at = (const char *)record + offsetof(struct record_module, texts), *path;
	const struct images_process process = {owner->pid, owner->pid_fd, owner->exe, owner->looks};
	char build_id[BUILD_ID_TEXT];
	uint32_t id = head->detail;
	struct stack_module *module;
	struct image image;

	if (head->size < sizeof(*record) || !id || id >= MAX_MODULES || !record->size_bytes)
		return false;
	path = take_text(head, &at);
	if (!path)
		return false;
	if (!take_room(owner, FRAME_BYTES + strlen(path)) ||
	    !grow(owner, (void **)&stacks->modules, &stacks->modules_capacity, id + (size_t)1,
		  sizeof(*stacks->modules)))
		return refuse(owner);
	build_id_text(record, build_id);
	images_find(owner->images, &process, record->address, path, build_id,
		    owner->recording->keeps_files, &image);
	module = &stacks->modules[id];
	free(module->path);
	*module = (struct stack_module){
		.address = record->address,
		.size_bytes = record->size_bytes,
		.file_offset_bytes = record->file_offset_bytes,
		.path_string = text(owner, image.path),
		.build_id_string = text(owner, build_id),
		.path = strdup(image.path),
	};
	if (!build_id[0]) {
		module->file_size_bytes = image.size_bytes;
		module->file_modified_ns = image.modified_ns;
	}
	keep_image(owner, &image, build_id);
	return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

bool stacks_take_function(struct stacks *stacks, const struct stacks_owner *owner,
			  const struct record *head)
{
	const struct record_python_code *record = (const struct record_python_code *)head;
	const char *at = (const char *)record + offsetof(struct record_python_code, texts);
	const char *name, *file;
	struct stack_function *function;
	uint8_t *lines;

	if (head->size < sizeof(*record) || !record->code || record->code > MAX_FUNCTIONS)
		return false;
	name = take_text(head, &at);
	file = name ? take_text(head, &at) : NULL;
	if (!file || record->lines_bytes > (size_t)((const char *)head + head->size - at))
		return false;
	if (!take_room(owner, FRAME_BYTES + record->lines_bytes + strlen(name) + strlen(file)) ||
	    !grow(owner, (void **)&stacks->functions, &stacks->functions_capacity, record->code,
		  sizeof(*stacks->functions)))
		return refuse(owner);
	lines = malloc(record->lines_bytes + (size_t)1);
	if (!lines)
		return refuse(owner);
	memcpy(lines, at, record->lines_bytes);
	function = &stacks->functions[record->code - 1];
	free(function->lines);
	*function = (struct stack_function){
		.name_string = text(owner, name),
		.file_string = text(owner, file),
		.first_line = record->first_line,
		.version = head->detail,
		.lines = lines,
		.lines_bytes = record->lines_bytes,
	};
	return true;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static const struct stack_module *module_of(const struct stacks *stacks, uint64_t frame)
{
	uint32_t id = (uint32_t)(frame >> RECORD_FRAME_MODULE_SHIFT) & (MAX_MODULES - 1);
	const struct stack_module *module =
		id < stacks->modules_capacity ? &stacks->modules[id] : NULL;

	return module && module->size_bytes ? module : NULL;
}

static struct event_frame python_frame(const struct stacks *stacks, uint64_t frame)
{
	uint32_t id = (uint32_t)(frame >> 32) & 0x3fffffff;
	struct event_frame row = {.type = FRAME_PYTHON};
	uint32_t line;

	if (id && id <= stacks->functions_capacity) {
		const struct stack_function *function = &stacks->functions[id - 1];

		row.name_string = function->name_string;
		row.file_string = function->file_string;
		row.first_line = function->first_line;
		if (python_line(function->version, function->lines, function->lines_bytes,
				function->first_line, (uint32_t)frame, &line) == 0)
			row.line = line;
	}
	return row;
}

/* JIT code gets its name from a file that the process writes, possibly later. */
static uint32_t native_frame(const struct stacks *stacks, const struct stacks_owner *owner,
			     uint64_t frame)
{
	const struct stack_module *module = module_of(stacks, frame);
	uint64_t pc = frame & ((UINT64_C(1) << RECORD_FRAME_MODULE_SHIFT) - 1);
	struct event_frame row = {.type = FRAME_NATIVE};

	row.flags = frame & RECORD_FRAME_EXACT ? 0 : FRAME_RETURN;
	if (!module)
		return jit_code_frame(owner->made, owner->recording, owner->process, pc, row.flags);
	row.module_string = module->path_string;
	row.build_id_string = module->build_id_string;
	row.file_size_bytes = module->file_size_bytes;
	row.file_modified_ns = module->file_modified_ns;
	row.offset = pc - module->address + module->file_offset_bytes;
	return recording_frame(owner->recording, &row);
}

/* Returns the trace's id of a frame; 0: no room. */
static uint32_t frame_id(struct stacks *stacks, const struct stacks_owner *owner, uint64_t frame)
{
	uint64_t known = hash_map_get(&stacks->frames, frame, 0);
	struct event_frame row;
	uint32_t id;

	if (known)
		return (uint32_t)known;
	if (!take_room(owner, FRAME_BYTES))
		return 0;
	if (frame & RECORD_FRAME_PYTHON) {
		row = python_frame(stacks, frame);
		id = recording_frame(owner->recording, &row);
	} else {
		id = native_frame(stacks, owner, frame);
	}
	if (id)
		hash_map_put(&stacks->frames, frame, id);
	return id;
}

static uint32_t truncated_id(const struct stacks_owner *owner, uint64_t count)
{
	const struct event_frame row = {.type = FRAME_TRUNCATED, .offset = count};

	return recording_frame(owner->recording, &row);
}

/* ---- Python's interpreter -------------------------------------------------------------------- */

/* Looks for the interpreter loop in a file: libpython, or the program itself. A linker drops the
 * main functions from a program that only embeds Python, so these distinguish the program
 * "python". */
static uint32_t look_at_python(uint32_t pid, const char *exe, const char *path)
{
	static const char *const names[] = {"_PyEval_EvalFrameDefault", "Py_RunMain",
					    "Py_BytesMain", "Py_Main"};
	int fd = images_open_file(pid, path);
	uint32_t found = fd >= 0 ? elf_names_find(fd, names, 4) : 0;

	if (fd >= 0)
		close(fd);
	if (!(found & 1))
		return PYTHON_NONE;
	return found > 1 || strcmp(path, exe) != 0 ? PYTHON_INTERPRETER : PYTHON_EMBEDDED;
}

uint32_t stacks_python(struct recording *recording, uint32_t pid, const char *exe,
		       const struct stacks_file *file)
{
	const uint64_t key = (uint64_t)file->path_string << 32 | file->build_id_string;
	uint32_t python =
		(uint32_t)hash_map_get(&recording->file_notes.pythons, key, PYTHON_NOT_ASKED);

	if (python == PYTHON_NOT_ASKED) {
		python = file->path ? look_at_python(pid, exe, file->path) : PYTHON_NONE;
		hash_map_put(&recording->file_notes.pythons, key, python);
	}
	return python;
}

static uint32_t python_of(const struct stacks_owner *owner, struct stack_module *module)
{
	const struct stacks_file file = {module->path, module->path_string,
					 module->build_id_string};

	if (module->python == PYTHON_NOT_ASKED)
		module->python = stacks_python(owner->recording, owner->pid, owner->exe, &file);
	return module->python;
}

/* Range of the Python frames in a stack; first > last: there are none. */
struct functions {
	uint32_t first, last;
};

static struct functions find_functions(const struct record_stack *record)
{
	struct functions functions = {1, 0};

	for (uint32_t i = 0; i < record->head.detail; i++)
		if (record->frames[i] & RECORD_FRAME_PYTHON) {
			functions.first = functions.first > functions.last ? i : functions.first;
			functions.last = i;
		}
	return functions;
}

static bool is_left_out(const struct stacks *stacks, const struct stacks_owner *owner,
			uint64_t frame, uint32_t index, struct functions functions)
{
	const struct stack_module *module =
		frame & RECORD_FRAME_PYTHON ? NULL : module_of(stacks, frame);
	uint32_t python;

	if (!module || functions.first > functions.last)
		return false;
	python = python_of(owner, (struct stack_module *)module);
	return python == PYTHON_INTERPRETER ||
	       (python == PYTHON_EMBEDDED && index > functions.first && index < functions.last);
}

bool stacks_take_stack(struct stacks *stacks, const struct stacks_owner *owner,
		       const struct record *head)
{
	const struct record_stack *record = (const struct record_stack *)head;
	uint32_t count = head->detail, stack = 0;
	struct functions functions;

	if (head->size < sizeof(*record) || count > MAX_FRAMES ||
	    count > (head->size - sizeof(*record)) / 8 || !record->stack ||
	    record->stack > MAX_STACKS)
		return false;
	if (!grow(owner, (void **)&stacks->ids, &stacks->ids_capacity, record->stack,
		  sizeof(*stacks->ids)) ||
	    !take_room(owner, (uint64_t)count * NODE_BYTES))
		return refuse(owner);
	functions = find_functions(record);
	/* Frames beyond the outermost one are missing. Their number is known only if the guest
	 * counted them. */
	if (record->is_cut)
		stack = recording_stack(owner->recording, stack, truncated_id(owner, 0));
	if (record->truncated && record->kept >= count)
		stack = recording_stack(owner->recording, stack,
					truncated_id(owner, record->truncated));
	for (uint32_t i = count; i-- > 0;) {
		if (!is_left_out(stacks, owner, record->frames[i], i, functions)) {
			stack = recording_stack(owner->recording, stack,
						frame_id(stacks, owner, record->frames[i]));
			/* A stack without its outer frames would be a wrong one. */
			if (!stack)
				return refuse(owner);
		}
		if (record->truncated && i == record->kept)
			stack = recording_stack(owner->recording, stack,
						truncated_id(owner, record->truncated));
	}
	stacks->ids[record->stack - 1] = stack;
	return stack ? true : refuse(owner);
}

uint32_t stacks_find(const struct stacks *stacks, uint64_t stack)
{
	return stack && stack <= stacks->ids_capacity ? stacks->ids[stack - 1] : 0;
}

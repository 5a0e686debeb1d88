/* SPDX-License-Identifier: MIT
 *
 * collect/stacks.c - the stacks that a guest's thread describes become stacks of the trace
 *
 * Runs in:  the recorder
 * Gets:     records of modules, functions and stacks, any bytes   Gives: frames and stacks of the trace
 * Owns:     what each ring has described
 * Fails:    a record that makes no sense is refused; a process may fill only so much memory with stacks
 * Why:      a frame of the trace names file, build id and offset, or function, file and line, and needs no
 *           process to be understood; the same library in a hundred processes has its frames once.
 */
#include "collect/stacks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/elf_names.h"
#include "symbol/python_lines.h"

enum {
	STACKS_MOST = 1 << 21,
	FUNCTIONS_MOST = 1 << 20,
	MODULES_MOST = 1 << 15,
	FRAMES_MOST = 4096
};
#define BYTES_MOST ((uint64_t)256 << 20) /* a process may take */

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
	if (*owner->bytes + bytes > BYTES_MOST || bytes > *owner->room)
		return false;
	*owner->bytes += bytes;
	*owner->held += bytes;
	*owner->room -= bytes;
	return true;
}

/* array_grow, with room. */
static bool grow(const struct stacks_owner *owner, void **items, size_t *capacity, size_t count,
		 size_t size)
{
	size_t wanted = *capacity ? *capacity : 8;

	while (wanted < count)
		wanted *= 2;
	return count <= *capacity || (take_room(owner, (wanted - *capacity) * size) &&
				      array_reserve(items, capacity, count, size) == 0);
}

/* What it returns where a record makes sense and there is no room for it. */
static bool refuse(const struct stacks_owner *owner)
{
	++*owner->refused;
	return true;
}

static uint32_t text(const struct stacks_owner *owner, const char *bytes)
{
	return recording_string(owner->recording, bytes);
}

/* The text at *at, *at behind it; NULL where it does not end inside the record. */
static const char *take_text(const struct record *record, const char **at)
{
	const char *begin = *at, *end = (const char *)record + record->size;
	const char *stop = begin < end ? memchr(begin, '\0', (size_t)(end - begin)) : NULL;

	if (!stop)
		return NULL;
	*at = stop + 1;
	return begin;
}

/* ---- modules ----------------------------------------------------------------------------------- */

enum { BUILD_ID_TEXT = 2 * sizeof(((struct record_module *)0)->build_id) + 1 };

static void build_id_text(const struct record_module *record, char hex[BUILD_ID_TEXT])
{
	hex[0] = '\0';
	for (uint32_t i = 0; i < record->build_id_bytes && i < sizeof(record->build_id); i++)
		snprintf(hex + 2 * i, 3, "%02x", record->build_id[i]);
}

/* A file that has lost its path has names only from a copy: held here, or kept by somebody by its build id. */
static void keep_image(const struct stacks_owner *owner, struct image *image, const char *build_id)
{
	struct recording *recording = owner->recording;
	char note[PATH_MAX + 160];

	if (image->fd >= 0 && recording->keeps_files &&
	    kept_files_add(&recording->kept, take_fd(&image->fd), image->path, build_id))
		return;
	if (image->fd >= 0)
		close(take_fd(&image->fd));
	if (!image->is_gone || recording->gone_count >= RECORDING_GONE ||
	    identities_find(&recording->gone, image->path))
		return;
	identities_remember(&recording->gone, image->path, ++recording->gone_count);
	snprintf(note, sizeof(note),
		 "'%s' was deleted or replaced while process %u had it mapped: its functions have "
		 "no "
		 "names, %s",
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

	if (head->size < sizeof(*record) || !id || id >= MODULES_MOST || !record->size_bytes)
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

/* ---- functions --------------------------------------------------------------------------------- */

bool stacks_take_function(struct stacks *stacks, const struct stacks_owner *owner,
			  const struct record *head)
{
	const struct record_python_code *record = (const struct record_python_code *)head;
	const char *at = (const char *)record + offsetof(struct record_python_code, texts);
	const char *name, *file;
	struct stack_function *function;
	uint8_t *lines;

	if (head->size < sizeof(*record) || !record->code || record->code > FUNCTIONS_MOST)
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

/* ---- stacks ------------------------------------------------------------------------------------ */

static const struct stack_module *module_of(const struct stacks *stacks, uint64_t frame)
{
	uint32_t id = (uint32_t)(frame >> RECORD_FRAME_MODULE_SHIFT) & (MODULES_MOST - 1);
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

/* Code of no file has its name from a file of its process, which may say it later. */
static uint32_t native_frame(const struct stacks *stacks, const struct stacks_owner *owner,
			     uint64_t frame)
{
	const struct stack_module *module = module_of(stacks, frame);
	uint64_t pc = frame & ((UINT64_C(1) << RECORD_FRAME_MODULE_SHIFT) - 1);
	struct event_frame row = {.type = FRAME_NATIVE};

	row.flags = frame & RECORD_FRAME_EXACT ? 0 : FRAME_RETURN;
	if (!module)
		return made_code_frame(owner->made, owner->recording, owner->process, pc,
				       row.flags);
	row.module_string = module->path_string;
	row.build_id_string = module->build_id_string;
	row.file_size_bytes = module->file_size_bytes;
	row.file_modified_ns = module->file_modified_ns;
	row.offset = pc - module->address + module->file_offset_bytes;
	return recording_frame(owner->recording, &row);
}

/* 0: no room. */
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

/* ---- Python's interpreter ---------------------------------------------------------------------- */

/* The evaluation is in a library, or in the program itself; there too is what makes it the program "python", which
 * a linker takes out of an archive only where it is called. */
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
	uint32_t python = (uint32_t)hash_map_get(&recording->pythons, key, PYTHON_NOT_ASKED);

	if (python == PYTHON_NOT_ASKED) {
		python = file->path ? look_at_python(pid, exe, file->path) : PYTHON_NONE;
		hash_map_put(&recording->pythons, key, python);
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

/* Where the functions of a stack begin and end; first > last: it has none. */
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

	if (head->size < sizeof(*record) || count > FRAMES_MOST ||
	    count > (head->size - sizeof(*record)) / 8 || !record->stack ||
	    record->stack > STACKS_MOST)
		return false;
	if (!grow(owner, (void **)&stacks->ids, &stacks->ids_capacity, record->stack,
		  sizeof(*stacks->ids)) ||
	    !take_room(owner, (uint64_t)count * NODE_BYTES))
		return refuse(owner);
	functions = find_functions(record);
	/* What is further out than the last frame. How many are missing is known only where the walk went on. */
	if (record->is_cut)
		stack = recording_stack(owner->recording, stack, truncated_id(owner, 0));
	if (record->truncated && record->kept >= count)
		stack = recording_stack(owner->recording, stack,
					truncated_id(owner, record->truncated));
	for (uint32_t i = count; i-- > 0;) {
		if (!is_left_out(stacks, owner, record->frames[i], i, functions)) {
			stack = recording_stack(owner->recording, stack,
						frame_id(stacks, owner, record->frames[i]));
			/* Without its outer frames it would be another stack. */
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

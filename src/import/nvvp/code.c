/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/code.c - modules, functions and places in the source of a file of nvprof
 *
 * Runs in:  our own process
 * Gets:     tables MODULE, FUNCTION, SOURCE_LOCATOR
 * Gives:    code objects with their cubins
 * Owns:     a list of the functions, with their offsets in the code objects
 * Fails:    -ENOMEM; -EBADMSG of SQLite
 * Why functions first: a sample names a function. Its module is read once, and only the offsets of
 *           its functions are kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "import/nvvp/import.h"
#include "import/target.h"
#include "symbol/device/cubin.h"

/* Functions and places beyond these numbers are left out: 4 MiB and 8 MiB. */
enum { FUNCTIONS_MAX = 1 << 16, LINES_MAX = 1 << 18 };

/* As for a live recording. */
#define MODULE_BYTES_MAX (16 << 20)

/* SQLite may need more than the largest module, for the row. */
#define LIMIT_BYTES (MODULE_BYTES_MAX + 4096)

/* ---- functions ---- */

enum { FUNCTION_ID, FUNCTION_CONTEXT, FUNCTION_MODULE, FUNCTION_NAME };
static const char *const function_columns[] = {"id", "contextId", "moduleId", "name"};

static int on_function(void *context, const struct sqlite_cursor *row)
{
	struct nvvp_code *code = &((struct nvvp *)context)->code;
	const uint64_t in = (uint64_t)sqlite_cursor_number(row, FUNCTION_CONTEXT);
	const uint64_t module = (uint64_t)sqlite_cursor_number(row, FUNCTION_MODULE);
	const uint32_t next = pair_map_find(&code->modules, in, module);
	const size_t index = code->functions_count;
	const struct nvvp_function function = {.name = sqlite_cursor_number(row, FUNCTION_NAME),
					       .next = next == PAIR_MAP_NONE ? 0 : next};
	int error;

	if (index >= FUNCTIONS_MAX) {
		code->functions_left_out++;
		return 0;
	}
	error = array_append(code->functions, code->functions_capacity, code->functions_count,
			     function);
	if (!error)
		error = hash_map_put(&code->by_id, (uint64_t)sqlite_cursor_number(row, FUNCTION_ID),
				     index);
	return error ? error : pair_map_put(&code->modules, in, module, (uint32_t)index + 1);
}

struct nvvp_function *nvvp_code_function(struct nvvp *nvvp, int64_t id)
{
	const uint64_t *index = hash_map_find(&nvvp->code.by_id, (uint64_t)id);

	return index ? &nvvp->code.functions[*index] : NULL;
}

uint32_t nvvp_code_of_kernel(const struct nvvp *nvvp, int64_t name)
{
	return (uint32_t)hash_map_get(&nvvp->code.by_name, (uint64_t)name, 0);
}

/* ---- modules ---- */

enum { MODULE_ID, MODULE_CONTEXT, MODULE_CUBIN };
static const char *const module_columns[] = {"id", "contextId", "cubin"};

/* The functions of a cubin by name. */
static int index_cubin(const struct cubin *cubin, struct string_table *names,
		       struct hash_map *by_name)
{
	const struct cubin_function *functions;
	const size_t count = cubin_functions(cubin, &functions);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const char *name = functions[i].name;
		const uint32_t id = *name ? string_table_add(names, name, strlen(name)) : 0;

		if (*name && !id)
			return -ENOMEM;
		error = id ? hash_map_put(by_name, id, i) : 0;
	}
	return error;
}

/* Sets the offset of a function that the cubin has. */
static int place_function(struct nvvp *nvvp, const struct cubin *cubin,
			  const struct string_table *names, const struct hash_map *by_name,
			  uint32_t code, struct nvvp_function *function)
{
	const struct cubin_function *functions;
	const char *name;
	const uint64_t *index;
	int error = import_strings_read(&nvvp->strings, function->name, &name);

	if (error || !*name)
		return error;
	index = hash_map_find(by_name, string_table_find(names, name, strlen(name)));
	if (!index)
		return 0;
	cubin_functions(cubin, &functions);
	function->offset = functions[*index].offset;
	function->size_bytes = functions[*index].size_bytes;
	function->code = code;
	return hash_map_put(&nvvp->code.by_name, (uint64_t)function->name, code);
}

static int place_functions(struct nvvp *nvvp, const struct cubin *cubin, uint32_t first,
			   uint32_t code)
{
	struct string_table names;
	struct hash_map by_name = {0};
	int error;

	string_table_init(&names);
	error = index_cubin(cubin, &names, &by_name);
	for (uint32_t i = first; i && !error; i = nvvp->code.functions[i - 1].next)
		error = place_function(nvvp, cubin, &names, &by_name, code,
				       &nvvp->code.functions[i - 1]);
	hash_map_fini(&by_name);
	string_table_fini(&names);
	return error;
}

static int on_module(void *context, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = context;
	const int64_t in = sqlite_cursor_number(row, MODULE_CONTEXT);
	const uint64_t module = (uint64_t)sqlite_cursor_number(row, MODULE_ID);
	uint32_t first;
	struct event_code code = {0};
	struct cubin *cubin;
	size_t size;
	const void *bytes = sqlite_cursor_bytes(row, MODULE_CUBIN, &size);
	int error;

	nvvp->code.too_large--;
	if (!size || !cubin_is(bytes, size) || cubin_open(bytes, size, &cubin)) {
		error_clear();
		nvvp->code.invalid++;
		return 0;
	}
	error = nvvp_machine_process(nvvp, nvvp->machine.pid, &code.process);
	if (!error)
		error = nvvp_machine_device_of(nvvp, in, &code.device);
	if (!error)
		error = import_target_binary(nvvp->target, bytes, size, &code);
	/* once for each module: many rows may have the same id */
	first = pair_map_remove(&nvvp->code.modules, (uint64_t)in, module);
	if (!error && first != PAIR_MAP_NONE)
		error = place_functions(nvvp, cubin, first, code.id);
	cubin_close(cubin);
	return error;
}

static int on_any_module(void *context, const struct sqlite_cursor *row)
{
	((struct nvvp *)context)->code.too_large++;
	return 0;
}

static int read_modules(struct nvvp *nvvp)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_MODULE";
	static const struct sqlite_query modules = {table, SQLITE_COLUMNS(module_columns, 3),
						    "ifnull(length(cubin), 0) <= 16777216", NULL};
	static const struct sqlite_query any = {
		table, {module_columns, MODULE_CUBIN, MODULE_CUBIN}, NULL, NULL};
	int error = nvvp_each_row(nvvp, &any, on_any_module, nvvp);

	if (error)
		return error;
	sqlite_file_set_limit(&nvvp->file, LIMIT_BYTES);
	error = nvvp_each_row(nvvp, &modules, on_module, nvvp);
	sqlite_file_set_limit(&nvvp->file, SQLITE_TEXT_BYTES_MAX);
	return error;
}

/* ---- places in the source ---- */

enum { LINE_ID, LINE_FILE, LINE_NUMBER };
static const char *const line_columns[] = {"id", "fileName", "lineNumber"};

static int on_line(void *context, const struct sqlite_cursor *row)
{
	struct nvvp_code *code = &((struct nvvp *)context)->code;
	const struct nvvp_line line = {sqlite_cursor_number(row, LINE_FILE),
				       sqlite_cursor_number(row, LINE_NUMBER)};

	if (code->lines_count >= LINES_MAX) {
		code->lines_left_out++;
		return 0;
	}
	return array_append(code->lines, code->lines_capacity, code->lines_count, line)
		       ? -ENOMEM
		       : hash_map_put(&code->line_by_id,
				      (uint64_t)sqlite_cursor_number(row, LINE_ID),
				      code->lines_count - 1);
}

const struct nvvp_line *nvvp_code_line(const struct nvvp *nvvp, int64_t id)
{
	const uint64_t *index = hash_map_find(&nvvp->code.line_by_id, (uint64_t)id);

	return index ? &nvvp->code.lines[*index] : NULL;
}

/* ---- all ---- */

int nvvp_code_read(struct nvvp *nvvp)
{
	static const struct sqlite_query functions = {"CUPTI_ACTIVITY_KIND_FUNCTION",
						      SQLITE_COLUMNS(function_columns, 3)};
	static const struct sqlite_query lines = {"CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR",
						  SQLITE_COLUMNS(line_columns, 3)};
	int error = nvvp_each_row(nvvp, &functions, on_function, nvvp);

	if (!error)
		error = nvvp_each_row(nvvp, &lines, on_line, nvvp);
	if (!error)
		error = read_modules(nvvp);
	import_target_note_count(nvvp->target, nvvp->code.functions_left_out, "row of FUNCTION",
				 "rows of FUNCTION", "left out: more than 65536");
	import_target_note_count(nvvp->target, nvvp->code.lines_left_out, "row of SOURCE_LOCATOR",
				 "rows of SOURCE_LOCATOR", "left out: more than 262144");
	import_target_note_count(nvvp->target, nvvp->code.too_large, "module", "modules",
				 "left out: the cubin is larger than 16 MiB");
	import_target_note_count(nvvp->target, nvvp->code.invalid, "module", "modules",
				 "without a valid cubin");
	return error;
}

void nvvp_code_close(struct nvvp *nvvp)
{
	struct nvvp_code *code = &nvvp->code;

	free(code->functions);
	free(code->lines);
	hash_map_fini(&code->by_id);
	hash_map_fini(&code->by_name);
	hash_map_fini(&code->line_by_id);
	pair_map_fini(&code->modules);
}

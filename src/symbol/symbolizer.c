/* SPDX-License-Identifier: MIT
 *
 * symbol/symbolizer.c - address to function, file, line and inlined callers
 *
 * Runs in:  our own process, in all commands that read a trace; one thread at a time
 * Gets:     mappings and addresses
 * Gives:    frames
 * Owns:     a file for each different program or library, opened at its first lookup, all results,
 *           and the notes
 * Fails:    -ENOMEM; every other failure gives an address without a name
 * Why results are kept: the addresses of a profile repeat, often 10,000 different ones in a million
 *           samples, and as long as results are kept the caller need not copy the texts
 */
#include "symbol/symbolizer.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/regular_file.h"
#include "base/hash.h"
#include "base/string.h"
#include "symbol/demangle.h"
#include "symbol/elf/build_id.h"
#include "symbol/elf/object.h"
#include "symbol/elf/units.h"
#include "symbol/elf/unwind_table.h"
#include "symbol/search.h"

#define VDSO       "[vdso]"
#define VDSO_LIMIT ((size_t)16384) /* max bytes read; it has one to three pages */

/* An open image takes a descriptor and 100 KiB. There are some hundred libraries at most, and
 * reopening one may take seconds. There is an image for every device kernel that a program builds,
 * and they are small. */
enum { MAX_IMAGES = 64 };

/* A program or library, independent of its mappings. */
struct file {
	const char *path, *build_id, *alternative; /* in the symbolizer's texts */
	uint64_t size_bytes, modified_ns;          /* used without a build id; 0: unknown */
	const void *image;                         /* borrowed; NULL: it is read from a path */
	size_t image_size;
	uint64_t used; /* an image: number of the last lookup */
	char *found_path;
	bool is_open, is_replaced, has_units, has_table;
	bool is_refused;            /* its build id is invalid: nothing is searched */
	struct object *object;      /* NULL: not found */
	struct units *units;        /* NULL: no debug information */
	struct unwind_table *table; /* with the functions that have no names; NULL: none */
	struct hash_map answers[2]; /* address -> struct symbol, by is_return_address */
};

struct symbol_module {
	struct file *file;
	uint64_t start, file_offset;
};

struct symbolizer {
	struct symbolizer_options options; /* its pointers are not used later */
	struct search search;
	struct demangler *demangler;
	struct arena arena;
	struct string_table texts;
	const char **functions; /* demangled name by id of the raw name */
	size_t function_capacity;
	struct hash_map name_ids; /* address of a name -> its id in texts */
	struct string_table file_keys, module_keys;
	struct file **files; /* by id - 1 */
	size_t file_count, file_capacity;
	struct symbol_module **modules; /* by id - 1 */
	size_t module_count, module_capacity;
	struct file *images[MAX_IMAGES]; /* borrowed; the open ones */
	size_t image_count;
	uint64_t questions; /* asked of images */
	const char **notes;
	size_t note_count, note_capacity;
};

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	int error;

	if (!symbolizer)
		return error_set(-ENOMEM, "symbolizer: out of memory");
	symbolizer->options = *options;
	error = search_init(&symbolizer->search, options->debug_folders,
			    options->debug_folder_count, options->archive, options->may_download);
	if (!error)
		error = demangler_new(&(struct demangle_options){.is_short = options->is_short},
				      &symbolizer->demangler);
	if (error) {
		symbolizer_free(symbolizer);
		return error_set(error, "symbolizer: out of memory");
	}
	*ret_symbolizer = symbolizer;
	return 0;
}

static void close_file(struct file *file)
{
	units_free(file->units);
	object_close(file->object);
	unwind_table_close(file->table);
	file->units = NULL;
	file->object = NULL;
	file->table = NULL;
	file->is_open = file->has_units = file->has_table = false;
}

static void file_free(struct file *file)
{
	close_file(file);
	hash_map_fini(&file->answers[0]);
	hash_map_fini(&file->answers[1]);
	free(file->found_path);
	free(file);
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->file_count; i++)
		file_free(symbolizer->files[i]);
	for (size_t i = 0; i < symbolizer->module_count; i++)
		free(symbolizer->modules[i]);
	free(symbolizer->files);
	free(symbolizer->modules);
	free(symbolizer->functions);
	free(symbolizer->notes);
	demangler_free(symbolizer->demangler);
	search_fini(&symbolizer->search);
	string_table_fini(&symbolizer->texts);
	hash_map_fini(&symbolizer->name_ids);
	string_table_fini(&symbolizer->file_keys);
	string_table_fini(&symbolizer->module_keys);
	arena_fini(&symbolizer->arena);
	free(symbolizer);
}

/* ---- notes ---- */

/* Without memory the note is missing. */
__attribute__((format(printf, 2, 3))) static void append_note(struct symbolizer *symbolizer,
							      const char *format, ...)
{
	char text[1024];
	const char *copy;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (size_t i = 0; i < symbolizer->note_count; i++) {
		if (strcmp(symbolizer->notes[i], text) == 0)
			return;
	}
	copy = arena_copy(&symbolizer->arena, text, strlen(text));
	if (copy &&
	    !array_grow(symbolizer->notes, symbolizer->note_capacity, symbolizer->note_count + 1))
		symbolizer->notes[symbolizer->note_count++] = copy;
}

size_t symbolizer_notes(const struct symbolizer *symbolizer, const char *const **ret_notes)
{
	*ret_notes = symbolizer->notes;
	return symbolizer->note_count;
}

/* ---- modules and their files ---- */

/* The text's copy; NULL stays NULL. */
static int keep_text(struct symbolizer *symbolizer, const char *text, const char **ret_text)
{
	uint32_t id = text ? string_table_add(&symbolizer->texts, text, strlen(text)) : 0;

	if (text && *text && !id)
		return -ENOMEM;
	*ret_text = text ? string_table_text(&symbolizer->texts, id, NULL) : NULL;
	return 0;
}

static int add_file(struct symbolizer *symbolizer, const struct symbol_mapping *mapping,
		    struct file **ret_file)
{
	struct file *file;

	if (array_grow(symbolizer->files, symbolizer->file_capacity, symbolizer->file_count + 1))
		return -ENOMEM;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	if (keep_text(symbolizer, mapping->path, &file->path) ||
	    keep_text(symbolizer, mapping->build_id, &file->build_id) ||
	    keep_text(symbolizer, mapping->alternative, &file->alternative)) {
		free(file);
		return -ENOMEM;
	}
	file->size_bytes = mapping->file_size_bytes;
	file->modified_ns = mapping->file_modified_ns;
	file->image = mapping->image;
	file->image_size = mapping->image_size;
	file->is_refused = !build_id_is_text(file->build_id);
	symbolizer->files[symbolizer->file_count++] = file;
	*ret_file = file;
	return 0;
}

/* The id of a key. *ret_is_new: it is the next free one. */
static uint32_t key_id(struct string_table *table, const struct string_builder *key,
		       bool *ret_is_new)
{
	uint32_t count = table->count;
	uint32_t id = key->error ? 0 : string_table_add(table, key->text, key->length);

	*ret_is_new = id > count;
	return id;
}

static int find_file(struct symbolizer *symbolizer, const struct symbol_mapping *mapping,
		     const struct string_builder *key, struct file **ret_file)
{
	bool is_new;
	uint32_t id = key_id(&symbolizer->file_keys, key, &is_new);

	if (!id)
		return -ENOMEM;
	/* an earlier file that ran out of memory has left a key without a file */
	while (symbolizer->file_count < id) {
		int error = add_file(symbolizer, mapping, ret_file);

		if (error)
			return error;
	}
	*ret_file = symbolizer->files[id - 1];
	return 0;
}

static int add_module(struct symbolizer *symbolizer, const struct symbol_mapping *mapping,
		      struct file *file, uint32_t id)
{
	while (symbolizer->module_count < id) {
		struct symbol_module *module;

		if (array_grow(symbolizer->modules, symbolizer->module_capacity,
			       symbolizer->module_count + 1))
			return -ENOMEM;
		module = malloc(sizeof(*module));
		if (!module)
			return -ENOMEM;
		*module = (struct symbol_module){file, mapping->start, mapping->file_offset};
		symbolizer->modules[symbolizer->module_count++] = module;
	}
	return 0;
}

int symbolizer_module(struct symbolizer *symbolizer, const struct symbol_mapping *mapping,
		      struct symbol_module **ret_module)
{
	struct string_builder key = {0};
	struct file *file;
	uint32_t id = 0;
	bool is_new;
	int error;

	string_builder_append_bytes(&key, mapping->path, strlen(mapping->path) + 1);
	string_builder_append_bytes(&key, mapping->build_id, strlen(mapping->build_id) + 1);
	string_builder_append_bytes(&key, &mapping->file_size_bytes,
				    sizeof(mapping->file_size_bytes));
	string_builder_append_bytes(&key, &mapping->file_modified_ns,
				    sizeof(mapping->file_modified_ns));
	string_builder_append_bytes(&key, &mapping->image, sizeof(mapping->image));
	if (mapping->alternative)
		string_builder_append(&key, mapping->alternative);
	error = find_file(symbolizer, mapping, &key, &file);
	string_builder_append_bytes(&key, &mapping->start, sizeof(mapping->start));
	string_builder_append_bytes(&key, &mapping->file_offset, sizeof(mapping->file_offset));
	if (!error) {
		id = key_id(&symbolizer->module_keys, &key, &is_new);
		error = id ? add_module(symbolizer, mapping, file, id) : -ENOMEM;
	}
	string_builder_fini(&key);
	if (error)
		return error_set(error, "symbolizer: out of memory");
	*ret_module = symbolizer->modules[id - 1];
	return 0;
}

/* ---- opening a file ---- */

/* The vdso is not in any file. Ours is the recorded one if the build ids agree; without a recorded
 * build id it is unknown. */
static void open_vdso(struct symbolizer *symbolizer, struct file *file)
{
	const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	char build_id[BUILD_ID_TEXT_SIZE];
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	size_t size;

	if (!image || image[EI_CLASS] != ELFCLASS64)
		return;
	/* its section headers come last */
	size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	if (size > VDSO_LIMIT || build_id_read_image(image, size, build_id) ||
	    strcmp(build_id, file->build_id) != 0)
		return;
	object_open(&symbolizer->search, NULL, image, size, build_id, &file->object);
}

static bool is_code(void *context, uint64_t address)
{
	const struct file *file = context;
	uint64_t bias;

	object_dwarf(file->object, &bias);
	return object_is_code(file->object, address + bias);
}

static void open_units(struct symbolizer *symbolizer, struct file *file)
{
	uint64_t bias;
	struct Dwarf *dwarf;

	file->has_units = true;
	if (!symbolizer->options.has_lines && !symbolizer->options.has_inlines)
		return;
	dwarf = object_dwarf(file->object, &bias);
	if (!dwarf || units_new(dwarf, is_code, file, &file->units))
		return;
	if (units_missing_split(file->units))
		append_note(symbolizer,
			    "'%s': inlined calls of %zu compilation units are unknown because "
			    "their .dwo "
			    "files are missing",
			    file->path, units_missing_split(file->units));
}

static void open_path(struct symbolizer *symbolizer, struct file *file)
{
	struct search_wanted wanted = {file->path, file->build_id, file->alternative,
				       file->size_bytes, file->modified_ns};
	int error =
		search_program(&symbolizer->search, &wanted, &file->found_path, &file->is_replaced);

	if (file->is_replaced && !*file->build_id)
		append_note(symbolizer, "'%s' has changed since the recording: %s", file->path,
			    error ? "it has no names"
				  : "names come from a copy of the recorded file");
	else if (file->is_replaced)
		append_note(
			symbolizer,
			"'%s' is not the file that was recorded (build id %s): names come from %s",
			file->path, file->build_id,
			error ? "a debug file of that build id, if one is found"
			      : "a copy of the recorded file");
	if (error && *file->build_id)
		error = search_debug(&symbolizer->search, file->path, file->build_id, NULL, 0,
				     &file->found_path);
	if (error)
		return;
	error = object_open(&symbolizer->search, file->found_path, NULL, 0, file->build_id,
			    &file->object);
	if (error)
		append_note(symbolizer, "'%s' cannot be read: %s", file->found_path,
			    strerror(-error));
}

/* If too many are open, replaces the least recently used one; its results stay. */
static void open_image(struct symbolizer *symbolizer, struct file *file)
{
	size_t place = 0;

	for (size_t i = 1; i < symbolizer->image_count; i++)
		if (symbolizer->images[i]->used < symbolizer->images[place]->used)
			place = i;
	if (symbolizer->image_count == MAX_IMAGES)
		close_file(symbolizer->images[place]);
	else
		place = symbolizer->image_count++;
	symbolizer->images[place] = file;
	object_open(&symbolizer->search, NULL, file->image, file->image_size, "", &file->object);
}

static void open_file(struct symbolizer *symbolizer, struct file *file)
{
	file->is_open = true;
	if (file->is_refused)
		/* it would become part of paths, ours and a client library's */
		append_note(symbolizer,
			    "'%s' has no names: the trace has an invalid build id for it",
			    file->path);
	else if (file->image)
		open_image(symbolizer, file);
	else if (strcmp(file->path, VDSO) == 0)
		open_vdso(symbolizer, file);
	else
		open_path(symbolizer, file);
}

/* ---- names ---- */

/* The id of a raw name, whose function is then known; 0: no memory. */
static uint32_t add_name(struct symbolizer *symbolizer, const char *name, size_t length)
{
	uint32_t id = string_table_add(&symbolizer->texts, name, length), function = 0;
	const char *raw_name = string_table_text(&symbolizer->texts, id, NULL);
	auto_free char *demangled = NULL;

	if (!id || array_grow(symbolizer->functions, symbolizer->function_capacity, (size_t)id + 1))
		return 0;
	if (symbolizer->functions[id])
		return id;
	demangled = demangler_find(symbolizer->demangler, raw_name);
	if (demangled)
		function = string_table_add(&symbolizer->texts, demangled, strlen(demangled));
	symbolizer->functions[id] =
		function ? string_table_text(&symbolizer->texts, function, NULL) : raw_name;
	return id;
}

/* The same by the name's address: texts of a file stay there, so that most need not be compared.
 * Texts of an image are freed with it. */
static uint32_t find_name(struct symbolizer *symbolizer, const struct file *file, const char *name,
			  size_t length)
{
	uint32_t id;

	if (file->image)
		return add_name(symbolizer, name, length);
	id = (uint32_t)hash_map_get(&symbolizer->name_ids, (uintptr_t)name, 0);
	if (id)
		return id;
	id = add_name(symbolizer, name, length);
	return id && hash_map_put(&symbolizer->name_ids, (uintptr_t)name, id) == 0 ? id : 0;
}

/* Sets the raw name and the demangled one. */
static int set_name(struct symbolizer *symbolizer, const struct file *file, const char *name,
		    size_t length, struct symbol_frame *frame)
{
	uint32_t id = length ? find_name(symbolizer, file, name, length) : 0;

	if (!id)
		return length ? -ENOMEM : 0;
	frame->raw_name = string_table_text(&symbolizer->texts, id, NULL);
	frame->function = symbolizer->functions[id];
	return 0;
}

/* "run.cold" is a piece of "run". */
static bool is_piece(const struct object_symbol *symbol, const char *name)
{
	size_t length = strlen(name);

	return symbol->length > length && memcmp(symbol->name, name, length) == 0 &&
	       symbol->name[length] == '.';
}

/* Device code has no unwind table of this machine, and the vdso has symbols. */
static void open_table(struct file *file)
{
	auto_close int fd = -1;

	file->has_table = true;
	if (file->image || !file->found_path)
		return;
	fd = regular_file_open(file->found_path);
	if (fd < 0 || unwind_table_open(fd, &file->table))
		file->table = NULL;
}

/* The start of a function without a name, by the unwind table, which stripped files keep. */
static void find_start(struct file *file, uint64_t address, struct symbol_frame *frame)
{
	struct unwind_part part;

	if (!file->has_table)
		open_table(file);
	frame->has_offset = file->table && unwind_table_find_part(file->table, address, &part);
	frame->offset = frame->has_offset ? part.begin : 0;
}

/* A function that is not inlined. A symbol that starts at the same address is preferred to the
 * DWARF name: it has a namespace even if DWARF has no linkage name, so a function has the same name
 * with and without debug information. */
static int name_outermost(struct symbolizer *symbolizer, struct file *file, uint64_t address,
			  const char *name, uint64_t start, struct symbol_frame *frame)
{
	struct object_symbol symbol;
	bool has_symbol = object_find_symbol(file->object, name ? start : address, &symbol);

	if (!name && has_symbol) {
		frame->has_offset = true;
		frame->offset = symbol.start; /* the start for now; answer makes it an offset */
	}
	if (has_symbol && (!name || (symbol.start == start && !is_piece(&symbol, name))))
		return set_name(symbolizer, file, symbol.name, symbol.length, frame);
	if (name)
		return set_name(symbolizer, file, name, strlen(name), frame);
	find_start(file, address, frame);
	return 0;
}

static int set_file(struct symbolizer *symbolizer, const struct file *file,
		    const struct unit_frame *from, struct symbol_frame *frame)
{
	struct string_builder path = {0};
	int error;

	frame->line = from->line;
	frame->column = from->column;
	frame->file = from->file;
	if (!from->file || from->file[0] == '/' || !from->folder)
		return file->image ? keep_text(symbolizer, from->file, &frame->file) : 0;
	string_builder_appendf(&path, "%s/%s", from->folder, from->file);
	error = path.error ? -ENOMEM
			   : keep_text(symbolizer, string_builder_text(&path), &frame->file);
	string_builder_fini(&path);
	return error;
}

static int fill_frame(struct symbolizer *symbolizer, struct file *file, uint64_t address,
		      const struct unit_frame *from, struct symbol_frame *frame)
{
	const char *name = from->linkage_name ? from->linkage_name : from->name;
	int error = symbolizer->options.has_lines ? set_file(symbolizer, file, from, frame) : 0;

	frame->is_inlined = from->is_inlined;
	frame->offset = from->start;
	frame->has_offset = from->start != 0;
	if (error)
		return error;
	if (!from->is_inlined)
		return name_outermost(symbolizer, file, address, name, from->start, frame);
	return name ? set_name(symbolizer, file, name, strlen(name), frame) : 0;
}

/* ---- lookups ---- */

static void use_file(struct symbolizer *symbolizer, struct file *file)
{
	if (file->image)
		file->used = ++symbolizer->questions;
	if (!file->is_open)
		open_file(symbolizer, file);
}

static int find_frames(struct symbolizer *symbolizer, struct file *file, uint64_t address,
		       struct symbol_frame frames[UNIT_FRAMES], size_t *ret_count)
{
	struct unit_frame found[UNIT_FRAMES];
	uint64_t bias = 0;
	size_t count = 0;
	int error = 0;

	if (!file->has_units)
		open_units(symbolizer, file);
	if (file->units) {
		object_dwarf(file->object, &bias);
		count = units_find(file->units, address - bias, symbolizer->options.has_inlines,
				   found);
	}
	for (size_t i = 0; i < count && !error; i++) {
		found[i].start += found[i].start ? bias : 0;
		frames[i] = (struct symbol_frame){0};
		error = fill_frame(symbolizer, file, address, &found[i], &frames[i]);
	}
	if (!count) {
		frames[0] = (struct symbol_frame){0};
		error = name_outermost(symbolizer, file, address, NULL, 0, &frames[0]);
	}
	*ret_count = count ? count : 1;
	return error;
}

static int make_answer(struct symbolizer *symbolizer, struct file *file, uint64_t address,
		       bool is_return_address, bool has_address, struct symbol *symbol)
{
	struct symbol_frame frames[UNIT_FRAMES] = {{0}}, *kept;
	size_t count = 1;
	int error = 0;

	if (file->object && has_address)
		error = find_frames(symbolizer, file, address - is_return_address, frames, &count);
	kept = error ? NULL : arena_alloc(&symbolizer->arena, count * sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		kept[i] = frames[i];
		kept[i].offset = frames[i].has_offset ? address - frames[i].offset : 0;
	}
	*symbol = (struct symbol){kept, count, file->path, address};
	return 0;
}

static int find_answer(struct symbolizer *symbolizer, struct file *file, uint64_t address,
		       bool is_return_address, bool has_address, struct symbol *ret_symbol)
{
	struct hash_map *answers = &file->answers[is_return_address];
	struct symbol *symbol = hash_map_find_pointer(answers, address);
	int error = 0;

	if (!symbol) {
		symbol = arena_alloc(&symbolizer->arena, sizeof(*symbol));
		if (!symbol)
			error = -ENOMEM;
		else
			error = make_answer(symbolizer, file, address, is_return_address,
					    has_address, symbol);
		if (error)
			return error_set(error, "symbolizer: out of memory");
		hash_map_put_pointer(answers, address, symbol);
	}
	*ret_symbol = *symbol;
	return 0;
}

int symbolizer_lookup_vaddr(struct symbolizer *symbolizer, struct symbol_module *module,
			    uint64_t vaddr, bool is_return_address, struct symbol *ret_symbol)
{
	use_file(symbolizer, module->file);
	return find_answer(symbolizer, module->file, vaddr, is_return_address, true, ret_symbol);
}

int symbolizer_lookup(struct symbolizer *symbolizer, struct symbol_module *module, uint64_t address,
		      bool is_return_address, struct symbol *ret_symbol)
{
	struct file *file = module->file;
	uint64_t offset = address - module->start + module->file_offset, vaddr = offset;
	bool has_address = false;

	use_file(symbolizer, file);
	/* a return address may be the first byte after a segment */
	if (file->object &&
	    !object_offset_to_address(file->object, offset - is_return_address, &vaddr)) {
		vaddr += is_return_address;
		has_address = true;
	}
	return find_answer(symbolizer, file, vaddr, is_return_address, has_address, ret_symbol);
}

void symbolizer_source(struct symbolizer *symbolizer, struct symbol_module *module,
		       struct symbol_source *ret_source)
{
	struct file *file = module->file;

	use_file(symbolizer, file);
	if (file->object && !file->has_units)
		open_units(symbolizer, file);
	*ret_source = (struct symbol_source){
		.path = file->object ? file->found_path : NULL,
		.debug_path = file->object ? object_debug_path(file->object) : NULL,
		.is_replaced = file->is_replaced,
		.has_lines = file->units != NULL,
	};
}

size_t symbol_format(const struct symbol *symbol, size_t frame_index, char *text, size_t size)
{
	const struct symbol_frame *frame = &symbol->frames[frame_index];
	const char *slash = strrchr(symbol->module_path, '/');
	const char *name = slash ? slash + 1 : symbol->module_path;
	bool has_brackets = name[0] == '[';
	int length;

	if (frame->function)
		length = snprintf(text, size, "%s", frame->function);
	else
		length = snprintf(text, size, "%s%s%s+0x%" PRIx64, has_brackets ? "" : "[", name,
				  has_brackets ? "" : "]", symbol->address - frame->offset);
	return length < 0 ? 0 : (size_t)length;
}

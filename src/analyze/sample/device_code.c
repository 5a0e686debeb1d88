/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/device_code.c - finds instruction text, function and source line for an offset in
 * device code
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     code objects whose bytes the trace contains
 * Gives:    texts
 * Owns:     the opened code objects and all texts; a disassembler for each processor type
 * Fails:    -ENOMEM; a code object without bytes gives only the offset
 * Why from the trace: the file of the code object was in a compiler's cache. It may be deleted or
 *           replaced when the trace is read.
 */
#include "analyze/sample/device_code.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/string.h"
#include "isa/isa.h"
#include "symbol/device/cubin.h"
#include "symbol/device/zebin.h"
#include "symbol/symbolizer.h"
#include "trace/reader.h"

enum { MAX_FUNCTION_BYTES = 1 << 20, MAX_SOURCE_LINE = 200, SASS_BYTES = 16 };

/* The starts of the instructions of one function, decoded on demand. */
struct listing {
	uint64_t begin, end; /* offsets in the code object; [begin, end) is decoded */
	uint32_t *starts;    /* owned; from begin */
	size_t count, capacity;
};

struct object {
	const uint8_t *bytes; /* in the trace; NULL: the trace has none */
	size_t size;
	const char *name;
	struct isa *isa;              /* owned by device_code */
	struct symbol_module *module; /* NULL: no symbols */
	struct zebin *zebin;          /* owned; NULL: not a zebin */
	struct cubin *cubin;          /* owned; NULL: not a cubin */
	void *image; /* owned; the linked image of a zebin, which the symbolizer reads */
	size_t image_size;
	struct listing *listings;
	size_t listings_count, listings_capacity;
	const char *source; /* source text in the trace; NULL: unknown, or several texts */
	size_t source_size;
	size_t *lines; /* owned; offsets of the source's lines; NULL until the first lookup */
	size_t line_count, line_capacity;
};

/* A disassembler, shared by all code objects for the same processor, because each takes 1 MiB. */
struct disassembler {
	enum isa_type type;
	const char *processor; /* static text or in texts; NULL: not known or not needed */
	struct isa *isa;       /* owned */
};

struct device_code {
	const struct model *model; /* borrowed */
	struct symbolizer *symbolizer;
	struct arena texts;
	struct disassembler *disassemblers;
	size_t disassemblers_count, disassemblers_capacity;
	struct hash_map objects; /* content, or code id without one -> struct object *, owned */
	struct hash_map sources; /* process and name of a kernel -> its program's id; 0: several */
	const char *why;         /* in texts */
};

static uint64_t kernel_key(const struct event_code *row)
{
	return (uint64_t)row->process << 32 | row->name_string;
}

/* Maps each kernel to its program's source. */
static int index_sources(struct device_code *code)
{
	const struct event_code *rows;
	size_t count = model_entities(code->model, EVENT_CODE, &rows);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		uint64_t key = kernel_key(&rows[i]), known;

		if (rows[i].type != CODE_KERNEL || !rows[i].name_string)
			continue;
		known = hash_map_get(&code->sources, key, rows[i].parent);
		error = hash_map_put(&code->sources, key, known == rows[i].parent ? known : 0);
	}
	return error;
}

int device_code_new(const struct model *model, struct device_code **ret_code)
{
	const struct symbolizer_options options = {.has_lines = true, .has_inlines = true};
	struct device_code *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	code->model = model;
	if (symbolizer_new(&options, &code->symbolizer) || index_sources(code)) {
		device_code_free(code);
		return -ENOMEM;
	}
	*ret_code = code;
	return 0;
}

static void object_free(struct object *object)
{
	for (size_t i = 0; i < object->listings_count; i++)
		free(object->listings[i].starts);
	free(object->listings);
	zebin_close(object->zebin);
	cubin_close(object->cubin);
	free(object->image);
	free(object->lines);
	free(object);
}

void device_code_free(struct device_code *code)
{
	size_t cursor = 0;
	uint64_t value;

	if (!code)
		return;
	symbolizer_free(code->symbolizer);
	while (hash_map_next(&code->objects, &cursor, NULL, &value))
		object_free((struct object *)(uintptr_t)value);
	hash_map_fini(&code->objects);
	hash_map_fini(&code->sources);
	for (size_t i = 0; i < code->disassemblers_count; i++)
		isa_free(code->disassemblers[i].isa);
	free(code->disassemblers);
	arena_fini(&code->texts);
	free(code);
}

static const char *keep_text(struct device_code *code, const char *text)
{
	const char *kept = arena_copy(&code->texts, text, strlen(text));

	return kept ? kept : "";
}

/* ---- code objects ---------------------------------------------------------------------------- */

static struct disassembler kind_of(const struct object *object)
{
	struct disassembler kind = {.type = ISA_UNKNOWN};
	const uint8_t *bytes = object->bytes;
	Elf64_Ehdr head;

	if (object->zebin) {
		const struct zebin_target target = zebin_target(object->zebin);

		kind.type = ISA_XE;
		kind.processor = isa_xe_generation(target.ip_version, target.core_family);
		return kind;
	}
	if (object->cubin) {
		kind.type = ISA_SASS;
		kind.processor = cubin_target(object->cubin);
		return kind;
	}
	if (object->size < sizeof(head))
		return kind;
	memcpy(&head, bytes, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return kind;
	kind.type = head.e_machine == EM_X86_64    ? ISA_X86_64
		    : head.e_machine == EM_AARCH64 ? ISA_ARM64
		    : head.e_machine == EM_AMDGPU  ? ISA_AMDGPU
						   : ISA_UNKNOWN;
	if (kind.type == ISA_AMDGPU)
		kind.processor = isa_amdgpu_processor(head.e_flags);
	return kind;
}

/* Opens the symbols of the object. If that fails, functions are named only by a cubin's own
 * tables. */
static void open_symbols(struct device_code *code, struct object *object)
{
	const struct symbol_mapping mapping = {
		.path = object->name,
		.build_id = "",
		.image = object->image ? object->image : object->bytes,
		.image_size = object->image ? object->image_size : object->size};

	if (symbolizer_module(code->symbolizer, &mapping, &object->module))
		object->module = NULL;
}

/* Finds the source of the kernel's program, if it is a single text. */
static void find_source(const struct device_code *code, const struct event_code *binary,
			struct object *object)
{
	uint64_t id = hash_map_get(&code->sources, kernel_key(binary), 0);
	const struct event_code *source =
		id ? model_entity(code->model, EVENT_CODE, (uint32_t)id) : NULL;

	if (source && source->type == CODE_SOURCE)
		object->source = trace_reader_content(code->model->reader, source->hash_low,
						      source->hash_high, &object->source_size);
}

static void note_why(struct device_code *code, const struct object *object)
{
	const char *why = isa_why(object->isa);

	if (why && !code->why)
		code->why = keep_text(code, why);
}

static bool is_same_kind(const struct disassembler *a, const struct disassembler *b)
{
	if (a->type != b->type || !a->processor || !b->processor)
		return a->type == b->type && a->processor == b->processor;
	return strcmp(a->processor, b->processor) == 0;
}

static int open_isa(struct device_code *code, struct object *object)
{
	struct disassembler kind = kind_of(object);

	for (size_t i = 0; i < code->disassemblers_count && !object->isa; i++)
		if (is_same_kind(&code->disassemblers[i], &kind))
			object->isa = code->disassemblers[i].isa;
	if (object->isa)
		return 0;
	if (array_grow(code->disassemblers, code->disassemblers_capacity,
		       code->disassemblers_count + 1) ||
	    isa_new(kind.type, kind.processor, &kind.isa))
		return -ENOMEM;
	if (kind.processor)
		kind.processor = keep_text(code, kind.processor);
	code->disassemblers[code->disassemblers_count++] = kind;
	object->isa = kind.isa;
	return 0;
}

/* A damaged zebin is treated as bytes of unknown content. */
static int open_zebin(struct object *object)
{
	int error;

	if (!zebin_is(object->bytes, object->size))
		return 0;
	error = zebin_open(object->bytes, object->size, &object->zebin);
	if (!error)
		error = zebin_link(object->zebin, &object->image, &object->image_size);
	return error == -ENOMEM ? error : 0;
}

static int open_cubin(struct object *object)
{
	int error;

	if (!cubin_is(object->bytes, object->size))
		return 0;
	error = cubin_open(object->bytes, object->size, &object->cubin);
	return error == -ENOMEM ? error : 0;
}

static int open_object(struct device_code *code, const struct event_code *row,
		       struct object *object)
{
	char name[40];

	if (!row)
		return 0;
	object->bytes = trace_reader_content(code->model->reader, row->hash_low, row->hash_high,
					     &object->size);
	find_source(code, row, object);
	if (!object->bytes)
		return 0;
	snprintf(name, sizeof(name), "%016llx%016llx", (unsigned long long)row->hash_high,
		 (unsigned long long)row->hash_low);
	object->name = keep_text(code, name);
	if (open_zebin(object) || open_cubin(object) || open_isa(code, object))
		return -ENOMEM;
	note_why(code, object);
	if (!object->cubin)
		open_symbols(code, object);
	return 0;
}

/* The key is the content's hash, because each process has its own code row for the same content. */
static uint64_t object_key(const struct event_code *row, uint32_t id)
{
	return row && (row->hash_low || row->hash_high) ? row->hash_low ^ row->hash_high : id;
}

/* A kernel's bytes are in its parent, the code object. */
static const struct event_code *find_binary(const struct device_code *code, uint32_t *id)
{
	const struct event_code *row = *id ? model_entity(code->model, EVENT_CODE, *id) : NULL;

	if (!row || row->type != CODE_KERNEL || !row->parent)
		return row;
	*id = row->parent;
	return model_entity(code->model, EVENT_CODE, row->parent);
}

static int find_object(struct device_code *code, uint32_t id, struct object **ret_object)
{
	const struct event_code *row = find_binary(code, &id);
	uint64_t key = object_key(row, id);
	struct object *object = hash_map_find_pointer(&code->objects, key);
	int error;

	if (!object) {
		object = calloc(1, sizeof(*object));
		if (!object)
			return -ENOMEM;
		object->name = "";
		error = open_object(code, row, object);
		if (error || hash_map_put_pointer(&code->objects, key, object)) {
			object_free(object);
			return -ENOMEM;
		}
	}
	*ret_object = object;
	return 0;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static struct listing *find_listing(struct object *object, uint64_t begin)
{
	struct listing *listing;

	for (size_t i = 0; i < object->listings_count; i++)
		if (object->listings[i].begin == begin)
			return &object->listings[i];
	if (array_grow(object->listings, object->listings_capacity, object->listings_count + 1))
		return NULL;
	listing = &object->listings[object->listings_count++];
	*listing = (struct listing){.begin = begin, .end = begin};
	return listing;
}

/* Decodes up to `offset`. Instructions have different lengths, so decoding must start at the
 * function's begin. */
static int list_until(struct object *object, struct listing *listing, uint64_t offset)
{
	while (listing->end <= offset) {
		size_t length;

		if (array_grow(listing->starts, listing->capacity, listing->count + 1))
			return -ENOMEM;
		if (isa_decode(object->isa, object->bytes + listing->end,
			       object->size - listing->end, 0, NULL, 0, &length))
			return -ENOMEM;
		listing->starts[listing->count++] = (uint32_t)(listing->end - listing->begin);
		listing->end += length;
	}
	return 0;
}

static uint64_t start_in(const struct listing *listing, uint64_t offset)
{
	size_t low = 0, high = listing->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (listing->begin + listing->starts[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return listing->begin + listing->starts[low];
}

/* Finds the start of the instruction at `offset`. before: number of bytes from the function's begin
 * to the offset. */
static int find_start(struct object *object, uint64_t offset, uint64_t before, uint64_t *ret_start)
{
	struct listing *listing;

	*ret_start = offset;
	if (!before || before > offset || before > MAX_FUNCTION_BYTES)
		return 0;
	listing = find_listing(object, offset - before);
	if (!listing || list_until(object, listing, offset))
		return -ENOMEM;
	*ret_start = start_in(listing, offset);
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int index_lines(struct object *object)
{
	const char *text = object->source;
	size_t at = 0;

	while (at < object->source_size) {
		const char *end = memchr(text + at, '\n', object->source_size - at);

		if (array_append(object->lines, object->line_capacity, object->line_count, at))
			return -ENOMEM;
		at = end ? (size_t)(end - text) + 1 : object->source_size;
	}
	return 0;
}

/* The text of a source line. NULL if there is no such line, if it is empty, or if it is the last
 * and has no newline, because the source may be cut there. */
static const char *source_line(struct device_code *code, struct object *object, uint32_t line)
{
	const char *at, *end = object->source + object->source_size, *stop;
	char text[MAX_SOURCE_LINE];

	if (!object->source || (!object->lines && index_lines(object)) || !line ||
	    line > object->line_count)
		return NULL;
	at = object->source + object->lines[line - 1];
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	if (!stop || stop == at)
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)(stop - at), at);
	return keep_text(code, text);
}

/* Whether `file` is the program's own text. PoCL passes it to its compiler as tempfile_a1B2c3.cl;
 * other names are headers. */
static bool is_program_text(const char *file)
{
	return strncmp(path_base(file), "tempfile", strlen("tempfile")) == 0;
}

/* The kernel at an offset of a zebin, which needs no symbols; NULL: none, or not a zebin. */
static const struct zebin_kernel *find_kernel(const struct object *object, uint64_t offset)
{
	const struct zebin_kernel *kernels;
	size_t count = object->zebin ? zebin_kernels(object->zebin, &kernels) : 0;

	for (size_t i = 0; i < count; i++)
		if (offset >= kernels[i].offset &&
		    offset - kernels[i].offset < kernels[i].size_bytes)
			return &kernels[i];
	return NULL;
}

/* Number of bytes from the function's begin to the offset; 0 also if not known. */
static uint64_t bytes_before(const struct object *object, const struct symbol *symbol,
			     uint64_t offset)
{
	const struct symbol_frame *outer = &symbol->frames[symbol->frame_count - 1];
	const struct zebin_kernel *kernel;

	if (outer->has_offset)
		return outer->offset;
	kernel = find_kernel(object, offset);
	return kernel ? offset - kernel->offset : 0;
}

/* Sets function, file and line of a place. Code without a line gets only its function. */
static void name_place(struct device_code *code, struct object *object, const struct symbol *symbol,
		       struct device_place *place)
{
	const struct symbol_frame *inner = &symbol->frames[0];

	place->address = symbol->address;
	place->function = inner->function ? inner->function : "";
	if (!inner->function && find_kernel(object, place->offset))
		place->function = find_kernel(object, place->offset)->name;
	if (!inner->file || !inner->line)
		return;
	place->file = inner->file;
	place->line = inner->line;
	if (is_program_text(inner->file))
		place->source = source_line(code, object, inner->line);
}

/* Disassembles the instruction. note_why runs after each one, because the disassembler may give up
 * at any time. */
static int decode_instruction(struct device_code *code, struct object *object,
			      struct device_place *place)
{
	const struct zebin_kernel *kernel = find_kernel(object, place->offset);
	const struct cubin_function *function =
		object->cubin ? cubin_function_at(object->cubin, place->offset) : NULL;
	size_t length, size = object->size - place->offset;
	char text[ISA_TEXT_SIZE];

	/* the disassembler may read ahead, but only in the same function */
	if (function)
		size = function->offset + function->size_bytes - place->offset;
	/* disassemblers of a zebin count from each kernel's begin */
	if (kernel)
		place->address = place->offset - kernel->offset;

	if (isa_decode(object->isa, object->bytes + place->offset, size, place->address, text,
		       sizeof(text), &length))
		return -ENOMEM;
	note_why(code, object);
	place->text = keep_text(code, text);
	return 0;
}

/* The address counts from the function's begin. All instructions have the same length. */
static void find_in_cubin(struct object *object, struct device_place *place)
{
	const struct cubin_function *function = cubin_function_at(object->cubin, place->offset);

	if (!function)
		return;
	place->address = (place->offset - function->offset) / SASS_BYTES * SASS_BYTES;
	place->offset = function->offset + place->address;
	place->function = function->name;
	if (!cubin_find_line(object->cubin, place->offset, &place->file, &place->line))
		place->file = NULL;
}

int device_code_find(struct device_code *code, uint32_t id, uint64_t offset,
		     struct device_place *ret_place)
{
	struct device_place place = {
		.text = "", .name = "", .function = "", .offset = offset, .address = offset};
	struct object *object;
	struct symbol symbol;
	int error = find_object(code, id, &object);

	if (error)
		return error;
	place.name = object->name;
	if (!object->bytes || offset >= object->size) {
		*ret_place = place;
		return 0;
	}
	if (object->cubin)
		find_in_cubin(object, &place);
	if (object->module) {
		if (symbolizer_lookup(code->symbolizer, object->module, offset, false, &symbol))
			return -ENOMEM;
		error = find_start(object, offset, bytes_before(object, &symbol, offset),
				   &place.offset);
		if (error)
			return error;
		name_place(code, object, &symbol, &place);
		place.address -= offset - place.offset;
	}
	error = decode_instruction(code, object, &place);
	if (!error)
		*ret_place = place;
	return error;
}

const char *device_code_why(const struct device_code *code)
{
	return code->why;
}

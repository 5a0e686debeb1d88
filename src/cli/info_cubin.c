/* SPDX-License-Identifier: MIT
 *
 * cli/info_cubin.c - what is in a code object of NVIDIA's: functions, sizes, instructions, lines
 *
 * Runs in:  our own process
 * Gets:     its bytes   Gives: text, or JSON "duet.info/1" with the key code_object
 * Owns:     a disassembler
 * Fails:    one that is damaged is status 1
 */
#include "cli/info_cubin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/format.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/info_instruction.h"
#include "isa/isa.h"
#include "symbol/cubin.h"

struct cubin_file {
	const char *path;
	const uint8_t *bytes; /* borrowed */
	size_t size;
	struct cubin *cubin; /* owned */
	struct isa *isa;     /* owned */
};

/* What is known of a function beside its code. */
struct need {
	const char *key, *text;
	size_t offset; /* of a uint32_t in struct cubin_function; 0 in it: not said */
};

static const struct need needs[] = {
	{"registers", "registers", offsetof(struct cubin_function, registers)},
	{"shared_bytes", "bytes of shared memory", offsetof(struct cubin_function, shared_bytes)},
	{"stack_bytes", "bytes of stack", offsetof(struct cubin_function, stack_bytes)},
};

static uint32_t need_of(const struct cubin_function *function, const struct need *need)
{
	uint32_t value;

	memcpy(&value, (const char *)function + need->offset, sizeof(value));
	return value;
}

static int read_instruction(struct cubin_file *file, const struct cubin_function *function,
			    uint64_t offset, struct info_instruction *ret)
{
	ret->offset = offset;
	if (!cubin_find_line(file->cubin, function->offset + offset, &ret->file, &ret->line))
		ret->file = NULL;
	return isa_decode(file->isa, file->bytes + function->offset + offset,
			  function->size_bytes - offset, offset, ret->text, sizeof(ret->text),
			  &ret->length);
}

/* ---- text -------------------------------------------------------------------------------------- */

static int print_function(struct cubin_file *file, const struct cubin_function *function)
{
	struct info_instruction one = {0};
	int error;

	printf("\n%s%s\n  at 0x%" PRIx64 ", %" PRIu64 " bytes of code",
	       format_text(function->name).text, function->is_kernel ? "" : " (called)",
	       function->offset, function->size_bytes);
	for (size_t i = 0; i < ARRAY_COUNT(needs); i++)
		if (need_of(function, &needs[i]))
			printf(", %s %" PRIu32, needs[i].text, need_of(function, &needs[i]));
	printf("\n\n");
	for (uint64_t at = 0; at < function->size_bytes; at += one.length) {
		error = read_instruction(file, function, at, &one);
		if (error)
			return error;
		info_instruction_print(&one);
	}
	return 0;
}

static size_t count_kernels(const struct cubin_function *functions, size_t count)
{
	size_t kernels = 0;

	for (size_t i = 0; i < count; i++)
		kernels += functions[i].is_kernel;
	return kernels;
}

static int print_text(struct cubin_file *file)
{
	const struct cubin_function *functions;
	size_t count = cubin_functions(file->cubin, &functions);
	int error = 0;

	printf("file      %s\n", format_text(file->path).text);
	printf("code      of an NVIDIA GPU: %s; %zu bytes\n", cubin_target(file->cubin),
	       file->size);
	printf("decoded   %s%s\n", isa_library(file->isa) ? "by " : "",
	       isa_library(file->isa) ? isa_library(file->isa) : isa_why(file->isa));
	printf("kernels   %zu\n", count_kernels(functions, count));
	for (size_t i = 0; i < count && !error; i++)
		error = print_function(file, &functions[i]);
	return error;
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static int write_instructions(struct cubin_file *file, const struct cubin_function *function,
			      struct json_writer *json)
{
	struct info_instruction one = {0};
	int error;

	json_key(json, "instructions");
	json_array_begin(json);
	for (uint64_t at = 0; at < function->size_bytes; at += one.length) {
		error = read_instruction(file, function, at, &one);
		if (error)
			return error;
		info_instruction_write(&one, json);
	}
	json_array_end(json);
	return 0;
}

static int write_function(struct cubin_file *file, const struct cubin_function *function,
			  struct json_writer *json)
{
	int error;

	json_newline(json);
	json_object_begin(json);
	json_pair_text(json, "name", function->name);
	json_key(json, "is_kernel");
	json_bool(json, function->is_kernel);
	json_pair_u64(json, "offset", function->offset);
	json_pair_u64(json, "size_bytes", function->size_bytes);
	json_pair_u64(json, "code_bytes", function->size_bytes);
	for (size_t i = 0; i < ARRAY_COUNT(needs); i++)
		if (need_of(function, &needs[i]))
			json_pair_u64(json, needs[i].key, need_of(function, &needs[i]));
	error = write_instructions(file, function, json);
	json_object_end(json);
	return error;
}

static int print_json(struct cubin_file *file)
{
	const struct cubin_function *functions;
	size_t count = cubin_functions(file->cubin, &functions);
	struct json_writer json;
	int error = 0;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.info/1");
	json_pair_text(&json, "file", file->path);
	json_pair_u64(&json, "size_bytes", file->size);
	json_key(&json, "code_object");
	json_object_begin(&json);
	json_pair_text(&json, "vendor", "NVIDIA");
	json_pair_text(&json, "generation", cubin_target(file->cubin));
	if (isa_library(file->isa))
		json_pair_text(&json, "decoder", isa_library(file->isa));
	if (isa_why(file->isa))
		json_pair_text(&json, "why", isa_why(file->isa));
	json_key(&json, "kernels");
	json_array_begin(&json);
	for (size_t i = 0; i < count && !error; i++)
		error = write_function(file, &functions[i], &json);
	json_array_end(&json);
	json_object_end(&json);
	json_object_end(&json);
	printf("\n");
	return error;
}

int info_cubin(const char *path, const void *bytes, size_t size, bool is_json)
{
	struct cubin_file file = {.path = path, .bytes = bytes, .size = size};
	int error = cubin_open(bytes, size, &file.cubin);

	if (error)
		return error_note(error, "read '%s'", path);
	error = isa_new(ISA_SASS, cubin_target(file.cubin), &file.isa);
	if (!error)
		error = is_json ? print_json(&file) : print_text(&file);
	isa_free(file.isa);
	cubin_close(file.cubin);
	return error;
}

/* SPDX-License-Identifier: MIT
 *
 * cli/info/object.c - print a code object of any vendor for `duet info`
 *
 * Runs in:  our own process
 * Gets:     its kernels and a disassembler
 * Gives:    text, or JSON "duet.info/1" with the key code_object
 * Owns:     nothing
 * Fails:    -errno of the disassembler or of the line table
 */
#include "cli/info/info.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/format.h"
#include "base/json.h"
#include "base/string.h"
#include "isa/isa.h"

enum { LINE_WIDTH = 24 };

struct instruction {
	uint64_t offset; /* from the kernel's start */
	size_t length;
	char text[ISA_TEXT_SIZE];
	const char *file; /* NULL: not known */
	uint32_t line;
};

/* Decodes the instruction at `offset` in the kernel. An instruction that exceeds the kernel's end
 * is printed as bytes. */
static int read_instruction(const struct info_object *object, const struct info_kernel *kernel,
			    uint64_t offset, struct instruction *ret)
{
	int error = isa_decode(object->isa, kernel->code + offset, kernel->code_bytes - offset,
			       offset, ret->text, sizeof(ret->text), &ret->length);

	ret->offset = offset;
	return error ? error
		     : object->find_line(object->context, kernel->offset + offset, &ret->file,
					 &ret->line);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_instruction(const struct instruction *instruction)
{
	char place[512] = "";

	if (instruction->file)
		snprintf(place, sizeof(place), "%s:%" PRIu32, path_base(instruction->file),
			 instruction->line);
	printf("  0x%04" PRIx64 "  %-*s %s\n", instruction->offset, LINE_WIDTH,
	       format_text(place).text, instruction->text);
}

static int print_kernel(const struct info_object *object, const struct info_kernel *kernel)
{
	struct instruction one = {0};
	int error;

	printf("\n%s%s\n  at 0x%" PRIx64 ", %" PRIu64 " bytes of code",
	       format_text(kernel->name).text, kernel->is_called ? " (called)" : "", kernel->offset,
	       kernel->code_bytes);
	if (kernel->size_bytes != kernel->code_bytes)
		printf(" in %" PRIu64, kernel->size_bytes);
	for (size_t i = 0; i < ARRAY_COUNT(kernel->facts); i++)
		if (kernel->facts[i].value)
			printf(", %s %" PRIu32, kernel->facts[i].text, kernel->facts[i].value);
	printf("\n\n");
	for (uint64_t at = 0; at < kernel->code_bytes; at += one.length) {
		error = read_instruction(object, kernel, at, &one);
		if (error)
			return error;
		print_instruction(&one);
	}
	return 0;
}

static size_t count_kernels(const struct info_object *object)
{
	size_t count = 0;

	for (size_t i = 0; i < object->kernel_count; i++)
		count += !object->kernels[i].is_called;
	return count;
}

static int print_text(const struct info_object *object)
{
	const char *library = isa_library(object->isa);
	int error = 0;

	printf("file      %s\n", format_text(object->path).text);
	printf("code      of %s: %s%s%s; %zu bytes\n", object->gpu,
	       object->generation ? object->generation : "unknown generation",
	       object->ip_version ? ", IP " : "", object->ip_version ? object->ip_version : "",
	       object->size_bytes);
	printf("decoded   %s%s\n", library ? "by " : "", library ? library : isa_why(object->isa));
	printf("kernels   %zu\n", count_kernels(object));
	for (size_t i = 0; i < object->kernel_count && !error; i++)
		error = print_kernel(object, &object->kernels[i]);
	if (library && isa_why(object->isa))
		printf("note      %s\n", isa_why(object->isa));
	return error;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_text(struct json_writer *json, const char *key, const char *text)
{
	if (text)
		json_pair_text(json, key, text);
}

static void write_instruction(const struct instruction *instruction, struct json_writer *json)
{
	json_line_begin(json);
	json_pair_u64(json, "offset", instruction->offset);
	json_pair_u64(json, "length", instruction->length);
	json_pair_text(json, "text", instruction->text);
	if (instruction->file) {
		json_pair_text(json, "file", instruction->file);
		json_pair_u64(json, "line", instruction->line);
	}
	json_object_end(json);
}

static int write_kernel(const struct info_object *object, const struct info_kernel *kernel,
			struct json_writer *json)
{
	struct instruction one = {0};
	int error = 0;

	json_line_begin(json);
	json_pair_text(json, "name", kernel->name);
	json_pair_bool(json, "is_kernel", !kernel->is_called);
	json_pair_u64(json, "offset", kernel->offset);
	json_pair_u64(json, "size_bytes", kernel->size_bytes);
	json_pair_u64(json, "code_bytes", kernel->code_bytes);
	for (size_t i = 0; i < ARRAY_COUNT(kernel->facts); i++)
		if (kernel->facts[i].value)
			json_pair_u64(json, kernel->facts[i].key, kernel->facts[i].value);
	json_pair_array(json, "instructions");
	for (uint64_t at = 0; at < kernel->code_bytes && !error; at += one.length) {
		error = read_instruction(object, kernel, at, &one);
		if (!error)
			write_instruction(&one, json);
	}
	json_array_end(json);
	json_object_end(json);
	return error;
}

static int print_json(const struct info_object *object)
{
	struct json_writer json;
	int error = 0;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.info/1");
	json_pair_text(&json, "file", object->path);
	json_pair_u64(&json, "size_bytes", object->size_bytes);
	json_pair_object(&json, "code_object");
	json_pair_text(&json, "vendor", object->vendor);
	write_text(&json, "generation", object->generation);
	write_text(&json, "ip_version", object->ip_version);
	write_text(&json, "decoder", isa_library(object->isa));
	json_pair_array(&json, "kernels");
	for (size_t i = 0; i < object->kernel_count && !error; i++)
		error = write_kernel(object, &object->kernels[i], &json);
	json_array_end(&json);
	/* Read after the instructions, because the disassembler may fail in the middle. */
	write_text(&json, "why", isa_why(object->isa));
	json_object_end(&json);
	json_object_end(&json);
	printf("\n");
	return error;
}

int info_object_print(const struct info_object *object, bool is_json)
{
	return is_json ? print_json(object) : print_text(object);
}

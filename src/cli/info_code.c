/* SPDX-License-Identifier: MIT
 *
 * cli/info_code.c - what is in a code object of a GPU: kernels, sizes, instructions, lines
 *
 * Runs in:  our own process
 * Gets:     a file   Gives: text, or JSON "duet.info/1" with the key code_object
 * Owns:     the bytes, a disassembler, a symbolizer
 * Fails:    a file that cannot be read, or is no code object that is known here, is status 1
 * Why up to the end of the code and not of the section: a kernel is filled up with instructions that are never executed, a hash of it
 *           among them, and with zeros
 */
#include "cli/info_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/io.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/info_cubin.h"
#include "cli/info_instruction.h"
#include "isa/isa.h"
#include "symbol/cubin.h"
#include "symbol/symbolizer.h"
#include "symbol/zebin.h"

enum { FILE_MOST = 256 << 20 };

struct code_file {
	const char *path;
	char *bytes; /* owned */
	size_t size;
	struct zebin *zebin;           /* owned */
	void *image;                   /* owned; the symbolizer reads it */
	struct symbolizer *symbolizer; /* owned */
	struct symbol_module *module;
	struct isa *isa;        /* owned */
	const char *generation; /* NULL: not known */
};

bool info_is_code(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[SELFMAG];
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static void fini(struct code_file *file)
{
	symbolizer_free(file->symbolizer);
	isa_free(file->isa);
	zebin_close(file->zebin);
	free(file->image);
	free(file->bytes);
}

static int open_symbols(struct code_file *file)
{
	const struct symbolizer_options options = {.has_lines = true, .has_inlines = true};
	struct symbol_mapping mapping = {.path = file->path, .build_id = ""};
	int error = zebin_link(file->zebin, &file->image, &mapping.image_size);

	mapping.image = file->image;
	if (!error)
		error = symbolizer_new(&options, &file->symbolizer);
	return error ? error : symbolizer_module(file->symbolizer, &mapping, &file->module);
}

static int open_code(struct code_file *file)
{
	struct zebin_target target;
	int error = zebin_open(file->bytes, file->size, &file->zebin);

	if (error == -ENOEXEC && !zebin_is(file->bytes, file->size))
		return error_set(error,
				 "'%s' is an ELF file, but neither a trace nor a code object of a "
				 "GPU of Intel's (zebin) or NVIDIA's (cubin)",
				 file->path);
	if (error)
		return error_note(error, "read '%s'", file->path);
	target = zebin_target(file->zebin);
	file->generation = isa_xe_generation(target.ip_version, target.core_family);
	error = isa_new(ISA_XE, file->generation, &file->isa);
	return error ? error : open_symbols(file);
}

static int find_line(struct code_file *file, uint64_t offset, struct info_instruction *instruction)
{
	struct symbol symbol;

	if (symbolizer_lookup(file->symbolizer, file->module, offset, false, &symbol))
		return -ENOMEM;
	instruction->line = symbol.frames[0].file ? symbol.frames[0].line : 0;
	instruction->file = instruction->line ? symbol.frames[0].file : NULL;
	return 0;
}

/* The instruction at `offset` in the kernel; what does not fit before the kernel's end is bytes. */
static int read_instruction(struct code_file *file, const struct zebin_kernel *kernel,
			    uint64_t offset, struct info_instruction *ret)
{
	const uint8_t *bytes = (const uint8_t *)file->bytes + kernel->offset;
	int error;

	ret->offset = offset;
	error = isa_decode(file->isa, bytes + offset, kernel->code_bytes - offset, offset,
			   ret->text, sizeof(ret->text), &ret->length);
	return error ? error : find_line(file, kernel->offset + offset, ret);
}

static struct number format_ip(const struct code_file *file)
{
	uint32_t version = zebin_target(file->zebin).ip_version;
	struct number number = {""};

	if (version)
		snprintf(number.text, sizeof(number.text), "%" PRIu32 ".%" PRIu32 ".%" PRIu32,
			 version >> 22, version >> 14 & 0xff, version & 0x3fff);
	return number;
}

/* ---- text -------------------------------------------------------------------------------------- */

static void put_number(const char *name, uint32_t value)
{
	if (value)
		printf(", %s %" PRIu32, name, value);
}

static int print_kernel(struct code_file *file, const struct zebin_kernel *kernel)
{
	struct info_instruction one = {0};
	int error;

	printf("\n%s\n  at 0x%" PRIx64 ", %" PRIu64 " bytes of code in %" PRIu64,
	       format_text(kernel->name).text, kernel->offset, kernel->code_bytes,
	       kernel->size_bytes);
	put_number("SIMD", kernel->simd_size);
	put_number("registers", kernel->grf_count);
	put_number("threads of an EU", kernel->eu_threads);
	put_number("bytes of local memory", kernel->local_bytes);
	put_number("bytes spilled", kernel->spill_bytes);
	printf("\n\n");
	for (uint64_t at = 0; at < kernel->code_bytes; at += one.length) {
		error = read_instruction(file, kernel, at, &one);
		if (error)
			return error;
		info_instruction_print(&one);
	}
	return 0;
}

static int print_text(struct code_file *file)
{
	const struct zebin_kernel *kernels;
	size_t count = zebin_kernels(file->zebin, &kernels);
	const char *ip = format_ip(file).text;
	int error = 0;

	printf("file      %s\n", format_text(file->path).text);
	printf("code      of an Intel GPU: %s%s%s; %zu bytes\n",
	       file->generation ? file->generation : "not known which", *ip ? ", IP " : "", ip,
	       file->size);
	printf("decoded   %s%s\n", isa_library(file->isa) ? "by " : "",
	       isa_library(file->isa) ? isa_library(file->isa) : isa_why(file->isa));
	printf("kernels   %zu\n", count);
	for (size_t i = 0; i < count && !error; i++)
		error = print_kernel(file, &kernels[i]);
	return error;
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static int write_instructions(struct code_file *file, const struct zebin_kernel *kernel,
			      struct json_writer *json)
{
	struct info_instruction one = {0};
	int error;

	json_key(json, "instructions");
	json_array_begin(json);
	for (uint64_t at = 0; at < kernel->code_bytes; at += one.length) {
		error = read_instruction(file, kernel, at, &one);
		if (error)
			return error;
		info_instruction_write(&one, json);
	}
	json_array_end(json);
	return 0;
}

static void write_known(struct json_writer *json, const char *key, uint32_t value)
{
	if (value)
		json_pair_u64(json, key, value);
}

static int write_kernel(struct code_file *file, const struct zebin_kernel *kernel,
			struct json_writer *json)
{
	int error;

	json_newline(json);
	json_object_begin(json);
	json_pair_text(json, "name", kernel->name);
	json_pair_u64(json, "offset", kernel->offset);
	json_pair_u64(json, "size_bytes", kernel->size_bytes);
	json_pair_u64(json, "code_bytes", kernel->code_bytes);
	write_known(json, "simd_size", kernel->simd_size);
	write_known(json, "grf_count", kernel->grf_count);
	write_known(json, "eu_threads", kernel->eu_threads);
	write_known(json, "local_bytes", kernel->local_bytes);
	write_known(json, "spill_bytes", kernel->spill_bytes);
	error = write_instructions(file, kernel, json);
	json_object_end(json);
	return error;
}

static int print_json(struct code_file *file)
{
	const struct zebin_kernel *kernels;
	size_t count = zebin_kernels(file->zebin, &kernels);
	struct json_writer json;
	int error = 0;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.info/1");
	json_pair_text(&json, "file", file->path);
	json_pair_u64(&json, "size_bytes", file->size);
	json_key(&json, "code_object");
	json_object_begin(&json);
	json_pair_text(&json, "vendor", "Intel");
	if (file->generation)
		json_pair_text(&json, "generation", file->generation);
	if (*format_ip(file).text)
		json_pair_text(&json, "ip_version", format_ip(file).text);
	if (isa_library(file->isa))
		json_pair_text(&json, "decoder", isa_library(file->isa));
	if (isa_why(file->isa))
		json_pair_text(&json, "why", isa_why(file->isa));
	json_key(&json, "kernels");
	json_array_begin(&json);
	for (size_t i = 0; i < count && !error; i++)
		error = write_kernel(file, &kernels[i], &json);
	json_array_end(&json);
	json_object_end(&json);
	json_object_end(&json);
	printf("\n");
	return error;
}

int info_code(const struct command *command, const char *path, bool is_json)
{
	struct code_file file = {.path = path};
	int error = read_file(path, FILE_MOST, &file.bytes, &file.size);

	if (!error && cubin_is(file.bytes, file.size)) {
		error = info_cubin(path, file.bytes, file.size, is_json);
	} else if (!error) {
		error = open_code(&file);
		if (!error)
			error = is_json ? print_json(&file) : print_text(&file);
	}
	fini(&file);
	if (error) {
		print_error(command->name, NULL);
		return STATUS_FAILED;
	}
	return STATUS_DONE;
}

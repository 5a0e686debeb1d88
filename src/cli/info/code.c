/* SPDX-License-Identifier: MIT
 *
 * cli/info/code.c - duet info for a GPU code object: kernels, sizes, instructions, lines
 *
 * Runs in:  our own process
 * Gets:     a file
 * Gives:    text, or JSON "duet.info/1" with the key code_object
 * Owns:     the bytes, a disassembler, a symbolizer
 * Fails:    status 1 if the file cannot be read or is not a supported code object
 * Why the listing stops at the end of the code, before the end of the section: the rest of the
 *           section is padding that is never executed (instructions, a hash of the kernel, zeros)
 */
#include "cli/info/info.h"

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
#include "cli/command.h"
#include "isa/isa.h"
#include "symbol/device/cubin.h"
#include "symbol/device/zebin.h"
#include "symbol/symbolizer.h"

enum { MAX_FILE = 256 << 20 };

struct code_file {
	const char *path;
	char *bytes; /* owned */
	size_t size;
	struct zebin *zebin;           /* owned */
	void *image;                   /* owned; the symbolizer reads it */
	struct symbolizer *symbolizer; /* owned */
	struct symbol_module *module;
	struct isa *isa;        /* owned */
	const char *generation; /* NULL: unknown */
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
				 "'%s' is an ELF file, but not code of an Intel GPU (zebin) or an "
				 "NVIDIA GPU (cubin)",
				 file->path);
	if (error)
		return error_note(error, "read '%s'", file->path);
	target = zebin_target(file->zebin);
	file->generation = isa_xe_generation(target.ip_version, target.core_family);
	error = isa_new(ISA_XE, file->generation, &file->isa);
	return error ? error : open_symbols(file);
}

static int find_line(void *context, uint64_t offset, const char **ret_file, uint32_t *ret_line)
{
	struct code_file *file = context;
	struct symbol symbol;

	if (symbolizer_lookup(file->symbolizer, file->module, offset, false, &symbol))
		return error_set(-ENOMEM, "out of memory");
	*ret_line = symbol.frames[0].file ? symbol.frames[0].line : 0;
	*ret_file = *ret_line ? symbol.frames[0].file : NULL;
	return 0;
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

static struct info_kernel describe_kernel(const struct code_file *file,
					  const struct zebin_kernel *kernel)
{
	return (struct info_kernel){
		.name = kernel->name,
		.offset = kernel->offset,
		.code = (const uint8_t *)file->bytes + kernel->offset,
		.code_bytes = kernel->code_bytes,
		.size_bytes = kernel->size_bytes,
		.facts = {{"simd_size", "SIMD", kernel->simd_size},
			  {"grf_count", "registers", kernel->grf_count},
			  {"eu_threads", "threads per EU", kernel->eu_threads},
			  {"local_bytes", "bytes of local memory", kernel->local_bytes},
			  {"spill_bytes", "bytes spilled", kernel->spill_bytes}},
	};
}

static int print_code(struct code_file *file, bool is_json)
{
	const struct zebin_kernel *kernels;
	size_t count = zebin_kernels(file->zebin, &kernels);
	struct number ip = format_ip(file);
	auto_free struct info_kernel *described = calloc(count + 1, sizeof(*described));
	struct info_object object = {
		.path = file->path,
		.size_bytes = file->size,
		.vendor = "Intel",
		.gpu = "an Intel GPU",
		.generation = file->generation,
		.ip_version = *ip.text ? ip.text : NULL,
		.isa = file->isa,
		.kernels = described,
		.kernel_count = count,
		.find_line = find_line,
		.context = file,
	};

	if (!described)
		return error_set(-ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		described[i] = describe_kernel(file, &kernels[i]);
	return info_object_print(&object, is_json);
}

int info_code(const struct cli_command *command, const char *path, bool is_json)
{
	struct code_file file = {.path = path};
	int error = read_file(path, MAX_FILE, &file.bytes, &file.size);

	if (!error && cubin_is(file.bytes, file.size)) {
		error = info_cubin(path, file.bytes, file.size, is_json);
	} else if (!error) {
		error = open_code(&file);
		if (!error)
			error = print_code(&file, is_json);
	}
	fini(&file);
	if (error)
		return print_failure(command);
	return STATUS_DONE;
}

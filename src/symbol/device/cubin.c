/* SPDX-License-Identifier: MIT
 *
 * symbol/device/cubin.c - code objects of NVIDIA's GPUs: functions, sizes, target
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the bytes of a cubin, which may be anything
 * Gives:    its functions and the GPU that they are compiled for
 * Owns:     the lists of functions and lines
 * Fails:    -ENOEXEC with a text, -ENOMEM; .nv.info records of an unknown format are skipped
 * Why not libelf: only the symbols and three numbers (registers, shared and local memory) are
 * needed, and all kernels have the same address. The file comes from a trace, so every offset is
 * checked. Its sections may overlap, so a file that refers to the same bytes repeatedly would cost
 * time quadratic in its size. Therefore all reads together are limited to about the file's size.
 */
#include "symbol/device/cubin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbol/device/cubin_private.h"

#define INFO   ".nv.info"
#define SHARED ".nv.shared."

enum {
	ABI_WITH_SM_ABOVE = 8, /* ABI versions from 8 on have the target in bits 8 to 15 of e_flags,
				  older ones in bits 0 to 7 */
	SYMBOL_IS_ENTRY = 0x10, /* st_other */
	REGISTERS_SHIFT = 24    /* in sh_info; older files have the register count only there */
};

/* A record of .nv.info: format, attribute, and 16 bits that hold the value or, with
 * INFO_WITH_BYTES, the size of the value that follows. */
enum info_format { INFO_WITH_BYTES = 4 };
enum info_attribute { INFO_FRAME_BYTES = 0x11, INFO_STACK_BYTES = 0x12, INFO_REGISTERS = 0x2f };

static bool has_machine(const struct elf_image *image)
{
	return image->head.e_machine == EM_CUDA;
}

bool cubin_is(const void *bytes, size_t size)
{
	struct elf_image image;

	return elf_image_init(&image, bytes, size) && has_machine(&image);
}

static bool read_symbol(const struct cubin *cubin, uint64_t index, Elf64_Sym *ret_symbol)
{
	return elf_image_symbol(&cubin->image, &cubin->symbols, index, ret_symbol);
}

/* ---- functions ---- */

/* *left: remaining budget for bytes of names. */
static int add_function(struct cubin *cubin, const Elf64_Sym *symbol, uint64_t *left)
{
	const char *name = elf_texts_at(&cubin->texts, symbol->st_name);
	Elf64_Shdr section;
	size_t length;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !*name || symbol->st_shndx == SHN_UNDEF ||
	    !elf_image_section(&cubin->image, symbol->st_shndx, &section) ||
	    !elf_image_has_bytes(&cubin->image, &section) || symbol->st_value >= section.sh_size)
		return 0;
	length = strnlen(name, *left);
	*left -= length;
	if (!*left)
		return 0;
	return array_append(
		cubin->functions, cubin->capacity, cubin->count,
		(struct cubin_function){
			.name = name,
			.offset = section.sh_offset + symbol->st_value,
			.size_bytes = symbol->st_size && symbol->st_size <
								 section.sh_size - symbol->st_value
					      ? symbol->st_size
					      : section.sh_size - symbol->st_value,
			.is_kernel = symbol->st_other & SYMBOL_IS_ENTRY,
			.registers = section.sh_info >> REGISTERS_SHIFT,
		});
}

static int compare_functions(const void *left, const void *right)
{
	const struct cubin_function *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static struct cubin_function *find_at(const struct cubin *cubin, uint64_t offset)
{
	size_t low = LOWER_BOUND(cubin->count, i, cubin->functions[i].offset <= offset);

	return low && offset - cubin->functions[low - 1].offset <
				       cubin->functions[low - 1].size_bytes
		       ? &cubin->functions[low - 1]
		       : NULL;
}

const struct cubin_function *cubin_function_at(const struct cubin *cubin, uint64_t offset)
{
	return find_at(cubin, offset);
}

/* Ends each function where the next one starts. Several functions may start at the same place.
 * Functions beyond a total code size of twice the file are dropped. */
static void bound_code(struct cubin *cubin)
{
	uint64_t next = cubin->image.size, all = 0;
	size_t kept = 0;

	for (size_t i = cubin->count; i-- > 0;) {
		struct cubin_function *function = &cubin->functions[i];

		if (i + 1 < cubin->count && cubin->functions[i + 1].offset > function->offset)
			next = cubin->functions[i + 1].offset;
		if (function->size_bytes > next - function->offset)
			function->size_bytes = next - function->offset;
	}
	for (size_t i = 0; i < cubin->count; i++) {
		all += cubin->functions[i].size_bytes;
		if (all <= 2 * (uint64_t)cubin->image.size)
			cubin->functions[kept++] = cubin->functions[i];
	}
	cubin->count = kept;
}

static int read_functions(struct cubin *cubin)
{
	uint64_t left = cubin->image.size;
	Elf64_Sym symbol;
	int error = 0;

	for (uint64_t i = 0; !error && left && read_symbol(cubin, i, &symbol); i++)
		error = add_function(cubin, &symbol, &left);
	if (error || !cubin->count)
		return error;
	qsort(cubin->functions, cubin->count, sizeof(*cubin->functions), compare_functions);
	bound_code(cubin);
	return 0;
}

/* ---- resources of functions ---- */

static void set_need(struct cubin *cubin, uint32_t attribute, const uint32_t values[2])
{
	struct cubin_function *function = NULL;
	Elf64_Shdr section;
	Elf64_Sym symbol;

	if (read_symbol(cubin, values[0], &symbol) &&
	    elf_image_section(&cubin->image, symbol.st_shndx, &section))
		function = find_at(cubin, section.sh_offset + symbol.st_value);
	if (function && attribute == INFO_REGISTERS)
		function->registers = values[1];
	else if (function && (attribute == INFO_STACK_BYTES || attribute == INFO_FRAME_BYTES) &&
		 values[1] > function->stack_bytes)
		function->stack_bytes = values[1];
}

/* *left: remaining budget for bytes to read. */
static void read_info(struct cubin *cubin, const Elf64_Shdr *section, uint64_t *left)
{
	struct {
		uint8_t format, attribute;
		uint16_t size;
	} head;

	for (uint64_t at = 0; at + sizeof(head) <= section->sh_size; at += sizeof(head)) {
		uint32_t values[2];

		if (*left < sizeof(head))
			return;
		*left -= sizeof(head);
		if (!elf_image_read(&cubin->image, section->sh_offset + at, &head, sizeof(head)))
			return;
		if (head.format != INFO_WITH_BYTES)
			continue;
		if (head.size == sizeof(values) &&
		    at + sizeof(head) + sizeof(values) <= section->sh_size &&
		    elf_image_read(&cubin->image, section->sh_offset + at + sizeof(head), values,
				   sizeof(values)))
			set_need(cubin, head.attribute, values);
		at += head.size;
	}
}

/* sh_info of a .nv.shared section is the index of the function's code section. */
static void read_shared(struct cubin *cubin, const Elf64_Shdr *section)
{
	struct cubin_function *function = NULL;
	Elf64_Shdr text;

	if (elf_image_section(&cubin->image, section->sh_info, &text))
		function = find_at(cubin, text.sh_offset);
	if (function && section->sh_size < UINT32_MAX)
		function->shared_bytes = (uint32_t)section->sh_size;
}

static void read_needs(struct cubin *cubin)
{
	uint64_t left = cubin->image.size;
	Elf64_Shdr section;

	for (uint32_t i = 0; elf_image_section(&cubin->image, i, &section); i++) {
		const char *name = elf_image_name(&cubin->image, &section);

		if (strcmp(name, INFO) == 0 && elf_image_has_bytes(&cubin->image, &section))
			read_info(cubin, &section, &left);
		else if (strncmp(name, SHARED, strlen(SHARED)) == 0)
			read_shared(cubin, &section);
	}
}

/* ---- open and close ---- */

static void read_target(struct cubin *cubin)
{
	uint32_t flags = cubin->image.head.e_flags;

	snprintf(cubin->target, sizeof(cubin->target), "sm_%u",
		 cubin->image.head.e_ident[EI_ABIVERSION] >= ABI_WITH_SM_ABOVE ? flags >> 8 & 0xff
									       : flags & 0xff);
}

static void find_tables(struct cubin *cubin)
{
	Elf64_Shdr section;

	for (uint32_t i = 0; elf_image_section(&cubin->image, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB) {
			cubin->symbols = section;
			if (elf_image_section(&cubin->image, section.sh_link, &section))
				cubin->texts = elf_image_texts(&cubin->image, &section);
			return;
		}
}

int cubin_open(const void *bytes, size_t size, struct cubin **ret_cubin)
{
	struct elf_image image;
	struct cubin *cubin;

	if (!elf_image_init(&image, bytes, size) || !has_machine(&image))
		return error_set(-ENOEXEC, "not a cubin: this is not an ELF file for NVIDIA GPUs");
	cubin = calloc(1, sizeof(*cubin));
	if (!cubin)
		return error_set(-ENOMEM, "cubin: out of memory");
	cubin->image = image;
	read_target(cubin);
	find_tables(cubin);
	if (read_functions(cubin)) {
		cubin_close(cubin);
		return error_set(-ENOMEM, "cubin: out of memory");
	}
	if (!cubin->count) {
		cubin_close(cubin);
		return error_set(-ENOEXEC, "the cubin is truncated or has no functions");
	}
	read_needs(cubin);
	*ret_cubin = cubin;
	return 0;
}

void cubin_close(struct cubin *cubin)
{
	if (!cubin)
		return;
	string_table_fini(&cubin->files);
	free(cubin->functions);
	free(cubin->lines);
	free(cubin);
}

size_t cubin_functions(const struct cubin *cubin, const struct cubin_function **ret_functions)
{
	*ret_functions = cubin->functions;
	return cubin->count;
}

const char *cubin_target(const struct cubin *cubin)
{
	return cubin->target;
}

bool cubin_find_line(struct cubin *cubin, uint64_t offset, const char **ret_file,
		     uint32_t *ret_line)
{
	const struct cubin_function *function = find_at(cubin, offset);
	size_t low;

	if (!cubin->has_lines)
		cubin_read_lines(cubin);
	cubin->has_lines = true;
	low = LOWER_BOUND(cubin->line_count, i, cubin->lines[i].offset <= offset);
	/* A line that starts before the function belongs to another function. */
	if (!low || !function || cubin->lines[low - 1].offset < function->offset ||
	    !cubin->lines[low - 1].file || !cubin->lines[low - 1].line)
		return false;
	*ret_file = cubin->lines[low - 1].file;
	*ret_line = cubin->lines[low - 1].line;
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * symbol/cubin.c - code objects of NVIDIA's GPUs: functions, sizes, target
 *
 * Runs in:  the readers
 * Gets:     the bytes of a cubin, which may be anything   Gives: its functions and for which GPU they are
 * Owns:     the lists of functions and lines
 * Fails:    -ENOEXEC with a text, -ENOMEM; what .nv.info says in a way that is not known is left out
 * Why by hand: what is needed are its symbols and three numbers, all kernels lie at the same address, and each offset in a file
 *           that comes from a trace has to be looked at. Nothing says that its sections lie apart: what is read of all of
 *           them together, names and code of functions too, is bounded by the file's size, so that a file which names the
 *           same bytes over and over takes no square of its size.
 */
#include "symbol/cubin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbol/cubin_private.h"

#define INFO   ".nv.info"
#define SHARED ".nv.shared."

enum {
	ABI_WITH_SM_ABOVE =
		8, /* from this on the flags have the target in bits 8 to 15, before in 0 to 7 */
	SYMBOL_IS_ENTRY = 0x10, /* st_other */
	SECTIONS_MOST = 1 << 20,
	REGISTERS_SHIFT = 24 /* of sh_info, before .nv.info had them */
};

/* .nv.info: a format, an attribute, and a value of 16 bits or so many bytes. */
enum info_format { INFO_WITH_BYTES = 4 };
enum info_attribute { INFO_FRAME_BYTES = 0x11, INFO_STACK_BYTES = 0x12, INFO_REGISTERS = 0x2f };

/* ---- reading ELF ---- */

bool cubin_read(const struct cubin *cubin, uint64_t offset, void *ret, size_t size)
{
	if (offset > cubin->size || size > cubin->size - offset)
		return false;
	memcpy(ret, cubin->bytes + offset, size);
	return true;
}

bool cubin_read_section(const struct cubin *cubin, uint32_t index, Elf64_Shdr *ret_section)
{
	return index < cubin->section_count &&
	       cubin_read(cubin, cubin->head.e_shoff + (uint64_t)index * sizeof(*ret_section),
			  ret_section, sizeof(*ret_section));
}

bool cubin_has_bytes(const struct cubin *cubin, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS &&
	       section->sh_offset <= cubin->size &&
	       section->sh_size <= cubin->size - section->sh_offset;
}

static const char *text_at(const struct cubin *cubin, const Elf64_Shdr *table, uint64_t end,
			   uint32_t offset)
{
	return offset < end ? (const char *)cubin->bytes + table->sh_offset + offset : "";
}

const char *cubin_name(const struct cubin *cubin, const Elf64_Shdr *section)
{
	return text_at(cubin, &cubin->names, cubin->names_end, section->sh_name);
}

/* Where its last text ends; 0: it has none. */
static uint64_t end_of_texts(const struct cubin *cubin, const Elf64_Shdr *table)
{
	const uint8_t *last;

	if (!cubin_has_bytes(cubin, table))
		return 0;
	last = memrchr(cubin->bytes + table->sh_offset, '\0', table->sh_size);
	return last ? (uint64_t)(last - cubin->bytes) - table->sh_offset + 1 : 0;
}

bool cubin_read_symbol(const struct cubin *cubin, uint64_t index, Elf64_Sym *ret_symbol)
{
	return cubin_has_bytes(cubin, &cubin->symbols) &&
	       index < cubin->symbols.sh_size / sizeof(*ret_symbol) &&
	       cubin_read(cubin, cubin->symbols.sh_offset + index * sizeof(*ret_symbol), ret_symbol,
			  sizeof(*ret_symbol));
}

static bool is_head(const Elf64_Ehdr *head)
{
	return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
	       head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_ident[EI_DATA] == ELFDATA2LSB &&
	       head->e_machine == EM_CUDA;
}

bool cubin_is(const void *bytes, size_t size)
{
	Elf64_Ehdr head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	return is_head(&head);
}

/* ---- functions ---- */

/* *left: bytes of names that may still be had. */
static int add_function(struct cubin *cubin, const Elf64_Sym *symbol, uint64_t *left)
{
	const char *name = text_at(cubin, &cubin->texts, cubin->texts_end, symbol->st_name);
	Elf64_Shdr section;
	size_t length;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !*name || symbol->st_shndx == SHN_UNDEF ||
	    !cubin_read_section(cubin, symbol->st_shndx, &section) ||
	    !cubin_has_bytes(cubin, &section) || symbol->st_value >= section.sh_size)
		return 0;
	length = strnlen(name, *left);
	*left -= length;
	if (!*left)
		return 0;
	if (array_grow(cubin->functions, cubin->capacity, cubin->count + 1))
		return -ENOMEM;
	cubin->functions[cubin->count++] = (struct cubin_function){
		.name = name,
		.offset = section.sh_offset + symbol->st_value,
		.size_bytes =
			symbol->st_size && symbol->st_size < section.sh_size - symbol->st_value
				? symbol->st_size
				: section.sh_size - symbol->st_value,
		.is_kernel = symbol->st_other & SYMBOL_IS_ENTRY,
		.registers = section.sh_info >> REGISTERS_SHIFT,
	};
	return 0;
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
	size_t low = 0, high = cubin->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cubin->functions[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && offset - cubin->functions[low - 1].offset <
				       cubin->functions[low - 1].size_bytes
		       ? &cubin->functions[low - 1]
		       : NULL;
}

const struct cubin_function *cubin_function_at(const struct cubin *cubin, uint64_t offset)
{
	return find_at(cubin, offset);
}

/* A function ends where the next one begins. Several may begin at the same place, as long as all code together is no more than
 * twice the file. */
static void bound_code(struct cubin *cubin)
{
	uint64_t next = cubin->size, all = 0;
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
		if (all <= 2 * (uint64_t)cubin->size)
			cubin->functions[kept++] = cubin->functions[i];
	}
	cubin->count = kept;
}

static int read_functions(struct cubin *cubin)
{
	uint64_t left = cubin->size;
	Elf64_Sym symbol;
	int error = 0;

	for (uint64_t i = 0; !error && left && cubin_read_symbol(cubin, i, &symbol); i++)
		error = add_function(cubin, &symbol, &left);
	if (error || !cubin->count)
		return error;
	qsort(cubin->functions, cubin->count, sizeof(*cubin->functions), compare_functions);
	bound_code(cubin);
	return 0;
}

/* ---- what functions need ---- */

static void set_need(struct cubin *cubin, uint32_t attribute, const uint32_t values[2])
{
	struct cubin_function *function = NULL;
	Elf64_Shdr section;
	Elf64_Sym symbol;

	if (cubin_read_symbol(cubin, values[0], &symbol) &&
	    cubin_read_section(cubin, symbol.st_shndx, &section))
		function = find_at(cubin, section.sh_offset + symbol.st_value);
	if (function && attribute == INFO_REGISTERS)
		function->registers = values[1];
	else if (function && (attribute == INFO_STACK_BYTES || attribute == INFO_FRAME_BYTES) &&
		 values[1] > function->stack_bytes)
		function->stack_bytes = values[1];
}

/* *left: bytes that may still be read. */
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
		if (!cubin_read(cubin, section->sh_offset + at, &head, sizeof(head)))
			return;
		if (head.format != INFO_WITH_BYTES)
			continue;
		if (head.size == sizeof(values) &&
		    at + sizeof(head) + sizeof(values) <= section->sh_size &&
		    cubin_read(cubin, section->sh_offset + at + sizeof(head), values,
			       sizeof(values)))
			set_need(cubin, head.attribute, values);
		at += head.size;
	}
}

/* It says which section of code it is for. */
static void read_shared(struct cubin *cubin, const Elf64_Shdr *section)
{
	struct cubin_function *function = NULL;
	Elf64_Shdr text;

	if (cubin_read_section(cubin, section->sh_info, &text))
		function = find_at(cubin, text.sh_offset);
	if (function && section->sh_size < UINT32_MAX)
		function->shared_bytes = (uint32_t)section->sh_size;
}

static void read_needs(struct cubin *cubin)
{
	uint64_t left = cubin->size;
	Elf64_Shdr section;

	for (uint32_t i = 0; cubin_read_section(cubin, i, &section); i++) {
		const char *name = cubin_name(cubin, &section);

		if (strcmp(name, INFO) == 0 && cubin_has_bytes(cubin, &section))
			read_info(cubin, &section, &left);
		else if (strncmp(name, SHARED, strlen(SHARED)) == 0)
			read_shared(cubin, &section);
	}
}

/* ---- open and close ---- */

static void read_target(struct cubin *cubin)
{
	uint32_t flags = cubin->head.e_flags;

	snprintf(cubin->target, sizeof(cubin->target), "sm_%u",
		 cubin->head.e_ident[EI_ABIVERSION] >= ABI_WITH_SM_ABOVE ? flags >> 8 & 0xff
									 : flags & 0xff);
}

static void find_tables(struct cubin *cubin)
{
	Elf64_Shdr section;

	cubin->section_count = cubin->head.e_shnum;
	if (!cubin->section_count && cubin->head.e_shoff) {
		cubin->section_count = 1;
		if (!cubin_read_section(cubin, 0, &section))
			return;
		cubin->section_count =
			section.sh_size < SECTIONS_MOST ? (uint32_t)section.sh_size : SECTIONS_MOST;
	}
	if (cubin_read_section(cubin, cubin->head.e_shstrndx, &cubin->names))
		cubin->names_end = end_of_texts(cubin, &cubin->names);
	for (uint32_t i = 0; cubin_read_section(cubin, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB) {
			cubin->symbols = section;
			if (cubin_read_section(cubin, section.sh_link, &cubin->texts))
				cubin->texts_end = end_of_texts(cubin, &cubin->texts);
			return;
		}
}

int cubin_open(const void *bytes, size_t size, struct cubin **ret_cubin)
{
	struct cubin *cubin;

	if (!cubin_is(bytes, size))
		return error_set(-ENOEXEC, "these are no bytes of a cubin");
	cubin = calloc(1, sizeof(*cubin));
	if (!cubin)
		return error_set(-ENOMEM, "cubin: out of memory");
	cubin->bytes = bytes;
	cubin->size = size;
	memcpy(&cubin->head, bytes, sizeof(cubin->head));
	string_table_init(&cubin->files);
	read_target(cubin);
	find_tables(cubin);
	if (read_functions(cubin)) {
		cubin_close(cubin);
		return error_set(-ENOMEM, "cubin: out of memory");
	}
	if (!cubin->count) {
		cubin_close(cubin);
		return error_set(-ENOEXEC, "the cubin is cut off, or has no functions");
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
	size_t low = 0, high;

	if (!cubin->has_lines)
		cubin_read_lines(cubin);
	cubin->has_lines = true;
	high = cubin->line_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cubin->lines[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	/* None of another function's. */
	if (!low || !function || cubin->lines[low - 1].offset < function->offset ||
	    !cubin->lines[low - 1].file || !cubin->lines[low - 1].line)
		return false;
	*ret_file = cubin->lines[low - 1].file;
	*ret_line = cubin->lines[low - 1].line;
	return true;
}

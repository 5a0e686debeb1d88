/* SPDX-License-Identifier: MIT
 *
 * symbol/cubin_lines.c - which line of the source an instruction of a cubin is
 *
 * Runs in:  the readers
 * Gets:     .debug_line of a cubin   Gives: rows, by the offset of code in the file
 * Owns:     nothing of its own
 * Fails:    by leaving rows out
 * Why a copy: code compiled with -lineinfo has a table of lines and no other debug information, so that no unit leads to it,
 *           and each function in it begins at 0 plus what a relocation says, which libdw does not know for this machine.
 *           In the copy all that is done, and the table is walked as libdw finds it. NVIDIA's own operations in it (which
 *           function was inlined where) are skipped by their length.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbol/cubin_private.h"

#define LINES ".debug_line"

enum {
	RELOCATION_32 = 1,
	RELOCATION_64 = 2,
	LINES_MOST = 1 << 22,
	TABLES_MOST = 1 << 20,
	PATH_MOST = 4096
};

static bool find_section(const struct cubin *cubin, const char *name, uint32_t *ret_index,
			 Elf64_Shdr *ret_section)
{
	for (uint32_t i = 0; cubin_read_section(cubin, i, ret_section); i++)
		if (strcmp(cubin_name(cubin, ret_section), name) == 0 &&
		    cubin_has_bytes(cubin, ret_section)) {
			*ret_index = i;
			return true;
		}
	return false;
}

/* ---- relocations ---- */

/* Where the symbol is in the file; an addend may lie in the section itself. */
static bool value_of(const struct cubin *cubin, uint64_t symbol_index, uint64_t *ret_value)
{
	Elf64_Shdr section;
	Elf64_Sym symbol;

	if (!cubin_read_symbol(cubin, symbol_index, &symbol) ||
	    !cubin_read_section(cubin, symbol.st_shndx, &section))
		return false;
	*ret_value = section.sh_offset + symbol.st_value;
	return true;
}

static void apply(const struct cubin *cubin, uint8_t *image, const Elf64_Shdr *lines,
		  const Elf64_Rela *relocation, bool has_addend)
{
	uint64_t type = ELF64_R_TYPE(relocation->r_info), value, inside = 0;
	size_t size = type == RELOCATION_32 ? sizeof(uint32_t) : sizeof(uint64_t);

	if ((type != RELOCATION_32 && type != RELOCATION_64) || lines->sh_size < size ||
	    relocation->r_offset > lines->sh_size - size ||
	    !value_of(cubin, ELF64_R_SYM(relocation->r_info), &value))
		return;
	memcpy(&inside, image + lines->sh_offset + relocation->r_offset, size);
	value += has_addend ? (uint64_t)relocation->r_addend : inside;
	memcpy(image + lines->sh_offset + relocation->r_offset, &value, size);
}

static void relocate(const struct cubin *cubin, uint8_t *image, uint32_t index,
		     const Elf64_Shdr *lines)
{
	uint64_t left = cubin->size; /* bytes, of all sections */
	Elf64_Shdr section;

	for (uint32_t i = 0; cubin_read_section(cubin, i, &section); i++) {
		bool has_addend = section.sh_type == SHT_RELA;
		size_t size = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);

		if ((!has_addend && section.sh_type != SHT_REL) || section.sh_info != index ||
		    !cubin_has_bytes(cubin, &section))
			continue;
		for (uint64_t at = 0; at + size <= section.sh_size && left >= size; at += size) {
			Elf64_Rela relocation = {0};

			left -= size;
			if (cubin_read(cubin, section.sh_offset + at, &relocation, size))
				apply(cubin, image, lines, &relocation, has_addend);
		}
	}
}

/* ---- rows ---- */

static int add_line(struct cubin *cubin, Dwarf_Line *line)
{
	const char *file = dwarf_linesrc(line, NULL, NULL);
	Dwarf_Addr address;
	bool is_end = false;
	uint32_t id = 0;
	int number = 0;

	if (dwarf_lineaddr(line, &address) || dwarf_lineendsequence(line, &is_end) ||
	    (!is_end && dwarf_lineno(line, &number)))
		return 0;
	if (file && !is_end)
		id = string_table_add(&cubin->files, file, strnlen(file, PATH_MOST));
	if (cubin->line_count >= LINES_MOST ||
	    array_grow(cubin->lines, cubin->line_capacity, cubin->line_count + 1))
		return -ENOMEM;
	cubin->lines[cubin->line_count++] =
		(struct cubin_line){.offset = address,
				    .file = id ? string_table_text(&cubin->files, id, NULL) : NULL,
				    .line = number > 0 ? (uint32_t)number : 0};
	return 0;
}

static void read_tables(struct cubin *cubin, Dwarf *dwarf)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CU *unit = NULL; /* goes on from the table before */
	int error = 0;

	for (int tables = 0; !error && tables < TABLES_MOST; tables++) {
		Dwarf_Files *files = NULL;
		Dwarf_Lines *lines = NULL;
		size_t count = 0, files_count;

		if (dwarf_next_lines(dwarf, offset, &next, &unit, &files, &files_count, &lines,
				     &count) ||
		    next <= offset)
			return;
		for (size_t i = 0; !error && i < count; i++)
			error = add_line(cubin, dwarf_onesrcline(lines, i));
		offset = next;
	}
}

/* Where one function ends another may begin: the row with a line is the later one of the two. */
static int compare_lines(const void *left, const void *right)
{
	const struct cubin_line *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->file != NULL) - (b->file != NULL);
}

void cubin_read_lines(struct cubin *cubin)
{
	Elf64_Shdr lines;
	uint32_t index;
	uint8_t *image;
	Dwarf *dwarf;
	Elf *elf;

	if (!find_section(cubin, LINES, &index, &lines))
		return;
	image = malloc(cubin->size);
	if (!image)
		return;
	memcpy(image, cubin->bytes, cubin->size);
	relocate(cubin, image, index, &lines);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, cubin->size);
	dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (dwarf)
		read_tables(cubin, dwarf);
	dwarf_end(dwarf);
	elf_end(elf);
	free(image);
	if (cubin->line_count)
		qsort(cubin->lines, cubin->line_count, sizeof(*cubin->lines), compare_lines);
}

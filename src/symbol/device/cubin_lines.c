/* SPDX-License-Identifier: MIT
 *
 * symbol/device/cubin_lines.c - source lines of a cubin's instructions
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     .debug_line of a cubin
 * Gives:    lines, sorted by the file offset of their code
 * Owns:     a copy of the file while it reads
 * Fails:    lines that cannot be read are missing
 * Why a copy: -lineinfo makes a line table without compilation units, and each function in it
 *           starts at 0 plus a relocation. libdw does not know the relocations of NVIDIA's ELF
 *           machine type. So duet relocates the table in a copy, and libdw walks the copy. NVIDIA's
 *           own line operations, which describe inlining, are skipped by their length.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbol/device/cubin_private.h"

#define LINES ".debug_line"

enum {
	RELOCATION_32 = 1,
	RELOCATION_64 = 2,
	MAX_LINES = 1 << 22,
	MAX_TABLES = 1 << 20,
	MAX_PATH = 4096
};

static bool find_section(const struct cubin *cubin, const char *name, uint32_t *ret_index,
			 Elf64_Shdr *ret_section)
{
	for (uint32_t i = 0; elf_image_section(&cubin->image, i, ret_section); i++)
		if (strcmp(elf_image_name(&cubin->image, ret_section), name) == 0 &&
		    elf_image_has_bytes(&cubin->image, ret_section)) {
			*ret_index = i;
			return true;
		}
	return false;
}

/* ---- relocations ---- */

/* File offset of the symbol. */
static bool value_of(const struct cubin *cubin, uint64_t symbol_index, uint64_t *ret_value)
{
	Elf64_Shdr section;
	Elf64_Sym symbol;

	if (!elf_image_symbol(&cubin->image, &cubin->symbols, symbol_index, &symbol) ||
	    !elf_image_section(&cubin->image, symbol.st_shndx, &section))
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
	uint64_t left = cubin->image.size; /* bytes that all sections together may have */
	Elf64_Shdr section;

	for (uint32_t i = 0; elf_image_section(&cubin->image, i, &section); i++) {
		bool has_addend = section.sh_type == SHT_RELA;
		size_t size = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);

		if ((!has_addend && section.sh_type != SHT_REL) || section.sh_info != index ||
		    !elf_image_has_bytes(&cubin->image, &section))
			continue;
		for (uint64_t at = 0; at + size <= section.sh_size && left >= size; at += size) {
			Elf64_Rela relocation = {0};

			left -= size;
			if (elf_image_read(&cubin->image, section.sh_offset + at, &relocation,
					   size))
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
		id = string_table_add(&cubin->files, file, strnlen(file, MAX_PATH));
	if (cubin->line_count >= MAX_LINES ||
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
	Dwarf_CU *unit = NULL; /* libdw continues from the previous table */
	int error = 0;

	for (int tables = 0; !error && tables < MAX_TABLES; tables++) {
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

/* One function may end where another starts: at equal offsets the row that has a line sorts last.
 * */
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
	image = malloc(cubin->image.size);
	if (!image)
		return;
	memcpy(image, cubin->image.bytes, cubin->image.size);
	relocate(cubin, image, index, &lines);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, cubin->image.size);
	dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (dwarf)
		read_tables(cubin, dwarf);
	dwarf_end(dwarf);
	elf_end(elf);
	free(image);
	if (cubin->line_count)
		qsort(cubin->lines, cubin->line_count, sizeof(*cubin->lines), compare_lines);
}

/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/cubin.c - convert PTX text to a small made-up cubin
 *
 * Runs in:  a program that uses CUDA
 * Gets:     PTX text
 * Gives:    the names of its kernels, and an ELF file with them
 * Why:      readers of cubins look for .text.NAME, the symbols, and the architecture in the header.
 *           These are as CUDA 13 writes them (OS ABI 0x41, ABI version 8, SM 90 in bits 8 to 15 of
 *           the flags). The code consists of 16-byte words whose low 12 bits are opcodes of Volta
 *           and later; it ends with EXIT.
 */
#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { INSTRUCTIONS = 64, INSTRUCTION_BYTES = 16, ABI_CUDA = 0x41, FLAGS_SM_90 = 0x9005a04 };

uint32_t sim_registers(size_t index)
{
	return 32 + (uint32_t)(index % 4) * 8;
}

/* ---- PTX ------------------------------------------------------------------------------------- */

static bool is_name(char letter)
{
	return isalnum((unsigned char)letter) || letter == '_' || letter == '$' || letter == '%';
}

/* The name behind an .entry, to be freed; *at goes behind it. */
static char *next_entry(const char **at)
{
	static const char word[] = ".entry";
	const char *found = strstr(*at, word), *end;

	if (!found)
		return NULL;
	found += sizeof(word) - 1;
	found += strspn(found, " \t\r\n");
	for (end = found; is_name(*end); end++)
		;
	*at = end;
	return strndup(found, (size_t)(end - found));
}

int sim_scan_ptx(const char *text, char ***ret_names)
{
	char **names = NULL, *name;
	int count = 0;

	if (!strstr(text, ".version") || !strstr(text, ".target"))
		return -1;
	while ((name = next_entry(&text))) {
		char **more = realloc(names, ((size_t)count + 1) * sizeof(*names));

		if (!more) {
			free(name);
			break;
		}
		names = more;
		names[count++] = name;
	}
	*ret_names = names;
	return count;
}

/* ---- ELF ------------------------------------------------------------------------------------- */

struct image {
	uint8_t *bytes;
	size_t size, capacity;
	bool has_failed;
};

/* -> the offset of what was added, 8-aligned */
static size_t add(struct image *image, const void *bytes, size_t size)
{
	size_t offset = (image->size + 7) & ~(size_t)7, needed = offset + size;
	uint8_t *more;

	if (needed > image->capacity) {
		more = realloc(image->bytes, needed * 2);
		if (!more) {
			image->has_failed = true;
			return 0;
		}
		image->bytes = more;
		image->capacity = needed * 2;
	}
	memset(image->bytes + image->size, 0, offset - image->size);
	memcpy(image->bytes + offset, bytes, size);
	image->size = needed;
	return offset;
}

/* Opcodes: S2R IMAD LDG LDG FFMA FFMA IADD3 LDS BAR STS MOV STG NOP BRA, then EXIT. */
static void fill_text(uint8_t *text)
{
	static const uint16_t opcodes[] = {0x919, 0x224, 0x981, 0x981, 0x223, 0x223, 0x210,
					   0x984, 0xb1d, 0x388, 0x202, 0x986, 0x918, 0x947};

	memset(text, 0, INSTRUCTIONS * INSTRUCTION_BYTES);
	for (size_t i = 0; i < INSTRUCTIONS; i++) {
		uint16_t opcode = opcodes[i % (sizeof(opcodes) / sizeof(opcodes[0]))];

		if (i == INSTRUCTIONS - 1)
			opcode = 0x94d;
		text[i * INSTRUCTION_BYTES] = (uint8_t)opcode;
		text[i * INSTRUCTION_BYTES + 1] = (uint8_t)(0x70 | opcode >> 8);
	}
}

/* A growing table of strings, "" first. -> where the joined string starts */
static uint32_t add_string(char **table, size_t *size, const char *prefix, const char *text)
{
	uint32_t at = (uint32_t)*size;
	size_t length = strlen(prefix) + strlen(text) + 1;
	char *more = realloc(*table, *size + length);

	if (!more)
		return 0;
	*table = more;
	strcpy(more + at, prefix);
	strcat(more + at, text);
	*size += length;
	return at;
}

struct builder {
	struct image image;
	Elf64_Shdr *sections;
	Elf64_Sym *symbols;
	char *section_names, *symbol_names;
	size_t section_names_size, symbol_names_size;
};

static void add_kernels(struct builder *builder, char *const *names, size_t count)
{
	uint8_t text[INSTRUCTIONS * INSTRUCTION_BYTES];

	for (size_t i = 0; i < count; i++) {
		fill_text(text);
		text[2] = (uint8_t)(i + 1); /* no two kernels have the same code */
		builder->sections[4 + i] = (Elf64_Shdr){
			.sh_name = add_string(&builder->section_names, &builder->section_names_size,
					      ".text.", names[i]),
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_offset = add(&builder->image, text, sizeof(text)),
			.sh_size = sizeof(text),
			.sh_info = sim_registers(i) << 24,
			.sh_addralign = 128};
		builder->symbols[1 + i] = (Elf64_Sym){
			.st_name = add_string(&builder->symbol_names, &builder->symbol_names_size,
					      "", names[i]),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_other = 0x10, /* can be launched */
			.st_shndx = (Elf64_Half)(4 + i),
			.st_size = sizeof(text)};
	}
}

static void add_tables(struct builder *builder, size_t count)
{
	static const char *const names[] = {".shstrtab", ".strtab", ".symtab"};
	uint32_t at[3];

	for (int i = 0; i < 3; i++)
		at[i] = add_string(&builder->section_names, &builder->section_names_size, "",
				   names[i]);
	builder->sections[1] =
		(Elf64_Shdr){.sh_name = at[0],
			     .sh_type = SHT_STRTAB,
			     .sh_offset = add(&builder->image, builder->section_names,
					      builder->section_names_size),
			     .sh_size = builder->section_names_size};
	builder->sections[2] = (Elf64_Shdr){.sh_name = at[1],
					    .sh_type = SHT_STRTAB,
					    .sh_offset = add(&builder->image, builder->symbol_names,
							     builder->symbol_names_size),
					    .sh_size = builder->symbol_names_size};
	builder->sections[3] =
		(Elf64_Shdr){.sh_name = at[2],
			     .sh_type = SHT_SYMTAB,
			     .sh_offset = add(&builder->image, builder->symbols,
					      (count + 1) * sizeof(*builder->symbols)),
			     .sh_size = (count + 1) * sizeof(*builder->symbols),
			     .sh_link = 2,
			     .sh_info = 1,
			     .sh_entsize = sizeof(Elf64_Sym)};
}

static const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					      ELFDATA2LSB, EV_CURRENT, ABI_CUDA, 8},
				  .e_type = ET_EXEC,
				  .e_machine = EM_CUDA,
				  .e_version = EV_CURRENT,
				  .e_flags = FLAGS_SM_90,
				  .e_ehsize = sizeof(Elf64_Ehdr),
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shstrndx = 1};

uint8_t *sim_make_cubin(char *const *names, size_t count, size_t *ret_bytes,
			uint32_t *ret_text_bytes)
{
	struct builder builder = {.sections = calloc(count + 4, sizeof(Elf64_Shdr)),
				  .symbols = calloc(count + 1, sizeof(Elf64_Sym)),
				  .section_names = calloc(1, 1),
				  .symbol_names = calloc(1, 1),
				  .section_names_size = 1,
				  .symbol_names_size = 1};
	Elf64_Ehdr *start;
	size_t table = 0;

	add(&builder.image, &header, sizeof(header));
	if (builder.sections && builder.symbols && builder.section_names && builder.symbol_names) {
		add_kernels(&builder, names, count);
		add_tables(&builder, count);
		table = add(&builder.image, builder.sections, (count + 4) * sizeof(Elf64_Shdr));
	}
	free(builder.sections);
	free(builder.symbols);
	free(builder.section_names);
	free(builder.symbol_names);
	if (builder.image.has_failed || !table) {
		free(builder.image.bytes);
		return NULL;
	}
	start = (Elf64_Ehdr *)(void *)builder.image.bytes;
	start->e_shoff = table;
	start->e_shnum = (Elf64_Half)(count + 4);
	*ret_bytes = builder.image.size;
	*ret_text_bytes = INSTRUCTIONS * INSTRUCTION_BYTES;
	return builder.image.bytes;
}

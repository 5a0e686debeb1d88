/* SPDX-License-Identifier: MIT
 *
 * symbol/elf_names.c - which of some names are in a program or library, and where
 *
 * Runs in:  the recorder
 * Gets:     an open file   Gives: bits, values
 * Owns:     nothing
 * Fails:    never: what cannot be read defines nothing
 * Why not libdw: it maps the file, and a program that is shortened while it runs would end the recorder
 *           (SIGBUS); here each table is read as a copy, of at most 64 MiB
 */
#include "symbol/elf_names.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"

enum { SECTIONS_MOST = 4096 };
#define TABLE_MOST ((uint64_t)64 << 20)

struct table {
	char *bytes; /* owned */
	uint64_t size;
};

static bool read_table(int fd, const Elf64_Shdr *section, struct table *ret_table)
{
	ret_table->size = section->sh_size;
	if (section->sh_type == SHT_NOBITS || !section->sh_size || section->sh_size > TABLE_MOST ||
	    section->sh_offset > INT64_MAX)
		return false;
	ret_table->bytes = malloc(section->sh_size);
	return ret_table->bytes &&
	       pread_all(fd, ret_table->bytes, section->sh_size, section->sh_offset) == 0;
}

static bool is_text(const struct table *texts, uint64_t at, const char *name)
{
	size_t size = strlen(name) + 1;

	return at < texts->size && size <= texts->size - at &&
	       memcmp(texts->bytes + at, name, size) == 0;
}

/* What is looked for, and what was found of it. */
struct search {
	const char *const *names;
	size_t count;
	struct elf_symbol *symbols; /* NULL: only functions, and only whether they are there */
	uint32_t found;
	/* Or what is between these two, of one that is exported; NULL: not asked for. */
	const char *prefix, *suffix;
	char *between;
	size_t between_size;
	bool is_found;
};

static void note_symbol(struct search *search, const Elf64_Sym *symbol, size_t index)
{
	if (search->symbols && !(search->found >> index & 1))
		search->symbols[index] = (struct elf_symbol){symbol->st_value, symbol->st_size};
	search->found |= UINT32_C(1) << index;
}

static void note_between(struct search *search, const struct table *texts, uint64_t at)
{
	size_t before = strlen(search->prefix), behind = strlen(search->suffix), length;
	const char *name = texts->bytes + at;

	length = at < texts->size ? strnlen(name, texts->size - at) : 0;
	if (length <= before + behind || length - before - behind >= search->between_size ||
	    memcmp(name, search->prefix, before) != 0 ||
	    memcmp(name + length - behind, search->suffix, behind) != 0)
		return;
	memcpy(search->between, name + before, length - before - behind);
	search->between[length - before - behind] = '\0';
	search->is_found = true;
}

static void find_in(const struct table *symbols, const struct table *texts, struct search *search)
{
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols->bytes + at, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF ||
		    (!search->symbols && ELF64_ST_TYPE(symbol.st_info) != STT_FUNC))
			continue;
		if (search->prefix && !search->is_found)
			note_between(search, texts, symbol.st_name);
		for (size_t i = 0; i < search->count; i++)
			if (is_text(texts, symbol.st_name, search->names[i]))
				note_symbol(search, &symbol, i);
	}
}

static void find_in_section(int fd, const Elf64_Shdr *sections, size_t section_count,
			    const Elf64_Shdr *section, struct search *search)
{
	struct table symbols = {0}, texts = {0};

	if (section->sh_link < section_count && read_table(fd, section, &symbols) &&
	    read_table(fd, &sections[section->sh_link], &texts))
		find_in(&symbols, &texts, search);
	free(symbols.bytes);
	free(texts.bytes);
}

static void find_all(int fd, struct search *search)
{
	auto_free Elf64_Shdr *sections = NULL;
	bool seen[2] = {false, false};
	Elf64_Ehdr head;

	if (pread_all(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(*sections) ||
	    !head.e_shnum || head.e_shnum > SECTIONS_MOST || head.e_shoff > INT64_MAX)
		return;
	sections = calloc(head.e_shnum, sizeof(*sections));
	if (!sections || pread_all(fd, sections, head.e_shnum * sizeof(*sections), head.e_shoff))
		return;
	/* one of each, as linkers write them: a file of thousands would keep a reader for minutes */
	for (size_t i = 0; i < head.e_shnum; i++) {
		uint32_t type = sections[i].sh_type;

		if ((type != SHT_DYNSYM && (type != SHT_SYMTAB || search->prefix)) ||
		    seen[type == SHT_SYMTAB])
			continue;
		seen[type == SHT_SYMTAB] = true;
		find_in_section(fd, sections, head.e_shnum, &sections[i], search);
	}
}

uint32_t elf_names_find(int fd, const char *const *names, size_t count)
{
	struct search search = {.names = names, .count = count};

	find_all(fd, &search);
	return search.found;
}

uint32_t elf_names_find_symbols(int fd, const char *const *names, size_t count,
				struct elf_symbol *ret_symbols)
{
	struct search search = {.names = names, .count = count, .symbols = ret_symbols};

	memset(ret_symbols, 0, count * sizeof(*ret_symbols));
	find_all(fd, &search);
	return search.found;
}

bool elf_names_find_between(int fd, const char *prefix, const char *suffix, char *ret_between,
			    size_t size)
{
	struct search search = {
		.prefix = prefix, .suffix = suffix, .between = ret_between, .between_size = size};

	find_all(fd, &search);
	return search.is_found;
}

bool elf_names_offset(int fd, uint64_t address, size_t size, uint64_t *ret_offset)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (pread_all(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(part))
		return false;
	for (uint64_t i = 0; i < head.e_phnum; i++) {
		if (pread_all(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)))
			return false;
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
		    address - part.p_vaddr < part.p_filesz &&
		    size <= part.p_filesz - (address - part.p_vaddr)) {
			*ret_offset = part.p_offset + (address - part.p_vaddr);
			return true;
		}
	}
	return false;
}

bool elf_names_read(int fd, uint64_t address, void *ret_bytes, size_t size)
{
	uint64_t offset;

	return elf_names_offset(fd, address, size, &offset) &&
	       pread_all(fd, ret_bytes, size, offset) == 0;
}

/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/names.c - look up symbols of a program or library by name
 *
 * Runs in:  the recorder
 * Gets:     an open file, names
 * Gives:    bits for the names that are defined, symbol values
 * Owns:     nothing
 * Fails:    never: a file that cannot be read defines no names
 * Why not libdw: it maps the file. If a program's file is shortened while it is mapped, the
 *           recorder is killed (SIGBUS). This file reads each table into a copy of at most 64 MiB.
 */
#include "symbol/elf/names.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "symbol/elf/image.h"
#include "symbol/elf/source.h"

enum { MAX_SECTIONS = 4096, MAX_NAME_BYTES = 256, MAX_CHAIN = 4096 };
#define MAX_TABLE ((uint64_t)64 << 20)

struct table {
	char *bytes; /* owned */
	uint64_t size;
};

static bool read_table(int fd, const Elf64_Shdr *section, struct table *ret_table)
{
	ret_table->size = section->sh_size;
	if (section->sh_type == SHT_NOBITS || !section->sh_size || section->sh_size > MAX_TABLE ||
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

/* The names to look up and the results. */
struct search {
	const char *const *names;
	size_t count;
	struct elf_symbol *symbols; /* results; NULL: search only functions and set only the bits */
	uint32_t found;
	/* Search instead for an exported name with this prefix and suffix; NULL: off. */
	const char *prefix, *suffix;
	char *between;
	size_t between_size;
	bool is_found;
};

static bool is_wanted(const struct search *search, const Elf64_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF &&
	       (search->symbols || ELF64_ST_TYPE(symbol->st_info) == STT_FUNC);
}

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

	/* checked first because nearly all names differ here */
	if (at >= texts->size || texts->size - at < before ||
	    memcmp(name, search->prefix, before) != 0)
		return;
	length = strnlen(name, texts->size - at);
	if (length <= before + behind || length - before - behind >= search->between_size ||
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
		if (!is_wanted(search, &symbol))
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

/* ---- lookup in the GNU hash table of exported names ------------------------------------------ */

/* The head of a DT_GNU_HASH table. After it come the Bloom filter (64-bit words), the first symbol
 * of each bucket, and the chains. A chain holds one hash per symbol, starting with symbol `first`;
 * its lowest bit marks the end of a chain. */
struct hash_head {
	uint32_t buckets, first, words, shift;
};

struct hash_table {
	int fd;
	const Elf64_Shdr *hashes, *symbols, *texts;
	struct hash_head head;
};

/* False: the section ends before the range, or the read failed. */
static bool read_of(int fd, const Elf64_Shdr *section, uint64_t at, void *ret_bytes, size_t size)
{
	return at <= section->sh_size && size <= section->sh_size - at &&
	       section->sh_offset <= INT64_MAX - section->sh_size &&
	       pread_all(fd, ret_bytes, size, section->sh_offset + at) == 0;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* Offset of the chains in the section. */
static uint64_t chains_begin(const struct hash_head *head)
{
	return sizeof(*head) + (uint64_t)head->words * sizeof(uint64_t) +
	       (uint64_t)head->buckets * sizeof(uint32_t);
}

/* The first symbol of the hash's bucket; 0: no symbol has this hash. */
static uint32_t first_of_bucket(const struct hash_table *table, uint32_t hash)
{
	const struct hash_head *head = &table->head;
	const uint64_t word = hash / 64 % head->words;
	uint64_t bits;
	uint32_t first;

	if (!read_of(table->fd, table->hashes, sizeof(*head) + word * sizeof(bits), &bits,
		     sizeof(bits)) ||
	    !(bits >> hash % 64 & 1) || !(bits >> (hash >> head->shift % 32) % 64 & 1) ||
	    !read_of(table->fd, table->hashes,
		     chains_begin(head) - (head->buckets - hash % head->buckets) * sizeof(first),
		     &first, sizeof(first)))
		return 0;
	return first >= head->first ? first : 0;
}

static bool is_symbol(const struct hash_table *table, uint32_t at, const char *name,
		      const struct search *search, Elf64_Sym *ret_symbol)
{
	const size_t size = strlen(name) + 1;
	char found[MAX_NAME_BYTES];

	return size <= sizeof(found) &&
	       read_of(table->fd, table->symbols, (uint64_t)at * sizeof(*ret_symbol), ret_symbol,
		       sizeof(*ret_symbol)) &&
	       is_wanted(search, ret_symbol) &&
	       read_of(table->fd, table->texts, ret_symbol->st_name, found, size) &&
	       memcmp(found, name, size) == 0;
}

static void find_by_hash(const struct hash_table *table, size_t index, struct search *search)
{
	const char *name = search->names[index];
	const uint32_t hash = hash_of(name);
	uint32_t at = first_of_bucket(table, hash), other = 0;
	Elf64_Sym symbol;

	for (uint32_t i = 0; at && i < MAX_CHAIN && !(other & 1); i++, at++) {
		if (!read_of(table->fd, table->hashes,
			     chains_begin(&table->head) +
				     (uint64_t)(at - table->head.first) * sizeof(other),
			     &other, sizeof(other)))
			return;
		if ((other | 1) != (hash | 1) || !is_symbol(table, at, name, search, &symbol))
			continue;
		note_symbol(search, &symbol, index);
		return;
	}
}

/* Takes a few reads per name; the symbol table of a large library has several megabytes. False: the
 * file has no such table. */
static bool find_by_hashes(int fd, const Elf64_Shdr *sections, size_t section_count, size_t symbols,
			   struct search *search)
{
	struct hash_table table = {.fd = fd, .symbols = &sections[symbols]};

	for (size_t i = 0; i < section_count; i++)
		if (sections[i].sh_type == SHT_GNU_HASH && sections[i].sh_link == symbols)
			table.hashes = &sections[i];
	if (search->prefix || !table.hashes || table.symbols->sh_link >= section_count ||
	    !read_of(fd, table.hashes, 0, &table.head, sizeof(table.head)) || !table.head.buckets ||
	    !table.head.words)
		return false;
	table.texts = &sections[table.symbols->sh_link];
	for (size_t i = 0; i < search->count; i++)
		find_by_hash(&table, i, search);
	return true;
}

/* ---- lookup in all symbol tables ------------------------------------------------------------- */

static void find_all(int fd, struct search *search)
{
	auto_free Elf64_Shdr *sections = NULL;
	bool seen[2] = {false, false};
	Elf64_Ehdr head;

	if (elf_read_head(&(struct elf_source){.fd = fd}, &head) ||
	    head.e_shentsize != sizeof(*sections) || !head.e_shnum || head.e_shnum > MAX_SECTIONS ||
	    head.e_shoff > INT64_MAX)
		return;
	sections = calloc(head.e_shnum, sizeof(*sections));
	if (!sections || pread_all(fd, sections, head.e_shnum * sizeof(*sections), head.e_shoff))
		return;
	/* one table of each type, as linkers write them: a hostile file with thousands of tables
	 * would take minutes */
	for (size_t i = 0; i < head.e_shnum; i++) {
		uint32_t type = sections[i].sh_type;

		if ((type != SHT_DYNSYM && (type != SHT_SYMTAB || search->prefix)) ||
		    seen[type == SHT_SYMTAB])
			continue;
		seen[type == SHT_SYMTAB] = true;
		if (!find_by_hashes(fd, sections, head.e_shnum, i, search))
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

	if (elf_read_head(&(struct elf_source){.fd = fd}, &head) ||
	    head.e_phentsize != sizeof(part))
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

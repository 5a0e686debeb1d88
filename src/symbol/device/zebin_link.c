/* SPDX-License-Identifier: MIT
 *
 * symbol/device/zebin_link.c - link an Intel GPU's code object so that every byte has a unique
 * address
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a zebin, which may be anything
 * Gives:    an image that libdw can read
 * Owns:     nothing; the image is the caller's
 * Fails:    -ENOMEM; invalid relocations are skipped, addresses of unknown kernels become NOWHERE
 * Why duet links the file: every kernel starts at address 0, and libdw (elfutils 0.188) does not
 *           apply the relocations of Intel's ELF machine type, so it cannot distinguish kernels. A
 *           symbol ".text.X" in a debug section means the start of section .text.X, as in Intel's
 *           compute-runtime. Intel's compiler 2.40 names only one of these symbols and leaves the
 *           names of the others empty. In that case a unit of debug information is matched to a
 *           kernel by code length and by order, because units and kernels have the same order.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbol/device/zebin_private.h"

#define DEBUG       ".debug_"
#define DEBUG_INFO  ".debug_info"
#define DEBUG_LINE  ".debug_line"
#define RELOCATIONS ((size_t)1 << 22) /* max per file: sections may overlap and repeat them */
#define NAME_STEP   256 /* name bytes whose comparison costs as much as one relocation */
#define NOWHERE     (UINT64_C(1) << 63)
#define WIDE        UINT32_MAX /* marks a 64-bit DWARF length */

enum relocation { RELOCATION_64 = 1, RELOCATION_32 = 2, RELOCATION_32_HIGH = 3 };

/* A unit of .debug_info or a table of .debug_line: its place in the section and its kernel. */
struct unit {
	uint64_t begin, end;
	const struct zebin_kernel *kernel; /* NULL: not known */
};

struct units {
	struct unit *units; /* owned */
	size_t count, capacity;
};

struct link {
	const struct zebin *zebin;
	uint8_t *image;
	Elf64_Shdr symbols;
	struct elf_texts texts; /* symbol names */
	struct units info, lines;
	size_t left; /* remaining budget, in relocations */
};

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* ---- symbols ---- */

static bool read_symbol(const struct link *link, uint64_t index, Elf64_Sym *ret_symbol)
{
	return elf_image_symbol(&link->zebin->image, &link->symbols, index, ret_symbol);
}

static const char *symbol_name(const struct link *link, const Elf64_Sym *symbol)
{
	return zebin_text(&link->texts, symbol->st_name);
}

/* Cost of comparing a name, in relocations. A name that is not in the file is charged the maximum
 * length. */
static size_t name_cost(const struct link *link, const char *name)
{
	const uintptr_t bytes = (uintptr_t)link->zebin->image.bytes;
	const bool is_there =
		(uintptr_t)name >= bytes && (uintptr_t)name - bytes < link->zebin->image.size;

	return (is_there ? strlen(name) : MAX_ZEBIN_NAME) / NAME_STEP;
}

/* A relocation's share of the budget. Its names count because each relocation compares them again,
 * and all relocations may refer to one long name. */
static size_t cost_of(const struct link *link, const Elf64_Sym *symbol, const Elf64_Shdr *target)
{
	Elf64_Shdr section;
	size_t cost = 1 + (symbol->st_name ? name_cost(link, symbol_name(link, symbol)) : 0);

	cost += name_cost(link, zebin_section_name(link->zebin, target));
	if (elf_image_section(&link->zebin->image, symbol->st_shndx, &section))
		cost += name_cost(link, zebin_section_name(link->zebin, &section));
	return cost;
}

static void spend_budget(size_t *left, size_t cost)
{
	*left -= cost < *left ? cost : *left;
}

static bool is_in_debug(const struct link *link, const Elf64_Sym *symbol)
{
	Elf64_Shdr section;

	return elf_image_section(&link->zebin->image, symbol->st_shndx, &section) &&
	       begins_with(zebin_section_name(link->zebin, &section), DEBUG);
}

/* The kernel that contains the symbol, or whose section the symbol names; NULL: none. */
static const struct zebin_kernel *kernel_of(const struct link *link, const Elf64_Sym *symbol)
{
	const char *name = symbol_name(link, symbol);

	if (is_in_debug(link, symbol))
		return begins_with(name, ZEBIN_TEXT)
			       ? zebin_find_kernel(link->zebin, name + strlen(ZEBIN_TEXT))
			       : NULL;
	return zebin_kernel_of_section(link->zebin, symbol->st_shndx);
}

static bool is_nameless(const struct link *link, const Elf64_Sym *symbol)
{
	return !*symbol_name(link, symbol) && is_in_debug(link, symbol);
}

/* ---- units and their kernels ---- */

static int add_units(const struct link *link, const Elf64_Shdr *section, struct units *units)
{
	uint64_t at = 0, length;
	uint32_t narrow;

	while (elf_image_read(&link->zebin->image, section->sh_offset + at, &narrow,
			      sizeof(narrow)) &&
	       at + sizeof(narrow) <= section->sh_size) {
		uint64_t head = sizeof(narrow);

		length = narrow;
		if (narrow == WIDE) {
			head += sizeof(length);
			if (!elf_image_read(&link->zebin->image,
					    section->sh_offset + at + sizeof(narrow), &length,
					    sizeof(length)))
				return 0;
		}
		if (at + head > section->sh_size || length > section->sh_size - at - head)
			return 0;
		if (array_append(units->units, units->capacity, units->count,
				 (struct unit){at, at + head + length, NULL}))
			return -ENOMEM;
		at += head + length;
	}
	return 0;
}

static struct unit *find_unit(const struct units *units, uint64_t offset)
{
	size_t low = LOWER_BOUND(units->count, i, units->units[i].end <= offset);

	return low < units->count ? &units->units[low] : NULL;
}

static bool read_relocation(const struct link *link, const Elf64_Shdr *section, uint64_t index,
			    Elf64_Rela *ret, Elf64_Sym *ret_symbol)
{
	return index < section->sh_size / sizeof(*ret) &&
	       elf_image_read(&link->zebin->image, section->sh_offset + index * sizeof(*ret), ret,
			      sizeof(*ret)) &&
	       read_symbol(link, ELF64_R_SYM(ret->r_info), ret_symbol);
}

struct sized {
	uint64_t bytes;
	size_t kernel;
};

static int compare_sizes(const void *first, const void *second)
{
	const struct sized *one = first, *other = second;

	if (one->bytes != other->bytes)
		return one->bytes < other->bytes ? -1 : 1;
	return one->kernel < other->kernel ? -1 : one->kernel > other->kernel;
}

/* Index of the first kernel, from `next` on, with `bytes` of code; count: none. */
static size_t find_sized(const struct sized *sorted, size_t count, uint64_t bytes, size_t next)
{
	const struct sized wanted = {bytes, next};
	size_t low = LOWER_BOUND(count, i, compare_sizes(&sorted[i], &wanted) < 0);

	return low < count && sorted[low].bytes == bytes ? sorted[low].kernel : count;
}

/* Gives each unit without a kernel the first kernel of its code length after the previous unit's
 * kernel. Kernels are sorted by size because a file of 4 MB can have tens of thousands of units and
 * kernels. */
static int assign(struct link *link, const uint64_t *lengths)
{
	const struct zebin_kernel *kernels;
	size_t count = zebin_kernels(link->zebin, &kernels), next = 0;
	struct sized *sorted = calloc(count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct sized){kernels[i].code_bytes, i};
	qsort(sorted, count, sizeof(*sorted), compare_sizes);
	for (size_t i = 0; i < link->info.count; i++) {
		struct unit *unit = &link->info.units[i];

		if (!unit->kernel && lengths[i]) {
			const size_t found = find_sized(sorted, count, lengths[i], next);

			unit->kernel = found < count ? &kernels[found] : NULL;
		}
		if (unit->kernel)
			next = (size_t)(unit->kernel - kernels) + 1;
	}
	free(sorted);
	return 0;
}

/* Finds each unit's kernel from the relocations of .debug_info: by the symbol's name, otherwise by
 * the largest addend, which is the code length. */
static int find_owners(struct link *link, const Elf64_Shdr *section, const Elf64_Shdr *target)
{
	uint64_t *lengths = calloc(link->info.count + 1, sizeof(*lengths));
	size_t left = RELOCATIONS;
	Elf64_Rela relocation;
	Elf64_Sym symbol;
	int error;

	if (!lengths)
		return -ENOMEM;
	for (uint64_t i = 0; left && read_relocation(link, section, i, &relocation, &symbol); i++) {
		struct unit *unit = find_unit(&link->info, relocation.r_offset);
		size_t index = unit ? (size_t)(unit - link->info.units) : 0;

		spend_budget(&left, cost_of(link, &symbol, target));
		if (!unit || ELF64_R_TYPE(relocation.r_info) != RELOCATION_64)
			continue;
		if (!unit->kernel)
			unit->kernel = kernel_of(link, &symbol);
		if (is_nameless(link, &symbol) && (uint64_t)relocation.r_addend > lengths[index])
			lengths[index] = (uint64_t)relocation.r_addend;
	}
	error = assign(link, lengths);
	free(lengths);
	return error;
}

/* ---- relocations ---- */

static const struct zebin_kernel *owner_of(const struct link *link, const char *section,
					   uint64_t offset)
{
	const struct units *units = strcmp(section, DEBUG_INFO) == 0   ? &link->info
				    : strcmp(section, DEBUG_LINE) == 0 ? &link->lines
								       : NULL;
	const struct unit *unit = units ? find_unit(units, offset) : NULL;

	return unit ? unit->kernel : NULL;
}

static uint64_t value_of(const struct link *link, const Elf64_Shdr *target,
			 const Elf64_Rela *relocation, const Elf64_Sym *symbol)
{
	const struct zebin_kernel *kernel = kernel_of(link, symbol);
	uint64_t value = symbol->st_value + (uint64_t)relocation->r_addend;

	if (!kernel && ELF64_R_TYPE(relocation->r_info) == RELOCATION_64) {
		kernel = is_nameless(link, symbol)
				 ? owner_of(link, zebin_section_name(link->zebin, target),
					    relocation->r_offset)
				 : NULL;
		if (!kernel)
			return value | NOWHERE;
	}
	return value + (kernel ? kernel->offset : 0);
}

static void apply(const struct link *link, const Elf64_Shdr *target, const Elf64_Rela *relocation,
		  const Elf64_Sym *symbol)
{
	uint64_t type = ELF64_R_TYPE(relocation->r_info), value;
	size_t size = type == RELOCATION_64 ? sizeof(uint64_t) : sizeof(uint32_t);

	if (type < RELOCATION_64 || type > RELOCATION_32_HIGH || target->sh_size < size ||
	    relocation->r_offset > target->sh_size - size)
		return;
	value = value_of(link, target, relocation, symbol);
	if (type == RELOCATION_32_HIGH)
		value >>= 32;
	memcpy(link->image + target->sh_offset + relocation->r_offset, &value, size);
}

/* Whether the section contains relocations of a debug section, and which one. */
static bool find_target(const struct link *link, const Elf64_Shdr *section, Elf64_Shdr *ret_target)
{
	return section->sh_type == SHT_RELA && elf_image_has_bytes(&link->zebin->image, section) &&
	       elf_image_section(&link->zebin->image, section->sh_info, ret_target) &&
	       elf_image_has_bytes(&link->zebin->image, ret_target) &&
	       begins_with(zebin_section_name(link->zebin, ret_target), DEBUG);
}

static void relocate(struct link *link, const Elf64_Shdr *section)
{
	Elf64_Shdr target;
	Elf64_Rela relocation;
	Elf64_Sym symbol;

	if (!find_target(link, section, &target))
		return;
	for (uint64_t i = 0; link->left && read_relocation(link, section, i, &relocation, &symbol);
	     i++) {
		apply(link, &target, &relocation, &symbol);
		spend_budget(&link->left, cost_of(link, &symbol, &target));
	}
}

/* ---- the image ---- */

static void move_symbols(const struct link *link)
{
	Elf64_Sym symbol;

	for (uint64_t i = 0; read_symbol(link, i, &symbol); i++) {
		const struct zebin_kernel *kernel =
			zebin_kernel_of_section(link->zebin, symbol.st_shndx);

		if (!kernel)
			continue;
		symbol.st_value += kernel->offset;
		memcpy(link->image + link->symbols.sh_offset + i * sizeof(symbol), &symbol,
		       sizeof(symbol));
	}
}

/* One segment covers the whole file, with addresses equal to file offsets. */
static void write_heads(const struct link *link)
{
	const struct zebin *zebin = link->zebin;
	Elf64_Ehdr head = zebin->image.head;
	const Elf64_Phdr all = {.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_filesz = zebin->image.size,
				.p_memsz = zebin->image.size,
				.p_align = 4096};
	Elf64_Shdr section;

	head.e_type = ET_DYN;
	head.e_machine = EM_INTELGT;
	head.e_phoff = zebin->image.size;
	head.e_phentsize = sizeof(all);
	head.e_phnum = 1;
	for (size_t i = 0; i < zebin->count; i++) {
		if (!elf_image_section(&zebin->image, zebin->sections[i], &section))
			continue;
		section.sh_addr = section.sh_offset;
		section.sh_flags |= SHF_ALLOC | SHF_EXECINSTR;
		memcpy(link->image + zebin->image.head.e_shoff +
			       zebin->sections[i] * sizeof(section),
		       &section, sizeof(section));
	}
	memcpy(link->image + zebin->image.size, &all, sizeof(all));
	memcpy(link->image, &head, sizeof(head));
}

static int find_sections(struct link *link)
{
	const struct zebin *zebin = link->zebin;
	Elf64_Shdr section, texts;
	int error = 0;

	for (uint32_t i = 0; !error && elf_image_section(&zebin->image, i, &section); i++) {
		const char *name = zebin_section_name(zebin, &section);

		if (section.sh_type == SHT_SYMTAB) {
			link->symbols = section;
			if (elf_image_section(&zebin->image, section.sh_link, &texts))
				link->texts = elf_image_texts(&zebin->image, &texts);
		} else if (section.sh_type == SHT_PROGBITS &&
			   elf_image_has_bytes(&zebin->image, &section)) {
			if (strcmp(name, DEBUG_INFO) == 0 && !link->info.count)
				error = add_units(link, &section, &link->info);
			if (strcmp(name, DEBUG_LINE) == 0 && !link->lines.count)
				error = add_units(link, &section, &link->lines);
		}
	}
	return error;
}

static int resolve(struct link *link)
{
	Elf64_Shdr section, target;
	int error = find_sections(link);

	for (uint32_t i = 0; !error && elf_image_section(&link->zebin->image, i, &section); i++)
		if (find_target(link, &section, &target) &&
		    strcmp(zebin_section_name(link->zebin, &target), DEBUG_INFO) == 0) {
			error = find_owners(link, &section, &target);
			break;
		}
	/* each unit has a line table, in the same order */
	for (size_t i = 0; i < link->lines.count && i < link->info.count; i++)
		link->lines.units[i].kernel = link->info.units[i].kernel;
	return error;
}

int zebin_link(const struct zebin *zebin, void **ret_image, size_t *ret_size)
{
	struct link link = {.zebin = zebin, .left = RELOCATIONS};
	Elf64_Shdr section;
	int error = resolve(&link);

	link.image = error ? NULL : malloc(zebin->image.size + sizeof(Elf64_Phdr));
	if (link.image) {
		memcpy(link.image, zebin->image.bytes, zebin->image.size);
		for (uint32_t i = 0; elf_image_section(&zebin->image, i, &section); i++)
			relocate(&link, &section);
		move_symbols(&link);
		write_heads(&link);
		*ret_image = link.image;
		*ret_size = zebin->image.size + sizeof(Elf64_Phdr);
	}
	free(link.info.units);
	free(link.lines.units);
	return link.image ? 0 : error_set(-ENOMEM, "zebin: out of memory");
}

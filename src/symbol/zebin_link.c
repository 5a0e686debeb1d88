/* SPDX-License-Identifier: MIT
 *
 * symbol/zebin_link.c - a copy of an Intel GPU's code object in which every byte has an address of its own
 *
 * Runs in:  the readers
 * Gets:     a zebin, which may be anything   Gives: an image that libdw can read
 * Owns:     nothing; the image is the caller's
 * Fails:    -ENOMEM; a relocation that makes no sense is left out, and what it would have said is nowhere
 * Why here: every kernel begins at 0, and libdw of elfutils 0.188 knows no relocation of this machine, so that to it all
 *           kernels were the same place. A symbol that stands in a debug section and is named ".text.X" is the begin of that
 *           section, as Intel's compute-runtime has it. But Intel's compiler (2.40) gives such symbols of all kernels but one
 *           an empty name, so that one symbol stands for several; whose a unit of the debug information is, is then told by
 *           the length of its code and by its order, in which the kernels are too.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbol/zebin_private.h"

#define DEBUG      ".debug_"
#define DEBUG_INFO ".debug_info"
#define DEBUG_LINE ".debug_line"
#define RELOCATIONS \
	((size_t)1 << 22) /* that are applied at most; sections may lie on one another */
#define NAME_STEP 256     /* bytes of a name that count as one more */
#define NOWHERE   (UINT64_C(1) << 63)
#define WIDE      UINT32_MAX /* a length of DWARF with 64 bits */

enum relocation { RELOCATION_64 = 1, RELOCATION_32 = 2, RELOCATION_32_HIGH = 3 };

/* Of .debug_info or .debug_line: where it lies in the section, and whose it is. */
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
	Elf64_Shdr symbols, texts;
	struct units info, lines;
	size_t left; /* relocations that may still be applied */
};

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* ---- symbols ---- */

static bool read_symbol(const struct link *link, uint64_t index, Elf64_Sym *ret_symbol)
{
	return zebin_has_bytes(link->zebin, &link->symbols) &&
	       index < link->symbols.sh_size / sizeof(*ret_symbol) &&
	       zebin_read(link->zebin, link->symbols.sh_offset + index * sizeof(*ret_symbol),
			  ret_symbol, sizeof(*ret_symbol));
}

static const char *symbol_name(const struct link *link, const Elf64_Sym *symbol)
{
	return zebin_text(link->zebin, &link->texts, symbol->st_name);
}

/* Bytes of a name that are looked through, also in vain. */
static size_t name_cost(const struct link *link, const char *name)
{
	const uintptr_t bytes = (uintptr_t)link->zebin->bytes;
	const bool is_there =
		(uintptr_t)name >= bytes && (uintptr_t)name - bytes < link->zebin->size;

	return (is_there ? strlen(name) : ZEBIN_NAME_MOST) / NAME_STEP;
}

/* What a relocation takes of what may be done for all: names are looked through each time, and all may have the same long one. */
static size_t cost_of(const struct link *link, const Elf64_Sym *symbol, const Elf64_Shdr *target)
{
	Elf64_Shdr section;
	size_t cost = 1 + (symbol->st_name ? name_cost(link, symbol_name(link, symbol)) : 0);

	cost += name_cost(link, zebin_section_name(link->zebin, target));
	if (zebin_read_section(link->zebin, symbol->st_shndx, &section))
		cost += name_cost(link, zebin_section_name(link->zebin, &section));
	return cost;
}

static void pay(size_t *left, size_t cost)
{
	*left -= cost < *left ? cost : *left;
}

static bool is_in_debug(const struct link *link, const Elf64_Sym *symbol)
{
	Elf64_Shdr section;

	return zebin_read_section(link->zebin, symbol->st_shndx, &section) &&
	       begins_with(zebin_section_name(link->zebin, &section), DEBUG);
}

/* The kernel that the symbol lies in, or stands for; NULL: none. */
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

/* ---- whose a unit is ---- */

static int add_units(const struct link *link, const Elf64_Shdr *section, struct units *units)
{
	uint64_t at = 0, length;
	uint32_t narrow;

	while (zebin_read(link->zebin, section->sh_offset + at, &narrow, sizeof(narrow)) &&
	       at + sizeof(narrow) <= section->sh_size) {
		uint64_t head = sizeof(narrow);

		length = narrow;
		if (narrow == WIDE) {
			head += sizeof(length);
			if (!zebin_read(link->zebin, section->sh_offset + at + sizeof(narrow),
					&length, sizeof(length)))
				return 0;
		}
		if (at + head > section->sh_size || length > section->sh_size - at - head)
			return 0;
		if (array_grow(units->units, units->capacity, units->count + 1))
			return -ENOMEM;
		units->units[units->count++] = (struct unit){at, at + head + length, NULL};
		at += head + length;
	}
	return 0;
}

static struct unit *find_unit(const struct units *units, uint64_t offset)
{
	size_t low = 0, high = units->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (units->units[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < units->count ? &units->units[low] : NULL;
}

static bool read_relocation(const struct link *link, const Elf64_Shdr *section, uint64_t index,
			    Elf64_Rela *ret, Elf64_Sym *ret_symbol)
{
	return index < section->sh_size / sizeof(*ret) &&
	       zebin_read(link->zebin, section->sh_offset + index * sizeof(*ret), ret,
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

/* The first kernel from next on with so much code; count: there is none. */
static size_t find_sized(const struct sized *sorted, size_t count, uint64_t bytes, size_t next)
{
	const struct sized wanted = {bytes, next};
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_sizes(&sorted[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && sorted[low].bytes == bytes ? sorted[low].kernel : count;
}

/* A kernel behind the one that the unit before has, with as much code; whose is known keeps it. It is searched for in a sorted
 * list: a file of 4 MB can have ten thousands of both. */
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

/* By the relocations of .debug_info: a name, or the largest address, which is the end of the code. */
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

		pay(&left, cost_of(link, &symbol, target));
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

/* Whether it has relocations of a debug section, and of which one. */
static bool find_target(const struct link *link, const Elf64_Shdr *section, Elf64_Shdr *ret_target)
{
	return section->sh_type == SHT_RELA && zebin_has_bytes(link->zebin, section) &&
	       zebin_read_section(link->zebin, section->sh_info, ret_target) &&
	       zebin_has_bytes(link->zebin, ret_target) &&
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
		pay(&link->left, cost_of(link, &symbol, &target));
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

/* One segment is all of the file, at its offset. */
static void write_heads(const struct link *link)
{
	const struct zebin *zebin = link->zebin;
	Elf64_Ehdr head = zebin->head;
	const Elf64_Phdr all = {.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_filesz = zebin->size,
				.p_memsz = zebin->size,
				.p_align = 4096};
	Elf64_Shdr section;

	head.e_type = ET_DYN;
	head.e_machine = EM_INTELGT;
	head.e_phoff = zebin->size;
	head.e_phentsize = sizeof(all);
	head.e_phnum = 1;
	for (size_t i = 0; i < zebin->count; i++) {
		if (!zebin_read_section(zebin, zebin->sections[i], &section))
			continue;
		section.sh_addr = section.sh_offset;
		section.sh_flags |= SHF_ALLOC | SHF_EXECINSTR;
		memcpy(link->image + zebin->head.e_shoff + zebin->sections[i] * sizeof(section),
		       &section, sizeof(section));
	}
	memcpy(link->image + zebin->size, &all, sizeof(all));
	memcpy(link->image, &head, sizeof(head));
}

static int find_sections(struct link *link)
{
	const struct zebin *zebin = link->zebin;
	Elf64_Shdr section;
	int error = 0;

	for (uint32_t i = 0; !error && zebin_read_section(zebin, i, &section); i++) {
		const char *name = zebin_section_name(zebin, &section);

		if (section.sh_type == SHT_SYMTAB) {
			link->symbols = section;
			zebin_read_section(zebin, section.sh_link, &link->texts);
		} else if (section.sh_type == SHT_PROGBITS && zebin_has_bytes(zebin, &section)) {
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

	for (uint32_t i = 0; !error && zebin_read_section(link->zebin, i, &section); i++)
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

	link.image = error ? NULL : malloc(zebin->size + sizeof(Elf64_Phdr));
	if (link.image) {
		memcpy(link.image, zebin->bytes, zebin->size);
		for (uint32_t i = 0; zebin_read_section(zebin, i, &section); i++)
			relocate(&link, &section);
		move_symbols(&link);
		write_heads(&link);
		*ret_image = link.image;
		*ret_size = zebin->size + sizeof(Elf64_Phdr);
	}
	free(link.info.units);
	free(link.lines.units);
	return link.image ? 0 : error_set(-ENOMEM, "zebin: out of memory");
}

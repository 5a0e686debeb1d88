/* SPDX-License-Identifier: MIT
 *
 * symbol/zebin.c - code objects of Intel's GPUs: kernels, sizes, target
 *
 * Runs in:  the recorder and the readers
 * Gets:     the bytes of a zebin, which may be anything   Gives: its kernels and for which GPU they are
 * Owns:     the list of kernels
 * Fails:    -ENOEXEC with a text, -ENOMEM; a note that makes no sense is left out
 * Why by hand: what is needed are five sections by their names, and each offset in a file that comes from a trace has to be looked at
 */
#include "symbol/zebin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "symbol/ze_info.h"
#include "symbol/zebin_private.h"

#define INFO  ".ze_info"
#define NOTES ".note.intelgt.compat"
#define OWNER "IntelGT"

/* Of files made before the machine had a number. */
enum { TYPE_ZEBIN_FIRST = 0xff11, TYPE_ZEBIN_LAST = 0xff12, FLAG_MACHINE_IS_CORE = 1 << 15 };
enum note_type { NOTE_CORE_FAMILY = 2, NOTE_IP_VERSION = 6 };

/* ---- reading ELF ---- */

bool zebin_read(const struct zebin *zebin, uint64_t offset, void *ret, size_t size)
{
	if (offset > zebin->size || size > zebin->size - offset)
		return false;
	memcpy(ret, zebin->bytes + offset, size);
	return true;
}

bool zebin_read_section(const struct zebin *zebin, size_t index, Elf64_Shdr *ret_section)
{
	return index < zebin->head.e_shnum &&
	       zebin_read(zebin, zebin->head.e_shoff + index * sizeof(*ret_section), ret_section,
			  sizeof(*ret_section));
}

bool zebin_has_bytes(const struct zebin *zebin, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS &&
	       section->sh_offset <= zebin->size &&
	       section->sh_size <= zebin->size - section->sh_offset;
}

/* "" for what does not end inside of the table, or is no name. */
const char *zebin_text(const struct zebin *zebin, const Elf64_Shdr *table, uint32_t offset)
{
	const char *text;
	uint64_t left;

	if (!zebin_has_bytes(zebin, table) || offset >= table->sh_size)
		return "";
	text = (const char *)zebin->bytes + table->sh_offset + offset;
	left = table->sh_size - offset;
	return memchr(text, '\0', left < ZEBIN_NAME_MOST ? left : ZEBIN_NAME_MOST) ? text : "";
}

const char *zebin_section_name(const struct zebin *zebin, const Elf64_Shdr *section)
{
	return zebin_text(zebin, &zebin->names, section->sh_name);
}

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static bool is_kernel(const struct zebin *zebin, const Elf64_Shdr *section)
{
	const char *name = zebin_section_name(zebin, section);

	return section->sh_type == SHT_PROGBITS && zebin_has_bytes(zebin, section) &&
	       begins_with(name, ZEBIN_TEXT) && strlen(name) > strlen(ZEBIN_TEXT);
}

static bool is_head(const Elf64_Ehdr *head)
{
	return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
	       head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (head->e_machine == EM_INTELGT ||
		(head->e_type >= TYPE_ZEBIN_FIRST && head->e_type <= TYPE_ZEBIN_LAST));
}

bool zebin_is(const void *bytes, size_t size)
{
	Elf64_Ehdr head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	return is_head(&head);
}

/* ---- kernels ---- */

static int add_kernel(struct zebin *zebin, uint32_t index, const Elf64_Shdr *section)
{
	const char *name = zebin_section_name(zebin, section) + strlen(ZEBIN_TEXT);
	uint32_t id = string_table_add(&zebin->texts, name, strlen(name));

	if (!id || array_grow(zebin->kernels, zebin->capacity, zebin->count + 1) ||
	    array_grow(zebin->sections, zebin->sections_capacity, zebin->count + 1))
		return -ENOMEM;
	zebin->sections[zebin->count] = index;
	zebin->kernels[zebin->count] =
		(struct zebin_kernel){.name = string_table_text(&zebin->texts, id, NULL),
				      .offset = section->sh_offset,
				      .size_bytes = section->sh_size,
				      .code_bytes = section->sh_size,
				      .address = section->sh_addr};
	zebin->count++;
	return hash_map_find(&zebin->by_name, id)
		       ? 0
		       : hash_map_put(&zebin->by_name, id, zebin->count - 1);
}

/* NULL: there is none. */
struct zebin_kernel *zebin_find_kernel(const struct zebin *zebin, const char *name)
{
	uint32_t id = string_table_find(&zebin->texts, name, strlen(name));
	const uint64_t *index = id ? hash_map_find(&zebin->by_name, id) : NULL;

	return index ? &zebin->kernels[*index] : NULL;
}

/* Kernels are in the order of their sections' numbers. */
struct zebin_kernel *zebin_kernel_of_section(const struct zebin *zebin, uint32_t index)
{
	size_t low = 0, high = zebin->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (zebin->sections[middle] < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < zebin->count && zebin->sections[low] == index ? &zebin->kernels[low] : NULL;
}

/* A kernel's symbol ends where its code does; behind it the section is filled up. */
static void read_sizes(struct zebin *zebin, const Elf64_Shdr *symbols)
{
	Elf64_Sym symbol;

	if (!zebin_has_bytes(zebin, symbols))
		return;
	for (uint64_t at = 0; at + sizeof(symbol) <= symbols->sh_size; at += sizeof(symbol)) {
		struct zebin_kernel *kernel;

		if (!zebin_read(zebin, symbols->sh_offset + at, &symbol, sizeof(symbol)))
			return;
		kernel = zebin_kernel_of_section(zebin, symbol.st_shndx);
		if (kernel && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && !symbol.st_value &&
		    symbol.st_size && symbol.st_size <= kernel->size_bytes)
			kernel->code_bytes = symbol.st_size;
	}
}

/* What is told of a kernel that has no section is nobody's. */
static void on_kernel(void *context, const char *name, const struct ze_info_kernel *info)
{
	struct zebin_kernel *kernel = zebin_find_kernel(context, name);

	if (!kernel)
		return;
	kernel->simd_size = info->simd_size;
	kernel->grf_count = info->grf_count;
	kernel->eu_threads = info->eu_thread_count;
	kernel->local_bytes = info->slm_size;
	kernel->spill_bytes = info->spill_size;
}

static uint64_t align_4(uint64_t size)
{
	return (size + 3) & ~UINT64_C(3);
}

static void read_notes(struct zebin *zebin, const Elf64_Shdr *section)
{
	uint64_t at = section->sh_offset, end = at + section->sh_size;
	Elf64_Nhdr note;

	while (end - at >= sizeof(note) && zebin_read(zebin, at, &note, sizeof(note))) {
		uint64_t name = at + sizeof(note), value = name + align_4(note.n_namesz);
		uint32_t number;

		if (value > end || align_4(note.n_descsz) > end - value)
			return;
		at = value + align_4(note.n_descsz);
		if (note.n_namesz != sizeof(OWNER) || note.n_descsz != sizeof(number) ||
		    memcmp(zebin->bytes + name, OWNER, sizeof(OWNER)) != 0)
			continue;
		memcpy(&number, zebin->bytes + value, sizeof(number));
		if (note.n_type == NOTE_CORE_FAMILY)
			zebin->target.core_family = number;
		if (note.n_type == NOTE_IP_VERSION)
			zebin->target.ip_version = number;
	}
}

static int read_sections(struct zebin *zebin)
{
	Elf64_Shdr section, symbols = {.sh_type = SHT_NULL}, info = {.sh_type = SHT_NULL};
	int error = 0;

	for (uint32_t i = 0; i < zebin->head.e_shnum && !error; i++) {
		if (!zebin_read_section(zebin, i, &section))
			break;
		if (is_kernel(zebin, &section))
			error = add_kernel(zebin, i, &section);
		else if (section.sh_type == SHT_SYMTAB)
			symbols = section;
		else if (!zebin_has_bytes(zebin, &section))
			continue;
		else if (strcmp(zebin_section_name(zebin, &section), INFO) == 0)
			info = section;
		else if (strcmp(zebin_section_name(zebin, &section), NOTES) == 0)
			read_notes(zebin, &section);
	}
	if (error)
		return error;
	read_sizes(zebin, &symbols);
	if (info.sh_type != SHT_NULL)
		error = ze_info_read((const char *)zebin->bytes + info.sh_offset, info.sh_size,
				     on_kernel, zebin);
	return error;
}

int zebin_open(const void *bytes, size_t size, struct zebin **ret_zebin)
{
	struct zebin *zebin;
	int error;

	if (!zebin_is(bytes, size))
		return error_set(-ENOEXEC, "no code object of an Intel GPU (zebin)");
	zebin = calloc(1, sizeof(*zebin));
	if (!zebin)
		return error_set(-ENOMEM, "zebin: out of memory");
	string_table_init(&zebin->texts);
	hash_map_init(&zebin->by_name);
	zebin->bytes = bytes;
	zebin->size = size;
	memcpy(&zebin->head, bytes, sizeof(zebin->head));
	if (zebin->head.e_machine != EM_INTELGT && zebin->head.e_flags & FLAG_MACHINE_IS_CORE)
		zebin->target.core_family = zebin->head.e_machine;
	if (zebin->head.e_shentsize != sizeof(Elf64_Shdr) ||
	    !zebin_read_section(zebin, zebin->head.e_shstrndx, &zebin->names)) {
		zebin_close(zebin);
		return error_set(-ENOEXEC,
				 "a code object of an Intel GPU whose sections lie outside of its "
				 "%zu bytes: it is cut off or damaged",
				 size);
	}
	error = read_sections(zebin);
	if (error) {
		zebin_close(zebin);
		return error_set(error, "zebin: out of memory");
	}
	*ret_zebin = zebin;
	return 0;
}

void zebin_close(struct zebin *zebin)
{
	if (!zebin)
		return;
	string_table_fini(&zebin->texts);
	hash_map_fini(&zebin->by_name);
	free(zebin->kernels);
	free(zebin->sections);
	free(zebin);
}

size_t zebin_kernels(const struct zebin *zebin, const struct zebin_kernel **ret_kernels)
{
	*ret_kernels = zebin->kernels;
	return zebin->count;
}

struct zebin_target zebin_target(const struct zebin *zebin)
{
	return zebin->target;
}

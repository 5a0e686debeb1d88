/* SPDX-License-Identifier: MIT
 *
 * symbol/device/zebin.c - code objects of Intel's GPUs: kernels, sizes, target
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     the bytes of a zebin, which may be anything
 * Gives:    its kernels and the GPU that they are compiled for
 * Owns:     the list of kernels
 * Fails:    -ENOEXEC with a text, -ENOMEM; an invalid note is skipped
 * Why not libelf: only five sections are needed, found by name. The file comes from a trace, so
 *           every offset must be checked.
 */
#include "symbol/device/zebin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "symbol/device/ze_info.h"
#include "symbol/device/zebin_private.h"

#define INFO  ".ze_info"
#define NOTES ".note.intelgt.compat"
#define OWNER "IntelGT"

/* ELF types and flags of files made before the machine had an ELF number. */
enum { TYPE_ZEBIN_FIRST = 0xff11, TYPE_ZEBIN_LAST = 0xff12, FLAG_MACHINE_IS_CORE = 1 << 15 };
enum note_type { NOTE_CORE_FAMILY = 2, NOTE_IP_VERSION = 6 };

/* ---- sections ---- */

const char *zebin_text(const struct elf_texts *texts, uint32_t offset)
{
	const char *text = elf_texts_at(texts, offset);

	return strnlen(text, MAX_ZEBIN_NAME) < MAX_ZEBIN_NAME ? text : "";
}

const char *zebin_section_name(const struct zebin *zebin, const Elf64_Shdr *section)
{
	return zebin_text(&zebin->image.names, section->sh_name);
}

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* Name of the kernel whose code the section contains; NULL: not a code section. */
static const char *kernel_name(const struct zebin *zebin, const Elf64_Shdr *section)
{
	const char *name = zebin_section_name(zebin, section);
	bool is_text = section->sh_type == SHT_PROGBITS &&
		       elf_image_has_bytes(&zebin->image, section) && begins_with(name, ZEBIN_TEXT);

	return is_text && name[strlen(ZEBIN_TEXT)] ? name + strlen(ZEBIN_TEXT) : NULL;
}

static bool has_machine(const struct elf_image *image)
{
	return image->head.e_machine == EM_INTELGT ||
	       (image->head.e_type >= TYPE_ZEBIN_FIRST && image->head.e_type <= TYPE_ZEBIN_LAST);
}

bool zebin_is(const void *bytes, size_t size)
{
	struct elf_image image;

	return elf_image_init(&image, bytes, size) && has_machine(&image);
}

/* ---- kernels ---- */

static int add_kernel(struct zebin *zebin, uint32_t index, const Elf64_Shdr *section,
		      const char *name)
{
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

/* The kernel with this name; NULL: none. */
struct zebin_kernel *zebin_find_kernel(const struct zebin *zebin, const char *name)
{
	uint32_t id = string_table_find(&zebin->texts, name, strlen(name));
	const uint64_t *index = id ? hash_map_find(&zebin->by_name, id) : NULL;

	return index ? &zebin->kernels[*index] : NULL;
}

/* Kernels are sorted by the index of their section. */
struct zebin_kernel *zebin_kernel_of_section(const struct zebin *zebin, uint32_t index)
{
	size_t low = LOWER_BOUND(zebin->count, i, zebin->sections[i] < index);

	return low < zebin->count && zebin->sections[low] == index ? &zebin->kernels[low] : NULL;
}

/* A kernel's symbol ends with its code; the rest of the section is padding. */
static void read_sizes(struct zebin *zebin, const Elf64_Shdr *symbols)
{
	Elf64_Sym symbol;

	for (uint64_t i = 0; elf_image_symbol(&zebin->image, symbols, i, &symbol); i++) {
		struct zebin_kernel *kernel = zebin_kernel_of_section(zebin, symbol.st_shndx);

		if (kernel && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && !symbol.st_value &&
		    symbol.st_size && symbol.st_size <= kernel->size_bytes)
			kernel->code_bytes = symbol.st_size;
	}
}

/* Ignores entries of .ze_info for kernels without a code section. */
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

	while (end - at >= sizeof(note) && elf_image_read(&zebin->image, at, &note, sizeof(note))) {
		uint64_t name = at + sizeof(note), value = name + align_4(note.n_namesz);
		uint32_t number;

		if (value > end || align_4(note.n_descsz) > end - value)
			return;
		at = value + align_4(note.n_descsz);
		if (note.n_namesz != sizeof(OWNER) || note.n_descsz != sizeof(number) ||
		    memcmp(zebin->image.bytes + name, OWNER, sizeof(OWNER)) != 0)
			continue;
		memcpy(&number, zebin->image.bytes + value, sizeof(number));
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

	for (uint32_t i = 0; !error && elf_image_section(&zebin->image, i, &section); i++) {
		const char *kernel = kernel_name(zebin, &section);

		if (kernel)
			error = add_kernel(zebin, i, &section, kernel);
		else if (section.sh_type == SHT_SYMTAB)
			symbols = section;
		else if (!elf_image_has_bytes(&zebin->image, &section))
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
		error = ze_info_read((const char *)zebin->image.bytes + info.sh_offset,
				     info.sh_size, on_kernel, zebin);
	return error;
}

int zebin_open(const void *bytes, size_t size, struct zebin **ret_zebin)
{
	Elf64_Shdr names;
	struct elf_image image;
	struct zebin *zebin;
	int error;

	if (!elf_image_init(&image, bytes, size) || !has_machine(&image))
		return error_set(-ENOEXEC, "not a code object of an Intel GPU (zebin)");
	zebin = calloc(1, sizeof(*zebin));
	if (!zebin)
		return error_set(-ENOMEM, "zebin: out of memory");
	zebin->image = image;
	if (image.head.e_machine != EM_INTELGT && image.head.e_flags & FLAG_MACHINE_IS_CORE)
		zebin->target.core_family = image.head.e_machine;
	if (image.head.e_shentsize != sizeof(names) ||
	    !elf_image_section(&image, image.head.e_shstrndx, &names)) {
		zebin_close(zebin);
		return error_set(
			-ENOEXEC,
			"the code object of an Intel GPU is truncated or damaged: its table of "
			"sections is invalid or lies outside its %zu bytes",
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

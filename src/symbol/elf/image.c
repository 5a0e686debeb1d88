/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/image.c - a 64-bit ELF file whose bytes are in memory and may be anything
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     bytes, or the first bytes of a file
 * Gives:    the head, sections, symbols and texts
 * Owns:     nothing
 * Fails:    -ENOEXEC; false or "" for anything outside the bytes
 * Why texts end at the last NUL: the end is searched once per table. Every name before that NUL is
 *           terminated, so reading a name costs only its length. Otherwise a file with many
 *           unterminated names would cost time quadratic in its size.
 */
#include "symbol/elf/image.h"

#include <errno.h>
#include <string.h>

#include "symbol/elf/source.h"

enum { MAX_SECTIONS = 1 << 20 };

int elf_read_head(const struct elf_source *source, Elf64_Ehdr *ret_head)
{
	int error = elf_source_read(source, ret_head, sizeof(*ret_head), 0);

	if (error)
		return error == -ENODATA ? -ENOEXEC : error;
	return memcmp(ret_head->e_ident, ELFMAG, SELFMAG) == 0 &&
			       ret_head->e_ident[EI_CLASS] == ELFCLASS64 &&
			       ret_head->e_ident[EI_DATA] == ELFDATA2LSB
		       ? 0
		       : -ENOEXEC;
}

bool elf_image_read(const struct elf_image *image, uint64_t offset, void *ret, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	memcpy(ret, image->bytes + offset, size);
	return true;
}

bool elf_image_section(const struct elf_image *image, uint32_t index, Elf64_Shdr *ret_section)
{
	return index < image->section_count &&
	       elf_image_read(image, image->head.e_shoff + (uint64_t)index * sizeof(*ret_section),
			      ret_section, sizeof(*ret_section));
}

bool elf_image_has_bytes(const struct elf_image *image, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS &&
	       section->sh_offset <= image->size &&
	       section->sh_size <= image->size - section->sh_offset;
}

bool elf_image_symbol(const struct elf_image *image, const Elf64_Shdr *symbols, uint64_t index,
		      Elf64_Sym *ret_symbol)
{
	return elf_image_has_bytes(image, symbols) &&
	       index < symbols->sh_size / sizeof(*ret_symbol) &&
	       elf_image_read(image, symbols->sh_offset + index * sizeof(*ret_symbol), ret_symbol,
			      sizeof(*ret_symbol));
}

struct elf_texts elf_image_texts(const struct elf_image *image, const Elf64_Shdr *section)
{
	const char *bytes, *last;

	if (!elf_image_has_bytes(image, section))
		return (struct elf_texts){0};
	bytes = (const char *)image->bytes + section->sh_offset;
	last = memrchr(bytes, '\0', section->sh_size);
	return (struct elf_texts){bytes, last ? (uint64_t)(last - bytes) + 1 : 0};
}

const char *elf_texts_at(const struct elf_texts *texts, uint32_t offset)
{
	return offset < texts->size ? texts->bytes + offset : "";
}

const char *elf_image_name(const struct elf_image *image, const Elf64_Shdr *section)
{
	return elf_texts_at(&image->names, section->sh_name);
}

bool elf_image_init(struct elf_image *image, const void *bytes, size_t size)
{
	struct elf_source source = {.fd = -1, .image = bytes, .size = size};
	Elf64_Shdr section;

	*image = (struct elf_image){.bytes = bytes, .size = size};
	if (elf_read_head(&source, &image->head))
		return false;
	image->section_count = image->head.e_shnum;
	if (!image->section_count && image->head.e_shoff) {
		/* too many sections for the field of the head: the first section holds their number
		 * */
		image->section_count = 1;
		if (!elf_image_section(image, 0, &section))
			section.sh_size = 0;
		image->section_count =
			section.sh_size < MAX_SECTIONS ? (uint32_t)section.sh_size : MAX_SECTIONS;
	}
	if (elf_image_section(image, image->head.e_shstrndx, &section))
		image->names = elf_image_texts(image, &section);
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/image.h - a 64-bit ELF file whose bytes are in memory and may be anything
 *
 * Every function checks that its reads stay inside the bytes.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_source;

/* Reads the head of a 64-bit little-endian ELF file. Errors: -ENOEXEC: not such a file; -errno of
 * the read. */
int elf_read_head(const struct elf_source *source, Elf64_Ehdr *ret_head);

/* A section of texts, cut after its last NUL. */
struct elf_texts {
	const char *bytes;
	uint64_t size;
};

struct elf_image {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	Elf64_Ehdr head;
	uint32_t section_count;
	struct elf_texts names; /* section names */
};

/* False: the bytes are not a 64-bit little-endian ELF file. Sections may be missing. */
bool elf_image_init(struct elf_image *image, const void *bytes, size_t size);

/* False if the range is not completely inside the file. */
bool elf_image_read(const struct elf_image *image, uint64_t offset, void *ret, size_t size);
bool elf_image_section(const struct elf_image *image, uint32_t index, Elf64_Shdr *ret_section);
bool elf_image_symbol(const struct elf_image *image, const Elf64_Shdr *symbols, uint64_t index,
		      Elf64_Sym *ret_symbol);

/* Whether the section's contents are inside the file. */
bool elf_image_has_bytes(const struct elf_image *image, const Elf64_Shdr *section);

/* Empty if the section is outside the file. */
struct elf_texts elf_image_texts(const struct elf_image *image, const Elf64_Shdr *section);
/* The text at an offset; "" if it does not end inside the texts. */
const char *elf_texts_at(const struct elf_texts *texts, uint32_t offset);
/* A section's name. */
const char *elf_image_name(const struct elf_image *image, const Elf64_Shdr *section);

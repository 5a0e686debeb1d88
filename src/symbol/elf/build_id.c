/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/build_id.c - the build id that a linker puts into a program or library
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     a path or bytes
 * Gives:    hexadecimal text
 * Owns:     nothing
 * Fails:    -ENODATA, -ENOEXEC or -errno; never reads outside the given bytes
 * Why not libelf: the build id is read for every mapping of every recorded process. libelf needs a
 *           dozen system calls to open a file; this file needs three reads. Sections are searched
 *           before segments, because the segments' offsets in a separate debug file are invalid
 */
#include "symbol/elf/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/regular_file.h"
#include "symbol/elf/source.h"

#define HEADERS_LIMIT 256            /* max program or section headers that are read */
#define NOTES_LIMIT   ((size_t)4096) /* bytes of one note section or segment */

/* The fields of a 32-bit or 64-bit ELF header that are used. */
struct headers {
	bool is_64;
	uint64_t segments, sections;
	unsigned int segment_count, segment_size, section_count, section_size;
};

struct notes {
	uint64_t offset, address, size, alignment;
};

bool build_id_is_text(const char *text)
{
	size_t digits = strspn(text, "0123456789abcdef");

	return !text[digits] && digits % 2 == 0 && digits <= BUILD_ID_DIGITS;
}

static int read_headers(const struct elf_source *source, struct headers *ret_headers)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr small;
		Elf64_Ehdr large;
	} head;
	unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	int error = elf_source_read(source, &head, sizeof(head.small), 0);

	if (error)
		return error == -ENODATA ? -ENOEXEC : error;
	if (memcmp(head.ident, ELFMAG, SELFMAG) != 0 || head.ident[EI_DATA] != order)
		return -ENOEXEC;
	if (head.ident[EI_CLASS] == ELFCLASS32) {
		*ret_headers = (struct headers){
			false,
			head.small.e_phoff,
			head.small.e_shoff,
			head.small.e_phnum,
			head.small.e_phentsize,
			head.small.e_shnum,
			head.small.e_shentsize,
		};
		return 0;
	}
	if (head.ident[EI_CLASS] != ELFCLASS64 ||
	    elf_source_read(source, &head, sizeof(head.large), 0))
		return -ENOEXEC;
	*ret_headers = (struct headers){
		true,
		head.large.e_phoff,
		head.large.e_shoff,
		head.large.e_phnum,
		head.large.e_phentsize,
		head.large.e_shnum,
		head.large.e_shentsize,
	};
	return 0;
}

static bool take_section(const struct headers *headers, const void *bytes, struct notes *ret_notes)
{
	if (headers->is_64) {
		const Elf64_Shdr *section = bytes;

		*ret_notes = (struct notes){section->sh_offset, section->sh_addr, section->sh_size,
					    section->sh_addralign};
		return section->sh_type == SHT_NOTE;
	} else {
		const Elf32_Shdr *section = bytes;

		*ret_notes = (struct notes){section->sh_offset, section->sh_addr, section->sh_size,
					    section->sh_addralign};
		return section->sh_type == SHT_NOTE;
	}
}

/* Returns the segment's type. *ret_notes is its place, whatever its type. */
static uint32_t take_segment(const struct headers *headers, const void *bytes,
			     struct notes *ret_notes)
{
	if (headers->is_64) {
		const Elf64_Phdr *segment = bytes;

		*ret_notes = (struct notes){segment->p_offset, segment->p_vaddr, segment->p_filesz,
					    segment->p_align};
		return segment->p_type;
	} else {
		const Elf32_Phdr *segment = bytes;

		*ret_notes = (struct notes){segment->p_offset, segment->p_vaddr, segment->p_filesz,
					    segment->p_align};
		return segment->p_type;
	}
}

static void print_hex(const uint8_t *bytes, size_t size, char *text)
{
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	text[2 * size] = '\0';
}

int build_id_read_notes(const void *notes, size_t size, size_t alignment,
			char ret_text[BUILD_ID_TEXT_SIZE])
{
	const uint8_t *bytes = notes;
	size_t mask = alignment == 8 ? 7 : 3, at = 0;

	while (size - at >= 12) {
		uint32_t head[3]; /* name's size, descriptor's size, type */
		size_t name, text, next;

		memcpy(head, bytes + at, sizeof(head));
		name = at + sizeof(head);
		if (head[0] > size || head[1] > size)
			return -ENODATA;
		text = name + ((head[0] + mask) & ~mask);
		next = text + ((head[1] + mask) & ~mask);
		if (text > size || head[1] > size - text)
			return -ENODATA;
		if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && head[1] &&
		    head[1] <= BUILD_ID_BYTES && memcmp(bytes + name, "GNU", 4) == 0) {
			print_hex(bytes + text, head[1], ret_text);
			return 0;
		}
		if (next > size)
			return -ENODATA;
		at = next;
	}
	return -ENODATA;
}

static int read_place(const struct elf_source *source, const struct notes *notes, uint64_t offset,
		      char *ret_text)
{
	uint8_t bytes[NOTES_LIMIT];
	size_t size = notes->size < NOTES_LIMIT ? notes->size : NOTES_LIMIT;

	if (elf_source_read(source, bytes, size, offset))
		return -ENODATA;
	return build_id_read_notes(bytes, size, notes->alignment, ret_text);
}

static int search_sections(const struct elf_source *source, const struct headers *headers,
			   char *ret_text)
{
	unsigned int count = headers->section_count;
	size_t size = headers->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct notes notes;
	Elf64_Shdr bytes;

	if (headers->section_size < size)
		return -ENODATA;
	for (unsigned int i = 0; i < count && i < HEADERS_LIMIT; i++) {
		if (elf_source_read(source, &bytes, size,
				    headers->sections + (uint64_t)i * headers->section_size))
			return -ENODATA;
		if (take_section(headers, &bytes, &notes) &&
		    !read_place(source, &notes, notes.offset, ret_text))
			return 0;
	}
	return -ENODATA;
}

/* In an image in memory, a segment is at its address minus the page address of the first segment.
 * */
static int search_segments(const struct elf_source *source, const struct headers *headers,
			   char *ret_text)
{
	unsigned int count = headers->segment_count;
	size_t size = headers->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint64_t base = UINT64_MAX;
	struct notes notes;
	Elf64_Phdr bytes;

	if (headers->segment_size < size)
		return -ENODATA;
	for (unsigned int i = 0; i < 2 * count && i < 2 * HEADERS_LIMIT; i++) {
		uint32_t type;

		if (elf_source_read(source, &bytes, size,
				    headers->segments +
					    (uint64_t)(i % count) * headers->segment_size))
			return -ENODATA;
		type = take_segment(headers, &bytes, &notes);
		if (i < count && type == PT_LOAD && base == UINT64_MAX)
			base = notes.address & ~(uint64_t)4095;
		if (i < count || type != PT_NOTE)
			continue;
		if (!read_place(source, &notes,
				source->fd >= 0 ? notes.offset : notes.address - base, ret_text))
			return 0;
	}
	return -ENODATA;
}

static int read_build_id(const struct elf_source *source, char *ret_text)
{
	struct headers headers;
	int error = read_headers(source, &headers);

	if (error)
		return error;
	if (source->fd >= 0 && !search_sections(source, &headers, ret_text))
		return 0;
	return search_segments(source, &headers, ret_text);
}

int build_id_read_file(const char *path, char ret_text[BUILD_ID_TEXT_SIZE])
{
	auto_close int fd = regular_file_open(path);
	struct elf_source source = {.fd = fd};

	if (fd < 0)
		return fd == -EINVAL ? -ENOEXEC : fd;
	return read_build_id(&source, ret_text);
}

int build_id_read_image(const void *image, size_t size, char ret_text[BUILD_ID_TEXT_SIZE])
{
	struct elf_source source = {.fd = -1, .image = image, .size = size};

	return read_build_id(&source, ret_text);
}

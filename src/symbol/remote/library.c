/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/library.c - functions of a library that another process has loaded
 *
 * Runs in:  the recorder
 * Gets:     the process's memory
 * Gives:    addresses in it
 * Owns:     nothing
 * Fails:    open: -ENOEXEC, -ENOTSUP or the error of the read; find: 0. Sizes and positions that
 *           are read are always checked
 * Why:      the file may have been replaced, or be in a container. So the process's mapped memory
 *           is read instead of the file. It always includes the dynamic symbol table
 */
#include "symbol/remote/library.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

enum { MAX_HEADERS = 64, MAX_ENTRIES = 256, MAX_CHAIN = 512, NAME_BYTES = 64 };

int remote_library_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return got < 0 ? -errno : got == (ssize_t)size ? 0 : -EFAULT;
}

/* glibc writes addresses into the table if it is writable, other loaders leave offsets. */
static uint64_t address_of(const struct remote_library *library, uint64_t value)
{
	return value < library->base ? library->base + value : value;
}

static int find_dynamic(struct remote_library *library, uint64_t *ret_address)
{
	Elf64_Ehdr head;
	int error = remote_library_read(library->pid, library->base, &head, sizeof(head));

	if (error)
		return error;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    !head.e_phnum)
		return -ENOEXEC;
	if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > MAX_HEADERS)
		return -ENOTSUP;
	library->bias = head.e_type == ET_EXEC ? 0 : library->base;
	for (uint16_t i = 0; i < head.e_phnum; i++) {
		uint64_t at = library->base + head.e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr part;

		error = remote_library_read(library->pid, at, &part, sizeof(part));
		if (error)
			return -ENOTSUP;
		if (part.p_type == PT_DYNAMIC) {
			*ret_address = library->bias + part.p_vaddr;
			return 0;
		}
	}
	return -ENOEXEC;
}

static int read_dynamic(struct remote_library *library, uint64_t address)
{
	for (int i = 0; i < MAX_ENTRIES; i++, address += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;

		if (remote_library_read(library->pid, address, &entry, sizeof(entry)))
			return -ENOTSUP;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			library->symbols = address_of(library, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRTAB)
			library->texts = address_of(library, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRSZ)
			library->text_bytes = entry.d_un.d_val;
		else if (entry.d_tag == DT_GNU_HASH)
			library->hash = address_of(library, entry.d_un.d_ptr);
	}
	return library->symbols && library->texts && library->hash ? 0 : -ENOTSUP;
}

int remote_library_open(struct remote_library *library, pid_t pid, uint64_t base)
{
	uint32_t head[4]; /* buckets, first symbol, words of the filter, its shift */
	uint64_t dynamic;
	int error;

	*library = (struct remote_library){.pid = pid, .base = base};
	error = find_dynamic(library, &dynamic);
	if (!error)
		error = read_dynamic(library, dynamic);
	if (error)
		return error;
	if (remote_library_read(pid, library->hash, head, sizeof(head)))
		return -ENOTSUP;
	library->bucket_count = head[0];
	library->first_symbol = head[1];
	library->bloom_words = head[2];
	return library->bucket_count ? 0 : -ENOTSUP;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static bool is_named(const struct remote_library *library, uint32_t text, const char *name)
{
	char there[NAME_BYTES];
	const size_t size = strlen(name) + 1;

	return size <= sizeof(there) && text < library->text_bytes &&
	       remote_library_read(library->pid, library->texts + text, there, size) == 0 &&
	       memcmp(there, name, size) == 0;
}

uint64_t remote_library_find(const struct remote_library *library, const char *name,
			     uint64_t *ret_bytes)
{
	const uint64_t buckets = library->hash + 16 + 8 * (uint64_t)library->bloom_words;
	const uint64_t chains = buckets + 4 * (uint64_t)library->bucket_count;
	const uint32_t hash = hash_of(name);
	uint32_t index, value;

	if (remote_library_read(library->pid, buckets + 4 * (hash % library->bucket_count), &index,
				sizeof(index)) ||
	    index < library->first_symbol)
		return 0;
	for (int i = 0; i < MAX_CHAIN; i++, index++) {
		Elf64_Sym symbol;

		if (remote_library_read(library->pid,
					chains + 4 * (uint64_t)(index - library->first_symbol),
					&value, sizeof(value)) ||
		    remote_library_read(library->pid, library->symbols + index * sizeof(symbol),
					&symbol, sizeof(symbol)))
			return 0;
		if ((value | 1) == (hash | 1) && symbol.st_value && symbol.st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    is_named(library, symbol.st_name, name)) {
			if (ret_bytes)
				*ret_bytes = symbol.st_size;
			return library->bias + symbol.st_value;
		}
		if (value & 1)
			return 0;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * cli/remote/glibc.c - the oldest glibc that a file runs with
 *
 * Runs in:  our own process
 * Gets:     the bytes of a program or library; what a machine prints about its C library
 * Gives:    the newest version of glibc among the symbol versions that it needs; the machine's
 * Owns:     nothing
 * Fails:    never: 0 for a file that is not ELF, and for another C library
 * Why:      this machine's own version would refuse older machines on which the files run:
 *           duet built with glibc 2.36 asks for less
 */
#include "cli/remote/glibc.h"

#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned max_of(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* One library of the section and its versions. Returns the offset of the next; 0: it is the last.
 */
static int read_library(Elf *elf, Elf_Data *data, int offset, size_t strings, unsigned *needed)
{
	GElf_Verneed library;
	GElf_Vernaux version;
	int at;

	if (!gelf_getverneed(data, offset, &library))
		return 0;
	at = offset + (int)library.vn_aux;
	for (unsigned i = 0; i < library.vn_cnt && gelf_getvernaux(data, at, &version); i++) {
		const char *name = elf_strptr(elf, strings, version.vna_name);
		unsigned minor;

		if (name && sscanf(name, "GLIBC_2.%u", &minor) == 1)
			*needed = max_of(*needed, minor);
		at += (int)version.vna_next;
		if (!version.vna_next)
			break;
	}
	return library.vn_next ? offset + (int)library.vn_next : 0;
}

unsigned glibc_needed(const void *bytes, size_t size)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	unsigned needed = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)(uintptr_t)bytes, size);
	while (elf && (section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		int offset = 0;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_GNU_verneed)
			continue;
		data = elf_getdata(section, NULL);
		do
			offset =
				data ? read_library(elf, data, offset, header.sh_link, &needed) : 0;
		while (offset > 0);
	}
	elf_end(elf);
	return needed;
}

unsigned glibc_parse(const char *text)
{
	const char *word = strrchr(text, ' ');
	unsigned minor;

	if (strstr(text, "musl") || sscanf(word ? word + 1 : text, "2.%u", &minor) != 1)
		return 0;
	return minor;
}

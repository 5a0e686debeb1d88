/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/test_elf_names.c - what stands between two parts of an exported name, in libc,
 * and where names are
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "harness.h"
#include "symbol/elf/names.h"

static int libc_fd(void)
{
	Dl_info about;

	return dladdr((void *)(uintptr_t)gnu_get_libc_version, &about)
		       ? open(about.dli_fname, O_RDONLY | O_CLOEXEC)
		       : -1;
}

TEST(what_stands_between)
{
	char text[64] = "as it was";
	int fd = libc_fd();

	REQUIRE(fd >= 0);
	CHECK(elf_names_find_between(fd, "pthread_mutex_getprio", "ng", text, sizeof(text)));
	CHECK_TEXT(text, "ceili");
	close(fd);
}

TEST(what_is_not_there_or_does_not_fit)
{
	char text[5] = "same";
	int fd = libc_fd();

	REQUIRE(fd >= 0);
	CHECK(!elf_names_find_between(fd, "_pocl_kernel_", "_workgroup", text, sizeof(text)));
	/* something must be between */
	CHECK(!elf_names_find_between(fd, "pthread_mutex_getprioce", "iling", text, sizeof(text)));
	CHECK(!elf_names_find_between(fd, "pthread_mutex_getprio", "ng", text, sizeof(text)));
	CHECK_TEXT(text, "same");
	close(fd);
}

TEST(no_elf_file)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char text[8];

	CHECK(!elf_names_find_between(fd, "a", "b", text, sizeof(text)));
	CHECK(!elf_names_find_between(-1, "a", "b", text, sizeof(text)));
	close(fd);
}

/* A copy of libc, in which the table of hashes is what `change` makes of it. */
static int changed_libc(void (*change)(Elf64_Shdr *section, uint8_t *table))
{
	int from = libc_fd(), to = memfd_create("libc", MFD_CLOEXEC);
	Elf64_Shdr *sections;
	char *bytes = NULL;
	size_t size = 0;

	if (from < 0 || to < 0 || read_fd(from, 0, &bytes, &size))
		return -1;
	close(from);
	sections = (Elf64_Shdr *)(void *)(bytes + ((Elf64_Ehdr *)(void *)bytes)->e_shoff);
	for (size_t i = 0; i < ((Elf64_Ehdr *)(void *)bytes)->e_shnum; i++)
		if (sections[i].sh_type == SHT_GNU_HASH)
			change(&sections[i], (uint8_t *)bytes + sections[i].sh_offset);
	if (write_all(to, bytes, size)) {
		close(to);
		to = -1;
	}
	free(bytes);
	return to;
}

static void keep(Elf64_Shdr *section, uint8_t *table)
{
}

static void hide(Elf64_Shdr *section, uint8_t *table)
{
	section->sh_type = SHT_PROGBITS;
}

/* No chain ends, and every bucket has one. */
static void unend(Elf64_Shdr *section, uint8_t *table)
{
	memset(table + 16, 0xfe, section->sh_size - 16);
}

static void shorten(Elf64_Shdr *section, uint8_t *table)
{
	section->sh_size = 20;
}

static const char *const names[] = {"malloc", "environ", "no_such_name", "gnu_get_libc_version",
				    "pthread_cond_wait"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

TEST(by_hashes_as_by_looking_at_all)
{
	struct elf_symbol by_hash[NAMES], by_all[NAMES];
	int kept = changed_libc(keep), hidden = changed_libc(hide);
	Dl_info about = {0};

	REQUIRE(kept >= 0 && hidden >= 0 &&
		dladdr((void *)(uintptr_t)gnu_get_libc_version, &about));
	CHECK_EQUAL(elf_names_find(kept, names, NAMES), 0x19); /* functions alone */
	CHECK_EQUAL(elf_names_find(hidden, names, NAMES), 0x19);
	CHECK_EQUAL(elf_names_find_symbols(kept, names, NAMES, by_hash), 0x1b);
	CHECK_EQUAL(elf_names_find_symbols(hidden, names, NAMES, by_all), 0x1b);
	CHECK(memcmp(by_hash, by_all, sizeof(by_hash)) == 0);
	CHECK_EQUAL(by_hash[3].value, (uintptr_t)gnu_get_libc_version - (uintptr_t)about.dli_fbase);
	close(kept);
	close(hidden);
}

TEST(damaged_hashes)
{
	int endless = changed_libc(unend), short_one = changed_libc(shorten);

	REQUIRE(endless >= 0 && short_one >= 0);
	CHECK_EQUAL(elf_names_find(endless, names, NAMES), 0);
	CHECK_EQUAL(elf_names_find(short_one, names, NAMES), 0);
	close(endless);
	close(short_one);
}

int main(void)
{
	RUN(what_stands_between);
	RUN(what_is_not_there_or_does_not_fit);
	RUN(no_elf_file);
	RUN(by_hashes_as_by_looking_at_all);
	RUN(damaged_hashes);
	return harness_end();
}

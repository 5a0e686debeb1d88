/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/test_elf_names.c - what stands between two parts of an exported name, in libc
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "symbol/elf_names.h"

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

int main(void)
{
	RUN(what_stands_between);
	RUN(what_is_not_there_or_does_not_fit);
	RUN(no_elf_file);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * Build ids of files and of what is loaded; files that are none.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/io.h"
#include "harness.h"
#include "symbol/elf/build_id.h"

static const uint8_t notes[] = {
	4, 0, 0, 0, 16, 0, 0, 0, 1,   0,   0,   0, 'G',  'N', 'U',  0, /* another kind */
	0, 0, 0, 0, 3,  0, 0, 0, 2,   0,   0,   0, 6,    0,   0,    0,    4,    0, 0, 0,
	5, 0, 0, 0, 3,  0, 0, 0, 'G', 'N', 'U', 0, 0xab, 1,   0x20, 0x0f, 0xff, 0, 0, 0,
};

TEST(from_notes)
{
	char text[BUILD_ID_TEXT_SIZE] = "untouched";

	CHECK_EQUAL(build_id_read_notes(notes, sizeof(notes), 4, text), 0);
	CHECK_TEXT(text, "ab01200fff");
	/* the padding behind it may be missing */
	CHECK_EQUAL(build_id_read_notes(notes, sizeof(notes) - 3, 4, text), 0);
	strcpy(text, "untouched");
	for (size_t size = 0; size < sizeof(notes) - 3; size++) {
		uint8_t *copy = malloc(size ? size : 1);

		REQUIRE(copy);
		memcpy(copy, notes, size);
		CHECK_EQUAL(build_id_read_notes(copy, size, 4, text), -ENODATA);
		free(copy);
	}
	CHECK_TEXT(text, "untouched");
}

struct own {
	char text[BUILD_ID_TEXT_SIZE];
	bool is_found;
};

static int take_own(struct dl_phdr_info *info, size_t size, void *context)
{
	struct own *own = context;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_NOTE &&
		    !build_id_read_notes((const void *)(info->dlpi_addr + header->p_vaddr),
					 header->p_memsz, header->p_align, own->text)) {
			own->is_found = true;
			return 1;
		}
	}
	return 1; /* the program comes first */
}

TEST(our_own)
{
	char text[BUILD_ID_TEXT_SIZE];
	struct own own = {.is_found = false};

	dl_iterate_phdr(take_own, &own);
	REQUIRE(own.is_found); /* the linker is told to make one */
	REQUIRE(build_id_read_file("/proc/self/exe", text) == 0);
	CHECK_TEXT(text, own.text);
}

TEST(loaded_image)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	char text[BUILD_ID_TEXT_SIZE];
	size_t size = 4096;

	if (!vdso)
		SKIP("no vdso");
	REQUIRE(build_id_read_image(vdso, size, text) == 0);
	CHECK_EQUAL(strlen(text), 40);
	for (size = 0; size < 4096; size++) {
		uint8_t *copy = malloc(size ? size : 1);

		REQUIRE(copy);
		memcpy(copy, vdso, size);
		build_id_read_image(copy, size, text);
		free(copy);
	}
}

TEST(no_program)
{
	char text[BUILD_ID_TEXT_SIZE];

	CHECK_EQUAL(build_id_read_file("/nowhere", text), -ENOENT);
	CHECK_EQUAL(build_id_read_file("/proc/self/cmdline", text), -ENOEXEC);
	CHECK_EQUAL(build_id_read_file("/dev/null", text), -ENOEXEC);
	CHECK(build_id_read_file("/", text) < 0);
	CHECK_EQUAL(build_id_read_image("", 0, text), -ENOEXEC);
}

/* Any byte of the headers of a real file may be wrong. */
TEST(damaged_headers)
{
	char text[BUILD_ID_TEXT_SIZE];
	char *bytes;
	size_t size;

	REQUIRE(read_file("/proc/self/exe", 0, &bytes, &size) == 0);
	size = size < 4096 ? size : 4096;
	for (size_t i = 0; i < 1024; i++) {
		for (int value = 0; value < 256; value += 51) {
			uint8_t *copy = malloc(size);

			REQUIRE(copy);
			memcpy(copy, bytes, size);
			copy[i] = (uint8_t)value;
			build_id_read_image(copy, size, text);
			free(copy);
		}
	}
	free(bytes);
}

TEST(texts)
{
	char text[BUILD_ID_DIGITS + 3];

	CHECK(build_id_is_text(""));
	CHECK(build_id_is_text("ab01"));
	CHECK(!build_id_is_text("ab0"));
	CHECK(!build_id_is_text("AB01"));
	CHECK(!build_id_is_text("ab/1"));
	CHECK(!build_id_is_text("../../home/victim/pwned"));
	memset(text, 'a', sizeof(text));
	text[BUILD_ID_DIGITS] = '\0';
	CHECK(build_id_is_text(text));
	text[BUILD_ID_DIGITS] = 'a';
	text[BUILD_ID_DIGITS + 2] = '\0';
	CHECK(!build_id_is_text(text));
}

int main(void)
{
	RUN(from_notes);
	RUN(our_own);
	RUN(loaded_image);
	RUN(no_program);
	RUN(damaged_headers);
	RUN(texts);
	return harness_end();
}

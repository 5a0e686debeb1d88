/* SPDX-License-Identifier: MIT
 *
 * Code objects of NVIDIA's GPUs, whole and damaged:
 *
 *	test_cubin FILE.cubin ...
 */
#include "symbol/device/cubin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io.h"
#include "harness.h"

enum { FLIPS = 400, LARGE = 2 << 20 };

static char **paths;
static int path_count;

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Copies of exactly the size, so that what reads behind it is found. */
static char *read_cubin(const char *path, size_t *ret_size)
{
	char *bytes = NULL, *exact;

	if (read_file(path, 1 << 20, &bytes, ret_size))
		return NULL;
	exact = malloc(*ret_size);
	memcpy(exact, bytes, *ret_size);
	free(bytes);
	return exact;
}

/* Whatever is in it, what it says of itself lies in it; lines are looked up at every 8th byte. */
static bool use(const char *bytes, size_t size)
{
	const struct cubin_function *functions;
	struct cubin *cubin;
	const char *file;
	uint32_t line;
	size_t count;

	if (cubin_open(bytes, size, &cubin))
		return false;
	count = cubin_functions(cubin, &functions);
	CHECK(count > 0 && *cubin_target(cubin));
	for (size_t i = 0; i < count; i++)
		CHECK(functions[i].offset <= size &&
		      functions[i].size_bytes <= size - functions[i].offset && *functions[i].name);
	for (size_t at = 0; at < size; at += 8)
		if (cubin_find_line(cubin, at, &file, &line))
			CHECK(*file && line && cubin_function_at(cubin, at));
	cubin_close(cubin);
	return true;
}

TEST(whole_ones)
{
	CHECK(path_count >= 2);
	for (int i = 0; i < path_count; i++) {
		const struct cubin_function *functions;
		struct cubin *cubin = NULL;
		const char *file = "";
		uint32_t line = 0;
		size_t size;
		char *bytes = read_cubin(paths[i], &size);

		REQUIRE(bytes);
		CHECK(cubin_is(bytes, size) && use(bytes, size));
		REQUIRE(cubin_open(bytes, size, &cubin) == 0);
		CHECK(strstr(paths[i], cubin_target(cubin)));
		REQUIRE(cubin_functions(cubin, &functions) == 2);
		CHECK_TEXT(functions[0].name, "second");
		CHECK_TEXT(functions[1].name, "saxpy");
		CHECK(functions[0].is_kernel && functions[1].is_kernel);
		CHECK_EQUAL(functions[0].registers, 8);
		CHECK_EQUAL(functions[1].registers, 10);
		CHECK_EQUAL(functions[0].shared_bytes, 0);
		/* 512 of the kernel's, and since Hopper 1024 that are kept free */
		CHECK_EQUAL(functions[1].shared_bytes,
			    strcmp(cubin_target(cubin), "sm_80") == 0 ? 512 : 1536);
		CHECK(cubin_function_at(cubin, functions[1].offset) == &functions[1]);
		CHECK(cubin_function_at(cubin, functions[0].offset - 1) == NULL);
		CHECK(cubin_find_line(cubin, functions[0].offset, &file, &line));
		CHECK_EQUAL(line, 9);
		CHECK(cubin_find_line(cubin, functions[1].offset + 15, &file, &line));
		CHECK_EQUAL(line, 3);
		CHECK_TEXT(file + strlen(file) - strlen("saxpy.cu"), "saxpy.cu");
		CHECK(!cubin_find_line(cubin, 0, &file, &line));
		cubin_close(cubin);
		free(bytes);
	}
}

TEST(what_is_none)
{
	char head[sizeof(Elf64_Ehdr)] = ELFMAG "\2\1\1";
	struct cubin *cubin;

	CHECK(!cubin_is("", 0) && !cubin_is(head, sizeof(head)));
	CHECK_EQUAL(cubin_open(head, sizeof(head), &cubin), -ENOEXEC);
	CHECK(strstr(error_text(), "not a cubin"));
	head[offsetof(Elf64_Ehdr, e_machine)] = (char)190;
	CHECK(cubin_is(head, sizeof(head)));
	CHECK_EQUAL(cubin_open(head, sizeof(head), &cubin), -ENOEXEC);
	CHECK(strstr(error_text(), "truncated"));
	cubin_close(NULL);
}

TEST(cut_off)
{
	for (int i = 0; i < path_count; i++) {
		size_t size;
		char *bytes = read_cubin(paths[i], &size);

		REQUIRE(bytes);
		for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 97) {
			char *part = malloc(cut + 1);

			memcpy(part, bytes, cut);
			use(part, cut);
			free(part);
		}
		free(bytes);
	}
}

/* Where numbers are: the head, the table of sections, and anywhere. */
static size_t pick_place(const char *bytes, size_t size)
{
	Elf64_Ehdr head;

	memcpy(&head, bytes, sizeof(head));
	switch (random_next() % 3) {
	case 0:
		return random_next() % sizeof(head);
	case 1:
		return (head.e_shoff + random_next() % 1536) % size;
	default:
		return random_next() % size;
	}
}

TEST(damaged)
{
	for (int i = 0; i < path_count; i++) {
		size_t size;
		char *bytes = read_cubin(paths[i], &size);

		REQUIRE(bytes);
		for (int flip = 0; flip < FLIPS; flip++) {
			size_t at = pick_place(bytes, size);
			char before = bytes[at];

			bytes[at] = (char)random_next();
			use(bytes, size);
			bytes[at] = before;
		}
		free(bytes);
	}
}

/* A file of which one half is symbols and the other sections, each of which is the whole file. With
 * a square of its size this takes minutes. */
TEST(the_same_bytes_over_and_over)
{
	enum { SECTIONS = 0xfe00, TEXT = 1, SYMBOLS = 2, NAMES = 3, INFO = 64 };
	static const char *const names[] = {".nv.info", ".text.k", ".symtab"};
	const size_t section_at = 4096, symbol_at = section_at + SECTIONS * sizeof(Elf64_Shdr),
		     size = symbol_at + LARGE, name_at = size - 4096;
	char *bytes = calloc(1, size);
	Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(bytes + section_at);
	Elf64_Sym *symbols = (Elf64_Sym *)(void *)(bytes + symbol_at);
	const struct cubin_function *functions;
	uint64_t code = 0, texts = 0;
	struct cubin *cubin = NULL;
	size_t count;

	REQUIRE(bytes);
	memcpy(head->e_ident, ELFMAG "\2\1\1", 7);
	head->e_machine = 190;
	head->e_shoff = section_at;
	head->e_shnum = SECTIONS;
	head->e_shstrndx = NAMES;
	for (size_t i = 0; i < LARGE / sizeof(*symbols); i++)
		symbols[i] = (Elf64_Sym){
			.st_name = (Elf64_Word)(i % 4096), .st_info = STT_FUNC, .st_shndx = TEXT};
	memset(bytes + name_at, 'a', 4095);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		strcpy(bytes + INFO + 16 * i, names[i]);
	for (int i = 1; i < SECTIONS; i++)
		sections[i] =
			(Elf64_Shdr){.sh_name = INFO, .sh_type = SHT_PROGBITS, .sh_size = size};
	sections[TEXT].sh_name = INFO + 16;
	sections[SYMBOLS] = (Elf64_Shdr){.sh_name = INFO + 32,
					 .sh_type = SHT_SYMTAB,
					 .sh_offset = symbol_at,
					 .sh_size = LARGE - 4096,
					 .sh_link = SECTIONS - 1};
	sections[SECTIONS - 1].sh_offset = name_at;
	sections[SECTIONS - 1].sh_size = 4096;
	REQUIRE(cubin_open(bytes, size, &cubin) == 0);
	count = cubin_functions(cubin, &functions);
	CHECK(count > 0);
	for (size_t i = 0; i < count; i++) {
		code += functions[i].size_bytes;
		texts += strlen(functions[i].name);
	}
	CHECK(code <= 2 * size && texts <= size);
	cubin_close(cubin);
	free(bytes);
}

int main(int argc, char **argv)
{
	paths = argv + 1;
	path_count = argc - 1;
	RUN(whole_ones);
	RUN(what_is_none);
	RUN(cut_off);
	RUN(damaged);
	RUN(the_same_bytes_over_and_over);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * Code objects of Intel GPUs, whole and damaged:
 *
 *	test_zebin FILE.bin ...
 *
 * What is in whole ones is compared with other tools in tests/e2e/test_code_objects.py.
 */
#include "symbol/device/zebin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/io.h"
#include "harness.h"
#include "symbol/symbolizer.h"
#include "symbol/device/ze_info.h"

enum { FLIPS = 400 };

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
static char *read_zebin(const char *path, size_t *ret_size)
{
	char *bytes = NULL, *exact;

	if (read_file(path, 1 << 20, &bytes, ret_size))
		return NULL;
	exact = malloc(*ret_size);
	memcpy(exact, bytes, *ret_size);
	free(bytes);
	return exact;
}

/* Whatever is in it, what it says of itself lies in it; its lines are looked up at every 8th
 * byte. */
static bool use(const char *bytes, size_t size, bool has_lines)
{
	const struct symbolizer_options options = {.has_lines = true, .has_inlines = true};
	struct symbol_mapping mapping = {.path = "zebin", .build_id = ""};
	struct symbolizer *symbolizer;
	struct symbol_module *module;
	const struct zebin_kernel *kernels;
	struct zebin *zebin;
	struct symbol symbol;
	void *image;
	size_t count;

	if (zebin_open(bytes, size, &zebin))
		return false;
	count = zebin_kernels(zebin, &kernels);
	for (size_t i = 0; i < count; i++)
		CHECK(kernels[i].offset <= size &&
		      kernels[i].size_bytes <= size - kernels[i].offset &&
		      kernels[i].code_bytes <= kernels[i].size_bytes && *kernels[i].name);
	if (zebin_link(zebin, &image, &mapping.image_size)) {
		harness_fail(__FILE__, __LINE__, "zebin_link");
		zebin_close(zebin);
		return true;
	}
	mapping.image = image;
	if (has_lines && symbolizer_new(&options, &symbolizer) == 0) {
		CHECK_EQUAL(symbolizer_module(symbolizer, &mapping, &module), 0);
		for (size_t at = 0; at < size; at += 8)
			CHECK_EQUAL(symbolizer_lookup(symbolizer, module, at, false, &symbol), 0);
		symbolizer_free(symbolizer);
	}
	free(image);
	zebin_close(zebin);
	return true;
}

TEST(whole_ones)
{
	for (int i = 0; i < path_count; i++) {
		size_t size;
		char *bytes = read_zebin(paths[i], &size);

		REQUIRE(bytes);
		CHECK(zebin_is(bytes, size) && use(bytes, size, true));
		free(bytes);
	}
	CHECK(path_count >= 2);
}

TEST(what_is_none)
{
	static const char elf[sizeof(Elf64_Ehdr)] = ELFMAG "\2\1\1";
	struct zebin *zebin;

	CHECK(!zebin_is("", 0) && !zebin_is(elf, sizeof(elf)));
	CHECK_EQUAL(zebin_open(elf, sizeof(elf), &zebin), -ENOEXEC);
	CHECK(strstr(error_text(), "not a code object of an Intel GPU"));
	zebin_close(NULL);
}

TEST(cut_off)
{
	for (int i = 0; i < path_count; i++) {
		size_t size;
		char *bytes = read_zebin(paths[i], &size);

		REQUIRE(bytes);
		for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 97) {
			char *part = malloc(cut + 1);

			memcpy(part, bytes, cut);
			/* the table of sections is the last thing in the file */
			CHECK(!use(part, cut, false) && *error_text());
			free(part);
		}
		free(bytes);
	}
}

/* Where numbers are: the head, and the table of sections. */
static size_t pick_place(const char *bytes, size_t size)
{
	Elf64_Ehdr head;

	memcpy(&head, bytes, sizeof(head));
	switch (random_next() % 4) {
	case 0:
		return random_next() % sizeof(head);
	case 1:
		return head.e_shoff + random_next() % (size - head.e_shoff);
	default:
		return random_next() % size;
	}
}

TEST(damaged)
{
	size_t opened = 0;

	for (int i = 0; i < path_count; i++) {
		size_t size;
		char *bytes = read_zebin(paths[i], &size);

		REQUIRE(bytes);
		for (int flip = 0; flip < FLIPS; flip++) {
			char *copy = malloc(size);

			memcpy(copy, bytes, size);
			for (uint64_t j = 0; j <= random_next() % 8; j++)
				copy[pick_place(bytes, size)] =
					(char)(random_next() % 3 ? random_next() : 0xff);
			opened += use(copy, size, flip % 8 == 0);
			free(copy);
		}
		free(bytes);
	}
	printf("# %zu damaged ones could be opened\n", opened);
	CHECK(opened > 0);
}

/* A kernel without a symbol is as long as its section, and one that .ze_info does not name has no
 * numbers. */
TEST(what_is_not_said_is_not_there)
{
	const struct zebin_kernel *kernels;
	struct zebin *zebin;
	size_t size;
	char *bytes = read_zebin(paths[0], &size), *at;

	REQUIRE(bytes);
	at = memmem(bytes, size, "simd_size:", strlen("simd_size:"));
	REQUIRE(at);
	at[0] = 'x';
	REQUIRE(zebin_open(bytes, size, &zebin) == 0);
	REQUIRE(zebin_kernels(zebin, &kernels) == 1);
	CHECK_TEXT(kernels[0].name, "saxpy");
	CHECK_EQUAL(kernels[0].simd_size, 0);
	CHECK(kernels[0].grf_count);
	zebin_close(zebin);
	/* no YAML at all */
	at = memmem(bytes, size, "version:", strlen("version:"));
	REQUIRE(at);
	memset(at, '[', 64);
	REQUIRE(zebin_open(bytes, size, &zebin) == 0);
	zebin_kernels(zebin, &kernels);
	CHECK_EQUAL(kernels[0].grf_count, 0);
	CHECK(kernels[0].code_bytes < kernels[0].size_bytes);
	zebin_close(zebin);
	free(bytes);
}

/* ---- what takes long ------------------------------------------------------------------------- */

struct told {
	size_t count;
	char names[256];
	struct ze_info_kernel last;
};

static void on_link_event(void *context, const char *name, const struct ze_info_kernel *kernel)
{
	struct told *told = context;
	const size_t used = strlen(told->names);

	told->count++;
	told->last = *kernel;
	if (strlen(name) < 20 && used < 200)
		snprintf(told->names + used, sizeof(told->names) - used, "%s ", name);
}

/* Each took minutes, or a gigabyte: the processor's time, so that others may be busy. */
TEST(yaml_that_takes_long)
{
	static const struct {
		const char *begin, *again;
	} cases[] = {{"", "["},
		     {"", "[["},
		     {"", "? "},
		     {"", "- "},
		     {"kernels: ", "{"},
		     {"a:\n", " - &a b\n"},
		     {"", "%TAG !a! b\n"},
		     {"", "- &a [*a]\n"},
		     {"kernels:\n", "  - {name: [[[]]]}\n"}};
	const size_t most = 4 << 20;
	char *text = malloc(most);

	REQUIRE(text);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const size_t begin = strlen(cases[i].begin), again = strlen(cases[i].again);
		const clock_t before = clock();
		struct told told = {0};
		size_t size = begin;

		memcpy(text, cases[i].begin, begin);
		for (; size + again <= most; size += again)
			memcpy(text + size, cases[i].again, again);
		CHECK_EQUAL(ze_info_read(text, size, on_link_event, &told), 0);
		CHECK_EQUAL(told.count, 0);
		printf("# %s: %.3f s\n", cases[i].again[0] == '%' ? "directives" : "nested",
		       (double)(clock() - before) / CLOCKS_PER_SEC);
		CHECK(clock() - before < 10 * CLOCKS_PER_SEC);
	}
	free(text);
}

TEST(yaml_in_other_forms)
{
	static const char text[] =
		"other: {kernels: [{name: no}]}\n"
		"? [kernels]\n: [{name: no}]\n"
		"kernels:\n"
		"  - name: one\n    execution_env: {simd_size: 16, simd_sizes: 8, grf_count: x}\n"
		"    more:\n      - name: no\n        execution_env: {simd_size: 4}\n"
		"  - execution_env:\n      slm_size: 4294967296\n      spill_size: 64\n"
		"    ? {a: b}\n    : name\n    name: two\n"
		"  - nameless: 1\n"
		"  - [name, no]\n"
		"  - name: three\n";
	struct told told = {0};

	CHECK_EQUAL(ze_info_read(text, strlen(text), on_link_event, &told), 0);
	CHECK_TEXT(told.names, "one two three ");
	CHECK_EQUAL(told.last.simd_size, 0);
	/* up to the damage: the third's end is not there */
	told = (struct told){0};
	CHECK_EQUAL(ze_info_read(text, strstr(text, "three") - text, on_link_event, &told), 0);
	CHECK_EQUAL(told.count, 2);
	told = (struct told){0};
	CHECK_EQUAL(ze_info_read(text, strstr(text, "  - nameless") - text, on_link_event, &told),
		    0);
	CHECK_EQUAL(told.count, 2);
	CHECK_EQUAL(told.last.slm_size, 0);
	CHECK_EQUAL(told.last.spill_size, 64);
}

/* A file of many units of debug information and many kernels, none of which has as much code as a
 * unit says. */
enum { UNITS = 100000, KERNELS = 60000, SECTIONS = 5 };

static void put_section(uint8_t *bytes, size_t index, uint32_t name, uint32_t type, uint64_t offset,
			uint64_t size, uint32_t link, uint32_t info)
{
	const Elf64_Shdr section = {.sh_name = name,
				    .sh_type = type,
				    .sh_offset = offset,
				    .sh_size = size,
				    .sh_link = link,
				    .sh_info = info};

	memcpy(bytes + sizeof(Elf64_Ehdr) + index * sizeof(section), &section, sizeof(section));
}

TEST(many_units_and_kernels)
{
	const size_t heads = sizeof(Elf64_Ehdr) + (KERNELS + SECTIONS) * sizeof(Elf64_Shdr);
	const size_t names = heads, names_size = 64 + KERNELS * 16, info = names + names_size,
		     symbols = info + 4 * UNITS, relocations = symbols + sizeof(Elf64_Sym),
		     size = relocations + UNITS * sizeof(Elf64_Rela);
	const Elf64_Sym symbol = {.st_shndx = 2};
	const Elf64_Ehdr head = {.e_ident = ELFMAG "\2\1\1",
				 .e_machine = 205,
				 .e_shoff = sizeof(head),
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = KERNELS + SECTIONS,
				 .e_shstrndx = 1};
	uint8_t *bytes = calloc(1, size);
	clock_t before = clock();
	struct zebin *zebin;
	void *image = NULL;
	size_t image_size;

	REQUIRE(bytes);
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + names + 1, ".debug_info", 12);
	put_section(bytes, 1, 0, SHT_STRTAB, names, names_size, 0, 0);
	put_section(bytes, 2, 1, SHT_PROGBITS, info, 4 * UNITS, 0, 0);
	put_section(bytes, 3, 0, SHT_SYMTAB, symbols, sizeof(symbol), 1, 0);
	put_section(bytes, 4, 0, SHT_RELA, relocations, UNITS * sizeof(Elf64_Rela), 3, 2);
	memcpy(bytes + symbols, &symbol, sizeof(symbol));
	for (size_t i = 0; i < UNITS; i++) {
		const Elf64_Rela relocation = {.r_offset = 4 * i, .r_info = 1, .r_addend = 7};

		memcpy(bytes + relocations + i * sizeof(relocation), &relocation,
		       sizeof(relocation));
	}
	for (size_t i = 0; i < KERNELS; i++) {
		const size_t name = 64 + i * 16;

		snprintf((char *)bytes + names + name, 16, ".text.k%zu", i);
		put_section(bytes, SECTIONS + i, (uint32_t)name, SHT_PROGBITS, 0, 8, 0, 0);
	}
	REQUIRE(zebin_open(bytes, size, &zebin) == 0);
	CHECK_EQUAL(zebin_link(zebin, &image, &image_size), 0);
	printf("# %.3f s for %zu bytes\n", (double)(clock() - before) / CLOCKS_PER_SEC, size);
	CHECK(clock() - before < 2 * CLOCKS_PER_SEC);
	free(image);
	zebin_close(zebin);
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
	RUN(what_is_not_said_is_not_there);
	RUN(yaml_that_takes_long);
	RUN(yaml_in_other_forms);
	RUN(many_units_and_kernels);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * Code objects of Intel GPUs, whole and damaged:
 *
 *	test_zebin FILE.bin ...
 *
 * What is in whole ones is compared with other tools in tests/e2e/test_code_objects.py.
 */
#include "symbol/zebin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io.h"
#include "harness.h"
#include "symbol/symbolizer.h"

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

/* Whatever is in it, what it says of itself lies in it; its lines are looked up at every 8th byte. */
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
	CHECK(strstr(error_text(), "no code object of an Intel GPU"));
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

/* A kernel without a symbol is as long as its section, and one that .ze_info does not name has no numbers. */
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

int main(int argc, char **argv)
{
	paths = argv + 1;
	path_count = argc - 1;
	RUN(whole_ones);
	RUN(what_is_none);
	RUN(cut_off);
	RUN(damaged);
	RUN(what_is_not_said_is_not_there);
	return harness_end();
}

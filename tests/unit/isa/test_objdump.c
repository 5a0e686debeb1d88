/* SPDX-License-Identifier: MIT
 *
 * Whole libraries, instruction for instruction, as objdump cuts them:
 *
 *	test_objdump FILE...
 *
 * libc, kernels that PoCL has in its cache, if there are any, and the files.
 */
#include "isa/isa.h"

#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"

enum { INSTRUCTIONS_MAX = 400000, KERNELS_MAX = 200, SHOWN_MAX = 10 };

struct instruction {
	uint64_t address;
	size_t at, length; /* in code */
};

struct listing {
	struct instruction *instructions;
	uint8_t *code;
	size_t count, size;
};

struct score {
	size_t count, same, undecoded, avx512;
	double seconds;
};

static char **files;
static struct isa *isa;

static bool has_objdump(void)
{
	return system("objdump --version >/dev/null 2>&1") == 0;
}

/* "  401000:\tf3 0f 1e fa          \tendbr64" */
static bool read_line(struct listing *listing, const char *line)
{
	struct instruction *instruction = &listing->instructions[listing->count];
	char *end;

	instruction->address = strtoull(line, &end, 16);
	if (end == line || end[0] != ':' || end[1] != '\t')
		return false;
	instruction->at = listing->size;
	for (const char *hex = end + 2; hex[0] && hex[0] != '\t' && hex[0] != ' '; hex += 3)
		listing->code[listing->size++] = (uint8_t)strtoul(hex, NULL, 16);
	instruction->length = listing->size - instruction->at;
	/* "..." and "(bad)" are no instructions */
	return instruction->length > 0 && !strstr(line, "(bad)");
}

static int read_listing(const char *file, struct listing *listing)
{
	char command[4096], line[4096];
	FILE *pipe;

	snprintf(command, sizeof(command), "objdump -d -w '%s'", file);
	pipe = popen(command, "r");
	if (!pipe)
		return -1;
	while (listing->count < INSTRUCTIONS_MAX && fgets(line, sizeof(line), pipe))
		listing->count += read_line(listing, line);
	/* an early end is a broken pipe for objdump */
	pclose(pipe);
	return 0;
}

static void compare(const struct listing *listing, struct score *score, const char *file)
{
	size_t differ = 0;
	char text[ISA_TEXT_SIZE];

	for (size_t i = 0; i < listing->count; i++) {
		const struct instruction *instruction = &listing->instructions[i];
		size_t left = listing->size - instruction->at, length = 0;
		bool is_same;

		isa_decode(isa, listing->code + instruction->at, left < 15 ? left : 15,
			   instruction->address, text, sizeof(text), &length);
		is_same = length == instruction->length;
		score->same += is_same;
		score->undecoded += text[0] == '.';
		score->avx512 += listing->code[instruction->at] == 0x62;
		if (!is_same && differ++ < SHOWN_MAX)
			printf("# %s 0x%llx: %zu, objdump has %zu: %s\n", file,
			       (unsigned long long)instruction->address, length,
			       instruction->length, text);
	}
	score->count += listing->count;
}

static void compare_file(const char *file, struct score *score)
{
	struct listing listing = {
		.instructions = calloc(INSTRUCTIONS_MAX + 1, sizeof(struct instruction)),
		.code = malloc((size_t)INSTRUCTIONS_MAX * 32),
	};
	struct timespec start, end;

	if (listing.instructions && listing.code && read_listing(file, &listing) == 0) {
		clock_gettime(CLOCK_MONOTONIC, &start);
		compare(&listing, score, file);
		clock_gettime(CLOCK_MONOTONIC, &end);
		score->seconds += (double)(end.tv_sec - start.tv_sec) +
				  (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	}
	free(listing.instructions);
	free(listing.code);
}

static void check_score(const struct score *score, const char *what, size_t count_min)
{
	printf("# %s: %zu instructions (%zu with AVX-512), %zu lengths as objdump's, %zu not "
	       "decoded, "
	       "%.2f us each\n",
	       what, score->count, score->avx512, score->same, score->undecoded,
	       score->count ? score->seconds * 1e6 / (double)score->count : 0);
	CHECK(score->count >= count_min);
	CHECK(score->same * 1000 >= score->count * 999);
	CHECK(score->undecoded * 1000 <= score->count);
}

/* What is missing, or NULL. */
static const char *missing(void)
{
#ifndef __x86_64__
	return "the lengths of instructions are compared on x86-64";
#endif
	if (!has_objdump())
		return "objdump is not installed (binutils)";
	return isa_why(isa);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	snprintf(data, 4096, "%s", info->dlpi_name);
	return 1;
}

TEST(libc)
{
	struct score score = {0};
	char path[4096] = "";

	if (missing())
		SKIP(missing());
	REQUIRE(dl_iterate_phdr(find_libc, path) == 1);
	compare_file(path, &score);
	check_score(&score, path, 100000);
}

TEST(given_files)
{
	struct score score = {0};

	if (missing())
		SKIP(missing());
	for (char **file = files; *file; file++)
		compare_file(*file, &score);
	check_score(&score, "files", 100);
	CHECK(score.avx512 > 50);
}

/* They come and go with what was run before, so that none is no skip. */
TEST(cached_kernels)
{
	const char *cache = getenv("POCL_CACHE_DIR"), *home = getenv("HOME");
	struct score score = {0};
	char pattern[4096];
	glob_t found;

	if (missing())
		SKIP(missing());
	snprintf(pattern, sizeof(pattern), "%s%s/*/*/*/*/*.so",
		 cache  ? cache
		 : home ? home
			: "",
		 cache ? "" : "/.cache/pocl/kcache");
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc && i < KERNELS_MAX; i++)
			compare_file(found.gl_pathv[i], &score);
		globfree(&found);
	}
	check_score(&score, "kernels of PoCL", 0);
}

int main(int argc, char **argv)
{
	files = argv + 1;
	if (isa_new(ISA_X86_64, NULL, &isa))
		return 1;
	RUN(libc);
	RUN(given_files);
	RUN(cached_kernels);
	isa_free(isa);
	return harness_end();
}

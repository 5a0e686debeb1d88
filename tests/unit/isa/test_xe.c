/* SPDX-License-Identifier: MIT
 *
 * Code of Intel GPUs: names and lengths without a library, the library's own table of names, texts,
 * and bytes that are no code. Texts of whole kernels are compared in
 * tests/e2e/test_code_objects.py.
 */
#include "isa/isa.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

enum { OPCODES = 128, MAX_SPECS = 1024, COMPACT = 1 << 29 };

static char text[ISA_TEXT_SIZE];

/* iga_gen_t */
static const struct {
	const char *name;
	uint32_t platform;
} generations[] = {
	{"gen9", 0x90000},     {"gen11", 0xb0000},    {"xe-lp", 0x1000000}, {"xe-hp", 0x1000001},
	{"xe-hpg", 0x1000002}, {"xe-hpc", 0x1000004}, {"xe2", 0x2000000},   {"xe3", 0x3000000},
};
enum { GENERATIONS = sizeof(generations) / sizeof(generations[0]) };

static struct isa *make(const char *generation)
{
	struct isa *isa = NULL;

	CHECK_EQUAL(isa_new(ISA_XE, generation, &isa), 0);
	return isa;
}

static struct isa *make_without_library(const char *generation)
{
	struct isa *isa;

	setenv("DUET_IGA", "/nonexistent", 1);
	isa = make(generation);
	unsetenv("DUET_IGA");
	return isa;
}

static size_t decode(struct isa *isa, const void *bytes, size_t size, uint64_t address)
{
	size_t length = 0;

	memset(text, 'z', sizeof(text));
	CHECK_EQUAL(isa_decode(isa, bytes, size, address, text, sizeof(text), &length), 0);
	CHECK(length >= 1 && length <= size && memchr(text, 0, sizeof(text)));
	return length;
}

TEST(names_and_lengths_without_a_library)
{
	struct isa *isa = make_without_library("xe2");
	const uint32_t whole[4] = {0x61}, compact[2] = {0x61 | COMPACT}, none[4] = {0x7f, 1, 2, 3};

	CHECK(!isa_library(isa) && strstr(isa_why(isa), "/nonexistent"));
	CHECK_EQUAL(decode(isa, whole, 16, 0), 16);
	CHECK_TEXT(text, "mov");
	CHECK_EQUAL(decode(isa, compact, 8, 0), 8);
	CHECK_TEXT(text, "mov");
	CHECK_EQUAL(decode(isa, none, 16, 0), 16); /* so that what follows is in step */
	CHECK_TEXT(text, ".long 0x0000007f");
	/* cut off */
	CHECK_EQUAL(decode(isa, whole, 15, 0), 4);
	CHECK_TEXT(text, ".long 0x00000061");
	CHECK_EQUAL(decode(isa, compact, 7, 0), 4);
	CHECK_EQUAL(decode(isa, compact, 3, 0), 1);
	CHECK_TEXT(text, ".byte 0x61");
	isa_free(isa);
	isa = make_without_library("gen9");
	CHECK_EQUAL(decode(isa, whole, 16, 0), 16);
	CHECK_TEXT(text, ".long 0x00000061");
	isa_free(isa);
}

TEST(generations_by_what_code_objects_say)
{
	CHECK_TEXT(isa_xe_generation(0x03000000, 18), "xe-lp");     /* Tiger Lake 12.0 */
	CHECK_TEXT(isa_xe_generation(0x03028000, 0), "xe-lp");      /* DG1 12.10 */
	CHECK_TEXT(isa_xe_generation(0x030dc008, 0xc07), "xe-hpg"); /* DG2 12.55 */
	CHECK_TEXT(isa_xe_generation(0x030f0007, 0xc08), "xe-hpc"); /* Ponte Vecchio 12.60 */
	CHECK_TEXT(isa_xe_generation(0x03118000, 0), "xe-hpg");     /* Meteor Lake 12.70 */
	CHECK_TEXT(isa_xe_generation(0x05010004, 0xc09), "xe2");    /* Lunar Lake 20.4 */
	CHECK_TEXT(isa_xe_generation(0x07810000, 0x1e00), "xe3");   /* Nova Lake 30.4 */
	CHECK_TEXT(isa_xe_generation(0, 12), "gen9");
	CHECK_TEXT(isa_xe_generation(0, 16), "gen11");
	CHECK_TEXT(isa_xe_generation(0, 0xc08), "xe-hpc");
	/* another encoding: to be decoded as what it is not would be worse than not at all */
	CHECK(!isa_xe_generation(0x08c2c000, 0x2300)); /* 35.11 */
	CHECK(!isa_xe_generation(0, 0) && !isa_xe_generation(0, 99));
}

TEST(a_generation_that_is_not_known)
{
	static const char *const names[] = {NULL, "", "xe9", "xe\033[2J"};
	const uint32_t word[4] = {0x61};

	for (size_t i = 0; i < 4; i++) {
		struct isa *isa = make(names[i]);

		CHECK(isa_why(isa) && strstr(isa_why(isa), "generation"));
		CHECK(!strchr(isa_why(isa), '\033') && !isa_library(isa));
		CHECK_EQUAL(decode(isa, word, 16, 0), 16);
		CHECK_TEXT(text, ".long 0x00000061");
		isa_free(isa);
	}
}

TEST(libraries_are_refused)
{
	struct isa *isa;

	setenv("DUET_IGA", "libc.so.6", 1);
	isa = make("xe2");
	unsetenv("DUET_IGA");
	CHECK(isa_why(isa) && strstr(isa_why(isa), "is not an IGA library"));
	isa_free(isa);
}

/* ---- the library ----------------------------------------------------------------------------- */

static void *open_library(void)
{
	const char *chosen = getenv("TEST_IGA");
	void *library = chosen ? dlopen(chosen, RTLD_NOW) : NULL;

	if (!library)
		library = dlopen("libiga64.so.2", RTLD_NOW);
	return library ? library : dlopen("libiga64.so.1", RTLD_NOW);
}

typedef int enumerate_function(uint32_t platform, const void **specs, size_t *count);
typedef int name_function(const void *spec, char *name, size_t *size);
typedef int number_function(const void *spec, uint32_t *number);

/* What the library's table says of one generation; 0: it does not know that. */
static size_t read_names(void *library, uint32_t platform, char names[OPCODES][32])
{
	static const void *specs[MAX_SPECS];
	enumerate_function *enumerate =
		(enumerate_function *)dlsym(library, "iga_opspec_enumerate");
	name_function *mnemonic = (name_function *)dlsym(library, "iga_opspec_mnemonic");
	number_function *encoding = (number_function *)dlsym(library, "iga_opspec_op_encoding");
	size_t count = 0, known = 0;

	if (enumerate(platform, NULL, &count) || count > MAX_SPECS ||
	    enumerate(platform, specs, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		size_t size = sizeof(names[0]);
		uint32_t number[4] = {OPCODES};

		if (encoding(specs[i], number) || number[0] >= OPCODES ||
		    mnemonic(specs[i], names[number[0]], &size))
			continue;
		known++;
	}
	return known;
}

TEST(names_are_the_librarys)
{
	void *library = open_library();
	size_t compared = 0;

	if (!library)
		SKIP("libiga64.so is not installed (libigc1)");
	for (size_t i = 0; i < GENERATIONS; i++) {
		char names[OPCODES][32] = {{0}};
		struct isa *isa;

		if (!read_names(library, generations[i].platform, names))
			continue;
		isa = make_without_library(generations[i].name);
		for (uint32_t number = 0; number < OPCODES; number++) {
			const uint32_t words[4] = {number};
			char hex[32];

			snprintf(hex, sizeof(hex), ".long 0x%08x", number);
			decode(isa, words, 16, 0);
			CHECK_TEXT(text, *names[number] ? names[number] : hex);
		}
		isa_free(isa);
		compared++;
	}
	printf("# %zu generations compared\n", compared);
	CHECK(compared >= 6);
}

static void check_text(const char *generation, const uint8_t *bytes, uint64_t address,
		       const char *want)
{
	struct isa *isa = make(generation);

	if (isa_why(isa)) {
		isa_free(isa);
		SKIP("libiga64.so is not installed (libigc1)");
	}
	CHECK(strncmp(isa_library(isa), "IGA ", 4) == 0);
	CHECK_EQUAL(decode(isa, bytes, 16, address), 16);
	CHECK_TEXT(text, want);
	isa_free(isa);
}

/* From tests/golden/zebin: k_pvc at 0x1c0, two_dg2 at 0x2e0, k_tgllp at 0x88. */
TEST(texts_with_operands)
{
	static const uint8_t load[] = {0x31, 0x23, 0x15, 0x00, 0x00, 0x00, 0x14, 0x18,
				       0x24, 0x0f, 0x00, 0xfb, 0x00, 0x00, 0x00, 0x00};
	static const uint8_t branch[] = {0x2e, 0x00, 0x03, 0x01, 0x02, 0xc0, 0x00, 0x00,
					 0xd8, 0xff, 0xff, 0xff, 0x10, 0x00, 0x00, 0x00};
	static const uint8_t message[] = {0x31, 0xa0, 0x04, 0x00, 0x00, 0x00, 0x14, 0x10,
					  0x14, 0x0c, 0x02, 0xcc, 0x00, 0x00, 0x16, 0x00};

	check_text("xe-hpc", load, 0, "load.ugm.d32.a64 (32|M0) r24:2 [r15:4] {A@1,$3}");
	check_text("xe-hpg", branch, 0x12e0, "(f0.0) goto.b (8|M0) 0x12f0 0x12b8");
	check_text("xe-lp", message, 0,
		   "send.dc1 (16|M0) r16 r12 null 0x0 0x04205E01 {@2,$0} // untyped surface read "
		   "with x");
}

/* ---- bytes that are no code ------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static bool is_plain(const char *line)
{
	size_t length = strlen(line);

	for (size_t i = 0; i < length; i++)
		if (line[i] < ' ' || line[i] > '~' || (line[i] == ' ' && line[i + 1] == ' '))
			return false;
	return length && line[0] != ' ' && line[length - 1] != ' ';
}

/* Bytes that end where readable memory does. */
static void try_random(struct isa *isa, long count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), length, size;
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long named = 0;

	REQUIRE(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
	for (long i = 0; i < count; i++) {
		uint64_t words[2] = {random_next(), random_next()};

		size = 1 + random_next() % 16;
		memcpy(memory + page - size, words, size);
		length = decode(isa, memory + page - size, size, random_next());
		CHECK(is_plain(text));
		named += text[0] != '.';
		if (size < length)
			break;
	}
	CHECK(named > count / 50 && named < count);
	munmap(memory, 2 * page);
}

TEST(random_bytes)
{
	for (size_t i = 0; i < GENERATIONS; i++) {
		struct isa *isa = make(generations[i].name);

		try_random(isa, 20000);
		isa_free(isa);
		isa = make_without_library(generations[i].name);
		try_random(isa, 20000);
		isa_free(isa);
	}
}

int main(void)
{
	RUN(names_and_lengths_without_a_library);
	RUN(generations_by_what_code_objects_say);
	RUN(a_generation_that_is_not_known);
	RUN(libraries_are_refused);
	RUN(names_are_the_librarys);
	RUN(texts_with_operands);
	RUN(random_bytes);
	return harness_end();
}

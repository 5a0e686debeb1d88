/* SPDX-License-Identifier: MIT
 *
 * Code of NVIDIA GPUs: names with guards for each generation, and bytes that are no code. Names of
 * whole kernels, and what nvdisasm adds, are compared in tests/e2e/test_cuda_pc.py.
 */
#include "isa/isa.h"

#include <stdlib.h>

#include "harness.h"

enum { BYTES = 16, GUARD_TRUE = 7, AT_A_TIME = 256, MANY = 270000 /* more than are kept */ };

static char *disassembler;

static char text[ISA_TEXT_SIZE];

static struct isa *make(const char *processor)
{
	struct isa *isa = NULL;

	setenv("DUET_NVDISASM", "/nonexistent", 1);
	CHECK_EQUAL(isa_new(ISA_SASS, processor, &isa), 0);
	return isa;
}

static size_t decode(struct isa *isa, const uint8_t *bytes, size_t size)
{
	size_t length = 0;

	memset(text, 'z', sizeof(text));
	CHECK_EQUAL(isa_decode(isa, bytes, size, 0, text, sizeof(text), &length), 0);
	CHECK(length >= 1 && length <= size && memchr(text, 0, sizeof(text)));
	return length;
}

/* The name of an instruction by its 12 bits. */
static const char *name_of(const char *processor, uint32_t opcode, uint32_t guard)
{
	uint8_t bytes[BYTES] = {(uint8_t)opcode, (uint8_t)(opcode >> 8 | guard << 4)};
	struct isa *isa = make(processor);

	CHECK_EQUAL(decode(isa, bytes, BYTES), BYTES);
	isa_free(isa);
	return text;
}

TEST(names_by_generation)
{
	/* Operands in registers, in the word, in constants: one name. */
	CHECK_TEXT(name_of("sm_70", 0x221, GUARD_TRUE), "FADD");
	CHECK_TEXT(name_of("sm_86", 0x421, GUARD_TRUE), "FADD");
	CHECK_TEXT(name_of("sm_90a", 0xc21, GUARD_TRUE), "FADD");
	CHECK_TEXT(name_of("sm_121", 0x381, GUARD_TRUE), "LDG");
	/* One number, other names. */
	CHECK_TEXT(name_of("sm_75", 0x236, GUARD_TRUE), "HMMA");
	CHECK_TEXT(name_of("sm_90", 0x836, GUARD_TRUE), "VIADD");
	CHECK_TEXT(name_of("sm_89", 0x98e, GUARD_TRUE), "RED");
	CHECK_TEXT(name_of("sm_90", 0x98e, GUARD_TRUE), "REDG");
	CHECK_TEXT(name_of("sm_80", 0x235, GUARD_TRUE), "HFMA2");
	CHECK_TEXT(name_of("sm_120", 0x235, GUARD_TRUE), "IADD");
	/* Not everywhere. */
	CHECK_TEXT(name_of("sm_90a", 0x9f0, GUARD_TRUE), "HGMMA");
	CHECK_TEXT(name_of("sm_100", 0x9f0, GUARD_TRUE), ".long 0x000079f0");
	CHECK_TEXT(name_of("sm_90", 0x7ac, GUARD_TRUE), ".long 0x000077ac");
	CHECK_TEXT(name_of("sm_100", 0x7ac, GUARD_TRUE), "LDCU");
	CHECK_TEXT(name_of("sm_70", 0xab9, GUARD_TRUE), ".long 0x00007ab9");
	CHECK_TEXT(name_of("sm_75", 0xab9, GUARD_TRUE), "ULDC");
}

TEST(guards)
{
	CHECK_TEXT(name_of("sm_90", 0x947, 0), "@P0 BRA");
	CHECK_TEXT(name_of("sm_90", 0x947, 6), "@P6 BRA");
	CHECK_TEXT(name_of("sm_90", 0x94d, 8 | 3), "@!P3 EXIT");
	CHECK_TEXT(name_of("sm_90", 0x94d, 8 | 7), "@!PT EXIT");
	CHECK_TEXT(name_of("sm_90", 0x882, 1), "@UP1 UMOV");
}

TEST(lengths)
{
	const uint8_t code[2 * BYTES] = {0x4d, 0x79}, *none = code + BYTES;
	struct isa *isa = make("sm_90");
	size_t length;

	CHECK_EQUAL(decode(isa, code, sizeof(code)), BYTES);
	CHECK_TEXT(text, "EXIT");
	CHECK_EQUAL(decode(isa, none, BYTES), BYTES); /* so that what follows is in step */
	CHECK_TEXT(text, ".long 0x00000000");
	CHECK_EQUAL(isa_decode(isa, code, sizeof(code), 0, NULL, 0, &length), 0);
	CHECK_EQUAL(length, BYTES);
	/* cut off */
	CHECK_EQUAL(decode(isa, code, BYTES - 1), 4);
	CHECK_EQUAL(decode(isa, code, 3), 1);
	isa_free(isa);
}

TEST(why)
{
	static const char *const others[] = {NULL,      "",       "sm_61", "sm_",
					     "sm_1000", "gfx90a", "sm_130"};
	struct isa *isa = make("sm_90");

	CHECK(!isa_library(isa) && strstr(isa_why(isa), "nvdisasm"));
	isa_free(isa);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const uint8_t code[BYTES] = {0x4d, 0x79};

		isa = make(others[i]);
		CHECK(!isa_library(isa) && strstr(isa_why(isa), "sm_70"));
		CHECK_EQUAL(decode(isa, code, BYTES), BYTES);
		CHECK_TEXT(text, ".long 0x0000794d");
		isa_free(isa);
	}
}

/* Of each 256 one is asked about, and all are told of with it. */
TEST(operands_of_more_instructions_than_are_kept)
{
	uint8_t *code = calloc(AT_A_TIME, BYTES);
	struct isa *isa = make("sm_90");
	char want[64];

	isa_free(isa);
	REQUIRE(code && disassembler);
	setenv("DUET_NVDISASM", disassembler, 1);
	REQUIRE(isa_new(ISA_SASS, "sm_90", &isa) == 0);
	for (uint64_t at = 0; at < MANY; at += AT_A_TIME) {
		size_t length;

		CHECK_EQUAL(isa_decode(isa, code, (size_t)AT_A_TIME * BYTES, at * BYTES, text,
				       sizeof(text), &length),
			    0);
		snprintf(want, sizeof(want), "MOV R1, 0x%lx", (unsigned long)(at * BYTES));
		REQUIRE(strcmp(text, want) == 0);
	}
	CHECK(!isa_why(isa));
	isa_free(isa);
	free(code);
}

int main(int argc, char **argv)
{
	disassembler = argc > 1 ? argv[1] : NULL;
	RUN(names_by_generation);
	RUN(guards);
	RUN(lengths);
	RUN(why);
	RUN(operands_of_more_instructions_than_are_kept);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/test_user_stacks.c - which stacks of users are one, and which are two
 *
 *	test_bpf_stacks xe.bpf.o [usual|upwards]
 *
 * upwards: as programs are laid out where stacks may grow without limit: what they map lies far
 * from where it is mostly.
 */
#include "xe_calls.h"

#include <sys/personality.h>

enum { WORDS = 8 };

/* Somewhere between where programs, mappings and stacks are, in either layout. */
#define NOWHERE UINT64_C(0x330000000000)

/* The number of a stack that has a word on it; all else in it is the same each time. */
static __attribute__((noinline)) uint64_t stack_with(uint64_t word)
{
	volatile uint64_t words[WORDS];
	const struct submit_record *record;

	for (int i = 0; i < WORDS; i++)
		words[i] = word;
	record = submit(FILE_A, 1, AREA);
	return record && words[0] == word ? record->user_stack : 0;
}

static uint64_t first_code(void)
{
	return (uintptr_t)&printf;
}

static uint64_t second_code(void)
{
	return (uintptr_t)&malloc;
}

/* … of each word, all called from one place. The first one is as the others, but that more is new
 * to it. */
static __attribute__((noinline)) void look_at_words(const uint64_t *words, size_t count,
						    uint64_t *ret_stacks)
{
	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < count; i++)
			ret_stacks[i] = stack_with(words[i]);
}

/* Returns lie in libraries and in the program, and where these lie is up to the kernel. */
TEST(other_ways_are_others)
{
	const uint64_t words[] = {0,
				  first_code(),
				  second_code(),
				  (uintptr_t)&first_code,
				  (uintptr_t)&second_code,
				  (uintptr_t)ring /* heap */};
	uint64_t stacks[6];

	begin();
	look_at_words(words, 6, stacks);
	for (int i = 0; i < 6; i++) {
		CHECK(stacks[i] != 0);
		for (int j = 0; j < i; j++)
			CHECK(stacks[i] != stacks[j]);
	}
	printf("# code at %llx and %llx\n", (long long)first_code(),
	       (long long)(uintptr_t)&first_code);
	end();
}

/* Counters, and times that look like addresses. */
TEST(numbers_are_not_ways)
{
	uint64_t words[9], stacks[9];

	begin();
	for (uint64_t i = 0; i < 9; i += 3) {
		words[i] = 5000000 + i * 1234567;
		words[i + 1] = NOWHERE + i * 123456789;
		words[i + 2] = UINT64_C(0x7b00000000000000) + i;
	}
	look_at_words(words, 9, stacks);
	for (int i = 0; i < 9; i++)
		CHECK_EQUAL(stacks[i], stacks[0]);
	end();
}

int main(int argc, char **argv)
{
	const bool is_upwards = argc > 2 && strcmp(argv[2], "upwards") == 0;

	if (is_upwards && !(personality(0xffffffff) & ADDR_COMPAT_LAYOUT)) {
		personality(ADDR_COMPAT_LAYOUT);
		execv(argv[0], argv);
	}
#ifdef __SANITIZE_ADDRESS__
	printf("1..0 # SKIP AddressSanitizer puts frames elsewhere with each call\n");
	return 0;
#endif
	if (!begin_tests(argc > 1 ? argv[1] : ""))
		return error != 0;
	RUN(other_ways_are_others);
	RUN(numbers_are_not_ways);
	return end_tests();
}

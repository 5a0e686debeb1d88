/* SPDX-License-Identifier: MIT
 *
 * tests/harness.h - a small test harness that prints TAP
 *
 * A test is a function. CHECK marks it failed and continues; REQUIRE marks it failed and returns.
 * meson reads the TAP output, and `make check` adds up the lines of all programs.
 *
 *	TEST(adds) { CHECK(1 + 1 == 2); CHECK_EQUAL(2 + 2, 4); }
 *	int main(void) { RUN(adds); return harness_end(); }
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* With AddressSanitizer all takes a few times as long. Not every clang has gcc's macro for it. */
#if defined(__SANITIZE_ADDRESS__)
#define HARNESS_IS_SLOW 1
#elif defined(__has_feature)
#define HARNESS_IS_SLOW __has_feature(address_sanitizer)
#else
#define HARNESS_IS_SLOW 0
#endif

static int harness_count, harness_failures;
static bool harness_failed;
static const char *harness_skip_reason;

#define TEST(name) static void test_##name(void)
#define RUN(name)  harness_run(#name, test_##name)
#define SKIP(reason)                            \
	do {                                    \
		harness_skip_reason = (reason); \
		return;                         \
	} while (0)

#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition))                                     \
			harness_fail(__FILE__, __LINE__, #condition); \
	} while (0)
#define REQUIRE(condition)                                            \
	do {                                                          \
		if (!(condition)) {                                   \
			harness_fail(__FILE__, __LINE__, #condition); \
			return;                                       \
		}                                                     \
	} while (0)
#define CHECK_EQUAL(got, want)                                                \
	do {                                                                  \
		long long got_ = (long long)(got), want_ = (long long)(want); \
		if (got_ != want_) {                                          \
			harness_fail(__FILE__, __LINE__, #got " == " #want);  \
			printf("#   got %lld, want %lld\n", got_, want_);     \
		}                                                             \
	} while (0)
#define CHECK_TEXT(got, want)                                                \
	do {                                                                 \
		const char *got_ = (got), *want_ = (want);                   \
		if (!got_ || strcmp(got_, want_) != 0) {                     \
			harness_fail(__FILE__, __LINE__, #got " == " #want); \
			printf("#   got '%s', want '%s'\n", got_, want_);    \
		}                                                            \
	} while (0)

static inline void harness_fail(const char *file, int line, const char *what)
{
	harness_failed = true;
	printf("#   %s:%d: %s\n", file, line, what);
}

/* Writes a file, in place of one that is there. */
static inline void harness_write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "we");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		harness_fail(path, 0, "the file was written");
}

static inline void harness_write_text(const char *path, const char *text)
{
	harness_write_file(path, text, strlen(text));
}

static inline void harness_run(const char *name, void (*test)(void))
{
	harness_failed = false;
	harness_skip_reason = NULL;
	test();
	harness_failures += harness_failed;
	printf("%sok %d - %s", harness_failed ? "not " : "", ++harness_count, name);
	if (harness_skip_reason && !harness_failed)
		printf(" # SKIP %s", harness_skip_reason);
	printf("\n");
	fflush(stdout);
}

static inline int harness_end(void)
{
	printf("1..%d\n", harness_count);
	return harness_failures ? 1 : 0;
}

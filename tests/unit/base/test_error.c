/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_error.c - the chain of causes
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "base/error.h"

TEST(starts_empty)
{
	CHECK_TEXT(error_text(), "");
}

TEST(chains_outermost_first)
{
	CHECK_EQUAL(error_set(-ENOENT, "open '%s'", "x"), -ENOENT);
	CHECK_EQUAL(error_note(-EIO, "record"), -EIO);
	CHECK_TEXT(error_text(), "record: open 'x'");
	error_set(-EIO, "again: %s", error_text());
	CHECK_TEXT(error_text(), "again: record: open 'x'");
	error_clear();
	CHECK_TEXT(error_text(), "");
	error_note(-EIO, "alone");
	CHECK_TEXT(error_text(), "alone");
}

TEST(keeps_the_outer_end_of_a_long_text)
{
	char path[4096];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	error_set(-EIO, "%s", path);
	error_note(-EIO, "outer");
	CHECK(strlen(error_text()) < 1024);
	CHECK(strncmp(error_text(), "outer: xxx", 10) == 0);
}

static void *other_thread(void *unused)
{
	return (void *)(uintptr_t)(error_text()[0] == '\0');
}

TEST(is_per_thread)
{
	pthread_t thread;
	void *was_empty = NULL;

	error_set(-EIO, "mine");
	REQUIRE(pthread_create(&thread, NULL, other_thread, NULL) == 0);
	pthread_join(thread, &was_empty);
	CHECK(was_empty != NULL);
}

int main(void)
{
	RUN(starts_empty);
	RUN(chains_outermost_first);
	RUN(keeps_the_outer_end_of_a_long_text);
	RUN(is_per_thread);
	return harness_end();
}

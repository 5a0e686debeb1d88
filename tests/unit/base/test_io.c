/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_io.c - whole reads and writes, through pipes too
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

enum { BIG = 1 << 20 };
static char sent[BIG];

static void *send_big(void *argument)
{
	int fd = *(int *)argument;
	int error = write_all(fd, sent, BIG);

	close(fd);
	return error ? argument : NULL;
}

TEST(moves_more_than_a_pipe_holds)
{
	auto_free char *got = NULL;
	int ends[2];
	pthread_t thread;
	size_t size = 0;
	void *failed = NULL;

	for (size_t i = 0; i < BIG; i++)
		sent[i] = (char)(i * 31 >> 3);
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	REQUIRE(pthread_create(&thread, NULL, send_big, &ends[1]) == 0);
	CHECK_EQUAL(read_fd(ends[0], 0, &got, &size), 0);
	pthread_join(thread, &failed);
	CHECK(!failed);
	CHECK_EQUAL(size, BIG);
	CHECK(got && memcmp(got, sent, BIG) == 0 && got[BIG] == '\0');
	close(ends[0]);
}

TEST(reads_proc_files)
{
	auto_free char *text = NULL;
	size_t size = 0;

	CHECK_EQUAL(read_file("/proc/self/status", 0, &text, &size), 0);
	CHECK(text && strncmp(text, "Name:", 5) == 0);
	CHECK(size > 5 && text && strlen(text) == size);
}

TEST(tells_what_failed)
{
	char *untouched = sent;

	CHECK_EQUAL(read_file("/nonexistent/x", 0, &untouched, NULL), -ENOENT);
	CHECK(strstr(error_text(), "/nonexistent/x") != NULL);
	CHECK_EQUAL(read_file("/proc/self/status", 10, &untouched, NULL), -EFBIG);
	CHECK_EQUAL(read_file("/", 0, &untouched, NULL), -EISDIR);
	CHECK(untouched == sent);
	CHECK_EQUAL(write_all(-1, "x", 1), -EBADF);
	CHECK_EQUAL(write_all(-1, "x", 0), 0);
}

TEST(tells_why_a_file_was_not_created)
{
	errno = ENOENT;
	CHECK_EQUAL(create_refused("/nonexistent/x"), -ENOENT);
	CHECK_TEXT(error_text(), "create '/nonexistent/x': No such file or directory: make the "
				 "folder '/nonexistent' first");
	errno = EACCES;
	CHECK_EQUAL(create_refused("/root/x"), -EACCES);
	CHECK_TEXT(error_text(), "create '/root/x': Permission denied");
}

TEST(writes_and_reads_at_offsets)
{
	char bytes[8];
	char path[] = "/tmp/duet-test-io-XXXXXX";
	auto_close int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	unlink(path);
	CHECK_EQUAL(pwrite_all(fd, "abcdef", 6, 10), 0);
	CHECK_EQUAL(pread_all(fd, bytes, 4, 11), 0);
	CHECK(memcmp(bytes, "bcde", 4) == 0);
	CHECK_EQUAL(pread_all(fd, bytes, 7, 10), -ENODATA);
	CHECK_EQUAL(lseek(fd, 10, SEEK_SET), 10);
	CHECK_EQUAL(read_all(fd, bytes, 6), 0);
	CHECK_EQUAL(read_all(fd, bytes, 1), -ENODATA);
}

TEST(cleanup_hands_over)
{
	auto_free char *text = strdup("x");
	auto_free char *taken = take_ptr(text);
	auto_close int fd = dup(0);
	auto_close int other = take_fd(&fd);

	CHECK(text == NULL);
	CHECK_TEXT(taken, "x");
	CHECK_EQUAL(fd, -1);
	CHECK(other >= 0);
}

int main(void)
{
	RUN(moves_more_than_a_pipe_holds);
	RUN(reads_proc_files);
	RUN(tells_what_failed);
	RUN(tells_why_a_file_was_not_created);
	RUN(writes_and_reads_at_offsets);
	RUN(cleanup_hands_over);
	return harness_end();
}

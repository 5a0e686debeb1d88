/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_copy.c - a copy is whole or not there, and a failure names the folder
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file/copy.h"
#include "base/file/output_file.h"

static char folder_path[] = "/tmp/duet-copy-XXXXXX";
static struct output_folder folder;

static int open_original(size_t size)
{
	static const char bytes[4096];
	char path[] = "/tmp/duet-original-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	unlink(path);
	CHECK_EQUAL(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit = {bytes, RLIM_INFINITY};

	CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_copy_has_the_bytes_and_the_time)
{
	uint64_t bytes = 0;
	int from = open_original(4096);

	CHECK_EQUAL(copy_file(from, &folder, "a/b", 0600, UINT64_MAX, &bytes), 0);
	CHECK_EQUAL(bytes, 4096);
	CHECK(copy_is_there(from, &folder, "a/b"));
	close(from);
}

TEST(a_copy_that_fails_names_the_folder_and_is_not_there)
{
	char wanted[64];
	uint64_t bytes = 7;
	struct stat about;
	int from = open_original(4096);

	limit_files(100);
	CHECK_EQUAL(copy_file(from, &folder, "a/c", 0600, UINT64_MAX, &bytes), -EFBIG);
	limit_files(RLIM_INFINITY);
	snprintf(wanted, sizeof(wanted), "write '%s/a/c': ", folder_path);
	CHECK(strncmp(error_text(), wanted, strlen(wanted)) == 0);
	error_clear();
	CHECK_EQUAL(bytes, 7);
	CHECK(!output_folder_find(&folder, "a/c", &about));
	CHECK(!output_folder_find(&folder, "a/c.part", &about));
	close(from);
}

TEST(a_copy_whose_name_is_taken_by_a_folder_says_so)
{
	char wanted[64];
	uint64_t bytes = 0;
	int from = open_original(1);

	CHECK_EQUAL(copy_file(from, &folder, "d/e", 0600, UINT64_MAX, &bytes), 0);
	CHECK_EQUAL(copy_file(from, &folder, "d", 0600, UINT64_MAX, &bytes), -EISDIR);
	snprintf(wanted, sizeof(wanted), "rename '%s/d.part': ", folder_path);
	CHECK(strncmp(error_text(), wanted, strlen(wanted)) == 0);
	error_clear();
	close(from);
}

static void remove_all(void)
{
	static const char *const names[] = {"a/b", "a", "d/e", "d"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (unlinkat(folder.fd, names[i], 0))
			unlinkat(folder.fd, names[i], AT_REMOVEDIR);
	}
	rmdir(folder_path);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	if (!mkdtemp(folder_path) || output_folder_init(&folder, folder_path))
		return 1;
	RUN(a_copy_has_the_bytes_and_the_time);
	RUN(a_copy_that_fails_names_the_folder_and_is_not_there);
	RUN(a_copy_whose_name_is_taken_by_a_folder_says_so);
	remove_all();
	output_folder_fini(&folder);
	return harness_end();
}

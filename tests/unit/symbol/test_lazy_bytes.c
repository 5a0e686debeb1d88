/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/test_lazy_bytes.c - a part of a file, read where it is needed
 */
#include "symbol/elf/lazy_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "harness.h"
#include "symbol/elf/source.h"

enum { FILE_BYTES = 3 << 20, BEFORE = 12345, LIMIT = 64 << 20 };

static uint8_t content[FILE_BYTES];
static char path[] = "/tmp/duet-test-lazy-XXXXXX";

static int make_file(void)
{
	int fd;

	srand(1);
	for (size_t i = 0; i < FILE_BYTES; i++)
		content[i] = (uint8_t)rand();
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write_all(fd, content, FILE_BYTES) < 0)
		abort();
	unlink(path);
	return fd;
}

static size_t count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

static void check_reads(struct lazy_bytes *bytes, uint64_t size)
{
	size_t wrong = 0;

	for (int i = 0; i < 2000; i++) {
		const uint64_t at = (uint64_t)rand() % size, most = size - at;
		const uint64_t length = (uint64_t)rand() % (most < 40000 ? most + 1 : 40000);
		const uint8_t *got = lazy_bytes_at(bytes, at, length);

		wrong += !got || memcmp(got, content + BEFORE + at, length) != 0;
	}
	CHECK_EQUAL(wrong, 0);
	CHECK(lazy_bytes_at(bytes, size - 1, 1) != NULL);
	CHECK(lazy_bytes_at(bytes, size - 1, 2) == NULL);
	CHECK(lazy_bytes_at(bytes, size + 1, 0) == NULL);
	CHECK(lazy_bytes_at(bytes, UINT64_MAX, 2) == NULL);
	CHECK(lazy_bytes_at(bytes, 1, UINT64_MAX) == NULL);
}

/* Small and large; the file's descriptor may be closed at once. */
TEST(gives_what_the_file_has)
{
	static const uint64_t sizes[] = {1, 5000, 300000, FILE_BYTES - BEFORE};
	const size_t descriptors = count_descriptors();

	for (size_t i = 0; i < 4; i++) {
		struct elf_source source = {.fd = make_file()};
		struct lazy_bytes *bytes = NULL;

		CHECK_EQUAL(lazy_bytes_open(&source, BEFORE, sizes[i], LIMIT, &bytes), 0);
		close(source.fd);
		REQUIRE(bytes != NULL);
		CHECK_EQUAL(count_descriptors(), descriptors + (sizes[i] > 256 << 10));
		check_reads(bytes, sizes[i]);
		lazy_bytes_close(bytes);
	}
	CHECK_EQUAL(count_descriptors(), descriptors);
}

/* 10 ms for a large table instead of none. */
TEST(reads_all_where_no_descriptor_is_left)
{
	struct elf_source source = {.fd = make_file()};
	struct rlimit before, none;
	struct lazy_bytes *bytes = NULL;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK_EQUAL(lazy_bytes_open(&source, BEFORE, FILE_BYTES - BEFORE, LIMIT, &bytes), 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
	close(source.fd);
	REQUIRE(bytes != NULL);
	check_reads(bytes, FILE_BYTES - BEFORE);
	lazy_bytes_close(bytes);
}

TEST(gives_what_an_image_has)
{
	struct elf_source source = {.fd = -1, .image = content, .size = FILE_BYTES};
	struct lazy_bytes *bytes = NULL;

	close(make_file());
	CHECK_EQUAL(lazy_bytes_open(&source, BEFORE, FILE_BYTES - BEFORE, LIMIT, &bytes), 0);
	REQUIRE(bytes != NULL);
	check_reads(bytes, FILE_BYTES - BEFORE);
	lazy_bytes_close(bytes);
}

TEST(refuses_what_is_not_there)
{
	struct elf_source source = {.fd = make_file()};
	struct lazy_bytes *bytes = NULL;

	CHECK_EQUAL(lazy_bytes_open(&source, 0, 0, LIMIT, &bytes), -ENODATA);
	CHECK_EQUAL(lazy_bytes_open(&source, 0, FILE_BYTES + 1, LIMIT, &bytes), -ENODATA);
	CHECK_EQUAL(lazy_bytes_open(&source, 0, 4096, 4095, &bytes), -ENODATA);
	CHECK_EQUAL(lazy_bytes_open(&source, UINT64_MAX, 2, LIMIT, &bytes), -ENODATA);
	CHECK(bytes == NULL);
	lazy_bytes_close(NULL);
	close(source.fd);
}

/* What was read stays; the rest is not there any more, and that ends nobody. */
TEST(survives_a_file_that_is_shortened)
{
	struct elf_source source = {.fd = make_file()};
	struct lazy_bytes *bytes = NULL;
	const uint8_t *first;

	CHECK_EQUAL(lazy_bytes_open(&source, 0, FILE_BYTES, LIMIT, &bytes), 0);
	REQUIRE(bytes != NULL);
	first = lazy_bytes_at(bytes, 100, 100);
	CHECK(first && memcmp(first, content + 100, 100) == 0);
	CHECK_EQUAL(ftruncate(source.fd, 0), 0);
	CHECK(lazy_bytes_at(bytes, 100, 100) == first);
	CHECK(lazy_bytes_at(bytes, FILE_BYTES / 2, 1) == NULL);
	lazy_bytes_close(bytes);
	close(source.fd);
}

int main(void)
{
	RUN(gives_what_the_file_has);
	RUN(reads_all_where_no_descriptor_is_left);
	RUN(gives_what_an_image_has);
	RUN(refuses_what_is_not_there);
	RUN(survives_a_file_that_is_shortened);
	return harness_end();
}

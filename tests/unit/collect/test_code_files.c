/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_code_files.c - no other file than the mapped one is read
 */
#include "harness.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/error.h"
#include "bench.h"
#include "collect/stack/code_files.h"

struct stage {
	struct bench bench;
	struct code_files files;
	char path[4096];
	struct code_file_key key; /* of this program, by device and inode */
};

static void stage_open(struct stage *stage)
{
	struct stat about;

	memset(stage, 0, sizeof(*stage));
	bench_open(&stage->bench);
	code_files_init(&stage->files, stage->bench.recording);
	REQUIRE(readlink("/proc/self/exe", stage->path, sizeof(stage->path) - 1) > 0);
	REQUIRE(stat(stage->path, &about) == 0);
	stage->key = (struct code_file_key){.path = stage->path,
					    .build_id = "",
					    .major = major(about.st_dev),
					    .minor = minor(about.st_dev),
					    .inode = about.st_ino};
}

static int open_file(struct stage *stage)
{
	struct code_file *file = code_files_find(&stage->files, &stage->key);
	int fd = file ? code_files_open(&stage->files, file, (uint32_t)getpid()) : -ENOMEM;

	error_clear();
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void stage_close(struct stage *stage)
{
	code_files_fini(&stage->files);
	bench_read(&stage->bench);
	bench_close(&stage->bench);
}

TEST(the_mapped_file_is_read)
{
	struct stage stage;

	stage_open(&stage);
	CHECK_EQUAL(open_file(&stage), 0);
	stage_close(&stage);
}

/* A file of the same number on another device: a user may choose the path. */
TEST(a_file_of_another_device_is_refused)
{
	struct stage stage;

	stage_open(&stage);
	stage.key.minor += 7;
	CHECK_EQUAL(open_file(&stage), -ESTALE);
	stage.key.minor -= 7;
	stage.key.inode++;
	CHECK_EQUAL(open_file(&stage), -ESTALE);
	stage_close(&stage);
}

TEST(a_file_of_another_build_id_is_refused)
{
	struct stage stage;

	stage_open(&stage);
	stage.key.build_id = "0123";
	CHECK_EQUAL(open_file(&stage), -ESTALE);
	stage_close(&stage);
}

/* It is looked for again when there may be one. */
TEST(without_a_descriptor_a_table_is_only_postponed)
{
	struct stage stage;
	struct code_file *file;
	struct rlimit before, none;

	stage_open(&stage);
	file = code_files_find(&stage.files, &stage.key);
	REQUIRE(file != NULL && getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	code_files_rule(&stage.files, file, 0, (uint32_t)getpid());
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(file->table == NULL && !file->is_opened && file->retry_ns > 0);
	file->retry_ns = 1;
	code_files_rule(&stage.files, file, 0, (uint32_t)getpid());
	CHECK(file->table != NULL && file->is_opened);
	stage_close(&stage);
}

int main(void)
{
	RUN(the_mapped_file_is_read);
	RUN(a_file_of_another_device_is_refused);
	RUN(a_file_of_another_build_id_is_refused);
	RUN(without_a_descriptor_a_table_is_only_postponed);
	return harness_end();
}

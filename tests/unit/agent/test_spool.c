/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_spool.c - the bound of the spool, its counts and its ages
 */
#include "agent/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"

#define KIB     UINT64_C(1024)
#define HOUR_NS (INT64_C(3600) * 1000000000)

static char folder[] = "/tmp/spool.XXXXXX";

static void write_file(const char *path, uint64_t bytes)
{
	static const char block[4096] = "x";
	FILE *file = fopen(path, "w");

	for (uint64_t at = 0; file && at < bytes; at += sizeof(block))
		fwrite(block, sizeof(block), 1, file);
	if (file)
		fclose(file);
}

static int add_file(struct spool *spool, uint64_t bytes)
{
	char *path = spool_begin(spool, bytes);

	if (!path)
		return -ENOMEM;
	write_file(path, bytes);
	free(path);
	return spool_commit(spool);
}

static void empty_folder(void)
{
	char path[512];
	const struct dirent *entry;
	DIR *all = opendir(folder);

	while (all && (entry = readdir(all))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		unlink(path);
	}
	if (all)
		closedir(all);
}

static struct spool *open_spool(uint64_t max_bytes, uint64_t max_age_ns)
{
	const struct spool_options options = {.max_bytes = max_bytes, .max_age_ns = max_age_ns};
	struct spool *spool = NULL;

	if (spool_open(folder, &options, 0, &spool))
		printf("# %s\n", error_text());
	return spool;
}

TEST(drops_the_oldest)
{
	struct spool *spool = open_spool(100 * KIB, 0);

	REQUIRE(spool);
	for (int i = 0; i < 10; i++) {
		CHECK_EQUAL(add_file(spool, 32 * KIB), 0);
		CHECK(spool_total_bytes(spool) <= 100 * KIB);
	}
	CHECK_EQUAL(spool->files_count, 3);
	CHECK_EQUAL(spool->files[0].sequence, 8);
	CHECK_EQUAL(spool->counts.added, 10);
	CHECK_EQUAL(spool->counts.dropped, 7);
	CHECK_EQUAL(spool->counts.dropped_bytes, 7 * 32 * KIB);
	spool_close(spool);
	empty_folder();
}

TEST(sequence_and_counts_go_on)
{
	struct spool *spool = open_spool(100 * KIB, 0);

	REQUIRE(spool);
	for (int i = 0; i < 5; i++)
		add_file(spool, 32 * KIB);
	spool_close(spool);
	spool = open_spool(100 * KIB, 0);
	REQUIRE(spool);
	CHECK_EQUAL(spool->next_sequence, 6);
	CHECK_EQUAL(spool->files_count, 3);
	CHECK_EQUAL(spool->counts.dropped, 2);
	add_file(spool, KIB);
	CHECK_EQUAL(spool->files[spool->files_count - 1].sequence, 6);
	spool_close(spool);
	empty_folder();
}

TEST(other_files_stay)
{
	char path[512];
	struct spool *spool;

	snprintf(path, sizeof(path), "%s/run.duet", folder);
	write_file(path, 4096);
	snprintf(path, sizeof(path), "%s/host-7-20260101T000000Z.duet.part", folder);
	write_file(path, 4096);
	spool = open_spool(KIB, 0);
	REQUIRE(spool);
	CHECK_EQUAL(spool->files_count, 0);
	CHECK(access(path, F_OK) != 0);
	snprintf(path, sizeof(path), "%s/run.duet", folder);
	CHECK(access(path, F_OK) == 0);
	spool_close(spool);
	empty_folder();
}

TEST(only_one_agent)
{
	const struct spool_options options = {0};
	struct spool *spool = open_spool(0, 0), *other = NULL;

	REQUIRE(spool);
	CHECK_EQUAL(spool_open(folder, &options, 0, &other), -EBUSY);
	error_clear();
	spool_close(spool);
	empty_folder();
}

/* Replaces a text in the state file. */
static void write_state(const char *boot, int64_t now_ns, uint64_t sequence, int64_t born_ns)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/state", folder);
	file = fopen(path, "w");
	if (!file)
		return;
	fprintf(file, "boot %s\nnow %" PRId64 "\nnext 9\nfile %" PRIu64 " %" PRId64 "\n", boot,
		now_ns, sequence, born_ns);
	fclose(file);
}

TEST(ages_come_from_the_uptime)
{
	struct spool *spool = open_spool(0, 0);
	char boot[40], path[512];
	const int64_t now_ns = spool_now_ns();

	REQUIRE(spool);
	snprintf(boot, sizeof(boot), "%s", spool->boot);
	spool_close(spool);
	/* A date in the name and in the file system that is years ago does not matter. */
	snprintf(path, sizeof(path), "%s/host-0000000003-19990101T000000Z.duet", folder);
	write_file(path, 4096);
	write_state(boot, now_ns, 3, now_ns - HOUR_NS / 2);
	spool = open_spool(0, (uint64_t)HOUR_NS);
	REQUIRE(spool);
	CHECK_EQUAL(spool->files_count, 1);
	CHECK_EQUAL(spool->next_sequence, 9);
	spool_close(spool);
	write_state(boot, now_ns, 3, now_ns - 2 * HOUR_NS);
	spool = open_spool(0, (uint64_t)HOUR_NS);
	REQUIRE(spool);
	CHECK_EQUAL(spool->files_count, 0);
	CHECK_EQUAL(spool->counts.dropped, 1);
	spool_close(spool);
	empty_folder();
}

TEST(ages_go_on_after_a_reboot)
{
	struct spool *spool;
	char path[512];

	snprintf(path, sizeof(path), "%s/host-0000000003-19990101T000000Z.duet", folder);
	write_file(path, 4096);
	/* 50 minutes old when the other boot ended, at an uptime of 10 days */
	write_state("other-boot", 240 * HOUR_NS, 3, 240 * HOUR_NS - HOUR_NS / 6 * 5);
	spool = open_spool(0, (uint64_t)HOUR_NS);
	REQUIRE(spool);
	REQUIRE(spool->files_count == 1);
	CHECK((spool_now_ns() - spool->files[0].born_ns) / 1000000000 / 60 == 50);
	spool_close(spool);
	spool = open_spool(0, (uint64_t)HOUR_NS / 2);
	REQUIRE(spool);
	CHECK_EQUAL(spool->files_count, 0);
	spool_close(spool);
	empty_folder();
}

TEST(full_disk_drops_and_then_skips)
{
	struct spool *spool = open_spool(0, 0);

	REQUIRE(spool);
	add_file(spool, 4 * KIB);
	add_file(spool, 4 * KIB);
	free(spool_begin(spool, KIB));
	CHECK(spool_retry(spool, -ENOSPC));
	free(spool_begin(spool, KIB));
	CHECK(spool_retry(spool, -ENOSPC));
	CHECK_EQUAL(spool->files_count, 0);
	free(spool_begin(spool, KIB));
	CHECK(!spool_retry(spool, -ENOSPC));
	spool_skip(spool, 5);
	CHECK_EQUAL(spool->counts.dropped_full, 2);
	CHECK_EQUAL(spool->counts.skipped, 1);
	CHECK_EQUAL(spool->counts.skipped_ns, 5);
	CHECK(!spool_retry(spool, -EIO));
	spool_close(spool);
	empty_folder();
}

TEST(killed_recorder_is_counted)
{
	struct spool *spool = open_spool(0, 0);
	char *ring;

	REQUIRE(spool);
	CHECK_EQUAL(spool_count_killed(spool), 0);
	CHECK_EQUAL(spool->counts.killed, 0);
	spool_note_cut(spool, 1234);
	ring = spool_ring_path(spool);
	write_file(ring, 4096);
	spool_close(spool);
	spool = open_spool(0, 0);
	REQUIRE(spool);
	CHECK_EQUAL(spool_count_killed(spool), 1234);
	CHECK_EQUAL(spool->counts.killed, 1);
	CHECK(spool->counts.killed_ns > 0 && spool->counts.killed_ns < UINT64_C(60000000000));
	spool_close(spool);
	free(ring);
	empty_folder();
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(drops_the_oldest);
	RUN(sequence_and_counts_go_on);
	RUN(other_files_stay);
	RUN(only_one_agent);
	RUN(ages_come_from_the_uptime);
	RUN(ages_go_on_after_a_reboot);
	RUN(full_disk_drops_and_then_skips);
	RUN(killed_recorder_is_counted);
	rmdir(folder);
	return harness_end();
}

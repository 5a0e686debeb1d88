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
#include <sys/syscall.h>
#include <sys/wait.h>
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
	return spool_commit(spool, &(struct spool_content){.cut_ns = 7});
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
	spool_skip(spool, 5, 0);
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
	CHECK(!spool_count_killed(spool));
	CHECK_EQUAL(spool->counts.killed, 0);
	spool_note_cut(spool, 1234);
	ring = spool_ring_path(spool);
	write_file(ring, 4096);
	spool_close(spool);
	spool = open_spool(0, 0);
	REQUIRE(spool);
	CHECK(spool_count_killed(spool));
	CHECK_EQUAL(spool->cut_ns, 1234);
	CHECK_EQUAL(spool->counts.killed, 1);
	CHECK(spool->counts.killed_ns > 0 && spool->counts.killed_ns < UINT64_C(60000000000));
	spool_close(spool);
	free(ring);
	empty_folder();
}

/* ---- kill -9 at any moment ------------------------------------------------------------------- */

/* The functions of the C library by which the spool changes the folder. The process ends as by kill
 * -9 before or after the call of this number; 0: never. */
static int calls_left;
static bool ends_after;

static int change_folder(int (*change)(const void *context), const void *context)
{
	int result;

	if (calls_left == 1 && !ends_after)
		_exit(9);
	result = change(context);
	if (calls_left == 1)
		_exit(9);
	calls_left -= calls_left > 0;
	return result;
}

struct rename_call {
	int from, to;
	const char *old, *new;
};

static int call_rename(const void *context)
{
	const struct rename_call *call = context;

	return (int)syscall(SYS_renameat2, call->from, call->old, call->to, call->new, 0);
}

int renameat(int from, const char *old, int to, const char *new)
{
	const struct rename_call call = {from, to, old, new};

	return change_folder(call_rename, &call);
}

struct unlink_call {
	int folder, flags;
	const char *name;
};

static int call_unlink(const void *context)
{
	const struct unlink_call *call = context;

	return (int)syscall(SYS_unlinkat, call->folder, call->name, call->flags);
}

int unlinkat(int at, const char *name, int flags)
{
	const struct unlink_call call = {at, flags, name};

	return change_folder(call_unlink, &call);
}

/* A recorder that finds a ring, saves it, cuts twice, loses a file to a full disk, and leaves its
 * ring. Two files fit. */
static void act_as_recorder(void)
{
	struct spool *spool = open_spool(80 * KIB, 0);
	char *ring = spool ? spool_ring_path(spool) : NULL;

	if (!ring)
		_exit(1);
	if (spool_count_killed(spool)) {
		char *path = spool_begin(spool, 32 * KIB);

		write_file(path, 32 * KIB);
		free(path);
		spool_commit(spool,
			     &(struct spool_content){.cut_ns = SPOOL_ALL_CUT, .is_salvaged = true});
	}
	unlinkat(AT_FDCWD, ring, 0);
	spool_note_ring(spool);
	write_file(ring, 4 * KIB);
	for (int i = 0; i < 2; i++)
		add_file(spool, 32 * KIB);
	free(spool_begin(spool, KIB));
	spool_retry(spool, -ENOSPC);
	_exit(0);
}

static void check_counts(unsigned int recorders)
{
	struct spool *spool = open_spool(0, 0);
	const struct spool_counts *counts;

	REQUIRE(spool);
	counts = &spool->counts;
	CHECK_EQUAL(counts->added - counts->dropped, spool->files_count);
	CHECK_EQUAL(counts->added_bytes - counts->dropped_bytes, spool->bytes);
	CHECK_EQUAL(counts->added + 1, spool->next_sequence);
	CHECK(counts->dropped_full <= recorders);
	CHECK(counts->salvaged <= counts->killed && counts->killed <= recorders);
	spool_close(spool);
}

/* Each run of the recorder is killed at another call; the counts must fit the folder after each. */
TEST(counts_survive_a_kill_at_any_moment)
{
	int calls = 0;

	for (int number = 1; number < 60; number++) {
		int status = 0;
		pid_t pid = fork();

		if (!pid) {
			calls_left = (number + 1) / 2;
			ends_after = number % 2 == 0;
			act_as_recorder();
		}
		REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
		calls += WEXITSTATUS(status) == 9;
		check_counts((unsigned int)number);
	}
	CHECK(calls >= 20);
	empty_folder();
}

/* One recorder after the other: each of them must count exactly what it did. */
TEST(a_full_disk_and_a_salvaged_ring_count_once)
{
	struct spool_counts before = {0};

	for (int number = 1; number < 60; number++) {
		struct spool *spool;
		pid_t pid;

		empty_folder();
		pid = fork();
		if (!pid)
			act_as_recorder();
		waitpid(pid, NULL, 0);
		pid = fork();
		if (!pid) {
			calls_left = (number + 1) / 2;
			ends_after = number % 2 == 0;
			act_as_recorder();
		}
		waitpid(pid, NULL, 0);
		pid = fork();
		if (!pid)
			act_as_recorder();
		waitpid(pid, NULL, 0);
		spool = open_spool(0, 0);
		REQUIRE(spool);
		/* The second run left a ring, or was killed before it saved that of the first. */
		CHECK(spool->counts.salvaged == 1 || spool->counts.salvaged == 2);
		CHECK(spool->counts.dropped_full == 2 || spool->counts.dropped_full == 3);
		CHECK(spool->counts.dropped_full >= before.dropped_full);
		CHECK(spool->counts.salvaged >= before.salvaged);
		before = spool->counts;
		spool_close(spool);
	}
	empty_folder();
}

/* A file that got its name is not saved from the ring again. */
TEST(a_kill_between_name_and_beat_moves_the_cut)
{
	struct spool *spool = open_spool(0, 0);
	int status = 0;
	pid_t pid;

	REQUIRE(spool);
	spool_close(spool);
	pid = fork();
	if (!pid) {
		spool = open_spool(0, 0);
		spool_note_cut(spool, 5);
		/* the state's own name, then that of the file */
		calls_left = 4;
		ends_after = true;
		add_file(spool, 4 * KIB);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
	spool = open_spool(0, 0);
	REQUIRE(spool);
	CHECK_EQUAL(spool->files_count, 1);
	CHECK_EQUAL(spool->cut_ns, 7);
	CHECK_EQUAL(spool->counts.added, 1);
	spool_close(spool);
	empty_folder();
}

static void write_beat(const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/.beat", folder);
	harness_write_text(path, text);
}

/* A clock that is lower or higher after a reboot. */
TEST(a_beat_of_another_boot_is_no_time_without_a_recorder)
{
	static const char *const beats[] = {"1 77 5 other-boot\n",
					    "999999999999999999 77 5 other\n", "1 77\n"};

	for (size_t i = 0; i < 3; i++) {
		struct spool *spool;
		char *ring;

		write_beat(beats[i]);
		spool = open_spool(0, 0);
		REQUIRE(spool);
		ring = spool_ring_path(spool);
		write_file(ring, 4096);
		CHECK(spool_count_killed(spool));
		CHECK_EQUAL(spool->cut_ns, 77);
		CHECK_EQUAL(spool->counts.killed, 1);
		CHECK_EQUAL(spool->counts.killed_ns, 0);
		CHECK_EQUAL(spool->counts.rows_lost, i < 2 ? 5 : 0);
		spool_close(spool);
		free(ring);
		empty_folder();
	}
}

TEST(lost_rows_and_the_start_are_kept)
{
	struct spool *spool = open_spool(0, 0);
	pid_t pid;
	uint64_t start_ns;

	REQUIRE(spool);
	start_ns = spool->start_real_ns;
	CHECK(start_ns > UINT64_C(1600000000) * 1000000000);
	spool_close(spool);
	pid = fork();
	if (!pid) {
		spool = open_spool(0, 0);
		spool->counts.rows_lost = 12;
		spool_beat(spool);
		_exit(9);
	}
	waitpid(pid, NULL, 0);
	spool = open_spool(0, 0);
	REQUIRE(spool);
	CHECK_EQUAL(spool->counts.rows_lost, 12);
	CHECK_EQUAL(spool->start_real_ns, start_ns);
	spool_close(spool);
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
	RUN(counts_survive_a_kill_at_any_moment);
	RUN(a_full_disk_and_a_salvaged_ring_count_once);
	RUN(a_kill_between_name_and_beat_moves_the_cut);
	RUN(a_beat_of_another_boot_is_no_time_without_a_recorder);
	RUN(lost_rows_and_the_start_are_kept);
	rmdir(folder);
	return harness_end();
}

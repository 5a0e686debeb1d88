/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_eu_stream.c - streams of EU-stall rows of made-up drivers: xe, and
 * Intel's own i915
 */
#include "collect/intel/eu_stream.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "collect/host_clocks.h"
#include "harness.h"
#include "made_up_node.h"

enum { RATES = 7 };
#define PATIENCE_NS UINT64_C(20000000000)

static const struct {
	struct xe_query_gt_list head;
	struct xe_gt gts[3];
} gts = {{.num_gt = 3},
	 {{.gt_id = 4, .ip_ver_major = 20, .ip_ver_minor = 1},
	  {.type = 1, .gt_id = 1},
	  {.gt_id = 2, .ip_ver_major = 12, .ip_ver_minor = 55}}};

static const struct {
	struct xe_query_eu_stall head;
	uint64_t rates[RATES];
} rates = {{.record_size = 64, .num_sampling_rates = RATES},
	   {251, 502, 753, 1004, 1255, 1506, 1757}};

/* Only some compute. */
static const struct {
	struct i915_query_engine_info head;
	struct i915_engine_info engines[4];
} engines = {{.num_engines = 4},
	     {{.engine_class = 0},
	      {.engine_class = I915_ENGINE_CLASS_COMPUTE, .engine_instance = 1},
	      {.engine_class = 1, .engine_instance = 2},
	      {.engine_class = I915_ENGINE_CLASS_COMPUTE, .engine_instance = 3}}};

static struct gpu_node begin_xe(void)
{
	struct gpu_node node = made_up_begin("xe");

	made_up.queries[XE_QUERY_GT_LIST] = (struct made_up_answer){&gts, sizeof(gts)};
	made_up.queries[XE_QUERY_EU_STALL] = (struct made_up_answer){&rates, sizeof(rates)};
	return node;
}

TEST(what_xe_tells)
{
	struct gpu_node node = begin_xe();
	struct eu_stream_facts facts;

	CHECK_EQUAL(eu_stream_ask(&node, 0, 0, &facts), 0);
	CHECK_EQUAL(facts.gt, 4);
	CHECK_EQUAL(facts.rate_cycles, 1004);
	CHECK_TEXT(facts.layout->name, "Xe2");
	CHECK_EQUAL(eu_stream_ask(&node, 0, 600, &facts), 0);
	CHECK_EQUAL(facts.rate_cycles, 753);
	/* a GT that cannot sample, and one that is not there */
	CHECK_EQUAL(eu_stream_ask(&node, 1, 0, &facts), -ENOTSUP);
	CHECK(strstr(error_text(), "12.55"));
	error_clear();
	CHECK_EQUAL(eu_stream_ask(&node, 2, 0, &facts), -ENOENT);
	error_clear();
	made_up.queries[XE_QUERY_EU_STALL].answer = NULL;
	CHECK_EQUAL(eu_stream_ask(&node, 0, 0, &facts), -ENOTSUP);
	CHECK(strstr(error_text(), "since Linux 6.15"));
	error_clear();
}

/* ---- rows of Intel's own i915 ---------------------------------------------------------------- */

struct sums {
	uint64_t active, sbid, places;
};

static void on_counts(void *context, uint64_t address, const uint32_t *counts, uint32_t *note)
{
	struct sums *sums = context;

	CHECK(address == 0x1000 || address == 0x2000);
	sums->active += counts[0];
	sums->sbid += counts[6];
	sums->places++;
}

/* As PVC writes it, with what the driver adds. */
static void make_row(uint8_t *row, uint32_t address, uint8_t active, uint8_t sbid,
		     uint16_t subslice, uint16_t flags)
{
	const struct prelim_eu_stall_info info = {subslice, flags};
	const unsigned __int128 value = (unsigned __int128)(address >> 3) |
					(unsigned __int128)active << 29 |
					(unsigned __int128)sbid << 77;

	memset(row, 0, EU_STALL_ROW_BYTES);
	memcpy(row, &value, sizeof(value));
	memcpy(row + PRELIM_EU_STALL_INFO, &info, sizeof(info));
}

static bool wait_rows(struct eu_stream *stream, uint64_t rows)
{
	const uint64_t end_ns = host_clocks_now_ns() + PATIENCE_NS;
	struct eu_stream_counts counts;

	do {
		eu_stream_counted(stream, &counts);
		usleep(1000);
	} while (counts.rows < rows && host_clocks_now_ns() < end_ns);
	return counts.rows == rows;
}

TEST(rows_of_intels_own_i915)
{
	struct gpu_node node = made_up_begin("i915");
	struct eu_stream_counts counts;
	struct eu_stream_facts facts;
	struct eu_stream *stream;
	struct sums sums = {0};
	uint8_t rows[8][EU_STALL_ROW_BYTES];

	made_up.engines = (struct made_up_answer){&engines, sizeof(engines)};
	REQUIRE(eu_stream_ask(&node, 0, 700, &facts) == 0);
	CHECK_EQUAL(facts.rate_cycles, 753);
	CHECK_TEXT(facts.layout->name, "PVC");
	CHECK_EQUAL(eu_stream_ask(&node, 1, 0, &facts), -ENOENT);
	error_clear();
	REQUIRE(eu_stream_ask(&node, 0, 700, &facts) == 0);
	/* twice the first subslice, once the second, which then has lost some once more */
	make_row(rows[0], 0x1000, 3, 0, 0, 0);
	make_row(rows[1], 0x2000, 0, 200, 0, PRELIM_EU_STALL_DROPPED);
	make_row(rows[2], 0x1000, 4, 0, 0, PRELIM_EU_STALL_DROPPED);
	make_row(rows[3], 0x1000, 4, 0, 1, PRELIM_EU_STALL_DROPPED);
	make_row(rows[4], 0x1000, 4, 0, 1, 0);
	make_row(rows[5], 0x2000, 0, 100, 1, PRELIM_EU_STALL_DROPPED);
	made_up_put(0, rows, 6 * EU_STALL_ROW_BYTES);
	make_row(rows[6], 0x2000, 0, 50, 2, 0);
	made_up_put(0, rows[6], EU_STALL_ROW_BYTES);
	REQUIRE(eu_stream_open(&node, &facts, NULL, &stream) == 0);
	CHECK_EQUAL(made_up.values[0],
		    I915_PERF_CLOEXEC | I915_PERF_NONBLOCK | I915_PERF_DISABLED | 1 << 16);
	CHECK_EQUAL(made_up.values[1001 - 980], 512 << 10);
	CHECK_EQUAL(made_up.values[1002 - 980], 3);
	CHECK_EQUAL(made_up.values[1004 - 980], 4);
	CHECK_EQUAL(made_up.instances, 1 << 1 | 1 << 3);
	CHECK(wait_rows(stream, 7));
	eu_stream_stop(stream);
	eu_stream_emit(stream, on_counts, &sums);
	CHECK_EQUAL(sums.active, 15);
	CHECK_EQUAL(sums.sbid, 350);
	CHECK_EQUAL(sums.places, 2);
	eu_stream_counted(stream, &counts);
	CHECK_EQUAL(counts.hardware_losses, 3);
	CHECK_EQUAL(counts.resets, 0);
	eu_stream_close(stream);
}

/* The kernel's own i915 has the name and the version, and knows nothing of the flag. */
TEST(who_is_refused_by_i915)
{
	static const struct {
		int error, result;
		const char *says;
	} cases[] = {
		{EINVAL, -ENOTSUP, "intel-i915-dkms"},
		{EACCES, -EACCES, "dev.i915.perf_stream_paranoid=0"},
		{EBUSY, -EBUSY, "another program"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gpu_node node = made_up_begin("i915");
		struct eu_stream_facts facts;
		struct eu_stream *stream;

		CHECK(eu_stream_ask(&node, 0, 0, &facts) < 0);
		error_clear();
		made_up.engines = (struct made_up_answer){&engines, sizeof(engines)};
		made_up.open_error = cases[i].error;
		REQUIRE(eu_stream_ask(&node, 0, 0, &facts) == 0);
		CHECK_EQUAL(eu_stream_open(&node, &facts, NULL, &stream), cases[i].result);
		CHECK(strstr(error_text(), cases[i].says));
		error_clear();
	}
}

/* … and older GPUs have no engine for it. */
TEST(a_gpu_without_engines_that_compute)
{
	static const struct {
		struct i915_query_engine_info head;
		struct i915_engine_info engine;
	} one = {{.num_engines = 1}, {.engine_class = 0}};
	struct gpu_node node = made_up_begin("i915");
	struct eu_stream_facts facts;

	made_up.engines = (struct made_up_answer){&one, sizeof(one)};
	CHECK_EQUAL(eu_stream_ask(&node, 0, 0, &facts), -ENOTSUP);
	CHECK(strstr(error_text(), "Xe2 and later"));
	error_clear();
	/* an answer that is cut off */
	made_up.engines = (struct made_up_answer){&engines, sizeof(engines) - 1};
	CHECK_EQUAL(eu_stream_ask(&node, 0, 0, &facts), 0);
	CHECK_EQUAL(facts.engines_count, 1);
}

/* Whatever is executed later must not have the stream: while anybody has it, nobody else can open
 * one. */
TEST(an_exec_closes_the_stream)
{
	static const char *const drivers[] = {"xe", "i915"};

	for (size_t i = 0; i < 2; i++) {
		struct gpu_node node = begin_xe();
		struct eu_stream_facts facts;
		struct eu_stream *stream;

		strcpy(node.driver, drivers[i]);
		made_up.engines = (struct made_up_answer){&engines, sizeof(engines)};
		REQUIRE(eu_stream_ask(&node, 0, 0, &facts) == 0);
		REQUIRE(eu_stream_open(&node, &facts, NULL, &stream) == 0);
		CHECK_EQUAL(fcntl(made_up.fd, F_GETFD), FD_CLOEXEC);
		CHECK(i || (fcntl(made_up.fd, F_GETFL) & O_NONBLOCK));
		CHECK(facts.late_ns >= 5000000);
		eu_stream_close(stream);
	}
}

/* Of the other thread; UINT64_MAX: it cannot be told. */
static uint64_t others_rights(void)
{
	char path[300], line[200];
	uint64_t rights = UINT64_MAX;
	struct dirent *entry;
	DIR *folder = opendir("/proc/self/task");

	while (folder && (entry = readdir(folder))) {
		FILE *file;

		if (atoi(entry->d_name) <= 0 || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			if (strncmp(line, "CapPrm:", 7) == 0)
				rights = strtoull(line + 7, NULL, 16);
		if (file)
			fclose(file);
	}
	if (folder)
		closedir(folder);
	return rights;
}

/* Its thread opens it again, and does nothing else that takes a right. */
TEST(rights_of_the_thread)
{
	const uint64_t perfmon = UINT64_C(1) << 38, admin = UINT64_C(1) << 21;
	const uint64_t end_ns = host_clocks_now_ns() + PATIENCE_NS;
	struct gpu_node node = begin_xe();
	struct eu_stream_facts facts;
	struct eu_stream *stream;

	REQUIRE(eu_stream_ask(&node, 0, 0, &facts) == 0);
	REQUIRE(eu_stream_open(&node, &facts, NULL, &stream) == 0);
	while ((others_rights() & ~(perfmon | admin)) && host_clocks_now_ns() < end_ns)
		usleep(1000);
	CHECK_EQUAL(others_rights() & ~(perfmon | admin), 0);
	CHECK(others_rights() != (perfmon | admin));
	eu_stream_close(stream);
}

static bool wait_ended(struct eu_stream *stream, bool is_ended)
{
	const uint64_t end_ns = host_clocks_now_ns() + PATIENCE_NS;
	struct eu_stream_counts counts;

	do {
		eu_stream_counted(stream, &counts);
		usleep(1000);
	} while (!counts.ended_ns == is_ended && host_clocks_now_ns() < end_ns);
	return !counts.ended_ns != is_ended;
}

/* Whatever ends it, it is opened again; while that fails, it is known since when, and why. */
TEST(a_stream_that_ends)
{
	static const int ends[] = {ENODEV, EINVAL};

	for (size_t i = 0; i < 2; i++) {
		const uint64_t before_ns = host_clocks_now_ns();
		struct gpu_node node = begin_xe();
		struct eu_stream_counts counts;
		struct eu_stream_facts facts;
		struct eu_stream *stream;
		uint8_t row[EU_STALL_ROW_BYTES];

		REQUIRE(eu_stream_ask(&node, 0, 0, &facts) == 0);
		REQUIRE(eu_stream_open(&node, &facts, NULL, &stream) == 0);
		made_up.open_error = EBUSY;
		made_up_put(ends[i], NULL, 0);
		CHECK(wait_ended(stream, true));
		usleep(300000);
		eu_stream_counted(stream, &counts);
		CHECK(counts.ended_ns > before_ns);
		CHECK_EQUAL(counts.error, EBUSY);
		CHECK_EQUAL(counts.resets, i == 0);
		CHECK_EQUAL(counts.breaks, i == 1);
		CHECK_EQUAL(eu_stream_refused(stream, counts.error), -EBUSY);
		CHECK(strstr(error_text(), "another program"));
		error_clear();
		/* after 20 ms, 40, 80, …, and not each 20 ms */
		CHECK(made_up.tried <= 3 + (host_clocks_now_ns() - before_ns) / 40000000);
		made_up.open_error = 0;
		make_row(row, 0x1000, 3, 0, 0, 0);
		made_up_put(0, row, sizeof(row));
		CHECK(wait_rows(stream, 1));
		CHECK(wait_ended(stream, false));
		eu_stream_counted(stream, &counts);
		CHECK_EQUAL(counts.error, 0);
		eu_stream_close(stream);
	}
}

/* Of xe two looks of 5 ms each; nothing was sampled before the stream was there. */
TEST(samples_are_older_than_their_rows)
{
	const uint64_t second = 1000000000, ms = 1000000;
	struct gpu_node node = begin_xe();
	struct eu_stream_facts facts;

	REQUIRE(eu_stream_ask(&node, 0, 0, &facts) == 0);
	CHECK_EQUAL(eu_stream_sampled_since(&facts, second, 2 * second), 2 * second - 10 * ms);
	CHECK_EQUAL(eu_stream_sampled_since(&facts, second, second), second);
	CHECK_EQUAL(eu_stream_sampled_since(&facts, second, second + 9 * ms), second);
	node = made_up_begin("i915");
	made_up.engines = (struct made_up_answer){&engines, sizeof(engines)};
	REQUIRE(eu_stream_ask(&node, 0, 0, &facts) == 0);
	CHECK_EQUAL(eu_stream_sampled_since(&facts, second, 2 * second), 2 * second - 15 * ms);
}

static void make_node(const char *root, const char *driver)
{
	char path[300], target[300];
	int fd;

	snprintf(path, sizeof(path),
		 "mkdir -p %s/dev/dri %s/sys/class/drm/renderD128/device && chmod -R 755 %s", root,
		 root, root);
	REQUIRE(system(path) == 0);
	snprintf(path, sizeof(path), "%s/sys/class/drm/renderD128/device/driver", root);
	snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", driver);
	unlink(path);
	REQUIRE(symlink(target, path) == 0);
	snprintf(path, sizeof(path), "%s/dev/dri/renderD128", root);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	close(fd);
	REQUIRE(chmod(path, 0) == 0);
}

/* Who is not in the group is told of it; another vendor's node is nobody's business here. */
TEST(a_node_that_is_shut)
{
	char root[] = "/tmp/duet-node-XXXXXX", path[100], text[700] = "";
	const uid_t own = geteuid();

	REQUIRE(mkdtemp(root));
	make_node(root, "xe");
	if (own == 0)
		REQUIRE(seteuid(65534) == 0);
	CHECK(gpu_node_is_shut(root, 128, text, sizeof(text)));
	CHECK(!gpu_node_is_shut(root, 129, path, sizeof(path)));
	REQUIRE(seteuid(own) == 0);
	CHECK(strstr(text, "/dev/dri/renderD128"));
	CHECK(strstr(text, "the driver xe"));
	CHECK(strstr(text, "sudo usermod -aG "));
	make_node(root, "amdgpu");
	if (own == 0)
		REQUIRE(seteuid(65534) == 0);
	CHECK(!gpu_node_is_shut(root, 128, text, sizeof(text)));
	REQUIRE(seteuid(own) == 0);
	make_node(root, "i915");
	snprintf(path, sizeof(path), "%s/dev/dri/renderD128", root);
	REQUIRE(chmod(path, 0600) == 0);
	CHECK(!gpu_node_is_shut(root, 128, text, sizeof(text)));
	snprintf(path, sizeof(path), "rm -r %s", root);
	CHECK(system(path) == 0);
}

/* Before its list of GTs had a place for it. */
TEST(an_xe_that_does_not_tell_its_ip)
{
	static const struct {
		struct xe_query_gt_list head;
		struct xe_gt gt;
	} old = {{.num_gt = 1}, {.gt_id = 0}};
	struct gpu_node node = begin_xe();
	struct eu_stream_facts facts;

	made_up.queries[XE_QUERY_GT_LIST] = (struct made_up_answer){&old, sizeof(old)};
	CHECK_EQUAL(eu_stream_ask(&node, 0, 0, &facts), -ENOTSUP);
	CHECK(strstr(error_text(), "too old"));
	CHECK(strstr(error_text(), "Linux 6.15"));
	CHECK_EQUAL(facts.major, 0);
	error_clear();
}

int main(void)
{
	RUN(an_exec_closes_the_stream);
	RUN(rights_of_the_thread);
	RUN(a_stream_that_ends);
	RUN(samples_are_older_than_their_rows);
	RUN(a_node_that_is_shut);
	RUN(an_xe_that_does_not_tell_its_ip);
	RUN(what_xe_tells);
	RUN(rows_of_intels_own_i915);
	RUN(who_is_refused_by_i915);
	RUN(a_gpu_without_engines_that_compute);
	return harness_end();
}

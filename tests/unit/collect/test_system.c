/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_system.c - what readings become; a tree of files that the test writes;
 * deadlines
 */
#include "harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "collect/host_clocks.h"
#include "collect/counter/source_group.h"
#include "collect/system/sources.h"
#include "collect/counter/sampled_processes.h"

#define MS UINT64_C(1000000)

/* ---- a tree ---------------------------------------------------------------------------------- */

struct tree {
	char root[64];
};

static bool tree_open(struct tree *tree)
{
	snprintf(tree->root, sizeof(tree->root), "/tmp/duet_system_XXXXXX");
	return mkdtemp(tree->root) != NULL;
}

static void tree_close(struct tree *tree)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", tree->root);
	CHECK(system(command) == 0);
}

static void tree_write(struct tree *tree, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", tree->root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	harness_write_text(path, text);
}

/* ---- what came of it ------------------------------------------------------------------------- */

enum { MAX_NOTED = 512 };
struct noted {
	char name[96]; /* metric, instance, processor */
	struct series_item item;
	uint64_t limit;
};

struct bench {
	struct tree tree;
	struct group group;
	struct noted rows[MAX_NOTED];
	size_t count, ended;
	const char *noted; /* in the tick; NULL: nothing */
	const pid_t *pids;
	size_t pids_count;
	struct counter_choice choice;
};

static void name_row(struct noted *row, const struct series_slot *slot)
{
	int used = snprintf(row->name, sizeof(row->name), "%s", slot->metric->name);

	if (slot->of.instance[0])
		used += snprintf(row->name + used, sizeof(row->name) - (size_t)used, " %s",
				 slot->of.instance);
	if (slot->of.cpu)
		snprintf(row->name + used, sizeof(row->name) - (size_t)used, " cpu%u",
			 slot->of.cpu - 1);
	row->limit = slot->limit;
}

/* Another tick; its rows alone are there afterwards. */
static void tick(struct bench *bench)
{
	struct series_item item;

	bench->count = bench->ended = 0;
	bench->noted = NULL;
	group_tick(&bench->group);
	while (series_take(&bench->group.series, &item)) {
		struct noted *row = &bench->rows[bench->count];

		bench->ended += item.what == SERIES_END;
		if (item.what == SERIES_END)
			series_release(&bench->group.series, item.slot);
		if (item.what == SERIES_NOTE)
			bench->noted = item.text;
		if (item.what != SERIES_ROW || bench->count == MAX_NOTED)
			continue;
		row->item = item;
		name_row(row, &bench->group.series.slots[item.slot]);
		bench->count++;
	}
}

static const struct noted *find(const struct bench *bench, const char *name)
{
	for (size_t i = 0; i < bench->count; i++)
		if (strcmp(bench->rows[i].name, name) == 0)
			return &bench->rows[i];
	return NULL;
}

/* -1: there is no such row */
static long long value_of(const struct bench *bench, const char *name)
{
	const struct noted *row = find(bench, name);

	return row ? row->item.value : -1;
}

static bool bench_open(struct bench *bench, enum group_id id, struct tracked *tracked)
{
	const struct group_options options = {.id = id,
					      .name = "test",
					      .hz = 10,
					      .sources = &system_sources,
					      .root = bench->tree.root,
					      .tracked = tracked,
					      .choice = bench->choice,
					      .pids = bench->pids,
					      .pids_count = bench->pids_count};

	return group_open(&bench->group, &options) == 0;
}

static void bench_close(struct bench *bench)
{
	group_close(&bench->group);
	tree_close(&bench->tree);
	free(bench);
}

static struct bench *bench_new(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench && !tree_open(&bench->tree)) {
		free(bench);
		bench = NULL;
	}
	return bench;
}

/* ---- the machine ----------------------------------------------------------------------------- */

TEST(processors)
{
	struct bench *bench = bench_new();
	const struct noted *row;

	REQUIRE(bench);
	tree_write(&bench->tree, "/proc/stat",
		   "cpu  100 0 0 100 50 0 0 0 0 0\ncpu0 60 0 0 40 0 0 0 0 0 0\n"
		   "cpu1 40 0 0 60 50 0 0 0 0 0\nctxt 10\n");
	REQUIRE(bench_open(bench, GROUP_MACHINE, NULL));
	tick(bench);
	CHECK_EQUAL(bench->count, 0);
	/* iowait goes back, which it may; cpu1 is taken off line */
	tree_write(&bench->tree, "/proc/stat",
		   "cpu  130 0 0 120 40 0 0 0 0 0\ncpu0 90 0 0 50 0 0 0 0 0 0\nctxt 15\n");
	tick(bench);
	row = find(bench, "cpu.busy");
	REQUIRE(row);
	CHECK_EQUAL(row->item.value, 300 * MS);
	CHECK_EQUAL(row->item.of, 400 * MS);
	CHECK_EQUAL(row->limit, 1);
	CHECK_EQUAL(value_of(bench, "cpu.iowait"), 0);
	CHECK_EQUAL(value_of(bench, "cpu.busy cpu0"), 300 * MS);
	CHECK_EQUAL(value_of(bench, "cpu.busy cpu1"), -1);
	CHECK_EQUAL(value_of(bench, "switches"), 5);
	/* Nothing has passed: the next row is from before on. */
	tick(bench);
	CHECK_EQUAL(value_of(bench, "cpu.busy"), -1);
	tree_write(&bench->tree, "/proc/stat", "cpu  140 0 0 120 40 0 0 0 0 0\nctxt 15\n");
	tick(bench);
	row = find(bench, "cpu.busy");
	REQUIRE(row);
	CHECK_EQUAL(row->item.of, 100 * MS);
	CHECK(row->item.begin < find(bench, "switches")->item.begin);
	CHECK(bench->ended > 0);
	bench_close(bench);
}

TEST(disks_that_come_and_go)
{
	struct bench *bench = bench_new();

	REQUIRE(bench);
	tree_write(&bench->tree, "/proc/diskstats",
		   "8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n253 0 dm-0 1 0 10 0 0 0 0 0 0 0 0\n"
		   "7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n");
	tree_write(&bench->tree, "/sys/block/sda/inflight", "  3   4\n");
	tree_write(&bench->tree, "/sys/block/dm-0/dm/name", "home\n");
	REQUIRE(bench_open(bench, GROUP_MACHINE, NULL));
	tick(bench);
	CHECK_EQUAL(value_of(bench, "disk.read.inflight sda"), 3);
	CHECK_EQUAL(value_of(bench, "disk.write.inflight sda"), 4);
	CHECK_EQUAL(value_of(bench, "disk.inflight home"), 0);
	CHECK_EQUAL(value_of(bench, "disk.inflight loop0"), -1);
	/* What the idle one has done, it did since the last reading; sda was reset. */
	tree_write(&bench->tree, "/proc/diskstats",
		   "8 0 sda 1 0 4 0 1 0 30 0 0 0 0\n7 0 loop0 1 0 8 0 0 0 0 0 0 0 0\n");
	tick(bench);
	CHECK_EQUAL(value_of(bench, "disk.read sda"), -1);
	CHECK_EQUAL(value_of(bench, "disk.write sda"), 10 * 512);
	CHECK_EQUAL(value_of(bench, "disk.read loop0"), 8 * 512);
	CHECK(bench->ended >= 1);
	tree_write(&bench->tree, "/proc/diskstats", "8 0 sda 1 0 14 0 1 0 30 0 0 0 0\n");
	tick(bench);
	CHECK_EQUAL(value_of(bench, "disk.read sda"), 10 * 512);
	bench_close(bench);
}

static void choose(struct name_patterns *patterns, const char *text)
{
	snprintf(patterns->texts, sizeof(patterns->texts), "%s", text);
}

TEST(disks_interfaces_and_metrics_that_are_chosen)
{
	struct bench *bench = bench_new();

	REQUIRE(bench);
	tree_write(&bench->tree, "/proc/diskstats",
		   "8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n8 16 sdb 1 0 10 0 1 0 20 0 0 0 0\n");
	tree_write(&bench->tree, "/proc/net/dev",
		   "lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\neth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
	tree_write(&bench->tree, "/proc/stat", "cpu  100 0 0 100 50 0 0 0 0 0\nctxt 10\n");
	choose(&bench->choice.metrics, "disk.read");
	memcpy(bench->choice.metrics.texts + sizeof("disk.read"), "net.*", sizeof("net.*"));
	choose(&bench->choice.disks, "sd[b-z]");
	choose(&bench->choice.interfaces, "e*");
	REQUIRE(bench_open(bench, GROUP_MACHINE, NULL));
	tick(bench);
	tree_write(&bench->tree, "/proc/diskstats",
		   "8 0 sda 1 0 11 0 1 0 21 0 0 0 0\n8 16 sdb 1 0 12 0 1 0 20 0 0 0 0\n");
	tree_write(&bench->tree, "/proc/net/dev",
		   "lo: 2 2 0 0 0 0 0 0 1 1 0 0 0 0 0 0\neth0: 4 2 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
	tree_write(&bench->tree, "/proc/stat", "cpu  110 0 0 110 50 0 0 0 0 0\nctxt 20\n");
	tick(bench);
	CHECK_EQUAL(value_of(bench, "disk.read sdb"), 2 * 512);
	CHECK_EQUAL(value_of(bench, "disk.read sda"), -1);
	CHECK_EQUAL(value_of(bench, "disk.read.requests sdb"), -1);
	CHECK_EQUAL(value_of(bench, "net.receive eth0"), 3);
	CHECK_EQUAL(value_of(bench, "net.receive lo"), -1);
	CHECK_EQUAL(value_of(bench, "switches"), -1);
	CHECK_EQUAL(value_of(bench, "cpu.busy"), -1);
	bench_close(bench);
}

/* The group ticks as its fastest source; the others are read at some of the ticks. */
TEST(a_metric_with_a_rate_of_its_own)
{
	struct bench *bench = bench_new();
	size_t disks = 0, cpus = 0;

	REQUIRE(bench);
	tree_write(&bench->tree, "/proc/stat", "cpu  100 0 0 100 50 0 0 0 0 0\nctxt 10\n");
	tree_write(&bench->tree, "/proc/loadavg", "0.10 0.20 0.30 1/200 1000\n");
	choose(&bench->choice.metrics, "*");
	memcpy(bench->choice.metrics.texts + 2, "cpu.*@50", sizeof("cpu.*@50"));
	tree_write(&bench->tree, "/proc/diskstats", "8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n");
	REQUIRE(bench_open(bench, GROUP_MACHINE, NULL));
	CHECK_EQUAL(bench->group.interval_ns, 20 * MS);
	for (unsigned int i = 1; i <= 50; i++) {
		char text[64];

		snprintf(text, sizeof(text), "cpu  %u 0 0 100 50 0 0 0 0 0\nctxt 10\n", 100 + i);
		tree_write(&bench->tree, "/proc/stat", text);
		tick(bench);
		disks += find(bench, "disk.inflight sda") != NULL;
		cpus += find(bench, "cpu.busy") != NULL;
	}
	CHECK_EQUAL(disks, 10);
	CHECK_EQUAL(cpus, 49);
	bench_close(bench);
}

TEST(sensors)
{
	struct bench *bench = bench_new();

	REQUIRE(bench);
	tree_write(&bench->tree, "/sys/class/thermal/thermal_zone0/type", "acpitz\n");
	tree_write(&bench->tree, "/sys/class/thermal/thermal_zone0/temp", "-500\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl/enabled", "1\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl:0/energy_uj", "900\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl:0:0/name", "core\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "5000\n");
	tree_write(&bench->tree, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq",
		   "1200000\n");
	tree_write(&bench->tree, "/sys/devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq",
		   "3000000\n");
	REQUIRE(bench_open(bench, GROUP_SLOW, NULL));
	tick(bench);
	CHECK_EQUAL(value_of(bench, "temperature acpitz.0"), -500);
	CHECK_EQUAL(value_of(bench, "cpu.frequency cpu3"), 1200000000);
	CHECK_EQUAL(find(bench, "cpu.frequency cpu3")->limit, 3000000000);
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl:0/energy_uj", "50\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl:0:0/energy_uj", "21\n");
	tree_write(&bench->tree, "/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "5007\n");
	tick(bench);
	/* it began anew above 1000 */
	CHECK_EQUAL(value_of(bench, "power package-0"), 150);
	CHECK_EQUAL(value_of(bench, "power package-0.core"), 20);
	CHECK_EQUAL(value_of(bench, "power package-0 mmio"), 7);
	bench_close(bench);
}

static void write_group(struct bench *bench, const char *who, const char *group, const char *bytes)
{
	char name[96], text[64];

	snprintf(name, sizeof(name), "/proc/%s/cgroup", who);
	snprintf(text, sizeof(text), "0::%s\n", group);
	tree_write(&bench->tree, name, text);
	if (!bytes)
		return;
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.current", group);
	tree_write(&bench->tree, name, bytes);
}

/* The recorder's own group where it starts the program; else those of the processes that are named,
 * each once. */
TEST(control_groups)
{
	static const pid_t pids[] = {71, 72, 73, 74};
	struct bench *bench = bench_new();

	REQUIRE(bench);
	write_group(bench, "self", "/ours", "1000\n");
	write_group(bench, "71", "/theirs", "2000\n");
	write_group(bench, "72", "/theirs", NULL);
	write_group(bench, "73", "/others", "3000\n");
	/* One that we cannot see: what is mounted is not its. */
	write_group(bench, "74", "/hidden", NULL);
	tree_write(&bench->tree, "/sys/fs/cgroup/memory.current", "4000\n");
	REQUIRE(bench_open(bench, GROUP_SLOW, NULL));
	tick(bench);
	CHECK_EQUAL(value_of(bench, "cgroup.memory /ours"), 1000);
	CHECK_EQUAL(bench->count, 1);
	group_close(&bench->group);
	bench->pids = pids;
	bench->pids_count = ARRAY_COUNT(pids);
	REQUIRE(bench_open(bench, GROUP_SLOW, NULL));
	tick(bench);
	CHECK_EQUAL(value_of(bench, "cgroup.memory /theirs"), 2000);
	CHECK_EQUAL(value_of(bench, "cgroup.memory /others"), 3000);
	CHECK_EQUAL(bench->count, 2);
	bench_close(bench);
}

TEST(nothing_is_there)
{
	struct bench *bench = bench_new();

	REQUIRE(bench);
	for (unsigned int i = 0; i < GROUP_COUNT; i++) {
		REQUIRE(bench_open(bench, i, NULL));
		tick(bench);
		CHECK_EQUAL(bench->count, 0);
		group_close(&bench->group);
	}
	bench_close(bench);
}

TEST(files_that_say_nothing)
{
	struct bench *bench = bench_new();

	REQUIRE(bench);
	tree_write(&bench->tree, "/proc/stat", "");
	tree_write(&bench->tree, "/proc/meminfo", "MemTotal: lots\n");
	tree_write(&bench->tree, "/proc/diskstats", "\xff\xfe\n\n\n");
	tree_write(&bench->tree, "/proc/net/dev", ":::::\n");
	REQUIRE(bench_open(bench, GROUP_MACHINE, NULL));
	for (int i = 0; i < 3; i++) {
		tick(bench);
		CHECK_EQUAL(bench->count, 0);
	}
	bench_close(bench);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void write_process(struct bench *bench, unsigned int pid, unsigned int pages)
{
	char name[64], text[64];

	snprintf(name, sizeof(name), "/proc/%u/statm", pid);
	snprintf(text, sizeof(text), "%u %u 1 0 0 0 0\n", pages, pages);
	tree_write(&bench->tree, name, text);
}

static void write_thread(struct bench *bench, unsigned int pid, unsigned int tid, uint64_t ns)
{
	char name[64], text[64];

	snprintf(name, sizeof(name), "/proc/%u/task/%u/schedstat", pid, tid);
	snprintf(text, sizeof(text), "%llu 1 1\n", (unsigned long long)ns);
	tree_write(&bench->tree, name, text);
}

static void end_thread(struct bench *bench, unsigned int pid, unsigned int tid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%u/task/%u/schedstat", bench->tree.root, pid, tid);
	CHECK(unlink(path) == 0);
	*strrchr(path, '/') = '\0';
	CHECK(rmdir(path) == 0);
}

/* The leader sleeps; threads come and go, and a number comes again. */
TEST(threads_are_added_up)
{
	struct bench *bench = bench_new();
	struct tracked tracked = {0};
	const struct noted *row;

	REQUIRE(bench);
	tracked_init(&tracked);
	write_process(bench, 41, 100);
	write_thread(bench, 41, 41, 5);
	write_thread(bench, 41, 42, 1000);
	write_thread(bench, 41, 43, 2000);
	CHECK_EQUAL(tracked_add(&tracked, 41, 1, 0), 0);
	REQUIRE(bench_open(bench, GROUP_PROCESSES, &tracked));
	tick(bench);
	CHECK_EQUAL(value_of(bench, "process.cpu"), -1);
	CHECK_EQUAL(value_of(bench, "process.memory.rss"), 100 * sysconf(_SC_PAGESIZE));
	write_thread(bench, 41, 42, 1500);
	write_thread(bench, 41, 43, 2700);
	write_thread(bench, 41, 44, 30);
	tick(bench);
	row = find(bench, "process.cpu");
	REQUIRE(row);
	CHECK_EQUAL(row->item.value, 500 + 700 + 30);
	CHECK_EQUAL(row->limit, sysconf(_SC_NPROCESSORS_ONLN) * 1000000000);
	CHECK(row->item.end > row->item.begin);
	end_thread(bench, 41, 42);
	write_thread(bench, 41, 43, 10); /* another thread, of the same number */
	tick(bench);
	CHECK_EQUAL(value_of(bench, "process.cpu"), 10);
	bench_close(bench);
	tracked_fini(&tracked);
}

TEST(processes_come_and_go)
{
	struct bench *bench = bench_new();
	struct tracked tracked = {0};
	const struct noted *row;

	REQUIRE(bench);
	tracked_init(&tracked);
	write_process(bench, 51, 10);
	write_thread(bench, 51, 51, 100);
	REQUIRE(bench_open(bench, GROUP_PROCESSES, &tracked));
	/* It was born after the recording had begun: all that it has used came since. */
	CHECK_EQUAL(tracked_add(&tracked, 51, 7, 12345), 0);
	tick(bench);
	row = find(bench, "process.cpu");
	REQUIRE(row);
	CHECK_EQUAL(row->item.value, 100);
	CHECK_EQUAL(row->item.begin, 12345);
	CHECK_EQUAL(bench->group.series.slots[row->item.slot].of.process, 7);
	/* Its number is another's. */
	tracked_remove(&tracked, 0);
	CHECK_EQUAL(tracked_add(&tracked, 51, 8, 0), 0);
	tick(bench);
	CHECK(bench->ended >= 4);
	row = find(bench, "process.memory.rss");
	REQUIRE(row);
	CHECK_EQUAL(bench->group.series.slots[row->item.slot].of.process, 8);
	CHECK_EQUAL(value_of(bench, "process.cpu"), -1);
	/* It is a zombie: what its threads used is known, its memory is not. */
	write_process(bench, 51, 0);
	write_thread(bench, 51, 51, 130);
	tick(bench);
	CHECK_EQUAL(value_of(bench, "process.memory.rss"), -1);
	CHECK_EQUAL(value_of(bench, "process.cpu"), 30);
	bench_close(bench);
	tracked_fini(&tracked);
}

TEST(too_many_processes)
{
	struct tracked *tracked = calloc(1, sizeof(*tracked));

	REQUIRE(tracked);
	tracked_init(tracked);
	for (uint32_t i = 0; i < MAX_TRACKED; i++)
		CHECK_EQUAL(tracked_add(tracked, i + 1, 1, 0), i);
	CHECK_EQUAL(tracked_add(tracked, 4711, 1, 0), MAX_TRACKED);
	tracked_remove(tracked, 77);
	CHECK_EQUAL(tracked_add(tracked, 4711, 1, 0), 77);
	tracked_fini(tracked);
	free(tracked);
}

/* Whose files cannot be opened because too many are: that is said, once. */
TEST(no_descriptor_is_left)
{
	struct bench *bench = bench_new();
	struct tracked tracked = {0};
	struct rlimit limit, least;
	int fd = dup(1);

	REQUIRE(bench && fd >= 0);
	tracked_init(&tracked);
	write_process(bench, 61, 10);
	write_process(bench, 62, 10);
	REQUIRE(bench_open(bench, GROUP_PROCESSES, &tracked));
	close(fd);
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	least = (struct rlimit){.rlim_cur = (rlim_t)fd, .rlim_max = limit.rlim_max};
	CHECK_EQUAL(tracked_add(&tracked, 61, 1, 0), 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &least) == 0);
	tick(bench);
	CHECK(bench->noted && strstr(bench->noted, "ulimit"));
	CHECK_EQUAL(bench->count, 0);
	CHECK_EQUAL(tracked_add(&tracked, 62, 2, 0), 1);
	tick(bench);
	CHECK(!bench->noted);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	bench_close(bench);
	tracked_fini(&tracked);
}

/* ---- the way to the writer ------------------------------------------------------------------- */

/* Where nobody takes, rows are refused and counted, and what they would have said comes with the
 * next. */
TEST(a_full_ring_loses_no_amount)
{
	static const struct metric metrics[] = {{"bytes", "bytes", "", .kind = METRIC_TOTAL}};
	struct series series;
	struct metric_instances instances = {
		.metrics = metrics, .metrics_count = 1, .series = &series};
	struct series_item item;
	uint64_t total = 0, rows = 0;
	bool is_new;

	REQUIRE(series_open(&series, 4, 8) == 0 && metric_instances_open(&instances, 1) == 0);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t values[MAX_METRICS] = {i * 10};

		metric_instances_begin_round(&instances);
		metric_instance_sample(&instances,
				       metric_instances_numbered(&instances, 1, &is_new), 1000 + i,
				       values, 1);
	}
	CHECK(series.refused > 0);
	while (series_take(&series, &item))
		if (item.what == SERIES_ROW)
			total += (uint64_t)item.value;
	CHECK(total < 190);
	for (uint64_t i = 20; i < 22; i++) {
		uint64_t values[MAX_METRICS] = {i * 10};

		metric_instance_sample(&instances,
				       metric_instances_numbered(&instances, 1, &is_new), 1000 + i,
				       values, 1);
	}
	for (uint64_t last_end = 0; series_take(&series, &item); last_end = item.end, rows++) {
		total += (uint64_t)item.value;
		CHECK(!last_end || item.begin == last_end);
	}
	CHECK_EQUAL(total, 210);
	CHECK_EQUAL(rows, 2);
	metric_instances_close(&instances);
	series_close(&series);
}

TEST(no_slot_is_left)
{
	static const struct metric metrics[] = {{"level", "bytes", ""}};
	struct series series;
	struct metric_instances instances = {
		.metrics = metrics, .metrics_count = 1, .series = &series};
	const uint64_t values[MAX_METRICS] = {1};
	struct series_item item;
	size_t ended = 0;
	bool is_new;

	REQUIRE(series_open(&series, 2, 64) == 0 && metric_instances_open(&instances, 8) == 0);
	metric_instances_begin_round(&instances);
	for (uint64_t key = 1; key <= 3; key++)
		metric_instance_sample(&instances,
				       metric_instances_numbered(&instances, key, &is_new), 1000,
				       values, 1);
	CHECK_EQUAL(series.unnamed, 1);
	/* Those that ended make room when that was taken. */
	metric_instances_begin_round(&instances);
	metric_instances_end_round(&instances, 2000);
	while (series_take(&series, &item))
		if (item.what == SERIES_END) {
			series_release(&series, item.slot);
			ended++;
		}
	CHECK_EQUAL(ended, 2);
	metric_instances_begin_round(&instances);
	metric_instance_sample(&instances, metric_instances_numbered(&instances, 9, &is_new), 3000,
			       values, 1);
	CHECK_EQUAL(series.unnamed, 1);
	metric_instances_close(&instances);
	series_close(&series);
}

TEST(more_things_than_there_is_room_for)
{
	static const struct metric metrics[] = {{"level", "bytes", ""}};
	struct series series;
	struct metric_instances instances = {
		.metrics = metrics, .metrics_count = 1, .series = &series, .file = "/proc/many"};
	struct series_item item;
	size_t notes = 0;
	bool is_new;

	REQUIRE(series_open(&series, 8, 64) == 0 && metric_instances_open(&instances, 2) == 0);
	for (int round = 0; round < 2; round++) {
		metric_instances_begin_round(&instances);
		CHECK(metric_instances_numbered(&instances, 1, &is_new) != NULL);
		CHECK(metric_instances_numbered(&instances, 2, &is_new) != NULL);
		CHECK(metric_instances_numbered(&instances, 3, &is_new) == NULL);
		metric_instances_end_round(&instances, 1000);
	}
	CHECK_EQUAL(series.unnamed, 2);
	while (series_take(&series, &item)) {
		notes += item.what == SERIES_NOTE;
		CHECK(item.what != SERIES_NOTE || strstr(item.text, "/proc/many: more than"));
	}
	CHECK_EQUAL(notes, 1);
	metric_instances_close(&instances);
	series_close(&series);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

struct counted {
	struct sampler sampler;
	uint64_t ticks, overruns;
	uint64_t first_ns, previous_ns, last_ns;
	uint64_t longest_ns;
};

static void count_tick(void *context)
{
	struct counted *counted = context;
	uint64_t now_ns = host_clocks_now_ns();

	counted->overruns = counted->sampler.overruns;
	counted->first_ns = counted->first_ns ? counted->first_ns : now_ns;
	if (counted->last_ns && now_ns - counted->last_ns > counted->longest_ns)
		counted->longest_ns = now_ns - counted->last_ns;
	counted->previous_ns = counted->last_ns;
	counted->last_ns = now_ns;
	__atomic_add_fetch(&counted->ticks, 1, __ATOMIC_RELEASE);
}

/* So many more than there are. */
static void wait_for_ticks(struct counted *counted, uint64_t ticks)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	ticks += __atomic_load_n(&counted->ticks, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&counted->ticks, __ATOMIC_ACQUIRE) < ticks)
		nanosleep(&pause, NULL);
}

/* However late single ones come, and however long after its look at the clock a tick is: the
 * deadlines up to the last tick are those that passed since the first. */
TEST(every_deadline_is_kept_or_counted)
{
	struct counted counted = {0};
	const struct sampler_options options = {
		.name = "test", .interval_ns = 2 * MS, .tick = count_tick, .context = &counted};
	uint64_t begin_ns = host_clocks_now_ns(), deadlines;

	REQUIRE(sampler_start(&counted.sampler, &options) == 0);
	wait_for_ticks(&counted, 50);
	CHECK(sampler_stop(&counted.sampler, 60000 * MS));
	deadlines = counted.ticks + counted.overruns;
	CHECK(deadlines - 1 <= (counted.last_ns - begin_ns) / (2 * MS));
	CHECK(deadlines >= (counted.previous_ns - counted.first_ns) / (2 * MS));
}

/* Stopped by a signal for 100 ms and continued: one long interval, and no ticks to make it good. */
TEST(stopped_and_continued)
{
	int results[2];
	uint64_t answer[2] = {0};
	int status;
	pid_t pid;

	REQUIRE(pipe(results) == 0);
	pid = fork();
	if (pid == 0) {
		struct counted counted = {0};
		const struct sampler_options options = {.name = "test",
							.interval_ns = 5 * MS,
							.tick = count_tick,
							.context = &counted};

		if (sampler_start(&counted.sampler, &options) != 0)
			_exit(1);
		wait_for_ticks(&counted, 3);
		raise(SIGSTOP);
		wait_for_ticks(&counted, 5);
		sampler_stop(&counted.sampler, 60000 * MS);
		answer[0] = counted.longest_ns;
		answer[1] = counted.overruns;
		_exit(write(results[1], answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
	}
	REQUIRE(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	kill(pid, SIGCONT);
	REQUIRE(read_all(results[0], answer, sizeof(answer)) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK(answer[0] >= 100 * MS);
	CHECK(answer[1] >= 19);
	close(results[0]);
	close(results[1]);
}

static void hang(void *context)
{
	char byte;

	CHECK(read(*(const int *)context, &byte, 1) == 1);
}

/* A file of /sys that never answers does not keep the recorder. */
TEST(one_that_hangs_is_left_behind)
{
	int file[2];
	struct sampler sampler;
	const struct sampler_options options = {
		.name = "test", .interval_ns = 60000 * MS, .tick = hang, .context = file};
	uint64_t begin_ns;

	REQUIRE(pipe(file) == 0);
	REQUIRE(sampler_start(&sampler, &options) == 0);
	while (pthread_mutex_trylock(&sampler.lock) == 0) {
		pthread_mutex_unlock(&sampler.lock);
		sched_yield();
	}
	begin_ns = host_clocks_now_ns();
	CHECK(!sampler_tick_now(&sampler, 5 * MS));
	CHECK(!sampler_stop(&sampler, 5 * MS));
	CHECK(host_clocks_now_ns() - begin_ns >= 10 * MS);
	CHECK(write(file[1], "x", 1) == 1);
	CHECK(sampler_stop(&sampler, 60000 * MS));
	close(file[0]);
	close(file[1]);
}

struct last_words {
	struct sampler sampler;
	int file[2];
	atomic_bool hangs;
};

static void hang_when_asked(void *context)
{
	struct last_words *words = context;

	if (!words->sampler.is_extra)
		return;
	atomic_store(&words->hangs, true);
	hang(words->file);
}

/* Nor does one that hangs in the reading that it was asked for. */
TEST(the_last_reading_hangs)
{
	struct last_words words = {.hangs = false};
	const struct sampler_options options = {.name = "test",
						.interval_ns = 60000 * MS,
						.tick = hang_when_asked,
						.context = &words};

	REQUIRE(pipe(words.file) == 0);
	REQUIRE(sampler_start(&words.sampler, &options) == 0);
	/* On a busy machine its thread may not have run in that time. */
	while (!atomic_load(&words.hangs))
		CHECK(!sampler_tick_now(&words.sampler, 20 * MS));
	CHECK(!sampler_stop(&words.sampler, 5 * MS));
	CHECK(write(words.file[1], "x", 1) == 1);
	CHECK(sampler_stop(&words.sampler, 60000 * MS));
	close(words.file[0]);
	close(words.file[1]);
}

static void dawdle(void *context)
{
	(void)context;
	nanosleep(&(struct timespec){.tv_nsec = 4 * MS}, NULL);
}

/* Its deadline has always passed when it comes back. */
TEST(ticks_longer_than_the_interval)
{
	struct sampler sampler;
	const struct sampler_options options = {.name = "test", .interval_ns = MS, .tick = dawdle};

	REQUIRE(sampler_start(&sampler, &options) == 0);
	nanosleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
	CHECK(sampler_tick_now(&sampler, 10000 * MS));
	CHECK(sampler_stop(&sampler, 10000 * MS));
}

int main(void)
{
	RUN(processors);
	RUN(disks_that_come_and_go);
	RUN(disks_interfaces_and_metrics_that_are_chosen);
	RUN(a_metric_with_a_rate_of_its_own);
	RUN(sensors);
	RUN(control_groups);
	RUN(nothing_is_there);
	RUN(files_that_say_nothing);
	RUN(threads_are_added_up);
	RUN(processes_come_and_go);
	RUN(too_many_processes);
	RUN(no_descriptor_is_left);
	RUN(a_full_ring_loses_no_amount);
	RUN(no_slot_is_left);
	RUN(more_things_than_there_is_room_for);
	RUN(every_deadline_is_kept_or_counted);
	RUN(stopped_and_continued);
	RUN(one_that_hangs_is_left_behind);
	RUN(the_last_reading_hangs);
	RUN(ticks_longer_than_the_interval);
	return harness_end();
}

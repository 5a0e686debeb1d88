/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_system_formats.c - the kernel's files as texts, whole and odd
 */
#include "harness.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"

#define LENGTH(text) (sizeof(text) - 1)
#define BIT(index)   ((uint64_t)1 << (index))

static uint64_t values[MAX_METRICS];

static uint64_t parse(uint64_t (*parser)(const char *text, size_t length, uint64_t *values),
		      const char *text)
{
	memset(values, 0xee, sizeof(values));
	return parser(text, strlen(text), values);
}

TEST(ticks_of_processors)
{
	static const char text[] = "cpu  10 2 5 100 7 1 3 4 6 1\n"
				   "cpu0 10 2 5 100 7 1 3 4 6 1\n"
				   "cpu17 1 1 1 1 1\n"
				   "intr 99 1 2 3\nctxt 4711\nprocesses 12\nprocs_running 3\n";
	struct scan rest = scan_of(text, LENGTH(text));
	struct format_row row;

	REQUIRE(stat_next_cpu(&rest, 100, &row));
	CHECK(row.number == CPU_ALL);
	/* busy, user, system, iowait, irq, steal, guest, total; guests are in user already */
	CHECK_EQUAL(row.values[0], 250000000);
	CHECK_EQUAL(row.values[1], 120000000);
	CHECK_EQUAL(row.values[2], 50000000);
	CHECK_EQUAL(row.values[3], 70000000);
	CHECK_EQUAL(row.values[4], 40000000);
	CHECK_EQUAL(row.values[5], 40000000);
	CHECK_EQUAL(row.values[6], 70000000);
	CHECK_EQUAL(row.values[7], 1320000000);
	CHECK_EQUAL(row.valid, 0xff);
	REQUIRE(stat_next_cpu(&rest, 100, &row));
	CHECK_EQUAL(row.number, 0);
	REQUIRE(stat_next_cpu(&rest, 100, &row));
	CHECK_EQUAL(row.number, 17);
	CHECK_EQUAL(row.values[0], 30000000);
	CHECK(!stat_next_cpu(&rest, 100, &row));
	CHECK_EQUAL(parse(stat_parse, text), 0xf00);
	CHECK_EQUAL(values[8], 4711);
	CHECK_EQUAL(values[9], 12);
	CHECK_EQUAL(values[10], 99);
	CHECK_EQUAL(values[11], 3);
}

TEST(odd_ticks)
{
	static const char *const texts[] = {"cpu  1 2 3 4\n", "cpu  18446744073709551615 1 1 1 1\n",
					    "cpu  99999999999999999999999 1 1 1 1\n", "cpu\n",
					    "cpu  1 2 x 4 5 6\n"};

	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		struct scan rest = scan_of(texts[i], strlen(texts[i]));
		struct format_row row;

		CHECK(stat_next_cpu(&rest, 100, &row));
		CHECK_EQUAL(row.valid, 0);
	}
}

TEST(pressure)
{
	CHECK_EQUAL(parse(pressure_parse,
			  "some avg10=25.75 avg60=52.40 avg300=43.29 total=25798645204\n"
			  "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"),
		    3);
	CHECK_EQUAL(values[0], 25798645204000);
	CHECK_EQUAL(values[1], 7000);
	CHECK_EQUAL(parse(pressure_parse, "some avg10=0.00 total=5"), 1);
	CHECK_EQUAL(values[0], 5000);
	CHECK_EQUAL(parse(pressure_parse, "some total=18446744073709551615\nfull total=\n"), 0);
	CHECK_EQUAL(parse(pressure_parse, "someday total=1\n"), 0);
}

TEST(load)
{
	CHECK_EQUAL(parse(loadavg_parse, "3.56 5.79 15.01 8/105 7280\n"), 31);
	CHECK_EQUAL(values[0], 3560);
	CHECK_EQUAL(values[2], 15010);
	CHECK_EQUAL(values[3], 8);
	CHECK_EQUAL(values[4], 105);
	CHECK_EQUAL(parse(loadavg_parse, "3.56 5.79"), 3);
	CHECK_EQUAL(parse(loadavg_parse, "3"), 0);
}

TEST(memory)
{
	CHECK_EQUAL(parse(meminfo_parse, "MemTotal:  1000 kB\nMemFree: 100 kB\nBuffers: 20 kB\n"
					 "SwapCached: 5 kB\nCached:  30 kB\nSwapTotal: 0 kB\n"
					 "SwapFree: 0 kB\n"),
		    BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(9) | BIT(10) | BIT(11) | BIT(12));
	CHECK_EQUAL(values[3], 30 * 1024);
	CHECK_EQUAL(values[11], 850 * 1024);
	CHECK_EQUAL(values[12], 0);
	/* before Linux 3.14, cut, and nonsense */
	CHECK_EQUAL(parse(meminfo_parse, "MemTotal: 1000 kB\nMemFree: 1"), 3);
	CHECK_EQUAL(parse(meminfo_parse,
			  "MemTotal: 10 kB\nMemFree: 11 kB\nBuffers: 1 kB\nCached: 1 kB\n"),
		    15);
	CHECK_EQUAL(parse(meminfo_parse, "MemTotal: 18446744073709551615 kB\n"), 0);
}

TEST(paging)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	CHECK_EQUAL(parse(vmstat_parse, "pgpgin 2\npgpgout 3\npswpin 4\npswpout 5\npgfault 6\n"
					"pgmajfault 7\npgfault_x 9\n"),
		    63);
	CHECK_EQUAL(values[0], 6);
	CHECK_EQUAL(values[1], 7);
	CHECK_EQUAL(values[2], 4 * page);
	CHECK_EQUAL(values[4], 2048);
}

TEST(disks)
{
	static const char text[] = " 259       0 nvme0n1 10 1 20 30 40 2 50 60 7 80 90 1 2 3 4\n"
				   " 253       0 dm-0 1 0 8 0 0 0 0 0 0 0 0\n"
				   "   8       1 sda1 1 2\n"
				   "nonsense\n"
				   "   8       2 sd\xff\x01 1 0 36028797018963968 0 0 0 0 0 0 0 0";
	struct scan rest = scan_of(text, LENGTH(text));
	struct format_row row;

	REQUIRE(diskstats_next(&rest, &row));
	CHECK(row.name_length == 7 && !memcmp(row.name, "nvme0n1", 7));
	CHECK_EQUAL(row.valid, 0x1ff);
	CHECK_EQUAL(row.values[0], 20 * 512);
	CHECK_EQUAL(row.values[1], 50 * 512);
	CHECK_EQUAL(row.values[2], 10);
	CHECK_EQUAL(row.values[4], 30000000);
	CHECK_EQUAL(row.values[6], 80000000);
	CHECK_EQUAL(row.values[8], 7);
	REQUIRE(diskstats_next(&rest, &row));
	CHECK_EQUAL(row.valid, 0x1ff);
	REQUIRE(diskstats_next(&rest, &row));
	CHECK_EQUAL(row.valid, 4);
	REQUIRE(diskstats_next(&rest, &row));
	CHECK_EQUAL(row.valid, 0);
	/* 2^55 sectors are 2^64 bytes */
	REQUIRE(diskstats_next(&rest, &row));
	CHECK(row.name_length == 4 && !memcmp(row.name, "sd\xff\x01", 4));
	CHECK_EQUAL(row.valid, 0x1fe);
	CHECK(!diskstats_next(&rest, &row));
	CHECK_EQUAL(parse(inflight_parse, "       3        5\n"), 0x600);
	CHECK_EQUAL(values[9], 3);
	CHECK_EQUAL(values[10], 5);
	CHECK_EQUAL(parse(inflight_parse, "3\n"), 0);
}

TEST(interfaces)
{
	static const char text[] =
		"Inter-|   Receive                  |  Transmit\n"
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes\n"
		"    lo: 100 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
		"eth0.7:1 2\n"
		"wlan0:\n";
	struct scan rest = scan_of(text, LENGTH(text));
	struct format_row row;

	REQUIRE(netdev_next(&rest, &row));
	CHECK_EQUAL(row.valid, 0);
	REQUIRE(netdev_next(&rest, &row));
	REQUIRE(netdev_next(&rest, &row));
	CHECK(row.name_length == 2 && !memcmp(row.name, "lo", 2));
	CHECK_EQUAL(row.valid, 0xff);
	CHECK_EQUAL(row.values[0], 100);
	CHECK_EQUAL(row.values[4], 9);
	CHECK_EQUAL(row.values[7], 12);
	REQUIRE(netdev_next(&rest, &row));
	CHECK(row.name_length == 6 && !memcmp(row.name, "eth0.7", 6));
	CHECK_EQUAL(row.valid, 3);
	REQUIRE(netdev_next(&rest, &row));
	CHECK_EQUAL(row.valid, 0);
	CHECK(!netdev_next(&rest, &row));
}

TEST(processes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	CHECK_EQUAL(parse(statm_parse, "3000 200 100 1 0 50 0\n"), 7);
	CHECK_EQUAL(values[0], 3000 * page);
	CHECK_EQUAL(values[1], 200 * page);
	CHECK_EQUAL(values[2], 100 * page);
	/* a zombie; cut */
	CHECK_EQUAL(parse(statm_parse, "0 0 0 0 0 0 0\n"), 0);
	CHECK_EQUAL(parse(statm_parse, "3000"), 1);
	CHECK_EQUAL(parse(io_parse, "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\n"
				    "cancelled_write_bytes: 5\n"),
		    3);
	CHECK_EQUAL(values[0], 4096);
	CHECK_EQUAL(values[1], 8192);
	CHECK_EQUAL(parse(schedstat_parse, "65668 754450 2\n"), 1);
	CHECK_EQUAL(values[0], 65668);
	CHECK_EQUAL(parse(status_parse, "Name:\tThreads: 9\nVmHWM:\t    1752 kB\n"
					"RssAnon:\t     112 kB\nVmSwap:\t 3 kB\nThreads:\t4\n"),
		    15);
	CHECK_EQUAL(values[0], 1752 * 1024);
	CHECK_EQUAL(values[3], 4);
	/* A thread of the kernel has no memory. */
	CHECK_EQUAL(parse(status_parse, "Name:\tkworker\nThreads:\t1\n"), 8);
	CHECK_EQUAL(parse(smaps_rollup_parse, "00400000-7ffe [rollup]\nRss: 10 kB\nPss: 8 kB\n"
					      "Private_Clean: 2 kB\nPrivate_Dirty: 3 kB\n"
					      "SwapPss: 1 kB\n"),
		    7);
	CHECK_EQUAL(values[0], 8192);
	CHECK_EQUAL(values[2], 5120);
	CHECK_EQUAL(parse(smaps_rollup_parse, "Private_Clean: 2 kB\n"), 0);
}

TEST(groups)
{
	static const char text[] =
		"9:name=systemd:/\n4:memory:/a/b:c\n2:cpu,cpuacct:/x\n0::/unified\n";
	struct scan path;
	uint64_t ns;

	REQUIRE(cgroup_path(text, LENGTH(text), "memory", &path));
	CHECK(path.end - path.at == 6 && !memcmp(path.at, "/a/b:c", 6));
	REQUIRE(cgroup_path(text, LENGTH(text), "cpuacct", &path));
	CHECK(path.end - path.at == 2);
	REQUIRE(cgroup_path(text, LENGTH(text), "", &path));
	CHECK(!memcmp(path.at, "/unified", 8));
	CHECK(!cgroup_path(text, LENGTH(text), "acct", &path));
	CHECK_EQUAL(parse(cpu_stat_parse, "usage_usec 5\nuser_usec 3\nthrottled_usec 2\n"),
		    BIT(2) | BIT(4));
	CHECK_EQUAL(values[2], 5000);
	CHECK_EQUAL(values[4], 2000);
	CHECK_EQUAL(parse(cpu_stat_parse, "nr_periods 1\nthrottled_time 77\n"), BIT(4));
	CHECK_EQUAL(values[4], 77);
	CHECK(cpu_max_parse("150000 100000\n", 14, &ns));
	CHECK_EQUAL(ns, 1500000000);
	CHECK(!cpu_max_parse("max 100000\n", 11, &ns));
	CHECK(!cpu_max_parse("1 0\n", 4, &ns));
	CHECK_EQUAL(parse(number_parse, "max\n"), 0);
	CHECK_EQUAL(parse(temperature_parse, "-1500\n"), 1);
	CHECK_EQUAL((int64_t)values[0], -1500);
	CHECK_EQUAL(parse(temperature_parse, "-\n"), 0);
}

int main(void)
{
	RUN(ticks_of_processors);
	RUN(odd_ticks);
	RUN(pressure);
	RUN(load);
	RUN(memory);
	RUN(paging);
	RUN(disks);
	RUN(interfaces);
	RUN(processes);
	RUN(groups);
	return harness_end();
}

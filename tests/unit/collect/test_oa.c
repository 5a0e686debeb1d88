/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_oa.c - reports of Intel's OA units: each format byte by byte, and streams
 * of made-up drivers
 */
#include "collect/intel/oa.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/intel/oa_stream.h"
#include "harness.h"
#include "made_up_node.h"

enum { STAMPS = 19200000, PERIOD = 1 << 17, EUS = 16, MAX_STEPS = 64 };

/* ---- one report ------------------------------------------------------------------------------ */

/* Where each is, as the driver's source and published metric sets say; -1: nowhere. */
static const struct {
	uint32_t major, minor;
	const char *name;
	uint32_t bytes;
	bool has_long_header;
	struct {
		int low, high;
		uint32_t size;
	} counters[OA_COUNTERS];
} known[] = {
	{12, 0, "A32u40_A4u32_B8_C8", 256, false, {{16, 160, 5}, {44, 167, 5}, {48, 168, 5}}},
	{12, 10, "A32u40_A4u32_B8_C8", 256, false, {{16, 160, 5}, {44, 167, 5}, {48, 168, 5}}},
	{12, 55, "A24u40_A14u32_B8_C8", 256, false, {{16, -1, 4}, {44, 167, 5}, {48, 168, 5}}},
	{12, 71, "A24u40_A14u32_B8_C8", 256, false, {{16, -1, 4}, {44, 167, 5}, {48, 168, 5}}},
	{12, 60, "A24u40_A14u32_B8_C8", 256, false, {{16, -1, 4}, {-1, -1, 0}, {-1, -1, 0}}},
	{20, 1, "PEC64u64", 576, true, {{288, -1, 8}, {224, -1, 8}, {192, -1, 8}}},
	{30, 4, "PEC64u64", 576, true, {{288, -1, 8}, {224, -1, 8}, {192, -1, 8}}},
	{35, 11, "PEC64u64", 576, true, {{-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}}},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static void put(uint8_t *bytes, size_t size, uint64_t value)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

/* Everything else is set: it must not be looked at. */
static void make_report(uint8_t *bytes, size_t which, uint64_t id, uint64_t time, uint32_t context,
			uint32_t ticks, const uint64_t *counters)
{
	const size_t word = known[which].has_long_header ? 8 : 4;

	memset(bytes, 0xff, known[which].bytes);
	put(bytes, word, id);
	put(bytes + word, word, time);
	put(bytes + 2 * word, 4, context);
	put(bytes + 3 * word, 4, ticks);
	for (size_t i = 0; i < OA_COUNTERS; i++) {
		if (known[which].counters[i].low < 0)
			continue;
		put(bytes + known[which].counters[i].low,
		    known[which].counters[i].size == 8 ? 8 : 4, counters[i]);
		if (known[which].counters[i].high >= 0)
			bytes[known[which].counters[i].high] = (uint8_t)(counters[i] >> 32);
	}
}

static uint64_t limit_of(size_t which, size_t counter)
{
	const uint32_t size = known[which].counters[counter].size;

	return size == 8 ? UINT64_MAX : size ? ((uint64_t)1 << 8 * size) - 1 : 0;
}

TEST(each_format_byte_by_byte)
{
	const uint64_t counters[OA_COUNTERS] = {0xa1b2c3d4e5f60718, 0x1122334455667788,
						0x99aabbccddeeff00};
	uint8_t bytes[1024];

	for (size_t i = 0; i < KNOWN; i++) {
		const struct oa_layout *layout = oa_layout_find(known[i].major, known[i].minor);
		struct oa_report report;

		REQUIRE(layout);
		CHECK_TEXT(layout->name, known[i].name);
		CHECK_EQUAL(layout->bytes, known[i].bytes);
		make_report(bytes, i, OA_TIMER << 19 | 1 << 16, 0xfedcba9876543210, 4711, 987654321,
			    counters);
		CHECK(oa_report_read(layout, bytes, &report));
		CHECK_EQUAL(report.time, known[i].has_long_header ? 0xdcba9876543210 : 0x76543210);
		CHECK_EQUAL(report.ticks, 987654321);
		CHECK_EQUAL(report.context, 4711);
		CHECK_EQUAL(report.reasons, OA_TIMER);
		for (size_t j = 0; j < OA_COUNTERS; j++)
			CHECK_EQUAL(report.counters[j], counters[j] & limit_of(i, j));
		make_report(bytes, i, OA_CONTEXT_SWITCH << 19, 1, 4711, 0, counters);
		CHECK(oa_report_read(layout, bytes, &report));
		CHECK_EQUAL(report.context, OA_NO_CONTEXT);
		CHECK_EQUAL(report.reasons, OA_CONTEXT_SWITCH);
		make_report(bytes, i, 0, 0, 0, 0, counters);
		CHECK(!oa_report_read(layout, bytes, &report));
	}
	CHECK(!oa_layout_find(11, 0));
	CHECK(!oa_layout_find(9, 0));
}

/* Each begins anew when its bits are full. */
TEST(differences_over_an_overflow)
{
	for (size_t i = 0; i < KNOWN; i++) {
		const struct oa_layout *layout = oa_layout_find(known[i].major, known[i].minor);
		const uint64_t most =
			known[i].has_long_header ? ((uint64_t)1 << 56) - 1 : UINT32_MAX;
		struct oa_report before = {.time = most - 9, .ticks = UINT32_MAX - 99}, now, since;

		now = (struct oa_report){.time = 10, .ticks = 100};
		for (size_t j = 0; j < OA_COUNTERS; j++) {
			before.counters[j] = limit_of(i, j) ? limit_of(i, j) - 999 : 0;
			now.counters[j] = limit_of(i, j) ? 1000 : 0;
		}
		since = oa_report_since(layout, &before, &now);
		CHECK_EQUAL(since.time, 20);
		CHECK_EQUAL(since.ticks, 200);
		for (size_t j = 0; j < OA_COUNTERS; j++)
			CHECK_EQUAL(since.counters[j], limit_of(i, j) ? 2000 : 0);
	}
}

/* Each position has a name and a place of its own, beside the header and inside the report; spot
 * checks with published metric sets' own reading of reports. */
TEST(positions)
{
	static const struct {
		uint32_t major, minor, count;
		struct {
			const char *name;
			uint32_t offset, high, bits;
		} some[8];
	} wanted[] = {
		{12,
		 0,
		 52,
		 {{"A0", 0x10, 0xa0, 40},
		  {"A31", 0x8c, 0xbf, 40},
		  {"A32", 0x90, 0, 32},
		  {"A35", 0x9c, 0, 32},
		  {"B0", 0xc0, 0, 32},
		  {"B7", 0xdc, 0, 32},
		  {"C0", 0xe0, 0, 32},
		  {"C7", 0xfc, 0, 32}}},
		{12,
		 71,
		 54,
		 {{"A0", 0x10, 0, 32},
		  {"A4", 0x20, 0xa4, 40},
		  {"A24", 0x70, 0, 32},
		  {"A28", 0x80, 0xbc, 40},
		  {"A32", 0x90, 0, 32},
		  {"A36", 0xa0, 0, 32},
		  {"A37", 0xb8, 0, 32},
		  {"C7", 0xfc, 0, 32}}},
		{20,
		 1,
		 64,
		 {{"PEC0", 0x20, 0, 64},
		  {"PEC20", 0xc0, 0, 64},
		  {"PEC63", 0x218, 0, 64},
		  {"PEC1", 0x28, 0, 64},
		  {"PEC2", 0x30, 0, 64},
		  {"PEC3", 0x38, 0, 64},
		  {"PEC4", 0x40, 0, 64},
		  {"PEC5", 0x48, 0, 64}}},
	};
	static const uint32_t bits_of[] = {[OA_32] = 32, [OA_40] = 40, [OA_64] = 64};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct oa_layout *layout = oa_layout_find(wanted[i].major, wanted[i].minor);
		uint8_t taken[576] = {0};
		uint32_t found = 0;

		REQUIRE(oa_raw_count(layout) == wanted[i].count);
		for (uint32_t nth = 0; nth < wanted[i].count; nth++) {
			const struct oa_place place = oa_raw_place(layout, nth);
			char name[OA_RAW_NAME_BYTES];

			oa_raw_name(layout, nth, name);
			for (uint32_t at = 0; at < (place.width == OA_64 ? 8 : 4); at++)
				CHECK(place.offset + at < layout->bytes &&
				      !taken[place.offset + at]++);
			if (place.width == OA_40)
				CHECK(!taken[place.high]++);
			for (size_t j = 0; j < 8; j++) {
				if (strcmp(name, wanted[i].some[j].name) != 0)
					continue;
				found++;
				CHECK_EQUAL(place.offset, wanted[i].some[j].offset);
				CHECK_EQUAL(place.high, wanted[i].some[j].high);
				CHECK_EQUAL(bits_of[place.width], wanted[i].some[j].bits);
			}
		}
		CHECK_EQUAL(found, 8);
	}
}

TEST(periods)
{
	CHECK_EQUAL(oa_exponent_find(STAMPS, 100), 16);
	CHECK_EQUAL(oa_period_ns(STAMPS, 16), 6826666);
	CHECK_EQUAL(oa_exponent_find(STAMPS, 1), 23);
	CHECK_EQUAL(oa_exponent_find(12500000, 1000), 12);
	for (uint32_t hz = 1; hz <= 1000; hz++) {
		const uint32_t exponent = oa_exponent_find(STAMPS, hz);

		CHECK(oa_period_ns(STAMPS, exponent) <= 1000000000 / hz);
		CHECK(oa_period_ns(STAMPS, exponent + 1) > 1000000000 / hz);
	}
}

/* ---- a stream -------------------------------------------------------------------------------- */

static const struct {
	struct xe_query_gt_list head;
	struct xe_gt gts[3];
} gts = {{.num_gt = 3},
	 {{.type = 1, .gt_id = 1},
	  {.gt_id = 0, .ip_ver_major = 20, .ip_ver_minor = 1},
	  {.gt_id = 2, .ip_ver_major = 20, .ip_ver_minor = 2}}};

/* The first is of media; the second tells its GT, the third by an engine. */
static const struct {
	struct xe_query_oa_units head;
	struct xe_oa_unit media;
	struct xe_oa_unit first;
	struct xe_oa_unit second;
	struct xe_engine_instance engine;
} units = {{.num_oa_units = 3},
	   {.oa_unit_id = 3, .oa_unit_type = 1, .oa_timestamp_freq = 1},
	   {.oa_unit_id = 5, .oa_timestamp_freq = STAMPS, .capabilities = XE_OA_HAS_GT, .gt_id = 2},
	   {.oa_unit_id = 6, .oa_timestamp_freq = 2 * STAMPS, .num_engines = 1},
	   {.gt_id = 0}};

static const struct {
	struct xe_topology_mask other;
	uint8_t other_mask[4];
	struct xe_topology_mask parts;
	uint8_t parts_mask[4];
	struct xe_topology_mask eus;
	uint8_t eus_mask[4];
} topology = {{.gt_id = 0, .type = XE_TOPOLOGY_DSS_COMPUTE, .num_bytes = 4},       {0xff},
	      {.gt_id = 2, .type = XE_TOPOLOGY_DSS_COMPUTE, .num_bytes = 4},       {0x03},
	      {.gt_id = 2, .type = XE_TOPOLOGY_SIMD16_EU_PER_DSS, .num_bytes = 4}, {0xff}};

static struct gpu_node begin_xe(void)
{
	struct gpu_node node = made_up_begin("xe");

	made_up.queries[XE_QUERY_GT_LIST] = (struct made_up_answer){&gts, sizeof(gts)};
	made_up.queries[XE_QUERY_OA_UNITS] = (struct made_up_answer){&units, sizeof(units)};
	made_up.queries[XE_QUERY_GT_TOPOLOGY] =
		(struct made_up_answer){&topology, sizeof(topology)};
	return node;
}

struct told {
	struct oa_step steps[MAX_STEPS];
	uint64_t raw[MAX_OA_RAW]; /* of the last */
	size_t count;
};

static void on_step(void *context, const struct oa_step *step)
{
	struct told *told = context;

	REQUIRE(told->count < MAX_STEPS);
	told->steps[told->count++] = *step;
	for (uint32_t i = 0; i < step->raw_count; i++)
		told->raw[i] = step->raw[i];
}

/* What a unit has counted so far, by the format of `known`. */
struct unit {
	size_t which;
	uint64_t time;
	uint32_t ticks;
	uint64_t counters[OA_COUNTERS];
};

static void advance(struct unit *unit, uint64_t time, uint32_t ticks, uint64_t busy,
		    uint64_t active)
{
	unit->time += time;
	unit->ticks += ticks;
	unit->counters[OA_BUSY] += busy;
	unit->counters[OA_EU_ACTIVE] += active;
}

static size_t write_report(const struct unit *unit, uint8_t *bytes)
{
	make_report(bytes, unit->which, OA_TIMER << 19, unit->time, 0, unit->ticks, unit->counters);
	return known[unit->which].bytes;
}

TEST(what_a_driver_tells)
{
	struct gpu_node node = begin_xe();
	struct oa_facts facts;

	CHECK_EQUAL(oa_stream_ask(&node, 0, 100, &facts), 0);
	CHECK_EQUAL(facts.unit, 5);
	CHECK_EQUAL(facts.gt.id, 2);
	CHECK_EQUAL(facts.gt.minor, 2);
	CHECK_EQUAL(facts.eu_count, EUS);
	CHECK_EQUAL(facts.clock_hz, STAMPS);
	CHECK_EQUAL(facts.exponent, 16);
	CHECK_TEXT(facts.layout->name, "PEC64u64");
	CHECK_EQUAL(oa_stream_ask(&node, 1, 100, &facts), 0);
	CHECK_EQUAL(facts.unit, 6);
	CHECK_EQUAL(facts.gt.id, 0);
	CHECK_EQUAL(facts.exponent, 17);
	CHECK_EQUAL(facts.eu_count, 0); /* of that GT not all is told */
	CHECK_EQUAL(oa_stream_ask(&node, 2, 100, &facts), -ENOENT);
	/* an answer that is cut off */
	made_up.queries[XE_QUERY_OA_UNITS].size -= 1;
	CHECK_EQUAL(oa_stream_ask(&node, 1, 100, &facts), -ENOENT);
	made_up.queries[XE_QUERY_OA_UNITS].size = 3;
	CHECK_EQUAL(oa_stream_ask(&node, 0, 100, &facts), -ENOENT);
	made_up.queries[XE_QUERY_OA_UNITS].answer = NULL;
	CHECK_EQUAL(oa_stream_ask(&node, 0, 100, &facts), -ENOTSUP);
	CHECK(strstr(error_text(), "since Linux 6.11"));
	error_clear();
}

TEST(what_is_asked_for)
{
	struct gpu_node node = begin_xe();
	struct oa_facts facts;
	struct oa_stream *stream;

	REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
	REQUIRE(oa_stream_open(&node, &facts, &stream) == 0);
	CHECK_EQUAL(made_up.values[XE_OA_UNIT_ID], 5);
	CHECK_EQUAL(made_up.values[XE_OA_SAMPLE], 1);
	CHECK_EQUAL(made_up.values[XE_OA_METRIC_SET], 7);
	CHECK_EQUAL(made_up.values[XE_OA_FORMAT], 5 | 1 << 8 | 1 << 16);
	CHECK_EQUAL(made_up.values[XE_OA_PERIOD_EXPONENT], 16);
	CHECK_EQUAL(strlen(made_up.uuid), 36);
	CHECK_EQUAL(made_up.added, 1);
	CHECK_EQUAL(made_up.removed, 1);
	oa_stream_close(stream);
}

TEST(who_is_refused)
{
	static const struct {
		int error, result;
		const char *says;
	} cases[] = {
		{EACCES, -EACCES, "sysctl dev.xe.observation_paranoid=0"},
		{EPERM, -EACCES, "cap_perfmon"},
		{EBUSY, -EBUSY, "another program"},
		{ENODEV, -ENODEV, "GuC"},
		{EIO, -EIO, "refuses"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gpu_node node = begin_xe();
		struct oa_facts facts;
		struct oa_stream *stream;

		made_up.open_error = cases[i].error;
		REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
		CHECK_EQUAL(oa_stream_open(&node, &facts, &stream), cases[i].result);
		CHECK(strstr(error_text(), cases[i].says));
		CHECK_EQUAL(made_up.removed, made_up.added);
		error_clear();
	}
}

/* Another recorder is about to open its stream: its set is there, and is not ours to remove. */
TEST(a_set_that_is_there_already)
{
	char folder[] = "/tmp/duet-oa-XXXXXX", path[200];
	struct gpu_node node = begin_xe();
	struct oa_facts facts;
	struct oa_stream *stream;

	REQUIRE(mkdtemp(folder));
	snprintf(node.folder, sizeof(node.folder), "%s", folder);
	REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
	made_up.add_error = EADDRINUSE;
	CHECK(oa_stream_open(&node, &facts, &stream) < 0);
	CHECK(made_up.added > 1);
	error_clear();
	snprintf(path, sizeof(path), "mkdir -p %s/card0/metrics/%s", folder,
		 facts.layout->set->uuid);
	REQUIRE(system(path) == 0);
	snprintf(path, sizeof(path), "%s/card0/metrics/%s/id", folder, facts.layout->set->uuid);
	harness_write_text(path, "42\n");
	REQUIRE(oa_stream_open(&node, &facts, &stream) == 0);
	CHECK_EQUAL(made_up.values[XE_OA_METRIC_SET], 42);
	CHECK_EQUAL(made_up.removed, 0);
	oa_stream_close(stream);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	CHECK_EQUAL(system(path), 0);
}

static void list_set(const char *folder, const char *uuid, int number)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "mkdir -p %s/card0/metrics/%s && echo %d >%s/card0/metrics/%s/id", folder, uuid,
		 number, folder, uuid);
	REQUIRE(system(text) == 0);
}

/* What is asked for by name: it is there, goes, and comes again by another number; what its
 * counters count, by position. */
TEST(a_set_of_the_drivers_list)
{
	static const char name[] = "01234567-89ab-cdef-0123-456789abcdef";
	static uint8_t bytes[MAX_READ_BYTES];
	char folder[] = "/tmp/duet-oa-XXXXXX", text[200];
	struct gpu_node node = begin_xe();
	struct unit unit = {.which = 5, .time = 1000};
	struct told told = {.count = 0};
	struct oa_facts facts;
	struct oa_stream *stream;
	struct igdmd *library;
	uint32_t set;

	REQUIRE(mkdtemp(folder));
	snprintf(node.folder, sizeof(node.folder), "%s", folder);
	REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
	strcpy(facts.set, name);
	CHECK_EQUAL(oa_stream_open(&node, &facts, &stream), -ENOENT);
	CHECK(strstr(error_text(), name) &&
	      strstr(error_text(), "not in the driver's list any more"));
	error_clear();
	CHECK_EQUAL(oa_sets_choose(&node, name, &library, &set), -ENOENT);
	CHECK(strstr(error_text(), name) && strstr(error_text(), "nor any other"));
	error_clear();
	list_set(folder, "11111111-2222-3333-4444-555555555555", 5);
	list_set(folder, "not-a-set", 6);
	list_set(folder, facts.layout->set->uuid, 7);
	CHECK_EQUAL(oa_sets_choose(&node, name, &library, &set), -ENOENT);
	CHECK(strstr(error_text(), "this GPU has: 11111111-2222-3333-4444-555555555555 ("));
	error_clear();
	strcpy(facts.set, "../card0/metrics/not-a-set");
	CHECK_EQUAL(oa_stream_open(&node, &facts, &stream), -ENOENT);
	error_clear();
	strcpy(facts.set, name);
	list_set(folder, name, 9);
	library = (void *)name;
	CHECK_EQUAL(oa_sets_choose(&node, name, &library, &set), 0);
	CHECK(!library);
	REQUIRE(oa_stream_open(&node, &facts, &stream) == 0);
	CHECK_EQUAL(made_up.values[XE_OA_METRIC_SET], 9);
	CHECK_EQUAL(made_up.added, 0);
	CHECK_EQUAL(made_up.removed, 0);
	made_up_put(0, bytes, write_report(&unit, bytes));
	advance(&unit, PERIOD, 8000000, 2000000, 4000000);
	made_up_put(0, bytes, write_report(&unit, bytes));
	oa_stream_read(stream, on_step, &told);
	REQUIRE(told.count == 2);
	/* that set may choose other events for duet's counters */
	CHECK(!told.steps[1].has_busy && !told.steps[1].has_eu);
	CHECK_EQUAL(told.steps[1].raw_count, 64);
	CHECK_EQUAL(told.raw[32], 2000000);
	CHECK_EQUAL(told.raw[24], 4000000);
	CHECK_EQUAL(told.raw[0], 0);
	CHECK_EQUAL(told.steps[1].clock_hz, (uint64_t)8000000 * STAMPS / PERIOD);

	list_set(folder, name, 11);
	made_up_put(ENODEV, NULL, 0);
	oa_stream_read(stream, on_step, &told);
	usleep(30000);
	oa_stream_read(stream, on_step, &told);
	CHECK_EQUAL(made_up.opened, 2);
	CHECK_EQUAL(made_up.values[XE_OA_METRIC_SET], 11);
	oa_stream_close(stream);
	snprintf(text, sizeof(text), "rm -r %s", folder);
	CHECK_EQUAL(system(text), 0);
}

TEST(a_library_that_is_none)
{
	static const struct {
		const char *name, *says;
	} cases[] = {{"/no/such/library.so", "was not found"}, {"libc.so.6", "is too old"}};
	struct igdmd *library = NULL;
	char why[240];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("DUET_IGDMD", cases[i].name, 1);
		CHECK_EQUAL(igdmd_open("0000:03:00.0", &library, why, sizeof(why)), -ENOENT);
		CHECK(strstr(why, cases[i].name) && strstr(why, cases[i].says));
		CHECK(!library);
	}
	igdmd_close(NULL);
}

/* Three reports, two at a time and one; an EIO with four missing; one whose counters overflowed;
 * the stream ends. */
TEST(steps_losses_and_an_end)
{
	static uint8_t bytes[MAX_READ_BYTES];
	struct gpu_node node = begin_xe();
	struct unit unit = {.which = 5, .time = ((uint64_t)1 << 56) - PERIOD, .ticks = 4294000000};
	struct told told = {.count = 0};
	struct oa_counts counts;
	struct oa_facts facts;
	struct oa_stream *stream;
	size_t size;

	REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
	REQUIRE(oa_stream_open(&node, &facts, &stream) == 0);
	size = write_report(&unit, bytes);
	advance(&unit, PERIOD, 8000000, 2000000, EUS * 4000000);
	size += write_report(&unit, bytes + size);
	made_up_put(0, bytes, size);
	/* between those of the timer; over the end of the ticks' bits */
	advance(&unit, PERIOD / 3, 100, 100, 0);
	size = write_report(&unit, bytes);
	made_up_put(EINTR, NULL, 0);
	made_up_put(0, bytes, size);
	advance(&unit, PERIOD - PERIOD / 3, 4000000 - 100, 8000000, 0);
	made_up_put(0, bytes, write_report(&unit, bytes));
	oa_stream_read(stream, on_step, &told);
	REQUIRE(told.count == 3);
	CHECK_EQUAL(told.steps[0].took_ns, 0);
	CHECK_EQUAL(told.steps[1].took_ns, 6826666);
	CHECK_EQUAL(told.steps[1].busy_ns, 6826666 / 4);
	CHECK_EQUAL(told.steps[1].eu_active_ns, 6826666 / 2);
	CHECK_EQUAL(told.steps[1].clock_hz, (uint64_t)8000000 * STAMPS / PERIOD);
	CHECK(told.steps[1].has_busy && told.steps[1].has_eu);
	CHECK_EQUAL(told.steps[2].took_ns, 6826666);
	CHECK_EQUAL(told.steps[2].busy_ns, 6826666); /* never more than all */
	CHECK(told.steps[0].end_ns < told.steps[1].end_ns);
	CHECK(told.steps[2].end_ns <= host_clocks_now_ns());
	CHECK_EQUAL(oa_stream_counted(stream).lost, 0);

	made_up.status = XE_OA_REPORT_LOST;
	made_up_put(EIO, NULL, 0);
	advance(&unit, 5 * PERIOD, 40000000, 10000000, 0);
	made_up_put(0, bytes, write_report(&unit, bytes));
	oa_stream_read(stream, on_step, &told);
	counts = oa_stream_counted(stream);
	REQUIRE(told.count == 4);
	CHECK_EQUAL(told.steps[3].took_ns, 34133333);
	CHECK_EQUAL(told.steps[3].busy_ns, 34133333 / 4);
	CHECK_EQUAL(counts.lost, 4);
	CHECK_EQUAL(counts.losses, 1);

	/* a full queue of triggers is none of ours; counters that overflowed are no differences */
	made_up.status = XE_OA_TRIGGER_QUEUE_FULL;
	made_up_put(EIO, NULL, 0);
	oa_stream_read(stream, on_step, &told);
	made_up.status = XE_OA_COUNTER_OVERFLOW;
	made_up_put(EIO, NULL, 0);
	advance(&unit, PERIOD, 1, 12345, 0);
	made_up_put(0, bytes, write_report(&unit, bytes));
	oa_stream_read(stream, on_step, &told);
	REQUIRE(told.count == 5);
	CHECK_EQUAL(told.steps[4].took_ns, 0);
	CHECK_EQUAL(oa_stream_counted(stream).lost, 4);

	made_up_put(ENODEV, NULL, 0);
	oa_stream_read(stream, on_step, &told);
	counts = oa_stream_counted(stream);
	CHECK_EQUAL(counts.resets, 1);
	CHECK_EQUAL(counts.ended_ns, told.steps[4].end_ns);
	CHECK_EQUAL(counts.opened_ns, 0);
	usleep(30000);
	/* it is not given back at once */
	made_up.open_error = EBUSY;
	oa_stream_read(stream, on_step, &told);
	CHECK_EQUAL(oa_stream_counted(stream).ended_ns, told.steps[4].end_ns);
	made_up.open_error = 0;
	usleep(30000);
	advance(&unit, PERIOD, 1, 1, 1);
	made_up_put(0, bytes, write_report(&unit, bytes));
	oa_stream_read(stream, on_step, &told);
	REQUIRE(told.count == 6);
	CHECK_EQUAL(told.steps[5].took_ns, 0);
	counts = oa_stream_counted(stream);
	CHECK_EQUAL(counts.ended_ns, 0);
	CHECK_EQUAL(counts.resets, 1);
	CHECK(counts.opened_ns >= told.steps[4].end_ns + 50000000);
	CHECK_EQUAL(made_up.opened, 2);
	CHECK_EQUAL(made_up.removed, 3);
	oa_stream_close(stream);
}

/* Reports that were read late are of when they were written: the quickest reading says how the
 * clocks lie. */
TEST(times_of_reports)
{
	static uint8_t bytes[MAX_READ_BYTES];
	struct gpu_node node = begin_xe();
	struct unit unit = {.which = 5, .time = 1000};
	struct told told = {.count = 0};
	struct oa_facts facts;
	struct oa_stream *stream;
	uint64_t begin_ns;

	REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
	REQUIRE(oa_stream_open(&node, &facts, &stream) == 0);
	made_up_put(0, bytes, write_report(&unit, bytes));
	begin_ns = host_clocks_now_ns();
	oa_stream_read(stream, on_step, &told);
	usleep(40000);
	for (int i = 0; i < 3; i++) {
		advance(&unit, PERIOD, 8000000, 1, 1);
		made_up_put(0, bytes, write_report(&unit, bytes));
	}
	oa_stream_read(stream, on_step, &told);
	REQUIRE(told.count == 4);
	for (uint64_t i = 1; i <= 3; i++) {
		const uint64_t wanted_ns = told.steps[0].end_ns + i * oa_period_ns(STAMPS, 16);

		/* 100 ppm of the time between, and roundings */
		CHECK(told.steps[i].end_ns + 100 > wanted_ns);
		CHECK(told.steps[i].end_ns <
		      wanted_ns + (host_clocks_now_ns() - begin_ns) / 10000 + 100);
	}
	oa_stream_close(stream);
}

/* ---- i915 ------------------------------------------------------------------------------------ */

static size_t write_record(uint8_t *bytes, uint32_t type, const struct unit *unit)
{
	struct i915_perf_record_header head = {.type = type, .size = sizeof(head)};

	if (unit)
		head.size = (uint16_t)(head.size + write_report(unit, bytes + sizeof(head)));
	memcpy(bytes, &head, sizeof(head));
	return head.size;
}

static void check_i915(uint32_t format, size_t which)
{
	static uint8_t bytes[MAX_READ_BYTES];
	struct gpu_node node = made_up_begin("i915");
	struct unit unit = {.which = which, .time = UINT32_MAX - 5};
	struct told told = {.count = 0};
	struct oa_facts facts;
	struct oa_stream *stream;
	size_t size;

	CHECK_EQUAL(oa_stream_ask(&node, 0, 100, &facts), -ENOTSUP);
	error_clear();
	made_up.params[I915_PARAM_CS_TIMESTAMP_FREQUENCY] = STAMPS;
	made_up.params[I915_PARAM_EU_TOTAL] = EUS;
	made_up.i915_format = format;
	REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
	CHECK_EQUAL(oa_stream_ask(&node, 1, 100, &facts), -ENOENT);
	error_clear();
	REQUIRE(oa_stream_open(&node, &facts, &stream) == 0);
	CHECK_TEXT(oa_stream_facts(stream)->layout->name, known[which].name);
	CHECK_EQUAL(made_up.values[I915_PERF_OA_METRICS_SET], 7);
	CHECK_EQUAL(made_up.values[I915_PERF_OA_EXPONENT], 16);
	CHECK_EQUAL(made_up.removed, 1);
	size = write_record(bytes, I915_PERF_RECORD_SAMPLE, &unit);
	size += write_record(bytes + size, 99, &unit); /* of a newer driver */
	advance(&unit, PERIOD, 8000000, 2000000, EUS * 4000000);
	size += write_record(bytes + size, I915_PERF_RECORD_SAMPLE, &unit);
	size += write_record(bytes + size, I915_PERF_RECORD_REPORT_LOST, NULL);
	advance(&unit, 3 * PERIOD, 8000000, 4000000, 0);
	size += write_record(bytes + size, I915_PERF_RECORD_SAMPLE, &unit);
	/* one that is cut off */
	write_record(bytes + size, I915_PERF_RECORD_SAMPLE, &unit);
	made_up_put(0, bytes, size + 20);
	oa_stream_read(stream, on_step, &told);
	REQUIRE(told.count == 3);
	CHECK_EQUAL(told.steps[1].took_ns, 6826666);
	CHECK_EQUAL(told.steps[1].busy_ns, 6826666 / 4);
	CHECK_EQUAL(told.steps[1].eu_active_ns, 6826666 / 2);
	CHECK_EQUAL(told.steps[2].took_ns, 20480000);
	CHECK_EQUAL(told.steps[2].busy_ns, 10240000);
	CHECK_EQUAL(oa_stream_counted(stream).lost, 2);
	CHECK_EQUAL(oa_stream_counted(stream).reports, 3);
	oa_stream_close(stream);
}

TEST(records_of_i915)
{
	check_i915(I915_OA_A24U40_A14U32_B8_C8, 2);
	check_i915(I915_OA_A32U40_A4U32_B8_C8, 0);
}

TEST(who_is_refused_by_i915)
{
	struct gpu_node node = made_up_begin("i915");
	struct oa_facts facts;
	struct oa_stream *stream;

	made_up.params[I915_PARAM_OA_TIMESTAMP_FREQUENCY] = STAMPS;
	REQUIRE(oa_stream_ask(&node, 0, 100, &facts) == 0);
	CHECK_EQUAL(oa_stream_open(&node, &facts, &stream), -ENOTSUP);
	CHECK(strstr(error_text(), "from Gen8 on"));
	error_clear();
	made_up.i915_format = I915_OA_A24U40_A14U32_B8_C8;
	made_up.open_error = EACCES;
	CHECK_EQUAL(oa_stream_open(&node, &facts, &stream), -EACCES);
	CHECK(strstr(error_text(), "sysctl dev.i915.perf_stream_paranoid=0"));
	error_clear();
}

int main(void)
{
	/* a machine may have the library, and a GPU that it knows */
	setenv("DUET_IGDMD", "/no/such/library.so", 1);
	RUN(each_format_byte_by_byte);
	RUN(differences_over_an_overflow);
	RUN(positions);
	RUN(periods);
	RUN(what_a_driver_tells);
	RUN(what_is_asked_for);
	RUN(who_is_refused);
	RUN(a_set_that_is_there_already);
	RUN(a_set_of_the_drivers_list);
	RUN(a_library_that_is_none);
	RUN(steps_losses_and_an_end);
	RUN(times_of_reports);
	RUN(records_of_i915);
	RUN(who_is_refused_by_i915);
	return harness_end();
}

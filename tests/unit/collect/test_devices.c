/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_devices.c - one device that several know by different names
 */
#include "collect/devices.h"

#include "harness.h"

#include "bench.h"

static const struct device_facts h200 = {.uuid = "GPU-1b0e6f4a-0000-4000-8000-000000000001",
					 .address = "0000:1b:00.0",
					 .name = "NVIDIA H200",
					 .vendor = "NVIDIA Corporation",
					 .driver = "580.159.01",
					 .memory_bytes = 7};

TEST(all_names_are_one_device)
{
	const struct device_facts by_address = {.address = "0000:1b:00.0"},
				  by_uuid = {.uuid = "1b0e6f4a-0000-4000-8000-000000000001"},
				  other = {.address = "0000:1c:00.0"};
	struct bench bench;
	uint32_t id;

	bench_open(&bench);
	id = devices_meet(bench.recording, &h200);
	CHECK(id != 0);
	CHECK_EQUAL(devices_meet(bench.recording, &h200), id);
	CHECK_EQUAL(devices_meet(bench.recording, &by_address), id);
	CHECK_EQUAL(devices_meet(bench.recording, &by_uuid), id);
	CHECK_EQUAL(devices_find(bench.recording, h200.uuid), id);
	CHECK(devices_meet(bench.recording, &other) != id);
	bench_read(&bench);
	bench_close(&bench);
}

/* Who asks second may know more names: all of them are remembered. */
TEST(a_name_that_comes_later)
{
	const struct device_facts by_address = {.address = "0000:1b:00.0"};
	struct bench bench;
	uint32_t id;

	bench_open(&bench);
	id = devices_meet(bench.recording, &by_address);
	CHECK_EQUAL(devices_meet(bench.recording, &h200), id);
	CHECK_EQUAL(devices_find(bench.recording, "1b0e6f4a-0000-4000-8000-000000000001"), id);
	bench_read(&bench);
	bench_close(&bench);
}

TEST(a_program_knows_more_of_what_is_counted)
{
	const struct event_device *devices;
	uint64_t before_ns = host_clocks_now_ns(), counted_ns;
	struct bench bench;

	bench_open(&bench);
	devices_meet(bench.recording, &h200);
	counted_ns = host_clocks_now_ns();
	put_device(&bench, 1, "1b0e6f4a-0000-4000-8000-000000000001");
	put_device(&bench, 1,
		   "0000:1b:00.0"); /* by another runtime, which changes nothing any more */
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_DEVICE, (const void **)&devices) == 1);
	CHECK_EQUAL(devices[0].compute_units, 7);
	CHECK_TEXT(text_of(&bench, devices[0].platform_string), "platform");
	CHECK_TEXT(text_of(&bench, devices[0].key_string), "1b0e6f4a-0000-4000-8000-000000000001");
	CHECK(devices[0].begin_ns >= before_ns && devices[0].begin_ns <= counted_ns);
	bench_close(&bench);
}

TEST(what_a_program_described_stays)
{
	const struct event_device *devices;
	struct bench bench;

	bench_open(&bench);
	put_device(&bench, 1, "0000:1b:00.0");
	devices_meet(bench.recording, &h200);
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_DEVICE, (const void **)&devices) == 1);
	CHECK_TEXT(text_of(&bench, devices[0].name_string), "name");
	CHECK_EQUAL(devices[0].compute_units, 7);
	bench_close(&bench);
}

/* A slice has its parent also if the collector that reports it comes second. */
TEST(a_slice_of_a_device)
{
	const char *const keys[] = {"MIG-1", "MIG-2", "MIG-3"};
	const struct event_device *devices;
	uint32_t whole, ids[3];
	struct bench bench;

	bench_open(&bench);
	ids[0] = devices_meet(bench.recording, &(struct device_facts){.uuid = keys[0]});
	whole = devices_meet(bench.recording, &h200);
	for (int i = 0; i < 3; i++)
		ids[i] = devices_meet(bench.recording,
				      &(struct device_facts){.uuid = keys[i], .parent = whole});
	put_device(&bench, 1, "2"); /* by CUDA, which does not know the parent */
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_DEVICE, (const void **)&devices) == 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(devices[i].parent, devices[i].id == whole ? 0 : whole);
	CHECK_EQUAL(devices[ids[1] - 1].compute_units, 7);
	bench_close(&bench);
}

int main(void)
{
	RUN(all_names_are_one_device);
	RUN(a_name_that_comes_later);
	RUN(a_program_knows_more_of_what_is_counted);
	RUN(what_a_program_described_stays);
	RUN(a_slice_of_a_device);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_device_choice.c - rows of devices that record --device leaves out
 */
#include "collect/device_choice.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/devices.h"
#include "harness.h"

#include "bench.h"

static const struct device_facts h200 = {
	.uuid = "GPU-1b0e6f4a", .address = "0000:1b:00.0", .name = "NVIDIA H200"};
static const struct device_facts other = {.address = "0000:1c:00.0", .name = "another"};

static bool has(struct device_choice *choice, enum event_kind kind, const void *row)
{
	return device_choice_has(choice, kind, row);
}

static struct event_device row_of(struct bench *bench, uint32_t id,
				  const struct device_facts *facts)
{
	return (struct event_device){
		.id = id,
		.type = DEVICE_GPU,
		.key_string = recording_string(bench->recording, facts->address),
		.name_string = recording_string(bench->recording, facts->name)};
}

static void check_rows(const char *list)
{
	struct device_choice choice;
	struct event_device first, second;
	struct bench bench;
	size_t i = 0;

	REQUIRE(!device_choice_parse(&choice, list, "/nowhere"));
	bench_open(&bench);
	choice.recording = bench.recording;
	first = row_of(&bench, devices_meet(bench.recording, &h200), &h200);
	second = row_of(&bench, devices_meet(bench.recording, &other), &other);
	CHECK(has(&choice, EVENT_DEVICE, &first));
	CHECK(!has(&choice, EVENT_DEVICE, &second));
	CHECK(has(&choice, EVENT_QUEUE, &(struct event_queue){.id = 1, .device = first.id}));
	CHECK(!has(&choice, EVENT_QUEUE, &(struct event_queue){.id = 2, .device = second.id}));
	CHECK(has(&choice, EVENT_SERIES, &(struct event_series){.id = 1}));
	CHECK(!has(&choice, EVENT_SERIES, &(struct event_series){.id = 2, .device = second.id}));
	CHECK(has(&choice, EVENT_LAUNCH, &(struct event_launch){.queue = 1}));
	CHECK(!has(&choice, EVENT_LAUNCH, &(struct event_launch){.queue = 2}));
	CHECK(has(&choice, EVENT_EXECUTION, &(struct event_execution){.queue = 1}));
	CHECK(!has(&choice, EVENT_EXECUTION, &(struct event_execution){.queue = 2}));
	CHECK(has(&choice, EVENT_COUNTER, &(struct event_counter){.series = 1}));
	CHECK(!has(&choice, EVENT_COUNTER, &(struct event_counter){.series = 2}));
	CHECK(has(&choice, EVENT_INSTRUCTION_SAMPLE,
		  &(struct event_instruction_sample){.device = first.id}));
	CHECK(!has(&choice, EVENT_INSTRUCTION_SAMPLE,
		   &(struct event_instruction_sample){.device = second.id}));
	CHECK(!has(&choice, EVENT_INSTRUCTION_SAMPLE,
		   &(struct event_instruction_sample){.thread = 1}));
	CHECK(has(&choice, EVENT_API, &(struct event_api){0}));
	CHECK(has(&choice, EVENT_LAUNCH, &(struct event_launch){.queue = 3}));
	CHECK_EQUAL(choice.left, 1);
	CHECK(!device_choice_unmet(&choice, &i));
	bench_read(&bench);
	bench_close(&bench);
	device_choice_fini(&choice);
}

TEST(rows_of_other_devices_are_left_out)
{
	check_rows("GPU-1b0e6f4a");
	check_rows("1b0e6f4a");
	check_rows("NVIDIA H200");
	check_rows("1b0e6f4a,NVIDIA H200");
}

TEST(a_device_is_chosen_once_its_name_is_known)
{
	struct device_choice choice;
	struct event_device row;
	struct bench bench;

	REQUIRE(!device_choice_parse(&choice, "another", "/nowhere"));
	bench_open(&bench);
	choice.recording = bench.recording;
	row = row_of(&bench, 7, &other);
	row.name_string = 0;
	CHECK(!has(&choice, EVENT_DEVICE, &row));
	CHECK_EQUAL(choice.left, 1);
	row = row_of(&bench, 7, &other);
	row.type = DEVICE_CPU;
	CHECK(has(&choice, EVENT_DEVICE, &row));
	CHECK_EQUAL(choice.left, 0);
	CHECK(has(&choice, EVENT_INSTRUCTION_SAMPLE,
		  &(struct event_instruction_sample){.thread = 1}));
	bench_read(&bench);
	bench_close(&bench);
	device_choice_fini(&choice);
}

/* A collector of counters described the device before a runtime named it. */
TEST(series_of_a_device_that_is_chosen_later)
{
	struct device_choice choice;
	struct event_series series = {.id = 3, .device = 7};
	const struct event_series *rows;
	struct event_device row;
	struct bench bench;
	size_t count;

	REQUIRE(!device_choice_parse(&choice, "another", "/nowhere"));
	bench_open(&bench);
	choice.recording = bench.recording;
	row = row_of(&bench, 7, &other);
	row.name_string = 0;
	CHECK(!has(&choice, EVENT_DEVICE, &row));
	CHECK(!has(&choice, EVENT_SERIES, &series));
	series = (struct event_series){.id = 4, .device = 8};
	CHECK(!has(&choice, EVENT_DEVICE, &(struct event_device){.id = 8}));
	CHECK(!has(&choice, EVENT_SERIES, &series));
	CHECK(!has(&choice, EVENT_COUNTER, &(struct event_counter){.series = 3}));
	row = row_of(&bench, 7, &other);
	CHECK(has(&choice, EVENT_DEVICE, &row));
	CHECK(has(&choice, EVENT_SERIES, &(struct event_series){.id = 3, .device = 7}));
	CHECK(has(&choice, EVENT_COUNTER, &(struct event_counter){.series = 3}));
	CHECK(!has(&choice, EVENT_COUNTER, &(struct event_counter){.series = 4}));
	CHECK_EQUAL(choice.series_count, 1);
	bench_read(&bench);
	count = trace_reader_entities(bench.reader, EVENT_SERIES, &rows);
	CHECK_EQUAL(count, 1);
	bench_close(&bench);
	device_choice_fini(&choice);
}

TEST(a_name_without_a_device_is_reported)
{
	struct device_choice choice;
	size_t i = 0;

	REQUIRE(!device_choice_parse(&choice, "a,b", "/nowhere"));
	choice.is_met[0] = true;
	CHECK_TEXT(device_choice_unmet(&choice, &i), "b");
	CHECK(!device_choice_unmet(&choice, &i));
	device_choice_fini(&choice);
}

TEST(a_node_is_its_address)
{
	char folder[] = "/tmp/duet-choice-XXXXXX", path[256], target[256];
	struct device_choice choice;

	REQUIRE(mkdtemp(folder));
	snprintf(path, sizeof(path),
		 "mkdir -p %s/class/drm/renderD128 %s/bus/pci/devices/0000:03:00.0", folder,
		 folder);
	REQUIRE(!system(path));
	snprintf(path, sizeof(path), "%s/class/drm/renderD128/device", folder);
	snprintf(target, sizeof(target), "../../../bus/pci/devices/0000:03:00.0");
	REQUIRE(!symlink(target, path));
	REQUIRE(!device_choice_parse(&choice, "renderD128,/dev/dri/renderD128,0000:03:00.0",
				     folder));
	for (size_t i = 0; i < 3; i++)
		CHECK_TEXT(choice.names[i], "0000:03:00.0");
	CHECK(device_choice_parse(&choice, "renderD129", folder));
	CHECK_TEXT(error_text(), "no device 'renderD129'");
	CHECK(device_choice_parse(&choice, "0000:04:00.0", folder));
	CHECK(device_choice_parse(&choice, "", folder));
	CHECK(device_choice_parse(&choice, "a,,b", folder));
	snprintf(path, sizeof(path), "rm -r %s", folder);
	CHECK(!system(path));
}

int main(void)
{
	RUN(rows_of_other_devices_are_left_out);
	RUN(a_device_is_chosen_once_its_name_is_known);
	RUN(series_of_a_device_that_is_chosen_later);
	RUN(a_name_without_a_device_is_reported);
	RUN(a_node_is_its_address);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_record_parts.c - optional parts of executions and nodes
 */
#include "harness.h"

#include "bench.h"
#include "event/record_parts.h"

static const struct record_parts full = {
	.transfer = {.source_device = 1,
		     .destination_device = 2,
		     .source_memory = MEMORY_PAGEABLE,
		     .destination_memory = MEMORY_DEVICE,
		     .migration = MIGRATION_EVICTION},
	.shape = {.cluster = {2, 3, 4}, .local_bytes = 49152},
	.graph = UINT64_MAX,
};

/* Writes a record as a guest does. hardware_queue: bits of detail. */
static void put_transfer(struct bench *bench, const struct record_parts *parts,
			 uint32_t hardware_queue)
{
	const uint32_t detail = EXECUTION_TIMED | record_parts_detail(parts) | hardware_queue;
	struct draft draft;

	draft_begin(&draft, EVENT_EXECUTION, detail, sizeof(draft.execution));
	draft.execution.correlation = 7;
	draft.execution.started = 100;
	draft.execution.ended = 200;
	draft.execution.seen = 300;
	draft.execution.queue = 2;
	record_parts_write(draft.words + sizeof(draft.execution) / 8, detail, parts);
	draft.at += record_parts_bytes(detail);
	draft_decode(bench, &draft);
}

static void describe(struct bench *bench)
{
	put_device(bench, 1, "one");
	put_device(bench, 2, "two");
	put_queue(bench, 2, 1, 1);
}

/* The devices of a row have the keys "one" and "two". */
static void check_devices(struct bench *bench, const struct event_execution *row)
{
	const struct event_device *source =
		trace_reader_entity(bench->reader, EVENT_DEVICE, row->source_device);
	const struct event_device *destination =
		trace_reader_entity(bench->reader, EVENT_DEVICE, row->destination_device);

	REQUIRE(source && destination);
	CHECK_TEXT(text_of(bench, source->key_string), "one");
	CHECK_TEXT(text_of(bench, destination->key_string), "two");
}

static void check_full(struct bench *bench, const struct event_execution *row)
{
	check_devices(bench, row);
	CHECK_EQUAL(row->source_memory, MEMORY_PAGEABLE);
	CHECK_EQUAL(row->destination_memory, MEMORY_DEVICE);
	CHECK_EQUAL(row->migration, MIGRATION_EVICTION);
	CHECK_EQUAL(row->cluster_x, 2);
	CHECK_EQUAL(row->cluster_y, 3);
	CHECK_EQUAL(row->cluster_z, 4);
	CHECK_EQUAL(row->local_bytes, 49152);
	CHECK(row->graph == UINT64_MAX);
}

TEST(a_plain_kernel_stays_one_cache_line)
{
	const struct record_parts none = {0};

	CHECK_EQUAL(sizeof(struct record_execution), 64);
	CHECK_EQUAL(record_parts_detail(&none), 0);
	CHECK_EQUAL(record_parts_bytes(record_hardware_queue(9) | EXECUTION_TIMED), 0);
	CHECK_EQUAL(record_parts_bytes(record_parts_detail(&full)), 40);
}

TEST(hardware_queues)
{
	static const uint32_t numbers[] = {0, 1, 254, 255, 256, 65279, 65533, 65534};
	const uint32_t others = 0xffu << 16 | 0xff;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		CHECK_EQUAL(record_get_hardware_queue(record_hardware_queue(numbers[i]) | others),
			    numbers[i] + 1);
		CHECK_EQUAL(record_hardware_queue(numbers[i]) & others, 0);
	}
	CHECK_EQUAL(record_hardware_queue(65535), 0);
	CHECK_EQUAL(record_hardware_queue(UINT32_MAX), 0);
	CHECK_EQUAL(record_get_hardware_queue(others), 0);
}

/* Each combination of parts, so that each part is read behind each other one. */
TEST(executions_with_parts)
{
	struct event_execution *rows;
	struct bench bench;
	size_t count;

	bench_open(&bench);
	describe(&bench);
	for (uint32_t i = 0; i < 8; i++) {
		struct record_parts parts = {0};

		if (i & 1)
			parts.transfer = full.transfer;
		if (i & 2)
			parts.shape = full.shape;
		if (i & 4)
			parts.graph = full.graph;
		put_transfer(&bench, &parts, record_hardware_queue(300 + i));
	}
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	CHECK_EQUAL(bench.injected->pending.executions_count, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 8);
	check_full(&bench, &rows[7]);
	for (uint32_t i = 0; i < 8; i++) {
		CHECK_EQUAL(rows[i].hardware_queue, 301 + i);
		CHECK_EQUAL(rows[i].valid, EXECUTION_TIMED);
		CHECK_EQUAL(rows[i].source_device, i & 1 ? rows[7].source_device : 0);
		CHECK_EQUAL(rows[i].destination_memory, i & 1 ? MEMORY_DEVICE : 0);
		CHECK_EQUAL(rows[i].local_bytes, i & 2 ? 49152 : 0);
		CHECK(rows[i].graph == (i & 4 ? UINT64_MAX : 0));
		CHECK_EQUAL(rows[i].graph_node, 0);
	}
	free(rows);
	bench_close(&bench);
}

static void put_node(struct bench *bench, const struct record_parts *parts)
{
	const uint32_t detail = EXECUTION_TIMED | record_parts_detail(parts) |
				RECORD_NODE_COOPERATIVE | record_hardware_queue(258) |
				COMMAND_KERNEL << 16;
	const uint64_t sizes[] = {64, 64, 1, 32, 8, 1};
	struct record_node node = {.correlation = 1 << 20,
				   .started = 100,
				   .ended = 200,
				   .seen = 300,
				   .graph_node = 40,
				   .queue = 2,
				   .dimensions = 3};
	struct draft draft;

	draft_begin(&draft, RECORD_NODE, detail, sizeof(struct record));
	draft_add(&draft, (const char *)&node + sizeof(struct record),
		  sizeof(node) - sizeof(struct record));
	draft_add(&draft, sizes, sizeof(sizes));
	record_parts_write((char *)draft.words + draft.at, detail, parts);
	draft.at += record_parts_bytes(detail);
	draft_decode(bench, &draft);
}

TEST(a_node_has_parts_behind_its_sizes)
{
	struct event_execution *rows;
	struct event_launch *launches;
	size_t count, launch_count;
	struct bench bench;

	bench_open(&bench);
	describe(&bench);
	put_node(&bench, &full);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &launch_count, NULL);
	REQUIRE(count == 1 && launch_count == 1);
	check_full(&bench, &rows[0]);
	CHECK_EQUAL(rows[0].hardware_queue, 259);
	CHECK_EQUAL(rows[0].graph_node, 40);
	CHECK_EQUAL(launches[0].command, COMMAND_KERNEL);
	CHECK_EQUAL(launches[0].flags, LAUNCH_FURTHER | LAUNCH_COOPERATIVE);
	CHECK_EQUAL(launches[0].global_size[1], 64);
	CHECK_EQUAL(launches[0].local_size[1], 8);
	free(launches);
	free(rows);
	bench_close(&bench);
}

TEST(a_transfer_waits_for_its_other_device)
{
	struct event_execution *rows;
	struct bench bench;
	size_t count;

	bench_open(&bench);
	put_device(&bench, 1, "one");
	put_queue(&bench, 2, 1, 1);
	put_transfer(&bench, &full, 0);
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->pending.executions_count, 1);
	put_device(&bench, 2, "two");
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->pending.executions_count, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 1);
	check_full(&bench, &rows[0]);
	CHECK_EQUAL(rows[0].hardware_queue, 0);
	free(rows);
	bench_close(&bench);
}

TEST(a_device_never_described)
{
	struct event_execution *rows;
	struct bench bench;
	size_t count;

	bench_open(&bench);
	put_device(&bench, 1, "one");
	put_queue(&bench, 2, 1, 1);
	put_transfer(&bench, &full, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 1);
	CHECK(rows[0].source_device);
	CHECK_EQUAL(rows[0].destination_device, 0);
	CHECK_EQUAL(rows[0].valid, EXECUTION_TIMED);
	free(rows);
	bench_close(&bench);
}

/* Numbers that no guest writes are not known, and a record that is too short is broken. */
TEST(hostile_parts)
{
	struct record_parts parts = {.transfer = {.source_memory = MEMORY_COUNT,
						  .destination_memory = 255,
						  .migration = MIGRATION_COUNT}};
	struct event_execution *rows;
	struct bench bench;
	struct draft draft;
	size_t count;

	bench_open(&bench);
	describe(&bench);
	put_transfer(&bench, &parts, 0);
	for (uint32_t i = 1; i < 8; i++) {
		const uint32_t detail = i << 4;

		draft_begin(&draft, EVENT_EXECUTION, detail,
			    (uint32_t)sizeof(draft.execution) + record_parts_bytes(detail) - 8);
		draft_decode(&bench, &draft);
		draft_begin(&draft, RECORD_NODE, detail,
			    (uint32_t)sizeof(struct record_node) + record_parts_bytes(detail) - 8);
		draft_decode(&bench, &draft);
	}
	CHECK_EQUAL(bench.injected->losses.broken_times, 14);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &count, NULL);
	REQUIRE(count == 1);
	CHECK_EQUAL(rows[0].source_memory + rows[0].destination_memory + rows[0].migration, 0);
	free(rows);
	bench_close(&bench);
}

int main(void)
{
	RUN(a_plain_kernel_stays_one_cache_line);
	RUN(hardware_queues);
	RUN(executions_with_parts);
	RUN(a_node_has_parts_behind_its_sizes);
	RUN(a_transfer_waits_for_its_other_device);
	RUN(a_device_never_described);
	RUN(hostile_parts);
	return harness_end();
}

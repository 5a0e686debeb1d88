/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_intel_driver.c - what a recording says of submissions that it did not
 * get, by a made-up ring
 */
#include "bench.h"
#include "harness.h"

#include "collect/intel/driver.c"

enum { MINOR = 128 };

/* What the kernel has written, and counted. */
struct kernel_load {
	struct tracer *tracer;
	uint64_t left, taken;
	uint64_t counts[SUBMIT_COUNTS];
	uint64_t removed;
};

int kernel_load_start(const struct kernel_load_options *options, struct kernel_load **ret_load)
{
	return -ENOSYS;
}

void kernel_load_stop(struct kernel_load *load)
{
}

enum kernel_load_state kernel_load_state(const struct kernel_load *load, const char **ret_reason)
{
	*ret_reason = "";
	return KERNEL_LOAD_READY;
}

const struct kernel_program_report *kernel_load_reports(const struct kernel_load *load,
							size_t *ret_count)
{
	*ret_count = 0;
	return NULL;
}

static void hand_over(struct kernel_load *load)
{
	const struct submit_record record = {
		.head = {.time_ns = load->tracer->owner->begin_ns + load->taken + 1,
			 .kind = SUBMIT_RECORD_BATCH,
			 .tid = (uint32_t)gettid(),
			 .tgid = (uint32_t)getpid()},
		.enter_ns = load->tracer->owner->begin_ns + load->taken,
		.number = load->taken + 1,
		.vm = 1,
		.minor = MINOR,
		.user_stack = 5};

	on_record(load->tracer, &record, offsetof(struct submit_record, found));
}

bool kernel_load_drain(struct kernel_load *load)
{
	uint32_t room = KERNEL_RING_RECORDS;

	for (; load->left && room; room--, load->left--, load->taken++)
		hand_over(load);
	return !room;
}

uint64_t kernel_load_counted(const struct kernel_load *load, uint32_t key)
{
	return load->counts[key];
}

uint64_t kernel_load_missed(const struct kernel_load *load)
{
	return 0;
}

uint64_t kernel_load_lost(const struct kernel_load *load)
{
	return load->counts[SUBMIT_COUNT_RECORDS];
}

int kernel_load_put(const struct kernel_load *load, const char *map, const void *key,
		    const void *value)
{
	return 0;
}

int kernel_load_remove(const struct kernel_load *load, const char *map, const void *key)
{
	((struct kernel_load *)load)->removed += *(const uint64_t *)key == 5;
	return 0;
}

/* ---- recordings ------------------------------------------------------------------------------ */

static struct bench bench;
static struct kernel_load load;

static struct driver *begin(void)
{
	struct driver *driver = calloc(1, sizeof(*driver));
	struct tracer *tracer = driver ? &driver->tracers[0] : NULL;

	if (!driver)
		abort();
	bench_open(&bench);
	load = (struct kernel_load){.tracer = tracer};
	driver->recording = bench.recording;
	driver->begin_ns = host_clocks_now_ns();
	snprintf(driver->gpus[MINOR].address, sizeof(driver->gpus[MINOR].address), "0000:03:00.0");
	*tracer = (struct tracer){
		.owner = driver, .kind = &kinds[0], .load = &load, .is_ready = true};
	tracer->launches = launches_new(bench.recording, "xe_exec_ioctl", driver->gpus, false);
	launches_on_forgotten(tracer->launches, on_forgotten, tracer);
	return driver;
}

/* The state that the recording says of it; text: what else it has to say. */
static uint32_t said_state(const char *text)
{
	const struct event_collector *notes;
	const size_t count =
		trace_reader_entities(bench.reader, EVENT_COLLECTOR, (const void **)&notes);

	for (size_t i = 0; i < count; i++)
		if (strstr(text_of(&bench, notes[i].reason_string), text))
			return notes[i].state;
	return UINT32_MAX;
}

TEST(what_the_ring_holds_at_the_end_is_read)
{
	enum { HELD = 5 * KERNEL_RING_RECORDS + 7 };
	struct driver *driver = begin();
	struct event_launch *rows;
	size_t count;

	load.left = HELD;
	driver_close(driver);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	CHECK_EQUAL(count, HELD);
	/* a number that nobody knows has to be told again */
	CHECK_EQUAL(load.removed, HELD);
	free(rows);
	bench_close(&bench);
}

TEST(who_goes_on_submitting_does_not_keep_it_from_its_end)
{
	struct driver *driver = begin();

	driver->ring_bytes = 1 << 20;
	load.left = UINT64_MAX;
	driver_close(driver);
	bench_read(&bench);
	CHECK_EQUAL(load.taken, 2 * KERNEL_RING_RECORDS);
	bench_close(&bench);
}

TEST(what_nobody_looked_at_is_a_loss)
{
	struct driver *driver = begin();
	struct event_loss *rows;
	uint64_t busy = 0, lost = 0;
	size_t count;

	load.counts[SUBMIT_COUNT_BUSY] = 3;
	driver_each_second(driver, driver->begin_ns + 1);
	driver_each_second(driver, driver->begin_ns + 2);
	load.counts[SUBMIT_COUNT_CALLS] = 4;
	load.counts[SUBMIT_COUNT_RECORDS] = 5;
	driver_close(driver);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_LOSS, struct event_loss, &count, NULL);
	CHECK_EQUAL(count, 3);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQUAL(rows[i].kind, EVENT_LAUNCH);
		*(rows[i].reason == LOSS_TRACKING ? &busy : &lost) += rows[i].count;
	}
	CHECK_EQUAL(busy, 7);
	CHECK_EQUAL(lost, 5);
	CHECK_EQUAL(said_state("7 submissions that could not be inspected"), COLLECTOR_PARTIAL);
	free(rows);
	bench_close(&bench);
}

static void submit_kernel(const struct driver *driver, uint64_t number, uint64_t address)
{
	const struct submit_record record = {.head = {.time_ns = driver->begin_ns + number,
						      .kind = SUBMIT_RECORD_BATCH,
						      .tid = (uint32_t)gettid(),
						      .tgid = (uint32_t)getpid()},
					     .enter_ns = driver->begin_ns + number,
					     .number = number,
					     .vm = 1,
					     .minor = MINOR,
					     .found_count = 1,
					     .found = {{.address = address, .count = 3}}};

	on_record(load.tracer, &record,
		  offsetof(struct submit_record, found) + sizeof(record.found[0]));
	settle_launches((void *)driver);
}

/* What was unbound may be among it: what is launched at the place later is another kernel. */
TEST(kernels_end_where_records_are_lost)
{
	struct driver *driver = begin();
	const struct event_code *codes;
	size_t count;

	submit_kernel(driver, 1, 0x1000);
	driver_each_second(driver, driver->begin_ns + 100);
	submit_kernel(driver, 101, 0x1000);
	load.counts[SUBMIT_COUNT_RECORDS] = 1;
	driver_each_second(driver, driver->begin_ns + 200);
	submit_kernel(driver, 201, 0x1000);
	driver_each_second(driver, driver->begin_ns + 300);
	submit_kernel(driver, 301, 0x1000);
	driver_close(driver);
	bench_read(&bench);
	count = trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes);
	REQUIRE(count == 2);
	CHECK_EQUAL(codes[0].end_ns, codes[1].begin_ns - 1);
	CHECK_EQUAL(codes[1].end_ns, 0);
	CHECK_EQUAL(said_state("1 kernels ended early"), COLLECTOR_PARTIAL);
	bench_close(&bench);
}

TEST(kernels_without_memory_are_a_loss)
{
	struct driver *driver = begin();
	struct event_loss *rows;
	size_t count;

	submit_kernel(driver, 1, 0x1000);
	bench.recording->is_memory_full = true;
	submit_kernel(driver, 2, 0x1000);
	submit_kernel(driver, 3, 0x2000);
	driver_close(driver);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_LOSS, struct event_loss, &count, NULL);
	REQUIRE(count == 1);
	CHECK_EQUAL(rows[0].kind, EVENT_LAUNCH);
	CHECK_EQUAL(rows[0].count, 3);
	CHECK_EQUAL(said_state("3 kernels left out because the recorder had reached"),
		    COLLECTOR_PARTIAL);
	CHECK_EQUAL(said_state("kernels above the limit"), UINT32_MAX);
	free(rows);
	bench_close(&bench);
}

/* Each alone makes the account a part of the whole. */
TEST(what_had_no_room_leaves_a_part)
{
	static const uint32_t counts[] = {SUBMIT_COUNT_RECORDS,  SUBMIT_COUNT_STACKS,
					  SUBMIT_COUNT_BINDINGS, SUBMIT_COUNT_CALLS,
					  SUBMIT_COUNT_BUSY,     SUBMIT_COUNT_MISSED,
					  SUBMIT_COUNT_VOIDED};

	for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
		struct driver *driver = begin();

		load.counts[counts[i]] = 1;
		driver_close(driver);
		bench_read(&bench);
		CHECK_EQUAL(said_state("xe: 0 submissions"), COLLECTOR_PARTIAL);
		bench_close(&bench);
	}
}

TEST(a_submission_without_a_stack_leaves_a_part)
{
	struct driver *driver = begin();

	load.left = 1;
	driver_close(driver);
	bench_read(&bench);
	CHECK_EQUAL(said_state("1 submissions without a user's stack"), COLLECTOR_PARTIAL);
	bench_close(&bench);
}

TEST(what_the_driver_refused_was_no_submission)
{
	struct driver *driver = begin();

	load.counts[SUBMIT_COUNT_FAILED] = 2;
	driver_close(driver);
	bench_read(&bench);
	CHECK_EQUAL(said_state("2 submissions that the driver refused"), COLLECTOR_AVAILABLE);
	bench_close(&bench);
}

int main(void)
{
	RUN(what_the_ring_holds_at_the_end_is_read);
	RUN(who_goes_on_submitting_does_not_keep_it_from_its_end);
	RUN(what_nobody_looked_at_is_a_loss);
	RUN(what_had_no_room_leaves_a_part);
	RUN(kernels_end_where_records_are_lost);
	RUN(kernels_without_memory_are_a_loss);
	RUN(a_submission_without_a_stack_leaves_a_part);
	RUN(what_the_driver_refused_was_no_submission);
	return harness_end();
}

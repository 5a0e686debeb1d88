/* SPDX-License-Identifier: MIT
 *
 * tests/unit/live/test_triggers.c - triggers on recordings with known answers, which are read while
 * they are written
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/model.h"
#include "base/error.h"
#include "live/trigger/baseline.h"
#include "live/trigger/trigger.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)
enum {
	PROCESS = 1,
	THREAD = 2,
	OTHER_THREAD = 3,
	DEVICE = 4,
	QUEUE = 5,
	OTHER_QUEUE = 6,
	KERNEL = 10
};

static char path[] = "/tmp/duet-test-triggers-XXXXXX";
static struct trace_writer *writer;
static struct trigger_set *set;
static struct trigger_expr exprs[4];
static uint64_t correlation;

static uint32_t text_id(const char *text)
{
	return trace_writer_string(writer, text, strlen(text));
}

static void begin(size_t count, const char *const texts[])
{
	const struct trace_writer_options options = {.segment_ns = 100 * MS};
	const struct trigger_set_options set_options = {.hold_ns = 3000 * MS};
	struct event_process process = {.id = PROCESS, .pid = 77, .name_string = 0};
	struct event_thread thread = {.id = THREAD, .process = PROCESS};
	struct event_device device = {.id = DEVICE};
	struct event_queue queue = {.id = QUEUE, .process = PROCESS, .device = DEVICE};

	correlation = 0;
	for (size_t i = 0; i < count; i++)
		REQUIRE(trigger_expr_parse(texts[i], &exprs[i]) == 0);
	REQUIRE(trigger_set_new(exprs, count, &set_options, &set) == 0);
	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	trace_writer_entity(writer, EVENT_PROCESS, &process);
	trace_writer_entity(writer, EVENT_THREAD, &thread);
	thread.id = OTHER_THREAD;
	trace_writer_entity(writer, EVENT_THREAD, &thread);
	device.name_string = text_id("the device");
	trace_writer_entity(writer, EVENT_DEVICE, &device);
	trace_writer_entity(writer, EVENT_QUEUE, &queue);
	queue.id = OTHER_QUEUE;
	queue.flags = QUEUE_OUT_OF_ORDER;
	trace_writer_entity(writer, EVENT_QUEUE, &queue);
	for (uint32_t i = 0; i < 4; i++) {
		struct event_code code = {
			.id = KERNEL + i, .process = PROCESS, .type = CODE_KERNEL};
		char name[] = "kernel_a";

		name[7] = (char)('a' + i);
		code.name_string = text_id(name);
		trace_writer_entity(writer, EVENT_CODE, &code);
	}
}

static void end(void)
{
	trace_writer_close(writer, 0);
	trigger_set_free(set);
	writer = NULL;
	set = NULL;
}

/* Returns the correlation. */
static uint64_t launch(uint32_t thread, uint32_t queue, uint32_t kernel, uint64_t enter_ns)
{
	const struct trace_source source = {thread, CLOCK_ID_MONOTONIC, 0};
	const struct event_launch row = {.enter = enter_ns,
					 .exit = enter_ns + 2 * US,
					 .thread = thread,
					 .queue = queue,
					 .kernel = kernel,
					 .command = kernel ? COMMAND_KERNEL : COMMAND_READ,
					 .correlation = ++correlation};

	trace_writer_row(writer, EVENT_LAUNCH, &source, &row);
	return correlation;
}

static void execute(uint32_t queue, uint64_t number, uint64_t begin_ns, uint64_t end_ns)
{
	const struct trace_source source = {queue, CLOCK_ID_MONOTONIC, CLOCK_ID_MONOTONIC};
	const struct event_execution row = {.queued = begin_ns,
					    .submitted = begin_ns,
					    .started = begin_ns,
					    .ended = end_ns,
					    .seen = end_ns,
					    .process = PROCESS,
					    .queue = queue,
					    .correlation = number,
					    .valid = EXECUTION_TIMED};

	trace_writer_row(writer, EVENT_EXECUTION, &source, &row);
}

static void add_range(const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	const struct trace_source source = {THREAD, CLOCK_ID_MONOTONIC, 0};
	const struct event_range row = {.begin = begin_ns,
					.end = end_ns,
					.thread = THREAD,
					.process = PROCESS,
					.name_string = text_id(name)};

	trace_writer_row(writer, EVENT_RANGE, &source, &row);
}

/* Evaluates the file as far as it is written; the rows are evaluated once, however often. */
static void feed(uint64_t newest_ns)
{
	struct model *model = NULL;

	trace_writer_flush_all(writer, newest_ns);
	for (int i = 0; i < 2; i++) {
		REQUIRE(model_open(path, &model) == 0);
		CHECK_EQUAL(trigger_set_feed(set, model, newest_ns), 0);
		model_close(model);
	}
}

static bool next(struct trigger_firing *firing)
{
	bool is_there = trigger_set_next(set, firing);

	if (is_there)
		printf("# %u: %s\n", firing->expr, firing->reason);
	return is_there;
}

/* ---- iterations ------------------------------------------------------------------------------ */

/* Iterations of 1 ms with a write, two kernels and a read; `slow` takes 20 ms. The file is read
 * after every 100 iterations. Returns its begin. */
static uint64_t run_loop(int count, int slow)
{
	uint64_t now = 1000 * MS, slow_ns = 0;

	for (int i = 0; i < count; i++) {
		launch(THREAD, QUEUE, 0, now);
		launch(THREAD, QUEUE, KERNEL, now + 100 * US);
		launch(THREAD, QUEUE, KERNEL + 1, now + 200 * US);
		launch(THREAD, QUEUE, KERNEL + 1, now + 300 * US);
		if (i % 7 == 0)
			launch(OTHER_THREAD, QUEUE, KERNEL + 2, now + (uint64_t)i % 11 * 50 * US);
		if (i == slow)
			slow_ns = now;
		now += i == slow ? 20 * MS : MS + (uint64_t)(i % 10) * 10 * US;
		if (i % 100 == 99)
			feed(now);
	}
	return slow_ns;
}

static void check_slow(int count, int slow)
{
	static const char *const texts[] = {"iteration > 3 x p99", "iteration > 15ms",
					    "iteration > 30ms", "iteration > 5 x mean"};
	struct trigger_firing firing;
	bool fired[4] = {false};
	uint64_t slow_ns;

	begin(4, texts);
	slow_ns = run_loop(count, slow);
	while (next(&firing)) {
		CHECK(!fired[firing.expr]);
		fired[firing.expr] = true;
		CHECK_EQUAL(firing.begin_ns, slow_ns);
		CHECK_EQUAL(firing.end_ns, slow_ns + 20 * MS);
	}
	CHECK(fired[0] && fired[1] && !fired[2] && fired[3]);
	end();
}

TEST(slow_iteration)
{
	check_slow(3000, 2500);
}

/* Before the search for the loop: it is found when the loop is. */
TEST(early_slow_iteration)
{
	check_slow(1000, 130);
}

TEST(no_slow_iteration)
{
	static const char *const texts[] = {"iteration > 3 x p99", "iteration > 2 x median"};
	struct trigger_firing firing;

	begin(2, texts);
	run_loop(3000, -1);
	CHECK(!next(&firing));
	end();
}

/* One kernel three times in an iteration: no launch occurs once. */
TEST(iterations_without_an_anchor)
{
	static const char *const texts[] = {"iteration > 3 x p99"};
	struct trigger_firing firing;
	uint64_t now = 1000 * MS, slow_ns = 0;

	begin(1, texts);
	for (int i = 0; i < 1500; i++) {
		for (unsigned int j = 0; j < 3; j++)
			launch(THREAD, QUEUE, KERNEL, now + j * 10 * US);
		if (i == 1300)
			slow_ns = now;
		now += i == 1300 ? 20 * MS : MS;
		if (i % 50 == 49)
			feed(now);
	}
	REQUIRE(next(&firing));
	CHECK(firing.end_ns >= slow_ns + 20 * MS && firing.begin_ns <= slow_ns + 20 * US);
	CHECK(!next(&firing));
	end();
}

TEST(named_iterations)
{
	static const char *const texts[] = {"iteration > 3 x p99", "range:step 12* > 8ms",
					    "range:step* > 4 x median"};
	struct trigger_firing firing;
	uint64_t now = 1000 * MS, slow_ns = 0;
	bool fired[3] = {false};
	char name[32];

	begin(3, texts);
	for (int i = 0; i < 1500; i++) {
		uint64_t duration = i == 1234 ? 10 * MS : MS;

		launch(THREAD, QUEUE, KERNEL, now + 10 * US);
		snprintf(name, sizeof(name), "step %d", i);
		add_range(name, now, now + duration);
		if (i == 1234)
			slow_ns = now;
		now += duration + 50 * MS * (i % 100 == 0); /* the pauses are no iterations */
		if (i % 50 == 49)
			feed(now);
	}
	while (next(&firing)) {
		CHECK(!fired[firing.expr]);
		fired[firing.expr] = true;
		CHECK_EQUAL(firing.begin_ns, slow_ns);
		CHECK_EQUAL(firing.end_ns, slow_ns + 10 * MS);
	}
	CHECK(fired[0] && fired[1] && fired[2]);
	end();
}

/* ---- commands -------------------------------------------------------------------------------- */

TEST(long_kernels)
{
	static const char *const texts[] = {"kernel:kernel_b > 2ms",
					    "kernel:kernel_* > 5 x median"};
	struct trigger_firing firing;
	uint64_t now = 1000 * MS, first, late;

	begin(2, texts);
	for (int i = 0; i < 100; i++, now += MS)
		execute(QUEUE, launch(THREAD, QUEUE, KERNEL + 1, now), now, now + 100 * US);
	first = launch(THREAD, QUEUE, KERNEL + 1, now);
	launch(THREAD, QUEUE, KERNEL + 2, now + MS);        /* never executed */
	execute(QUEUE, correlation + 1, now, now + 3 * MS); /* before its launch */
	feed(now);
	late = launch(THREAD, QUEUE, KERNEL, now + 50 * MS);
	CHECK_EQUAL(late, first + 2);
	execute(QUEUE, first, now, now + 3 * MS);
	feed(now + 60 * MS);
	REQUIRE(next(&firing));
	CHECK_EQUAL(firing.end_ns, now + 3 * MS);
	CHECK(strstr(firing.reason, "kernel kernel_b took 3"));
	REQUIRE(next(&firing));
	CHECK_EQUAL(firing.expr, 1);
	CHECK(!next(&firing)); /* kernel_a has no statistic, and no limit of its own */
	end();
}

TEST(idle_gaps)
{
	static const char *const texts[] = {"idle > 50ms"};
	struct trigger_firing firing;
	uint64_t now = 1000 * MS, other, gap_ns;

	begin(1, texts);
	execute(QUEUE, launch(THREAD, QUEUE, KERNEL, now), now, now + MS);
	/* the other queue has a command meanwhile, which is written later */
	other = launch(THREAD, OTHER_QUEUE, KERNEL, now);
	execute(QUEUE, launch(THREAD, QUEUE, KERNEL, now + 100 * MS), now + 100 * MS,
		now + 101 * MS);
	feed(now + 1200 * MS);
	CHECK(!next(&firing));
	end();

	begin(1, texts);
	execute(QUEUE, launch(THREAD, QUEUE, KERNEL, now), now, now + MS);
	other = launch(THREAD, OTHER_QUEUE, KERNEL, now);
	execute(QUEUE, launch(THREAD, QUEUE, KERNEL, now + 100 * MS), now + 100 * MS,
		now + 101 * MS);
	feed(now + 400 * MS);
	execute(OTHER_QUEUE, other, now + MS, now + 99 * MS);
	feed(now + 2000 * MS);
	CHECK(!next(&firing));
	gap_ns = now + 101 * MS;
	execute(QUEUE, launch(THREAD, QUEUE, KERNEL, gap_ns + 51 * MS), gap_ns + 51 * MS,
		gap_ns + 52 * MS);
	feed(UINT64_MAX);
	REQUIRE(next(&firing));
	CHECK_EQUAL(firing.begin_ns, gap_ns);
	CHECK_EQUAL(firing.end_ns, gap_ns + 51 * MS);
	CHECK(strstr(firing.reason, "idle time of the device took 51"));
	CHECK(!next(&firing));
	end();
}

/* ---- readings -------------------------------------------------------------------------------- */

static void add_series(uint32_t id, const char *metric, const char *unit, const char *instance,
		       uint32_t type, uint64_t limit)
{
	const struct event_series row = {.id = id,
					 .metric_string = text_id(metric),
					 .unit_string = text_id(unit),
					 .instance_string = text_id(instance),
					 .type = type,
					 .device = DEVICE,
					 .limit = limit};

	trace_writer_entity(writer, EVENT_SERIES, &row);
}

static void read_value(uint32_t series, uint64_t now, int64_t value, uint64_t of)
{
	const struct trace_source source = {series, CLOCK_ID_MONOTONIC, 0};
	const struct event_counter row = {
		.begin = now - 100 * MS, .end = now, .value = value, .of = of, .series = series};

	trace_writer_row(writer, EVENT_COUNTER, &source, &row);
}

TEST(readings)
{
	static const char *const texts[] = {"metric:gpu.memory.used > 90 %",
					    "metric:gpu.memory.used >= 950 B", "throttled",
					    "metric:pcie > 5 MB/s"};
	struct trigger_firing firing;
	uint64_t now = 1000 * MS, fired[4] = {0};

	begin(4, texts);
	add_series(20, "gpu.memory.used", "bytes", "", SERIES_LEVEL, 1000);
	add_series(21, "gpu.throttled", "ns", "idle", SERIES_RATIO, 1);
	add_series(22, "gpu.throttled", "ns", "power cap", SERIES_RATIO, 1);
	add_series(23, "pcie", "bytes", "", SERIES_AMOUNT, 0);
	for (int i = 0; i < 20; i++, now += 100 * MS) {
		/* above 90 % twice, from readings 5 and 15 on */
		read_value(20, now, i % 10 >= 5 ? 940 : 900, 0);
		read_value(21, now, 100 * MS, 100 * MS);
		read_value(22, now, i == 12 ? 50 * MS : 0, 100 * MS);
		read_value(23, now, i == 3 ? 600000 : 500000, 0); /* 6 and 5 MB/s */
	}
	feed(now);
	while (next(&firing))
		fired[firing.expr]++;
	CHECK_EQUAL(fired[0], 2);
	CHECK_EQUAL(fired[1], 0);
	CHECK_EQUAL(fired[2], 1);
	CHECK_EQUAL(fired[3], 1);
	CHECK(!trigger_set_problem(set));
	end();
}

TEST(wrong_units)
{
	static const char *const texts[] = {"metric:gpu.power > 90 %", "metric:gpu.power > 5 MB"};
	const char *problem;
	struct trigger_firing firing;

	begin(2, texts);
	add_series(20, "gpu.power", "mW", "", SERIES_LEVEL, 0);
	read_value(20, 1000 * MS, 300000, 0);
	read_value(20, 1100 * MS, 300000, 0);
	feed(1200 * MS);
	problem = trigger_set_problem(set);
	REQUIRE(problem);
	CHECK(strstr(problem, "gpu.power is in W and has no maximum"));
	CHECK(!next(&firing));
	end();
}

TEST(names_that_are_missing)
{
	static const char *const texts[] = {"kernel:gemm* > 2ms", "kernel:kernel_a > 2ms",
					    "throttled", "idle > 5s"};
	const char *problem;

	begin(4, texts);
	execute(QUEUE, launch(THREAD, QUEUE, KERNEL, 1000 * MS), 1000 * MS, 1001 * MS);
	feed(1100 * MS);
	CHECK(!trigger_set_problem(set));
	feed(UINT64_MAX);
	problem = trigger_set_problem(set);
	REQUIRE(problem);
	CHECK(strstr(problem, "'kernel:gemm* > 2ms': no kernel of this name"));
	problem = trigger_set_problem(set);
	REQUIRE(problem);
	CHECK(strstr(problem, "'throttled': no readings"));
	CHECK(!trigger_set_problem(set));
	end();
}

/* ---- statistics ------------------------------------------------------------------------------ */

TEST(baselines)
{
	struct trigger_baseline baseline = {0};
	double ns;

	for (uint64_t i = 1; i < BASELINE_LEAST; i++)
		CHECK_EQUAL(baseline_add(&baseline, 1000), 0);
	CHECK(!baseline_mean(&baseline, &ns) && !baseline_quantile(&baseline, 0.5, true, &ns));
	for (uint64_t i = 0; i < 10000; i++)
		CHECK_EQUAL(baseline_add(&baseline, i), 0);
	REQUIRE(baseline_mean(&baseline, &ns)); /* of 9000 to 9999 */
	CHECK(ns > 9499.4 && ns < 9499.6);
	REQUIRE(baseline_quantile(&baseline, 0.99, true, &ns));
	CHECK_EQUAL(ns, 9990);
	REQUIRE(baseline_quantile(&baseline, 0.5, true, &ns));
	CHECK_EQUAL(ns, 9500);
	/* a copy that is at most 31 durations old */
	for (uint64_t i = 0; i < 100; i++) {
		baseline_add(&baseline, 20000);
		REQUIRE(baseline_quantile(&baseline, 1 - (double)(i + 1) / 1000 + 0.035, false,
					  &ns));
		CHECK(i < 40 || ns >= 9999);
	}
	baseline_clear(&baseline);
	CHECK(!baseline_mean(&baseline, &ns));
	baseline_fini(&baseline);
}

int main(void)
{
	int file = mkstemp(path);

	if (file < 0)
		return 1;
	close(file);
	RUN(baselines);
	RUN(slow_iteration);
	RUN(early_slow_iteration);
	RUN(no_slow_iteration);
	RUN(iterations_without_an_anchor);
	RUN(named_iterations);
	RUN(long_kernels);
	RUN(idle_gaps);
	RUN(readings);
	RUN(wrong_units);
	RUN(names_that_are_missing);
	unlink(path);
	return harness_end();
}

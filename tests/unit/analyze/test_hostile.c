/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_hostile.c - rows whose fields are anything at all
 *
 * A file is not trusted: whatever is in its rows, the ledger's sum holds, the accounts add up, and
 * nothing is read or written out of bounds (run it with ASan and UBSan).
 */
#include <stdlib.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "analyze/text/findings.h"
#include "analyze/text/layers.h"
#include "analyze/model.h"
#include "base/error.h"
#include "harness.h"
#include "trace/writer.h"

static uint64_t state;

static uint64_t anything(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Mostly small, now and then anything: rows that nothing joins test little. */
static uint64_t some(uint64_t small)
{
	return anything() % 16 ? anything() % small : anything();
}

static uint64_t time_of(uint64_t step)
{
	return anything() % 16 ? 1000000 + step * 100 + anything() % 5000 : anything();
}

static int write_entities(struct trace_writer *writer)
{
	int error = 0;

	trace_writer_string(writer, "cpu-clock", 9); /* string 1 */
	trace_writer_string(writer, "Python GIL", 10);
	for (uint32_t i = 1; i <= 4 && !error; i++) {
		struct event_process process = {.id = i, .pid = (uint32_t)some(10)};
		struct event_thread thread = {.id = i, .process = (uint32_t)some(6)};
		struct event_queue queue = {.id = i,
					    .device = (uint32_t)some(4),
					    .context = (uint32_t)some(4),
					    .clock = (uint32_t)some(8)};
		struct event_device device = {.id = i,
					      .type = (uint32_t)some(4),
					      .compute_units = (uint32_t)some(40),
					      .local_bytes = some(100000)};
		struct event_clock clock = {.id = i + 1,
					    .type = (uint32_t)some(8),
					    .frequency_hz = some(3) * 1000000000};
		struct event_code code = {.id = i,
					  .type = (uint32_t)some(7),
					  .device = (uint32_t)some(4),
					  .group_most = some(300),
					  .group_multiple = some(40),
					  .local_bytes = some(100000),
					  .private_bytes = anything()};

		error = trace_writer_entity(writer, EVENT_PROCESS, &process);
		error = error ? error : trace_writer_entity(writer, EVENT_THREAD, &thread);
		error = error ? error : trace_writer_entity(writer, EVENT_QUEUE, &queue);
		error = error ? error : trace_writer_entity(writer, EVENT_DEVICE, &device);
		error = error ? error : trace_writer_entity(writer, EVENT_CLOCK, &clock);
		error = error ? error : trace_writer_entity(writer, EVENT_CODE, &code);
	}
	return error;
}

static int write_row(struct trace_writer *writer, uint64_t step)
{
	struct trace_source source = {(uint32_t)some(3), (uint32_t)some(7), (uint32_t)some(7)};
	struct event_api api = {.begin = time_of(step),
				.end = time_of(step),
				.thread = (uint32_t)some(6),
				.function_string = (uint32_t)some(3),
				.result = (int32_t)some(2),
				.type = (uint32_t)some(3)};
	struct event_launch launch = {.enter = time_of(step),
				      .exit = time_of(step),
				      .thread = (uint32_t)some(6),
				      .queue = (uint32_t)some(6),
				      .result = anything() % 8 ? 0 : (int32_t)anything(),
				      .correlation = some(step + 2),
				      .command = (uint32_t)some(20),
				      .kernel = (uint32_t)some(6),
				      .handle = some(8),
				      .dimensions = (uint32_t)some(5),
				      .bytes = anything(),
				      .flags = (uint32_t)anything()};
	struct event_execution execution = {.queued = time_of(step),
					    .submitted = time_of(step),
					    .started = time_of(step),
					    .ended = time_of(step),
					    .seen = time_of(step),
					    .correlation = some(step + 2),
					    .process = (uint32_t)some(6),
					    .queue = (uint32_t)some(6),
					    .valid = (uint32_t)anything(),
					    .status = anything() % 8 ? 0 : (int32_t)anything()};
	struct event_dependency dependency = {time_of(step), (uint32_t)some(6), some(step + 2),
					      some(8)};
	struct event_loss loss = {.begin = time_of(step),
				  .end = time_of(step),
				  .kind = (uint32_t)some(28),
				  .reason = (uint32_t)some(8),
				  .count = some(5)};
	struct event_clock_pair pair = {time_of(step), time_of(step), time_of(step)};
	struct event_cpu_sample sample = {.time = time_of(step),
					  .weight = anything(),
					  .thread = (uint32_t)some(6),
					  .source_string = (uint32_t)some(4),
					  .mode = (uint32_t)some(5),
					  .stack = (uint32_t)some(3)};
	struct event_switch row = {.time = time_of(step),
				   .previous = (uint32_t)some(6),
				   .next = (uint32_t)some(6),
				   .reason = (uint32_t)some(5),
				   .stack = (uint32_t)some(3),
				   .wait_string = (uint32_t)some(4),
				   .holder = (uint32_t)some(7)};

	for (size_t i = 0; i < 3; i++) {
		launch.global_size[i] = anything() % 4 ? some(1000) : anything();
		launch.local_size[i] = anything() % 4 ? some(70) : anything();
	}
	switch (anything() % 18) {
	case 16:
		return trace_writer_row(writer, EVENT_CPU_SAMPLE, &source, &sample);
	case 17:
		return trace_writer_row(writer, EVENT_SWITCH, &source, &row);
	case 0:
		return trace_writer_row(writer, EVENT_LOSS, &source, &loss);
	case 1:
		return trace_writer_row(writer, EVENT_CLOCK_PAIR, &source, &pair);
	case 2:
	case 3:
		return trace_writer_row(writer, EVENT_DEPENDENCY, &source, &dependency);
	case 4:
	case 5:
	case 6:
		return trace_writer_row(writer, EVENT_API, &source, &api);
	default:
		if (anything() % 2)
			return trace_writer_row(writer, EVENT_LAUNCH, &source, &launch);
		return trace_writer_row(writer, EVENT_EXECUTION, &source, &execution);
	}
}

static int write_hostile(const char *path)
{
	struct trace_writer_options options = {.segment_bytes = 1 << 16};
	struct trace_writer *writer;
	int error = trace_writer_open(path, &options, &writer);

	if (!error)
		error = write_entities(writer);
	for (uint64_t step = 0; step < 3000 && !error; step++)
		error = write_row(writer, step);
	return error ? error : trace_writer_close(writer, 1);
}

static void check_findings(const struct model *model, const struct analysis *analysis)
{
	struct layers *layers = NULL;
	struct layers_row *rows = NULL;
	struct findings findings;
	uint64_t samples = 0, wanted = 0;
	size_t count = 0;

	CHECK_EQUAL(findings_find(analysis, &findings), 0);
	findings_fini(&findings);
	CHECK_EQUAL(layers_new(model, &layers), 0);
	REQUIRE(layers);
	CHECK_EQUAL(layers_divide(layers, analysis, &rows, &count), 0);
	for (size_t i = 0; i < count; i++)
		samples += rows[i].samples;
	for (size_t i = 0; i < analysis->samples_count; i++)
		wanted += analysis->samples[i].is_time ? analysis->samples[i].count : 0;
	CHECK_EQUAL(samples, wanted);
	free(rows);
	layers_free(layers);
}

static void check_analysis(const struct model *model, const struct analysis_options *options)
{
	struct analysis *analysis = NULL;
	const struct analysis_ledger *ledger;

	CHECK_EQUAL(analysis_new(model, options, &analysis), 0);
	REQUIRE(analysis);
	ledger = &analysis->ledger;
	CHECK(analysis->checks.is_exact);
	check_findings(model, analysis);
	CHECK_EQUAL(ledger->launched, ledger->matched + ledger->not_executed +
					      ledger->in_flight_at_exit + ledger->dropped +
					      ledger->rejected);
	CHECK_EQUAL(ledger->executed, ledger->matched + ledger->rejected + ledger->orphaned);
	analysis_free(analysis);
}

static void check_points(const struct model *model)
{
	struct order_options options = {.points = true, .kinds = UINT32_MAX};
	struct order *order = NULL;
	struct order_item item;
	int status;

	CHECK_EQUAL(model_order(model, &options, &order), 0);
	REQUIRE(order);
	while ((status = order_next(order, &item)) > 0)
		;
	CHECK_EQUAL(status, 0);
	order_free(order);
}

TEST(anything_in_rows)
{
	const struct analysis_options window = {
		.has_from = true, .from_ns = 100000, .has_to = true, .to_ns = 200000};
	const struct analysis_options all = {0};

	for (uint64_t seed = 1; seed <= 60; seed++) {
		char path[] = "/tmp/duet-hostile-XXXXXX";
		struct model *model = NULL;

		state = seed * 0x9e3779b97f4a7c15u;
		close(mkstemp(path));
		if (write_hostile(path) || model_open(path, &model)) {
			CHECK(!"a trace");
		} else {
			check_analysis(model, &all);
			check_analysis(model, &window);
			check_points(model);
		}
		model_close(model);
		unlink(path);
	}
}

int main(void)
{
	RUN(anything_in_rows);
	return harness_end();
}

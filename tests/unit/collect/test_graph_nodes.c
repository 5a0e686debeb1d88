/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_graph_nodes.c - commands that the device alone tells of, names of
 * functions, refusals
 */
#include "harness.h"

#include "bench.h"

enum { LAUNCHER = RECORD_FUNCTION_FIRST + 514, MAKER = RECORD_FUNCTION_FIRST + 307 };

static void put_function(struct bench *bench, uint32_t number, const char *name)
{
	struct draft draft;

	draft_begin(&draft, RECORD_FUNCTION, number, offsetof(struct record_function, texts));
	draft_text(&draft, name);
	draft_decode(bench, &draft);
}

/* A call that launched a graph, from a stack (0: none). */
static void put_call(struct bench *bench, uint64_t correlation, uint64_t stack)
{
	const uint32_t flags = RECORD_LAUNCH_PARENT | (stack ? RECORD_LAUNCH_STACK : 0);
	struct draft draft;

	draft_begin(&draft, EVENT_LAUNCH, LAUNCHER | COMMAND_GRAPH << 16 | flags << 24,
		    sizeof(draft.launch));
	draft.launch.enter = 100 * correlation;
	draft.launch.exit = 100 * correlation + 50;
	draft.launch.correlation = correlation;
	if (stack)
		draft_add(&draft, &stack, sizeof(stack));
	draft_decode(bench, &draft);
}

static void put_node(struct bench *bench, uint64_t parent, uint64_t correlation,
		     uint64_t graph_node)
{
	const uint64_t sizes[] = {64, 32};
	struct record_node node = {
		.parent = parent,
		.correlation = correlation,
		.started = 1000 + correlation,
		.ended = 1010 + correlation,
		.seen = 2000,
		.bytes = 5,
		.graph_node = graph_node,
		.queue = 2,
		.kernel = 3,
		.dimensions = 1,
	};
	struct draft draft;

	draft_begin(&draft, RECORD_NODE, EXECUTION_STARTED | EXECUTION_ENDED | COMMAND_KERNEL << 16,
		    sizeof(struct record));
	draft_add(&draft, (const char *)&node + sizeof(struct record),
		  sizeof(node) - sizeof(struct record));
	draft_add(&draft, sizes, sizeof(sizes));
	draft_decode(bench, &draft);
}

static void put_captured(struct bench *bench, uint64_t node, uint64_t original, uint32_t stack)
{
	struct record_captured captured = {.node = node, .original = original, .stack = stack};
	struct draft draft;

	draft_begin(&draft, RECORD_CAPTURED, original ? 0 : MAKER, sizeof(struct record));
	draft_add(&draft, (const char *)&captured + sizeof(struct record),
		  sizeof(captured) - sizeof(struct record));
	draft_decode(bench, &draft);
}

/* Of Python functions, innermost first: each a frame of its own. */
static void put_stack(struct bench *bench, uint32_t id, const uint64_t *functions, uint32_t count)
{
	struct record_stack stack = {.stack = id, .kept = count};
	struct draft draft;

	draft_begin(&draft, RECORD_STACK, count, sizeof(struct record));
	draft_add(&draft, (const char *)&stack + sizeof(struct record),
		  sizeof(stack) - sizeof(struct record));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t frame = RECORD_FRAME_PYTHON | functions[i] << 32;

		draft_add(&draft, &frame, sizeof(frame));
	}
	draft_decode(bench, &draft);
}

static void put_python(struct bench *bench, uint32_t id, const char *name)
{
	struct record_python_code code = {.code = id, .first_line = 10 * id};
	struct draft draft;

	draft_begin(&draft, RECORD_PYTHON_CODE, 0x030b, sizeof(struct record));
	draft_add(&draft, (const char *)&code + sizeof(struct record),
		  offsetof(struct record_python_code, texts) - sizeof(struct record));
	draft_text(&draft, name);
	draft_text(&draft, "program.py");
	draft_decode(bench, &draft);
}

static void describe(struct bench *bench)
{
	put_device(bench, 1, "key");
	put_queue(bench, 2, 0, 1);
	put_code(bench, 3, 0, CODE_KERNEL, "saxpy", 0);
	put_function(bench, LAUNCHER, "cuGraphLaunch");
	put_function(bench, MAKER, "cuLaunchKernel");
}

/* ---- calls and their nodes ------------------------------------------------------------------- */

TEST(graph_nodes_have_what_their_call_has)
{
	struct bench bench;
	struct event_launch *launches;
	struct event_execution *executions;
	struct event_api *calls;
	size_t launch_count, execution_count, call_count;

	bench_open(&bench);
	describe(&bench);
	put_call(&bench, 7, 0);
	put_node(&bench, 7, 1 << 20, 0);
	put_node(&bench, 7, (1 << 20) + 1, 0);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	calls = ROWS(&bench, EVENT_API, struct event_api, &call_count, NULL);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &launch_count, NULL);
	executions = ROWS(&bench, EVENT_EXECUTION, struct event_execution, &execution_count, NULL);
	REQUIRE(call_count == 1 && launch_count == 2 && execution_count == 2);
	CHECK_TEXT(text_of(&bench, calls[0].function_string), "cuGraphLaunch");
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQUAL(launches[i].enter, 700);
		CHECK_EQUAL(launches[i].exit, 750);
		CHECK_EQUAL(launches[i].thread, calls[0].thread);
		CHECK_EQUAL(launches[i].function_string, calls[0].function_string);
		CHECK_EQUAL(launches[i].flags, LAUNCH_FURTHER);
		CHECK_EQUAL(launches[i].command, COMMAND_KERNEL);
		CHECK_EQUAL(launches[i].bytes, 5);
		CHECK_EQUAL(launches[i].dimensions, 1);
		CHECK_EQUAL(launches[i].global_size[0], 64);
		CHECK_EQUAL(launches[i].local_size[0], 32);
		CHECK(launches[i].kernel && launches[i].queue);
		CHECK_EQUAL(executions[i].queue, launches[i].queue);
		CHECK_EQUAL(executions[i].started, 1000 + (1 << 20) + i);
		CHECK_EQUAL(executions[i].valid, EXECUTION_STARTED | EXECUTION_ENDED);
	}
	CHECK_EQUAL(launches[0].correlation, executions[0].correlation);
	CHECK(launches[0].correlation != launches[1].correlation);
	free(calls);
	free(launches);
	free(executions);
	bench_close(&bench);
}

TEST(a_node_before_its_call_waits)
{
	struct bench bench;
	struct event_launch *launches;
	size_t count;

	bench_open(&bench);
	describe(&bench);
	put_node(&bench, 7, 1 << 20, 0);
	put_node(&bench, 8, (1 << 20) + 1, 0);
	CHECK_EQUAL(bench.injected->nodes.waiting_count, 2);
	put_call(&bench, 7, 0);
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->nodes.waiting_count, 1);
	bench_read(&bench);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 2);
	CHECK_EQUAL(launches[0].enter, 700);
	/* whose call never came: it stands alone, when it was seen */
	CHECK_EQUAL(launches[1].enter, 2000);
	CHECK_EQUAL(launches[1].thread, 0);
	free(launches);
	bench_close(&bench);
}

TEST(a_failed_call_and_an_old_one_have_no_nodes)
{
	struct bench bench;

	bench_open(&bench);
	describe(&bench);
	put_call(&bench, 0, 0);
	put_call(&bench, 5, 0);
	put_call(&bench, 5 + NODE_CALLS, 0);
	CHECK(!graph_nodes_find(&bench.injected->nodes, 0));
	CHECK(!graph_nodes_find(&bench.injected->nodes, 5));
	CHECK(graph_nodes_find(&bench.injected->nodes, 5 + NODE_CALLS));
	bench_read(&bench);
	bench_close(&bench);
}

/* ---- where nodes come from ------------------------------------------------------------------- */

static void format_stack(struct bench *bench, uint32_t stack, char text[256])
{
	text[0] = '\0';
	for (const struct event_stack *row; (row = trace_reader_stack(bench->reader, stack));
	     stack = row->caller) {
		const struct event_frame *frame = trace_reader_frame(bench->reader, row->frame);
		const char *name = frame ? text_of(bench, frame->name_string) : "?";

		snprintf(text + strlen(text), 256 - strlen(text), "%s;", name);
	}
}

TEST(a_node_has_the_stack_that_made_it)
{
	const uint64_t replay[] = {2, 1}, forward[] = {4, 3, 1};
	struct bench bench;
	struct event_launch *launches;
	size_t count;
	char text[256];

	bench_open(&bench);
	describe(&bench);
	put_python(&bench, 1, "main");
	put_python(&bench, 2, "replay");
	put_python(&bench, 3, "forward");
	put_python(&bench, 4, "layer");
	put_stack(&bench, 1, replay, 2);
	put_stack(&bench, 2, forward, 3);
	put_captured(&bench, 40, 0, 2);
	put_captured(&bench, 41, 40, 0);
	put_captured(&bench, 42, 39, 0); /* of one that nobody told of */
	put_call(&bench, 7, 1);
	put_node(&bench, 7, 1 << 20, 41);
	put_node(&bench, 7, (1 << 20) + 1, 42);
	put_node(&bench, 7, (1 << 20) + 2, 41);
	CHECK_EQUAL(bench.injected->nodes.waiting_count, 1);
	decode_waiting(bench.injected, false);
	CHECK_EQUAL(bench.injected->nodes.waiting_count, 0);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 3);
	CHECK_TEXT(text_of(&bench, launches[0].function_string), "cuLaunchKernel");
	format_stack(&bench, launches[0].stack, text);
	CHECK_TEXT(text, "layer;forward;[graph launch];replay;main;");
	CHECK_EQUAL(launches[1].stack, launches[0].stack);
	/* at the end of the round, when what made it may still have been told of */
	CHECK_TEXT(text_of(&bench, launches[2].function_string), "cuGraphLaunch");
	format_stack(&bench, launches[2].stack, text);
	CHECK_TEXT(text, "replay;main;");
	free(launches);
	bench_close(&bench);
}

/* Rings are read one after the other: captured in one thread, cloned, instantiated and launched in
 * another. */
TEST(a_copy_is_told_of_before_its_original)
{
	const uint64_t replay[] = {2, 1}, forward[] = {3, 1};
	struct bench bench;
	struct event_launch *launches;
	size_t count;
	char text[256];

	bench_open(&bench);
	describe(&bench);
	put_python(&bench, 1, "main");
	put_python(&bench, 2, "replay");
	put_python(&bench, 3, "forward");
	put_stack(&bench, 1, replay, 2);
	put_stack(&bench, 2, forward, 2);
	put_captured(&bench, 42, 41, 0);
	put_captured(&bench, 41, 40, 0);
	put_call(&bench, 7, 1);
	put_node(&bench, 7, 1 << 20, 42);
	put_captured(&bench, 50, 51, 0); /* no end: a copy of itself */
	put_captured(&bench, 51, 50, 0);
	put_node(&bench, 7, (1 << 20) + 1, 50);
	put_captured(&bench, 40, 0, 2);
	decode_waiting(bench.injected, false);
	bench_read(&bench);
	launches = ROWS(&bench, EVENT_LAUNCH, struct event_launch, &count, NULL);
	REQUIRE(count == 2);
	CHECK_TEXT(text_of(&bench, launches[0].function_string), "cuLaunchKernel");
	format_stack(&bench, launches[0].stack, text);
	CHECK_TEXT(text, "forward;[graph launch];replay;main;");
	CHECK_TEXT(text_of(&bench, launches[1].function_string), "cuGraphLaunch");
	free(launches);
	bench_close(&bench);
}

/* ---- functions and refusals ------------------------------------------------------------------ */

TEST(functions_without_a_name_are_broken)
{
	struct bench bench;

	bench_open(&bench);
	put_call(&bench, 7, 0);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	put_function(&bench, RECORD_FUNCTION_FIRST + MAX_RECORD_FUNCTION, "beyond");
	put_function(&bench, 5, "below");
	CHECK_EQUAL(bench.injected->losses.broken_times, 3);
	bench_read(&bench);
	bench_close(&bench);
}

static void explain(const char *function, int32_t result, const char *holder, char *ret_text,
		    size_t size)
{
	snprintf(ret_text, size, "%s said %d, %s has it", function, (int)result, holder);
}

static void put_refused(struct bench *bench)
{
	struct record_refused refused = {.result = 39};
	struct draft draft;

	draft_begin(&draft, RECORD_REFUSED, REFUSED_ALL, sizeof(struct record));
	draft_add(&draft, (const char *)&refused + sizeof(struct record),
		  offsetof(struct record_refused, texts) - sizeof(struct record));
	draft_text(&draft, "cuptiSubscribe");
	draft_text(&draft, "another");
	draft_decode(bench, &draft);
}

static uint32_t warnings;
static void on_warning(void *context, const char *text)
{
	(void)context;
	warnings += strstr(text, ": cuptiSubscribe said 39, another has it") != NULL;
}

TEST(refusals_are_told_but_not_for_ever)
{
	struct bench bench;

	bench_open(&bench);
	put_refused(&bench);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	bench.injected->kind.explain = explain;
	bench.recording->on_warning = on_warning;
	for (int i = 0; i < 1000; i++)
		put_refused(&bench);
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	CHECK_EQUAL(warnings, 16);
	bench_read(&bench);
	bench_close(&bench);
}

int main(void)
{
	RUN(graph_nodes_have_what_their_call_has);
	RUN(a_node_before_its_call_waits);
	RUN(a_failed_call_and_an_old_one_have_no_nodes);
	RUN(a_node_has_the_stack_that_made_it);
	RUN(a_copy_is_told_of_before_its_original);
	RUN(functions_without_a_name_are_broken);
	RUN(refusals_are_told_but_not_for_ever);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_order.c - rows and moments come in the order of host time
 */
#include <stdlib.h>
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/model.h"
#include "base/error.h"
#include "harness.h"

static struct model *open_text(const char *text)
{
	char path[] = "/tmp/duet-order-XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct model *model = NULL;
	int error;

	close(fd);
	error = description_write(file, path);
	fclose(file);
	if (!error)
		error = model_open(path, &model);
	if (error)
		printf("# %d: %s\n", error, error_text());
	unlink(path);
	return model;
}

#define ALL_KINDS                                                                                \
	(1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_DEPENDENCY | 1u << EVENT_EXECUTION | \
	 1u << EVENT_LOSS)

static void describe(const struct order_item *item, char *ret_word, size_t size)
{
	static const char *const points[] = {"row",       "begin",   "end",   "queued",
					     "submitted", "started", "ended", "seen"};
	uint64_t id = 0;

	if (item->kind == EVENT_LAUNCH)
		id = ((const struct event_launch *)item->row)->correlation;
	if (item->kind == EVENT_EXECUTION)
		id = ((const struct event_execution *)item->row)->correlation;
	snprintf(ret_word, size, "%s-%s%" PRIu64 "@%" PRIu64 " ", analysis_kind_name(item->kind),
		 points[item->point], id, item->time_ns);
}

static void list(const char *description, bool points, char *ret_text, size_t size)
{
	struct order_options options = {.kinds = ALL_KINDS, .points = points};
	struct model *model = open_text(description);
	struct order *order = NULL;
	struct order_item item;
	int status;

	*ret_text = 0;
	REQUIRE(model);
	CHECK_EQUAL(model_order(model, &options, &order), 0);
	while ((status = order_next(order, &item)) > 0) {
		size_t used = strlen(ret_text);

		describe(&item, ret_text + used, size - used);
	}
	CHECK_EQUAL(status, 0);
	order_free(order);
	model_close(model);
}

/* Section 3.3.2 of the paper: a kernel and the clFinish that waits for it. */
TEST(eight_lines)
{
	char text[1024];

	list("device 1 d\nthread 1 1\nqueue 1 1\n"
	     "call 1 150 400 wait clFinish\n"
	     "launch 1 1 1 100 140 kernel\n"
	     "execution 1 1 1 110 120 200 300 seen=410\n",
	     true, text, sizeof(text));
	CHECK_TEXT(text, "launch-begin1@100 execution-queued1@110 execution-submitted1@120 "
			 "launch-end1@140 api-begin0@150 execution-started1@200 "
			 "execution-ended1@300 api-end0@400 ");
}

TEST(out_of_order_queue)
{
	char text[1024];

	list("device 1 d\nthread 1 1\nqueue 1 1\n"
	     "launch 1 1 1 10 11 kernel\nlaunch 2 1 1 20 21 kernel\nlaunch 3 1 1 30 31 kernel\n"
	     "execution 1 1 1 10 50 60 70\nexecution 1 2 1 20 22 25 90\n", /* 3 never ends */
	     true, text, sizeof(text));
	CHECK_TEXT(text, "launch-begin1@10 execution-queued1@10 launch-end1@11 launch-begin2@20 "
			 "execution-queued2@20 launch-end2@21 execution-submitted2@22 "
			 "execution-started2@25 launch-begin3@30 launch-end3@31 "
			 "execution-submitted1@50 execution-started1@60 execution-ended1@70 "
			 "execution-ended2@90 ");
}

TEST(ties_keep_cause_before_effect)
{
	char text[1024];

	list("device 1 d\nthread 1 1\nqueue 1 1\n"
	     "call 1 5 10 call a\ncall 1 10 10 call b\n"
	     "launch 1 1 1 10 10 kernel\nexecution 1 1 1 10 10 10 10\n",
	     true, text, sizeof(text));
	CHECK_TEXT(text, "api-begin0@5 api-end0@10 api-begin0@10 launch-begin1@10 "
			 "execution-queued1@10 execution-submitted1@10 execution-started1@10 "
			 "execution-ended1@10 api-end0@10 launch-end1@10 ");
}

TEST(rows_by_key)
{
	char text[1024];

	list("device 1 d\nthread 1 1\nthread 2 2\nqueue 1 1\n"
	     "launch 1 1 1 10 11 kernel\nwait 1 1 10 5\ncall 2 10 500 call a\n"
	     "execution 2 1 1 10 50 60 70\nexecution 1 1 1 20 22 60 90\n",
	     false, text, sizeof(text));
	CHECK_TEXT(text, "dependency-row0@10 api-row0@10 launch-row1@10 execution-row1@60 "
			 "execution-row1@60 ");
}

TEST(untimed_at_seen)
{
	char text[1024];

	list("device 1 d\nthread 1 1\nqueue 1 1\nlaunch 1 1 1 10 11 read\n"
	     "call 1 60 70 call a\nexecution 1 1 1 - - - - seen=50\n",
	     true, text, sizeof(text));
	CHECK_TEXT(text, "launch-begin1@10 launch-end1@11 execution-seen1@50 api-begin0@60 "
			 "api-end0@70 ");
}

TEST(device_clock)
{
	char text[1024];

	list("clock 2 1000\ndevice 1 d\nthread 1 1\nqueue 1 1 clock=2\n"
	     "launch 1 1 1 1100 1140 kernel\nexecution 1 1 1 110 120 200 300 seen=1400\n",
	     true, text, sizeof(text));
	CHECK_TEXT(text, "launch-begin1@1100 execution-queued1@1110 execution-submitted1@1120 "
			 "launch-end1@1140 execution-started1@1200 execution-ended1@1300 ");
}

/* Many rows in many chunks of several sources, written in a wild order. */
static int write_many(const char *path, uint64_t count)
{
	struct trace_writer_options options = {.segment_bytes = 1 << 16};
	struct trace_writer *writer;
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC,
				      .seen_clock = CLOCK_ID_MONOTONIC};
	int error = trace_writer_open(path, &options, &writer);

	for (uint64_t i = 0; i < count && !error; i++) {
		uint64_t time = 1000 + i * 10 + (uint64_t)rand() % 7;
		struct event_api api = {.begin = time, .end = time + (uint64_t)rand() % 100000};
		struct event_execution execution = {.queued = time,
						    .submitted = time + 1,
						    .started = time + 500,
						    .ended = time + 600,
						    .seen = time + 700,
						    .valid = EXECUTION_TIMED,
						    .correlation = i + 1,
						    .process = 1};

		source.source = (uint32_t)rand() % 5 + 1;
		error = i % 2 ? trace_writer_row(writer, EVENT_API, &source, &api)
			      : trace_writer_row(writer, EVENT_EXECUTION, &source, &execution);
	}
	return error ? error : trace_writer_close(writer, 1000 + count * 10);
}

static void sweep(const struct model *model, bool points, uint64_t want)
{
	struct order_options options = {.kinds = ALL_KINDS, .points = points};
	uint64_t last = 0, items = 0, wrong = 0;
	struct order *order = NULL;
	struct order_item item;
	int status;

	CHECK_EQUAL(model_order(model, &options, &order), 0);
	while ((status = order_next(order, &item)) > 0) {
		wrong += item.time_ns < last;
		last = item.time_ns;
		items++;
	}
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(items, want);
	printf("# %zu rows in memory at most\n", order_peak_rows(order));
	CHECK(order_peak_rows(order) < 20 * TRACE_CHUNK_ROWS * 2);
	order_free(order);
}

TEST(many_chunks_little_memory)
{
	char path[] = "/tmp/duet-order-XXXXXX";
	struct model *model = NULL;

	srand(3);
	close(mkstemp(path));
	CHECK_EQUAL(write_many(path, 1000000), 0);
	CHECK_EQUAL(model_open(path, &model), 0);
	REQUIRE(model);
	sweep(model, false, 1000000);
	sweep(model, true, 3000000);
	model_close(model);
	unlink(path);
}

int main(void)
{
	RUN(eight_lines);
	RUN(out_of_order_queue);
	RUN(ties_keep_cause_before_effect);
	RUN(rows_by_key);
	RUN(untimed_at_seen);
	RUN(device_clock);
	RUN(many_chunks_little_memory);
	return harness_end();
}

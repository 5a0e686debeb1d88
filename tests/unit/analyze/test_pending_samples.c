/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_pending_samples.c - rows come back as they were put, window by window
 */
#include "analyze/sample/pending_samples.h"

#include "harness.h"

static struct event_instruction_sample row_of(uint64_t window, uint32_t number)
{
	return (struct event_instruction_sample){.begin = window * 100,
						 .end = window * 100 + 100,
						 .offset = number * 16,
						 .count = number + 1,
						 .device = 1,
						 .stall_string = number % 7};
}

static void check_window(struct pending_samples *waiting, uint64_t window, uint32_t rows)
{
	const struct pending_window *first = pending_samples_first(waiting);

	REQUIRE(first);
	CHECK_EQUAL(first->head.begin, window * 100);
	CHECK_EQUAL(first->count, rows);
	for (uint32_t i = 0; i < rows; i++) {
		const struct event_instruction_sample wanted = row_of(window, i);
		const struct pending_row *row = pending_samples_row_at(waiting, i);

		CHECK_EQUAL(row->offset, wanted.offset);
		CHECK_EQUAL(row->count, wanted.count);
		CHECK_EQUAL(row->stall_string, wanted.stall_string);
	}
	pending_samples_drop(waiting);
}

/* Rings that are full where they have wrapped around. */
TEST(windows_of_all_sizes)
{
	struct pending_samples waiting = {0};
	uint64_t put = 0, taken = 0;

	while (taken < 400) {
		for (int i = 0; i < 3 && put < 400; i++, put++)
			for (uint32_t row = 0; row <= put % 50; row++) {
				const struct event_instruction_sample sample = row_of(put, row);

				CHECK_EQUAL(pending_samples_put(&waiting, &sample, put * 100), 0);
			}
		for (int i = 0; i < (put < 300 ? 2 : 5) && taken < put; i++, taken++)
			check_window(&waiting, taken, taken % 50 + 1);
	}
	CHECK(!pending_samples_first(&waiting));
	CHECK_EQUAL(pending_samples_size(&waiting), 0);
	pending_samples_fini(&waiting);
}

TEST(none_is_due_before_the_one_before_it)
{
	struct event_instruction_sample row = row_of(1, 1);
	struct pending_samples waiting = {0};

	CHECK_EQUAL(pending_samples_put(&waiting, &row, 500), 0);
	row.begin = 200;
	CHECK_EQUAL(pending_samples_put(&waiting, &row, 300), 0);
	pending_samples_drop(&waiting);
	CHECK_EQUAL(pending_samples_first(&waiting)->due_ns, 500);
	pending_samples_fini(&waiting);
}

/* What differs in more than a row has is another window. */
TEST(what_is_common_is_common)
{
	struct event_instruction_sample row = row_of(1, 1);
	struct pending_samples waiting = {0};

	CHECK_EQUAL(pending_samples_put(&waiting, &row, 1), 0);
	row.device = 2;
	CHECK_EQUAL(pending_samples_put(&waiting, &row, 1), 0);
	row.correlation = 5;
	CHECK_EQUAL(pending_samples_put(&waiting, &row, 1), 0);
	row.offset = 99;
	CHECK_EQUAL(pending_samples_put(&waiting, &row, 1), 0);
	CHECK_EQUAL(waiting.windows_count, 3);
	CHECK_EQUAL(waiting.rows_count, 4);
	pending_samples_fini(&waiting);
}

int main(void)
{
	RUN(windows_of_all_sizes);
	RUN(none_is_due_before_the_one_before_it);
	RUN(what_is_common_is_common);
	return harness_end();
}

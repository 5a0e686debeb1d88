/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_program_counters.c - values that a program names, as libduet sends them
 * and as it does not
 */
#include <stdlib.h>

#include "bench.h"
#include "harness.h"

enum { MAX_SERIES = 1024 };

static void count(struct bench *bench, uint64_t time, int64_t value, const char *metric,
		  const char *unit)
{
	struct draft draft;

	draft_begin(&draft, EVENT_COUNTER, 0, offsetof(struct record_counter, texts));
	((struct record_counter *)draft.words)->time = time;
	((struct record_counter *)draft.words)->value = value;
	draft_text(&draft, metric);
	draft_text(&draft, unit);
	draft_decode(bench, &draft);
}

/* "BEGIN END VALUE SERIES, …"; END 0: the recording's */
static char *list(struct bench *bench)
{
	static char text[512];
	size_t count;
	struct event_counter *rows;

	bench_read(bench);
	rows = ROWS(bench, EVENT_COUNTER, struct event_counter, &count, NULL);
	text[0] = '\0';
	for (size_t i = 0; i < count && i < 10; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%llu %llu %lld %u",
			 i ? ", " : "", (unsigned long long)rows[i].begin,
			 (unsigned long long)(rows[i].end < 1000 ? rows[i].end : 0),
			 (long long)rows[i].value, rows[i].series);
	free(rows);
	return text;
}

TEST(a_value_stands_until_the_next)
{
	struct bench bench;

	bench_open(&bench);
	count(&bench, 10, 5, "queue.length", "events");
	count(&bench, 20, -1, "queue.length", "events");
	count(&bench, 30, INT64_MIN, "queue.length", "events");
	CHECK_TEXT(list(&bench), "10 20 5 1, 20 30 -1 1, 30 0 -9223372036854775808 1");
	bench_close(&bench);
}

/* The same name with another unit, with none, and with a unit that was never seen when it came. */
TEST(a_series_is_a_name_and_a_unit)
{
	struct bench bench;

	bench_open(&bench);
	count(&bench, 10, 1, "a", "");
	count(&bench, 11, 2, "a", "bytes");
	count(&bench, 12, 3, "b", "bytes");
	count(&bench, 13, 4, "a", "ns");
	count(&bench, 14, 5, "a", "");
	CHECK_TEXT(list(&bench), "10 14 1 1, 11 0 2 2, 12 0 3 3, 13 0 4 4, 14 0 5 1");
	bench_close(&bench);
}

/* Of two threads the later one's ring was read first. */
TEST(one_that_comes_late_is_a_moment)
{
	struct bench bench;

	bench_open(&bench);
	count(&bench, 50, 1, "a", "");
	count(&bench, 40, 2, "a", "");
	count(&bench, 60, 3, "a", "");
	CHECK_TEXT(list(&bench), "40 40 2 1, 50 60 1 1, 60 0 3 1");
	bench_close(&bench);
}

TEST(more_names_than_are_kept)
{
	struct bench bench;
	const struct event_loss *losses;
	uint64_t lost = 0;
	size_t losses_count;

	bench_open(&bench);
	for (int i = 0; i < MAX_SERIES + 3; i++) {
		char name[32];

		snprintf(name, sizeof(name), "made.up.%d", i);
		count(&bench, 10, 1, name, "");
	}
	count(&bench, 20, 2, "made.up.0", "");
	count(&bench, 20, 2, "", ""); /* makes no sense */
	bench_read(&bench);
	losses_count = trace_reader_losses(bench.reader, &losses);
	for (size_t i = 0; i < losses_count; i++)
		lost += losses[i].kind == EVENT_COUNTER ? losses[i].count : 0;
	CHECK_EQUAL(lost, 3);
	CHECK_EQUAL(losses_count, 2); /* and a record that makes no sense */
	free(ROWS(&bench, EVENT_COUNTER, struct event_counter, &losses_count, NULL));
	CHECK_EQUAL(losses_count, MAX_SERIES + 1);
	bench_close(&bench);
}

int main(void)
{
	RUN(a_value_stands_until_the_next);
	RUN(a_series_is_a_name_and_a_unit);
	RUN(one_that_comes_late_is_a_moment);
	RUN(more_names_than_are_kept);
	return harness_end();
}

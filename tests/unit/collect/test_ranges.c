/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_ranges.c - begins and ends of ranges, as a guest sends them and as it
 * does not
 */
#include <stdlib.h>

#include "bench.h"
#include "harness.h"

enum { END = RECORD_RANGE_END, ROCTX = RANGE_OF_ROCTX << 8, ITT = RANGE_OF_ITT << 8 };

static void put_range(struct bench *bench, uint32_t detail, uint64_t time, uint64_t id,
		      const char *domain, const char *name)
{
	struct draft draft;

	draft_begin(&draft, EVENT_RANGE, detail, offsetof(struct record_range, texts));
	((struct record_range *)draft.words)->time = time;
	((struct record_range *)draft.words)->id = id;
	draft_text(&draft, domain);
	draft_text(&draft, name);
	draft_decode(bench, &draft);
}

static void push(struct bench *bench, uint64_t time, uint64_t depth, const char *domain,
		 const char *name)
{
	put_range(bench, ROCTX | RANGE_PUSH, time, depth, domain, name);
}

static void pop(struct bench *bench, uint64_t time, uint64_t depth, const char *domain)
{
	put_range(bench, ROCTX | RANGE_PUSH | END, time, depth, domain, "");
}

static void start(struct bench *bench, uint32_t of, uint64_t time, uint64_t id, const char *name)
{
	put_range(bench, of | RANGE_START, time, id, "d", name);
}

static void stop(struct bench *bench, uint32_t of, uint64_t time, uint64_t id)
{
	put_range(bench, of | RANGE_START | END, time, id, "d", "");
}

static int compare(const void *left, const void *right)
{
	const struct event_range *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->end < b->end) - (a->end > b->end);
}

/* "NAME BEGIN END FLAGS, …" in the order of begin. Of a range that is open the end is now: "-". */
static char *list(struct bench *bench)
{
	static char text[1024];
	size_t count;
	struct event_range *rows;

	bench_read(bench);
	rows = ROWS(bench, EVENT_RANGE, struct event_range, &count, NULL);
	qsort(rows, count, sizeof(*rows), compare);
	text[0] = '\0';
	for (size_t i = 0; i < count && i < 20; i++) {
		bool is_open = rows[i].flags & RANGE_OPEN;
		char end[24] = "-";

		if (!is_open || rows[i].end < 1000)
			snprintf(end, sizeof(end), "%llu", (unsigned long long)rows[i].end);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %llu %s %u",
			 i ? ", " : "", text_of(bench, rows[i].name_string),
			 (unsigned long long)rows[i].begin, end, rows[i].flags);
	}
	free(rows);
	return text;
}

static uint64_t lost(struct bench *bench, uint32_t reason)
{
	const struct event_loss *losses;
	size_t count = trace_reader_losses(bench->reader, &losses);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (losses[i].kind == EVENT_RANGE && losses[i].reason == reason)
			sum += losses[i].count;
	return sum;
}

TEST(nested_and_interleaved)
{
	struct bench bench;

	bench_open(&bench);
	push(&bench, 10, 1, "a", "outer");
	push(&bench, 20, 2, "a", "inner");
	pop(&bench, 30, 2, "a");
	push(&bench, 40, 2, "b", "other");
	pop(&bench, 50, 2, "a"); /* not the innermost */
	pop(&bench, 60, 1, "b");
	put_range(&bench, ROCTX | RANGE_MARK, 70, 0, "a", "mark");
	CHECK_TEXT(list(&bench), "outer 10 50 0, inner 20 30 0, other 40 60 0, mark 70 70 0");
	bench_close(&bench);
}

TEST(records_that_were_lost)
{
	struct bench bench;

	bench_open(&bench);
	push(&bench, 10, 1, "a", "outer");
	push(&bench, 20, 2, "a", "popped unseen");
	push(&bench, 30, 2, "a", "next");
	pop(&bench, 40, 2, "a");
	pop(&bench, 50, 2, "a"); /* of a push that was lost */
	pop(&bench, 60, 1, "a");
	pop(&bench, 70, 0, "a"); /* pushed before anybody recorded */
	CHECK_TEXT(list(&bench),
		   "outer 10 60 0, popped unseen 20 30 1, next 30 40 0,  50 50 2,  70 70 2");
	bench_close(&bench);
}

TEST(stopped_by_whom_it_may_be)
{
	struct bench bench;

	bench_open(&bench);
	start(&bench, ROCTX, 10, 7, "one");
	start(&bench, ROCTX, 20, 8, "two");
	start(&bench, ITT, 30, 7, "of another interface");
	stop(&bench, ROCTX, 40, 7);
	stop(&bench, ITT, 50, 7);
	stop(&bench, ROCTX, 60, 8);
	stop(&bench, ROCTX, 100, 9); /* in a ring that is read before that of the begin */
	start(&bench, ROCTX, 90, 9, "late");
	start(&bench, ITT, 200, 1, "first");
	stop(&bench, ITT, 210, 1);
	stop(&bench, ITT, 220, 1); /* nobody's: a later range of that id is not ended by it */
	start(&bench, ITT, 230, 1, "again");
	stop(&bench, ITT, 240, 1);
	CHECK_TEXT(list(&bench),
		   "one 10 40 0, two 20 60 0, of another interface 30 50 0, late 90 100 0, "
		   "first 200 210 0,  220 220 2, again 230 240 0");
	bench_close(&bench);
}

TEST(open_at_the_end)
{
	struct bench bench;

	bench_open(&bench);
	bench.ring->used = true;
	bench.injected->round.rings_seen = 1;
	push(&bench, 10, 1, "a", "pushed");
	start(&bench, ROCTX, 20, 7, "started");
	CHECK_TEXT(list(&bench), "pushed 10 - 1, started 20 - 1");
	bench_close(&bench);
}

TEST(more_than_can_be_followed)
{
	enum { DEEP = 5000, MOST = 4096 };
	struct event_range *rows;
	struct bench bench;
	size_t count, whole = 0;

	bench_open(&bench);
	for (uint64_t i = 1; i <= DEEP; i++)
		push(&bench, i, i, "a", "deep");
	for (uint64_t i = DEEP; i > 0; i--)
		pop(&bench, 2 * DEEP - i, i, "a");
	for (uint64_t i = 1; i <= DEEP; i++)
		start(&bench, ROCTX, 20000 + i, i, "started");
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_RANGE, struct event_range, &count, NULL);
	for (size_t i = 0; i < count; i++)
		whole += rows[i].type == RANGE_PUSH && rows[i].flags == 0 &&
			 rows[i].begin + rows[i].end == 2 * DEEP;
	CHECK_EQUAL(whole, MOST);
	CHECK_EQUAL(count, 2 * MOST);
	CHECK_EQUAL(lost(&bench, LOSS_TRACKING), 2 * (DEEP - MOST));
	free(rows);
	bench_close(&bench);
}

/* A program that numbers its names: the first ones are kept, the others' ranges too. */
TEST(names_without_end)
{
	enum { NAMES = 40000 };
	struct event_range *rows;
	char name[RECORD_RANGE_TEXT_BYTES];
	struct bench bench;
	size_t count, nameless = 0;

	bench_open(&bench);
	memset(name, 'x', sizeof(name));
	for (int i = 0; i < NAMES; i++) {
		snprintf(name + sizeof(name) - 24, 24, "%d", i);
		put_range(&bench, ROCTX | RANGE_MARK, (uint64_t)i, 0, "a", name);
	}
	CHECK(!quota_is_exceeded(&bench.injected->budget.names));
	snprintf(name + sizeof(name) - 24, 24, "%d", 0); /* known, and needs no room */
	put_range(&bench, ROCTX | RANGE_MARK, NAMES, 0, "a", name);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_RANGE, struct event_range, &count, NULL);
	for (size_t i = 0; i < count; i++)
		nameless += strcmp(text_of(&bench, rows[i].name_string),
				   "[more names than are kept]") == 0;
	CHECK_EQUAL(count, NAMES + 1);
	CHECK(nameless > 1000 && nameless < NAMES - 20000);
	CHECK(strcmp(text_of(&bench, rows[NAMES].name_string), name) == 0);
	free(rows);
	bench_close(&bench);
}

TEST(nonsense)
{
	struct bench bench;
	struct draft draft;

	bench_open(&bench);
	put_range(&bench, ROCTX | RANGE_TYPE_COUNT, 10, 1, "a", "no such type");
	CHECK_EQUAL(bench.injected->losses.broken_times, 1);
	draft_begin(&draft, EVENT_RANGE, ROCTX, offsetof(struct record_range, texts));
	draft_decode(&bench, &draft); /* without texts */
	CHECK_EQUAL(bench.injected->losses.broken_times, 2);
	draft_begin(&draft, EVENT_RANGE, ROCTX, offsetof(struct record_range, texts));
	draft_add(&draft, "without an end..", 16);
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 3);
	draft_begin(&draft, EVENT_RANGE, ROCTX, offsetof(struct record_range, texts));
	draft_add(&draft, "domain\0no end.....", 16);
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 4);
	CHECK_TEXT(list(&bench), "");
	bench_close(&bench);
}

int main(void)
{
	RUN(nested_and_interleaved);
	RUN(records_that_were_lost);
	RUN(stopped_by_whom_it_may_be);
	RUN(open_at_the_end);
	RUN(more_than_can_be_followed);
	RUN(names_without_end);
	RUN(nonsense);
	return harness_end();
}

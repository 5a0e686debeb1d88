/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_overlap.c - depth and overlap against looking at every nanosecond
 */
#include <stdlib.h>

#include "analyze/account/queue_depth.h"
#include "analyze/account/overlap.h"
#include "harness.h"

enum { SPAN = 400, COMMANDS = 60 };

struct command {
	uint64_t enter, started, ended;
	uint64_t since; /* it could have started */
	uint32_t process;
	enum account_class class;
};

static uint64_t below(uint64_t limit)
{
	return (uint64_t)rand() % limit;
}

static int compare_starts(const void *left, const void *right)
{
	const struct command *a = left, *b = right;

	return (a->started > b->started) - (a->started < b->started);
}

static int compare_enters(const void *left, const void *right)
{
	const struct command *a = left, *b = right;

	return (a->enter > b->enter) - (a->enter < b->enter);
}

static size_t make_commands(struct command *commands)
{
	size_t count = below(COMMANDS);

	for (size_t i = 0; i < count; i++) {
		commands[i].enter = below(SPAN);
		commands[i].started = commands[i].enter + below(30);
		commands[i].ended = commands[i].started + below(i % 7 ? 12 : 90);
		commands[i].process = (uint32_t)below(3);
		commands[i].class = (enum account_class)below(ACCOUNT_CLASS_COUNT);
	}
	return count;
}

struct looked {
	uint64_t kernels, copies, both, several, processes, waited;
	uint64_t sum, max, empty;
	uint64_t at_end; /* in flight in the last nanosecond */
};

/* Of an in-order process: what starts later was there later. In the order of starts. */
static void make_waits(struct command *commands, size_t count)
{
	uint64_t last[3] = {0};

	qsort(commands, count, sizeof(*commands), compare_starts);
	for (size_t i = 0; i < count; i++) {
		uint64_t *since = &last[commands[i].process];

		if (*since < commands[i].enter)
			*since = commands[i].enter;
		if (*since > commands[i].started)
			*since = commands[i].started;
		commands[i].since = *since;
	}
}

/* Processes that wait while another one alone executes. */
static uint64_t count_waiting(const struct command *commands, size_t count, uint64_t now,
			      uint64_t seen)
{
	uint64_t waiting = 0;

	if (!seen || (seen & (seen - 1)))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (commands[i].since <= now && now < commands[i].started)
			waiting |= 1u << commands[i].process;
	return (uint64_t)__builtin_popcountll(waiting & ~seen);
}

static struct looked look(const struct command *commands, size_t count, uint64_t from, uint64_t to)
{
	struct looked looked = {0};

	for (uint64_t now = from; now < to; now++) {
		uint64_t classes[ACCOUNT_CLASS_COUNT] = {0}, active = 0, flying = 0, seen = 0;

		for (size_t i = 0; i < count; i++) {
			flying += commands[i].enter <= now && now < commands[i].ended;
			if (commands[i].started > now || now >= commands[i].ended)
				continue;
			active++;
			classes[commands[i].class]++;
			seen |= 1u << commands[i].process;
		}
		looked.waited += count_waiting(commands, count, now, seen);
		looked.both += classes[ACCOUNT_KERNEL] && classes[ACCOUNT_COPY];
		looked.kernels += classes[ACCOUNT_KERNEL] && !classes[ACCOUNT_COPY];
		looked.copies += !classes[ACCOUNT_KERNEL] && classes[ACCOUNT_COPY];
		looked.several += active > 1;
		looked.processes += (seen & (seen - 1)) != 0;
		looked.at_end = flying;
		looked.sum += flying;
		looked.empty += !flying;
		looked.max = flying > looked.max ? flying : looked.max;
	}
	return looked;
}

static void check_overlap(struct command *commands, size_t count, uint64_t from, uint64_t to,
			  const struct looked *want)
{
	struct overlap overlap;

	qsort(commands, count, sizeof(*commands), compare_starts);
	overlap_init(&overlap, from, to);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQUAL(overlap_wait(&overlap, commands[i].since, commands[i].started,
					 commands[i].process),
			    0);
		CHECK_EQUAL(overlap_add(&overlap, commands[i].started, commands[i].ended,
					commands[i].class, commands[i].process),
			    0);
	}
	overlap_finish(&overlap, to);
	CHECK_EQUAL(overlap.waited_ns, want->waited);
	CHECK_EQUAL(overlap.kernels_ns, want->kernels);
	CHECK_EQUAL(overlap.copies_ns, want->copies);
	CHECK_EQUAL(overlap.both_ns, want->both);
	CHECK_EQUAL(overlap.several_ns, want->several);
	CHECK_EQUAL(overlap.processes_ns, want->processes);
	CHECK_EQUAL(overlap.active_users, 0);
	overlap_fini(&overlap);
}

/* Launches come by their enter, executions by their start, `late` more; in between everything that
 * is certain is counted. */
static void check_depth(struct command *commands, size_t count, uint64_t from, uint64_t to,
			uint64_t late, const struct looked *want)
{
	struct command starts[COMMANDS];
	struct depth depth;
	size_t ended = 0;

	memcpy(starts, commands, count * sizeof(*commands));
	qsort(starts, count, sizeof(*starts), compare_starts);
	qsort(commands, count, sizeof(*commands), compare_enters);
	depth_init(&depth, from, to);
	for (size_t i = 0; i < count; i++) {
		for (; ended < count && starts[ended].started + late < commands[i].enter; ended++)
			CHECK_EQUAL(depth_leave(&depth, starts[ended].ended), 0);
		depth_advance(&depth, commands[i].enter > late ? commands[i].enter - late : 0);
		CHECK_EQUAL(depth_enter(&depth, commands[i].enter), 0);
	}
	for (; ended < count; ended++)
		CHECK_EQUAL(depth_leave(&depth, starts[ended].ended), 0);
	depth_finish(&depth, to);
	CHECK_EQUAL((uint64_t)depth.sum, want->sum);
	CHECK_EQUAL(depth.max, want->max);
	CHECK_EQUAL(depth.empty_ns, want->empty);
	if (to > from)
		CHECK_EQUAL(depth.at_end, want->at_end);
	depth_fini(&depth);
}

TEST(agree_with_looking)
{
	struct command commands[COMMANDS];

	srand(7);
	for (int turn = 0; turn < 300; turn++) {
		size_t count = make_commands(commands);
		uint64_t from = below(2) ? 0 : below(SPAN), to = from + below(SPAN);
		struct looked want;

		make_waits(commands, count);
		want = look(commands, count, from, to);
		check_overlap(commands, count, from, to, &want);
		check_depth(commands, count, from, to, turn % 3 * 25u, &want);
	}
}

TEST(what_never_ends_stays_in_flight)
{
	struct depth depth;

	depth_init(&depth, 100, UINT64_MAX);
	CHECK_EQUAL(depth_enter(&depth, 50), 0);
	CHECK_EQUAL(depth_enter(&depth, 150), 0);
	CHECK_EQUAL(depth_leave(&depth, 120), 0);
	depth_finish(&depth, 200);
	CHECK_EQUAL((uint64_t)depth.sum, 20 + 50);
	CHECK_EQUAL(depth.empty_ns, 30);
	CHECK_EQUAL(depth.max, 1);
	CHECK_EQUAL(depth.at_end, 1);
	depth_fini(&depth);
}

int main(void)
{
	RUN(agree_with_looking);
	RUN(what_never_ends_stays_in_flight);
	return harness_end();
}

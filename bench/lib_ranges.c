/* SPDX-License-Identifier: MIT
 *
 * bench/lib_ranges.c - what a range costs that is pushed and popped
 *
 *	lib_ranges duet|calls|looking|nvtx|counter [ROUNDS]
 *	lib_ranges_lttng lttng [ROUNDS]
 *
 * Output: the least and the middle of the rounds, in ns a push with its pop; of `counter` a value.
 * `calls` is `duet` without the inline functions of duet.h, `looking` a handle that looks for a
 * recorder.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"
#include <duet.h>

/* A round is less than a ring holds; all together fill it several times before anything is
 * measured, because the first writing of each page costs a page fault. */
enum { PAIRS = 1000, WARM_ROUNDS = 300, PAUSE_NS = 3000000 };

static struct duet *duet;

static void push_duet(void)
{
	duet_range_push(duet, "bench", "a range of it");
	duet_range_pop(duet, "bench");
}

static void call_duet(void)
{
	(duet_range_push)(duet, "bench", "a range of it");
	(duet_range_pop)(duet, "bench");
}

static void count_duet(void)
{
	duet_counter(duet, "bench.rounds", "events", 1);
}

#ifdef WITH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peer_events.h"

static void push_lttng(void)
{
	lttng_ust_tracepoint(duet_peer, range_push, "bench", "a range of it");
	lttng_ust_tracepoint(duet_peer, range_pop, "bench");
}
#else
#include <nvtx3/nvToolsExt.h>

static void push_nvtx(void)
{
	nvtxRangePushA("a range of it");
	nvtxRangePop();
}
#endif

static const struct way {
	const char *name;
	void (*say)(void);
} ways[] = {
	{"duet", push_duet},    {"calls", call_duet},
	{"looking", push_duet}, {"counter", count_duet},
#ifdef WITH_LTTNG
	{"lttng", push_lttng},
#else
	{"nvtx", push_nvtx},
#endif
};

/* Awake, while the rings are emptied: a processor that slept is slow for a while. */
static void let_drain(void)
{
	uint64_t end = now_ns() + PAUSE_NS;

	while (now_ns() < end)
		;
}

static double round_ns(void (*say)(void))
{
	uint64_t begin = now_ns();

	for (int i = 0; i < PAIRS; i++)
		say();
	return (double)(now_ns() - begin) / PAIRS;
}

static int run(const struct way *way, int number)
{
	static double rounds[MAX_ROUNDS];

	for (int i = -WARM_ROUNDS; i < number; i++) {
		double ns = round_ns(way->say);

		if (i >= 0)
			rounds[i] = ns;
		let_drain();
	}
	rounds_print(rounds, number);
	return 0;
}

int main(int count, char **texts)
{
	int number = count > 2 ? atoi(texts[2]) : 400;

	/* Nobody's recorder is a measurement too. */
	duet = duet_open(NULL, NULL, DUET_JOIN);
	if (getenv("DUET_SESSION") || (count > 1 && strcmp(texts[1], "looking") == 0))
		duet_start(duet);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && count > 1; i++)
		if (strcmp(texts[1], ways[i].name) == 0 && number >= 1 && number <= MAX_ROUNDS)
			return run(&ways[i], number);
	fprintf(stderr, "usage: lib_ranges duet|calls|looking|nvtx|counter [ROUNDS]\n");
	return 2;
}

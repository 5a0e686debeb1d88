/* SPDX-License-Identifier: MIT
 *
 * The unwinder and the recorder are played by the test.
 */
#include <math.h>
#include <stdlib.h>

#include "harness.h"

#include "inject/guest.h"

enum { MAX_STACKS = 1 << 20, TOKENS = 8, TOKEN_MS = 32, TABLE_SITES = 512 };

/* ---- the rest of the guest ------------------------------------------------------------------- */

struct guest_page guest_page;

static struct ring_region region;
static struct ring_control control;
static struct guest_thread thread;

/* The unwinder: each stack has an id of its own, and it is known where it was captured. */
static struct {
	uint64_t place; /* of the present launch */
	uint32_t count;
	uint64_t places[MAX_STACKS]; /* by id */
	bool fails;
} taken;

static uint32_t memories;
static bool has_memory = true;

uint32_t guest_take_stack(struct guest_thread *of)
{
	(void)of;
	if (taken.fails)
		return 0;
	taken.places[++taken.count] = taken.place;
	return taken.count;
}

void *guest_memory(size_t bytes)
{
	memories++;
	return has_memory ? calloc(1, bytes) : NULL;
}

void guest_section_end(struct guest_thread *of, enum guest_section section, uint64_t begin)
{
	(void)of;
	(void)section;
	(void)begin;
}

bool guest_still_recording(void)
{
	return true;
}

void *ring_reserve_slow(struct ring_writer *writer, uint16_t kind, uint32_t size)
{
	(void)writer;
	(void)kind;
	(void)size;
	return NULL;
}

void *ring_reserve_nested(struct ring_writer *writer, uint16_t kind)
{
	return ring_reserve_slow(writer, kind, 0);
}

/* ---- a program ------------------------------------------------------------------------------- */

static void start(uint32_t every, uint32_t tid)
{
	free(thread.sites);
	taken.count = 0;
	taken.fails = false;
	memories = 0;
	has_memory = true;
	atomic_store(&guest_page.mode, GUEST_RECORDING);
	atomic_store(&region.beat_ns, UINT64_C(5000000000));
	atomic_store(&region.detail, RING_DETAIL_SAMPLED | every << RING_DETAIL_SHIFT);
	control.tid = tid;
	thread = (struct guest_thread){.writer.control = &control,
				       .mode = GUEST_RECORDING,
				       .clock = RING_CLOCK_MONOTONIC,
				       .region = &region,
				       .options = RING_OPTION_NATIVE};
}

static void pass_ms(uint64_t ms)
{
	atomic_fetch_add(&region.beat_ns, ms * 1000000);
}

/* One launch; false: it carries an earlier stack. */
static bool launch(uint64_t place, uint32_t *ret_stack)
{
	uint32_t stack;

	taken.place = place;
	stack = guest_sample_stack(&thread, place << 1);
	*ret_stack = stack & ~RECORD_STACK_CARRIED;
	return !(stack & RECORD_STACK_CARRIED);
}

static uint32_t captured_of(uint32_t launches, uint64_t place)
{
	uint32_t count = 0, stack;

	for (uint32_t i = 0; i < launches; i++)
		count += launch(place, &stack);
	return count;
}

static uint64_t chance(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(a_bucket_of_tokens)
{
	start(64, 11);
	CHECK_EQUAL(captured_of(TOKENS, 1), TOKENS);
	/* One token more each 32 ms, which ends a gap. */
	for (int i = 0; i < 100; i++) {
		const uint32_t before = taken.count;

		captured_of(200, 1);
		CHECK(taken.count > before);
		pass_ms(TOKEN_MS);
		CHECK_EQUAL(captured_of(1, 1), 1);
	}
	/* No more than eight, however long the site has slept. */
	captured_of(1000, 1);
	pass_ms(3 * TOKEN_MS);
	CHECK_EQUAL(captured_of(3, 1), 3);
	captured_of(1000, 1);
	pass_ms(100 * TOKEN_MS);
	CHECK_EQUAL(captured_of(TOKENS, 1), TOKENS);
	CHECK(captured_of(100, 1) < 20);
	/* Another site has its own. */
	CHECK_EQUAL(captured_of(TOKENS, 2), TOKENS);
}

TEST(a_rare_site_has_all_its_stacks)
{
	start(64, 12);
	for (int i = 0; i < 1000; i++) {
		CHECK_EQUAL(captured_of(1, 1), 1);
		pass_ms(TOKEN_MS);
	}
}

/* Gaps are random, and their mean is the level's. */
TEST(two_levels)
{
	static const uint32_t every[] = {8, 64};

	for (int i = 0; i < 2; i++) {
		uint32_t gaps[256] = {0}, gap = 0, kinds = 0, stack;
		const uint32_t launches = 400000;
		double share;

		start(every[i], 13 + (uint32_t)i);
		captured_of(TOKENS, 1);
		for (uint32_t j = 0; j < launches; j++) {
			if (!launch(1, &stack)) {
				gap++;
				continue;
			}
			CHECK(gap <= 2 * every[i] - 2);
			gaps[gap]++;
			gap = 0;
		}
		share = (double)(taken.count - TOKENS) / launches * every[i];
		CHECK(share > 0.96 && share < 1.04);
		for (uint32_t j = 0; j <= 2 * every[i] - 2; j++)
			kinds += gaps[j] > 0;
		CHECK_EQUAL(kinds, 2 * every[i] - 1); /* each gap occurs */
	}
}

/* The recorder changes the level at any time. */
TEST(a_change_of_the_level)
{
	uint32_t stack, before;

	start(8, 15);
	captured_of(1000, 1);
	atomic_store(&region.detail, RING_DETAIL_SPANS);
	CHECK(launch(1, &stack) && stack == 0);
	atomic_store(&region.detail, RING_DETAIL_COUNTERS);
	CHECK(launch(1, &stack) && stack == 0);
	before = taken.count;
	atomic_store(&region.detail, RING_DETAIL_SAMPLED | 64 << RING_DETAIL_SHIFT);
	captured_of(64000, 1);
	CHECK(taken.count - before > 900 && taken.count - before < 1100);
}

/* A rhythm of the program is not preferred: of eight callers in turn each gets an eighth. */
TEST(a_rhythm)
{
	const uint32_t turns = 100000;
	uint32_t counts[8] = {0};

	start(8, 16);
	for (uint32_t i = 0; i < 8 * turns; i++) {
		taken.place = i % 8;
		if (!(guest_sample_stack(&thread, 1000) & RECORD_STACK_CARRIED))
			counts[i % 8]++;
	}
	for (int i = 0; i < 8; i++)
		CHECK(fabs((double)counts[i] / (turns / 8.0) - 1) < 0.05);
}

/* A stack has the weight of the launches that carry it. Seven of ten launches of a site come from
 * one caller: so do seven of ten by weight. */
TEST(weights)
{
	static uint32_t weights[MAX_STACKS];
	uint64_t state = 7, all = 0, mine = 0;
	const uint32_t launches = 500000;

	start(64, 17);
	memset(weights, 0, sizeof(weights));
	for (uint32_t i = 0; i < launches; i++) {
		taken.place = chance(&state) % 10 < 7 ? 1 : 2;
		weights[guest_sample_stack(&thread, 1000) & ~RECORD_STACK_CARRIED]++;
	}
	for (uint32_t i = 1; i <= taken.count; i++) {
		CHECK(weights[i] > 0);
		all += weights[i];
		mine += taken.places[i] == 1 ? weights[i] : 0;
	}
	CHECK_EQUAL(weights[0], 0);
	CHECK_EQUAL(all, launches);
	CHECK(fabs((double)mine / (double)all - 0.7) < 0.03);
}

/* A carried stack is the last one of the same site, also while sites lose their places. */
static uint32_t captured_of_sites(uint32_t sites, uint32_t rounds)
{
	static uint32_t last[8192];
	const uint32_t before = taken.count;
	uint64_t state = 3;

	memset(last, 0, sizeof(last));
	for (uint32_t i = 0; i < sites * rounds; i++) {
		const uint64_t place = 1 + chance(&state) % sites;
		uint32_t stack;

		if (launch(place, &stack))
			last[place] = stack;
		else
			CHECK_EQUAL(stack, last[place]);
		CHECK_EQUAL(taken.places[stack], place);
	}
	return taken.count - before;
}

TEST(a_full_table)
{
	uint32_t few, many;

	start(64, 18);
	few = captured_of_sites(64, 500); /* 8 tokens, and a 64th of the others */
	CHECK(few > 64 * 8 && few < 64 * 22);
	/* With more sites than places, those that come back begin anew. */
	start(64, 19);
	many = captured_of_sites(4 * TABLE_SITES, 100);
	CHECK(many > 4 * TABLE_SITES * 8);
	CHECK(many <= 4 * TABLE_SITES * 100);
	/* The table heals when only some sites launch. */
	few = captured_of_sites(64, 500);
	CHECK(few < 64 * 22);
}

TEST(keys_that_differ_in_high_bits)
{
	start(64, 20);
	for (uint64_t i = 1; i <= 64; i++)
		CHECK_EQUAL(captured_of(TOKENS, i << 50), TOKENS);
	for (uint64_t i = 1; i <= 64; i++)
		CHECK(captured_of(TOKENS, i << 50) < TOKENS);
}

TEST(another_thread_on_the_ring)
{
	uint32_t stack;

	start(64, 21);
	captured_of(1000, 1);
	control.tid = 22; /* stacks of the old thread are not the new one's */
	for (int i = 0; i < TOKENS; i++)
		CHECK(launch(1, &stack));
	CHECK_EQUAL(memories, 1);
}

TEST(without_memory)
{
	start(64, 23);
	has_memory = false;
	CHECK_EQUAL(captured_of(100, 1), 100);
	CHECK_EQUAL(memories, 1); /* it is asked for once */
}

/* After the recorder has gone the table is not touched. */
TEST(without_a_recorder)
{
	start(64, 24);
	atomic_store(&guest_page.mode, GUEST_RECORDING + 1);
	CHECK_EQUAL(captured_of(100, 1), 100);
	CHECK_EQUAL(memories, 0);
}

/* A stack that could not be captured is not carried: the next launch tries again. */
TEST(a_stack_that_fails)
{
	uint32_t stack;

	start(64, 25);
	taken.fails = true;
	for (int i = 0; i < 100; i++)
		CHECK(launch(1, &stack) && stack == 0);
	taken.fails = false;
	CHECK(launch(1, &stack) && stack == 1);
}

TEST(sites_of_calls)
{
	/* Neither of the three is lost, nor may they be exchanged. */
	const uint64_t sites[] = {guest_site(0, 0, 0),      guest_site(1, 0, 0),
				  guest_site(0, 1, 0),      guest_site(0, 0, 1),
				  guest_site(1, 2, 0),      guest_site(2, 1, 0),
				  guest_site(0, 307, 4096), guest_site(0, 4096, 307)};

	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
		for (size_t j = 0; j < i; j++)
			CHECK((sites[i] | 1) != (sites[j] | 1));
}

int main(void)
{
	RUN(a_bucket_of_tokens);
	RUN(a_rare_site_has_all_its_stacks);
	RUN(two_levels);
	RUN(a_change_of_the_level);
	RUN(a_rhythm);
	RUN(weights);
	RUN(a_full_table);
	RUN(keys_that_differ_in_high_bits);
	RUN(another_thread_on_the_ring);
	RUN(without_memory);
	RUN(without_a_recorder);
	RUN(a_stack_that_fails);
	RUN(sites_of_calls);
	return harness_end();
}

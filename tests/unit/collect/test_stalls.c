/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_stalls.c - rows of EU-stall sampling, against a look at each bit and a
 * sum in a plain array
 */
#include "collect/intel/stalls.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { INSTRUCTIONS = 3000, ROWS = 50000 };

/* As xe_eu_stall.h has them: first bit of each counter. */
static const struct {
	uint32_t major, minor, ip_bits;
	struct {
		const char *stall;
		uint32_t bit;
	} counters[EU_STALL_REASONS];
} known[] = {
	{12,
	 60,
	 29,
	 {{"active", 29},
	  {"other", 37},
	  {"control", 45},
	  {"pipestall", 53},
	  {"send", 61},
	  {"dist_acc", 69},
	  {"sbid", 77},
	  {"sync", 85},
	  {"inst_fetch", 93}}},
	{20,
	 1,
	 29,
	 {{"active", 101},
	  {"tdr", 29},
	  {"other", 37},
	  {"control", 45},
	  {"pipestall", 53},
	  {"send", 61},
	  {"dist_acc", 69},
	  {"sbid", 77},
	  {"sync", 85},
	  {"inst_fetch", 93}}},
	{30,
	 4,
	 29,
	 {{"active", 101},
	  {"tdr", 29},
	  {"other", 37},
	  {"control", 45},
	  {"pipestall", 53},
	  {"send", 61},
	  {"dist_acc", 69},
	  {"sbid", 77},
	  {"sync", 85},
	  {"inst_fetch", 93}}},
	{35,
	 11,
	 61,
	 {{"active", 133},
	  {"tdr", 61},
	  {"other", 69},
	  {"control", 77},
	  {"pipestall", 85},
	  {"send", 93},
	  {"dist_acc", 101},
	  {"sbid", 109},
	  {"sync", 117},
	  {"inst_fetch", 125}}},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static void put_bits(uint8_t *row, uint32_t at, uint32_t count, uint64_t value)
{
	for (uint32_t i = 0; i < count; i++)
		if (value >> i & 1)
			row[(at + i) / 8] |= (uint8_t)(1 << (at + i) % 8);
}

/* counts: in the order of `known`. Everything behind what is known is set: it must not be looked
 * at. */
static void make_row(uint8_t *row, size_t which, uint64_t ip, const uint8_t *counts)
{
	uint32_t last = known[which].ip_bits;

	memset(row, 0, EU_STALL_ROW_BYTES);
	put_bits(row, 0, known[which].ip_bits, ip);
	for (size_t i = 0; i < EU_STALL_REASONS && known[which].counters[i].stall; i++) {
		const uint32_t bit = known[which].counters[i].bit;

		put_bits(row, bit, 8, counts[i]);
		last = bit + 8 > last ? bit + 8 : last;
	}
	for (uint32_t bit = last; bit < 8 * EU_STALL_ROW_BYTES; bit += 16)
		put_bits(row, bit, 8 * EU_STALL_ROW_BYTES - bit < 16 ? 1 : 16, UINT64_MAX);
}

/* Of each instruction, in the order of `known`. */
struct sums {
	size_t which;
	const struct eu_stall_layout *layout;
	uint64_t first_ip;
	uint32_t counts[INSTRUCTIONS][EU_STALL_REASONS];
	size_t told;
};

static size_t slot_of(const struct eu_stall_layout *layout, const char *stall)
{
	for (size_t i = 0; i < layout->reasons; i++)
		if (strcmp(layout->stalls[i], stall) == 0)
			return i;
	return EU_STALL_REASONS;
}

static void on_counts(void *context, uint64_t address, const uint32_t *counts, uint32_t *note)
{
	struct sums *sums = context;
	const uint64_t index = (address >> EU_STALL_IP_SHIFT) - sums->first_ip;

	CHECK_EQUAL(address % 8, 0);
	REQUIRE(index < INSTRUCTIONS);
	CHECK(*note == 0 || *note == index + 1);
	*note = (uint32_t)index + 1;
	for (size_t i = 0; i < EU_STALL_REASONS && known[sums->which].counters[i].stall; i++) {
		const size_t slot = slot_of(sums->layout, known[sums->which].counters[i].stall);

		REQUIRE(slot < EU_STALL_REASONS);
		sums->counts[index][i] -= counts[slot];
	}
	if (sums->layout->reasons < EU_STALL_REASONS)
		CHECK_EQUAL(counts[EU_STALL_REASONS - 1], 0);
	sums->told++;
}

static void check_layout(size_t which)
{
	static struct sums sums;
	static uint8_t rows[ROWS][EU_STALL_ROW_BYTES];
	struct stalls *stalls;
	size_t taken = 0, left = 0;

	sums = (struct sums){.which = which,
			     .layout = eu_stall_layout_find(known[which].major, known[which].minor),
			     .first_ip = ((uint64_t)1 << known[which].ip_bits) - INSTRUCTIONS};
	REQUIRE(sums.layout);
	stalls = stalls_new(sums.layout, NULL);
	REQUIRE(stalls);
	for (size_t i = 0; i < ROWS; i++) {
		const size_t index = (size_t)rand() % INSTRUCTIONS;
		uint8_t counts[EU_STALL_REASONS];

		for (size_t j = 0; j < EU_STALL_REASONS; j++) {
			counts[j] = (uint8_t)(rand() % 3 ? 0 : rand());
			sums.counts[index][j] += known[which].counters[j].stall ? counts[j] : 0;
		}
		make_row(rows[i], which, sums.first_ip + index, counts);
	}
	while (taken < ROWS) {
		size_t count = (size_t)rand() % 3000;

		if (count > ROWS - taken)
			count = ROWS - taken;
		stalls_take(stalls, rows[taken],
			    count * EU_STALL_ROW_BYTES + (taken + count < ROWS ? 63 : 0));
		taken += count;
		stalls_emit(stalls, on_counts, &sums);
	}
	for (size_t i = 0; i < INSTRUCTIONS; i++)
		for (size_t j = 0; j < EU_STALL_REASONS; j++)
			left += sums.counts[i][j];
	CHECK_EQUAL(left, 0);
	CHECK(sums.told >= INSTRUCTIONS - 1);
	CHECK_EQUAL(stalls_lost(stalls), 0);
	stalls_free(stalls);
}

TEST(each_layout_as_its_bits_say)
{
	srand(3);
	for (size_t i = 0; i < KNOWN; i++)
		check_layout(i);
	CHECK(eu_stall_layout_find(12, 55) == NULL); /* DG2 cannot sample */
	CHECK(eu_stall_layout_find(12, 70) == NULL);
	CHECK(eu_stall_layout_find(9, 0) == NULL);
}

static void count_all(void *context, uint64_t address, const uint32_t *counts, uint32_t *note)
{
	uint64_t *told = context;

	(void)address;
	for (size_t i = 0; i < EU_STALL_REASONS; i++)
		told[0] += counts[i];
	told[1]++;
	*note = 1;
}

/* Each instruction once: more than there is room for, and in the next round others. */
TEST(what_has_no_room_is_counted)
{
	const struct eu_stall_layout *layout = eu_stall_layout_find(20, 1);
	struct stalls *stalls = stalls_new(layout, NULL);
	const uint64_t most = MAX_STALLS_INSTRUCTIONS;
	const uint8_t counts[EU_STALL_REASONS] = {1};
	uint64_t told[2] = {0}, next = 0, lost;
	uint8_t row[EU_STALL_ROW_BYTES];

	REQUIRE(stalls);
	for (uint64_t i = 0; i < most + 1000; i++) {
		make_row(row, 1, next++, counts);
		stalls_take(stalls, row, sizeof(row));
	}
	lost = stalls_lost(stalls);
	CHECK(lost >= 1000 && lost < most / 4);
	stalls_emit(stalls, count_all, told);
	CHECK_EQUAL(told[0] + lost, most + 1000);
	CHECK_EQUAL(told[1], told[0]);
	/* those have room again */
	for (uint64_t i = 0; i < most / 2; i++) {
		make_row(row, 1, next++, counts);
		stalls_take(stalls, row, sizeof(row));
	}
	CHECK_EQUAL(stalls_lost(stalls), lost);
	stalls_emit(stalls, count_all, told);
	CHECK_EQUAL(told[0] + lost, most + 1000 + most / 2);
	stalls_free(stalls);
}

/* Two of them, with room for half of what they would take: what is counted is right, what is not is
 * lost, and bytes come back. */
TEST(a_budget_is_kept)
{
	const struct eu_stall_layout *layout = eu_stall_layout_find(20, 1);
	const uint64_t bytes = UINT64_C(40) << 20;
	struct quota budget = {.limit = bytes};
	struct stalls *both[] = {stalls_new(layout, &budget), stalls_new(layout, &budget)};
	const uint8_t counts[EU_STALL_REASONS] = {1};
	uint8_t row[EU_STALL_ROW_BYTES];
	uint64_t told[2] = {0}, lost = 0;
	enum { EACH_ONCE = 400000 };

	REQUIRE(both[0] && both[1]);
	for (uint64_t i = 0; i < EACH_ONCE; i++) {
		make_row(row, 1, i, counts);
		stalls_take(both[i & 1], row, sizeof(row));
		CHECK(!quota_is_exceeded(&budget));
	}
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 2; i++)
			stalls_emit(both[i], count_all, told);
		/* others take their places, without more room */
		for (uint64_t i = 0; i < 1000 && !round; i++) {
			make_row(row, 1, EACH_ONCE + i, counts);
			stalls_take(both[i & 1], row, sizeof(row));
		}
	}
	lost = stalls_lost(both[0]) + stalls_lost(both[1]);
	CHECK(lost > 0 && lost < EACH_ONCE);
	CHECK_EQUAL(told[0] + lost, EACH_ONCE + 1000);
	for (unsigned int i = 0; i < 2; i++)
		stalls_free(both[i]);
	CHECK_EQUAL(quota_left(&budget), bytes);
}

/* When others need the memory, what is told is given back; what comes then and has no room is
 * counted. */
TEST(a_budget_becomes_smaller_and_larger)
{
	const struct eu_stall_layout *layout = eu_stall_layout_find(20, 1);
	struct quota budget = {.limit = UINT64_C(40) << 20};
	struct stalls *stalls = stalls_new(layout, &budget);
	const uint8_t counts[EU_STALL_REASONS] = {1};
	uint8_t row[EU_STALL_ROW_BYTES];
	uint64_t told[2] = {0}, lost;
	uint64_t large;
	enum { TAKEN = 100000 };

	REQUIRE(stalls);
	for (int round = 0; round < 3; round++) {
		budget.limit = round == 1 ? 0 : UINT64_C(40) << 20;
		stalls_emit(stalls, count_all, told);
		large = budget.used;
		CHECK(round != 1 || large < UINT64_C(8) << 20);
		lost = stalls_lost(stalls);
		for (uint64_t i = 0; i < TAKEN; i++) {
			make_row(row, 1, i, counts);
			stalls_take(stalls, row, sizeof(row));
		}
		CHECK_EQUAL(stalls_lost(stalls) > lost, round == 1);
		CHECK_EQUAL(budget.used > UINT64_C(8) << 20, round != 1);
	}
	stalls_emit(stalls, count_all, told);
	CHECK_EQUAL(told[0] + stalls_lost(stalls), 3 * TAKEN);
	stalls_free(stalls);
	CHECK_EQUAL(budget.used, 0);
}

int main(void)
{
	RUN(each_layout_as_its_bits_say);
	RUN(what_has_no_room_is_counted);
	RUN(a_budget_is_kept);
	RUN(a_budget_becomes_smaller_and_larger);
	return harness_end();
}

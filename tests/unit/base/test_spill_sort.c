/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_spill_sort.c - rows that do not fit into memory come back in the order of
 * their keys
 */
#include "base/order/spill_sort.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { ROWS = 20000 };

struct test_row {
	uint32_t key, number;
	char padding[100];
};

static uint64_t state = 88172645463325252u;

static uint32_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)state;
}

static void set_key(const void *row, struct sort_key *ret_key)
{
	const struct test_row *from = row;

	memset(ret_key->words, 0, sizeof(ret_key->words));
	ret_key->words[1] = from->key;
}

static int open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Sorts `count` rows with keys below `limit`. Equal keys keep their order. */
static void check_sort(uint32_t count, uint32_t limit, size_t memory_bytes)
{
	struct spill_sort *sort;
	struct test_row row, last = {0};
	uint32_t given = 0, wrong = 0;
	uint64_t sum = 0, wanted = 0;

	CHECK_EQUAL(spill_sort_new(sizeof(row), memory_bytes, set_key, &sort), 0);
	for (uint32_t i = 0; i < count; i++) {
		row = (struct test_row){.key = random_number() % limit, .number = i};
		memset(row.padding, (int)(row.key & 127), sizeof(row.padding));
		wanted += row.number;
		CHECK_EQUAL(spill_sort_add(sort, &row), 0);
	}
	while (spill_sort_next(sort, &row) > 0) {
		wrong += given &&
			 (row.key < last.key || (row.key == last.key && row.number < last.number));
		wrong += row.padding[99] != (char)(row.key & 127);
		sum += row.number;
		last = row;
		given++;
	}
	CHECK_EQUAL(given, count);
	CHECK_EQUAL(wrong, 0);
	CHECK(sum == wanted);
	CHECK_EQUAL(spill_sort_next(sort, &row), 0);
	spill_sort_free(sort);
}

TEST(rows_in_memory)
{
	check_sort(0, 10, 1 << 20);
	check_sort(1, 10, 1 << 20);
	check_sort(1000, UINT32_MAX, 1 << 20);
	check_sort(1000, 7, 1 << 20);
}

TEST(rows_in_a_file)
{
	int before = open_files();

	check_sort(ROWS, UINT32_MAX, 100000);
	check_sort(ROWS, 50, 100000);
	/* each run has one row, and more runs than rows in memory */
	check_sort(300, UINT32_MAX, 1);
	CHECK_EQUAL(open_files(), before);
}

TEST(freed_before_the_end)
{
	struct spill_sort *sort;
	struct test_row row = {.key = 1};

	CHECK_EQUAL(spill_sort_new(sizeof(row), 1000, set_key, &sort), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQUAL(spill_sort_add(sort, &row), 0);
	CHECK_EQUAL(spill_sort_next(sort, &row), 1);
	spill_sort_free(sort);
	spill_sort_free(NULL);
}

int main(void)
{
	RUN(rows_in_memory);
	RUN(rows_in_a_file);
	RUN(freed_before_the_end);
	return harness_end();
}

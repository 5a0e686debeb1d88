/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_memory_map.c - what code lies where, against a table of every address
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/memory_map.h"

enum { ADDRESSES = 200, ROUNDS = 3000 };

static uint64_t random_next(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* By address: the number of the piece that was put there last, and which byte of it. */
struct truth {
	uintptr_t file;
	uint64_t offset;
};

static void put_truth(struct truth *truth, const struct memory_piece *piece)
{
	for (uint64_t at = piece->start; at < piece->end; at++)
		truth[at] = (struct truth){(uintptr_t)piece->file,
					   piece->file_offset + at - piece->start};
}

static bool is_as(const struct memory_map *map, const struct truth *truth)
{
	for (uint64_t at = 0; at < ADDRESSES; at++) {
		const struct memory_piece *found = memory_map_find(map, at);

		if ((uintptr_t)(found ? found->file : NULL) != truth[at].file)
			return false;
		if (found && found->file_offset + at - found->start != truth[at].offset)
			return false;
	}
	return true;
}

TEST(the_last_one_counts)
{
	struct truth truth[ADDRESSES] = {{0}};
	struct memory_map map = {0}, copy;

	for (uintptr_t i = 1; i <= ROUNDS; i++) {
		uint64_t start = random_next() % (ADDRESSES - 40);
		struct memory_piece piece = {start, start + 1 + random_next() % 40,
					     random_next() % 10000, (struct code_file *)i};

		REQUIRE(memory_map_put(&map, &piece) == 0);
		put_truth(truth, &piece);
		REQUIRE(is_as(&map, truth));
	}
	REQUIRE(memory_map_copy(&map, &copy) == 0);
	memory_map_fini(&map);
	CHECK(is_as(&copy, truth));
	memory_map_fini(&copy);
}

TEST(refuses_what_is_none)
{
	struct memory_map map = {0};
	struct memory_piece piece = {10, 10, 0, NULL};

	CHECK_EQUAL(memory_map_put(&map, &piece), -EINVAL);
	piece.end = 9;
	CHECK_EQUAL(memory_map_put(&map, &piece), -EINVAL);
	CHECK(memory_map_find(&map, 10) == NULL);
	for (uint64_t i = 0; i < MEMORY_PIECES_MOST + 10; i++) {
		piece = (struct memory_piece){20 * i, 20 * i + 10, 0, NULL};
		if (memory_map_put(&map, &piece) == -ENOSPC)
			break;
	}
	CHECK(map.count <= MEMORY_PIECES_MOST && map.count > MEMORY_PIECES_MOST - 3);
	CHECK(memory_map_find(&map, 5) != NULL && memory_map_find(&map, 15) == NULL);
	memory_map_fini(&map);
	memory_map_fini(NULL);
}

int main(void)
{
	RUN(the_last_one_counts);
	RUN(refuses_what_is_none);
	return harness_end();
}

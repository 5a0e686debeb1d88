/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_memory_map.c - what code lies where, against a table of every address
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/stack/memory_map.h"

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
	struct memory_map *map = memory_map_new(), *copy;
	struct memory_piece piece = {10, 30, 7, (struct code_file *)1};

	for (uintptr_t i = 1; i <= ROUNDS; i++) {
		uint64_t start = random_next() % (ADDRESSES - 40);

		piece = (struct memory_piece){start, start + 1 + random_next() % 40,
					      random_next() % 10000, (struct code_file *)i};
		REQUIRE(memory_map_put(map, &piece) == 0);
		put_truth(truth, &piece);
		REQUIRE(is_as(map, truth));
	}
	/* a child's is the parent's until it puts something */
	copy = memory_map_share(map);
	REQUIRE(memory_map_own(&copy) == 0);
	CHECK(copy != map && is_as(copy, truth));
	piece = (struct memory_piece){0, ADDRESSES, 0, (struct code_file *)7};
	REQUIRE(memory_map_put(copy, &piece) == 0);
	CHECK(is_as(map, truth));
	memory_map_release(map);
	put_truth(truth, &piece);
	CHECK(is_as(copy, truth));
	map = copy;
	REQUIRE(memory_map_own(&copy) == 0);
	CHECK(copy == map);
	memory_map_release(copy);
	memory_map_release(NULL);
}

/* What is mapped now is known, what was put just before too, what was put long ago no more. */
TEST(a_renewed_map_has_what_is_mapped)
{
	struct memory_map map = {0};
	struct memory_piece piece = {0}, live[2];
	uint64_t i = 0;

	for (;; i++) {
		piece = (struct memory_piece){20 * i, 20 * i + 10, i, NULL};
		if (memory_map_put(&map, &piece))
			break;
	}
	CHECK(i > MAX_MEMORY_PIECES - 3);
	live[0] = (struct memory_piece){40, 45, 100, NULL};
	live[1] = (struct memory_piece){20 * (i - 1), 20 * (i - 1) + 5, 200, NULL};
	REQUIRE(memory_map_renew(&map, live, 2) == 0);
	CHECK(memory_map_find(&map, 0) == NULL);
	CHECK(memory_map_find(&map, 46) == NULL);
	REQUIRE(memory_map_find(&map, 44) != NULL);
	CHECK_EQUAL((int)memory_map_find(&map, 44)->file_offset, 100);
	REQUIRE(memory_map_find(&map, 20 * (i - 1) + 4) != NULL);
	CHECK_EQUAL((int)memory_map_find(&map, 20 * (i - 1) + 4)->file_offset, 200);
	CHECK(memory_map_find(&map, 20 * (i - 1) + 6) != NULL);
	CHECK(memory_map_find(&map, 20 * (i - MEMORY_PIECES_RECENT)) != NULL);
	CHECK(memory_map_find(&map, 20 * (i - MEMORY_PIECES_RECENT - 1)) == NULL);
	REQUIRE(memory_map_put(&map, &piece) == 0);
	/* the second time these are old */
	REQUIRE(memory_map_renew(&map, live, 2) == 0);
	CHECK(memory_map_find(&map, 20 * (i - 1) + 6) == NULL);
	CHECK(memory_map_find(&map, piece.start) != NULL);
	memory_map_fini(&map);
}

/* Of a program that has so many there is room for as many again. */
TEST(a_map_of_living_pieces_grows)
{
	enum { LIVING = 60000 };
	struct memory_piece *living = calloc(LIVING, sizeof(*living)), piece;
	struct memory_map map = {0};
	int error = 0;

	REQUIRE(living != NULL);
	for (uint64_t i = 0; i < LIVING; i++)
		living[i] = (struct memory_piece){20 * i, 20 * i + 10, 0, NULL};
	REQUIRE(memory_map_renew(&map, living, LIVING) == 0);
	for (uint64_t i = LIVING; i < 2 * LIVING - 10 && !error; i++) {
		piece = (struct memory_piece){20 * i, 20 * i + 10, 0, NULL};
		error = memory_map_put(&map, &piece);
	}
	CHECK_EQUAL(error, 0);
	memory_map_fini(&map);
	free(living);
}

/* A program has as many mappings as root lets it have. */
TEST(what_finds_no_room_is_counted)
{
	enum { BEYOND = 1000, LIVING = MEMORY_PIECES_LIMIT + BEYOND };
	struct memory_piece *living = calloc(LIVING, sizeof(*living));
	struct memory_map *map = memory_map_new(), *copy;

	REQUIRE(living && map);
	for (uint64_t i = 0; i < LIVING; i++)
		living[i] = (struct memory_piece){20 * i, 20 * i + 10, 0, NULL};
	REQUIRE(memory_map_renew(map, living, LIVING) == 0);
	CHECK_EQUAL(map->count + map->left_out, LIVING);
	CHECK(map->left_out >= BEYOND && map->left_out < BEYOND + 3);
	copy = memory_map_share(map);
	REQUIRE(memory_map_own(&copy) == 0);
	CHECK_EQUAL(copy->left_out, map->left_out);
	memory_map_release(copy);
	REQUIRE(memory_map_renew(map, living, LIVING / 2) == 0);
	CHECK_EQUAL(map->left_out, 0);
	memory_map_release(map);
	free(living);
}

TEST(refuses_what_is_none)
{
	struct memory_map map = {0};
	struct memory_piece piece = {10, 10, 0, NULL};

	CHECK_EQUAL(memory_map_put(&map, &piece), -EINVAL);
	piece.end = 9;
	CHECK_EQUAL(memory_map_put(&map, &piece), -EINVAL);
	CHECK(memory_map_find(&map, 10) == NULL);
	for (uint64_t i = 0; i < MAX_MEMORY_PIECES + 10; i++) {
		piece = (struct memory_piece){20 * i, 20 * i + 10, 0, NULL};
		if (memory_map_put(&map, &piece) == -ENOSPC)
			break;
	}
	CHECK(map.count <= MAX_MEMORY_PIECES && map.count > MAX_MEMORY_PIECES - 3);
	CHECK(memory_map_find(&map, 5) != NULL && memory_map_find(&map, 15) == NULL);
	memory_map_fini(&map);
	memory_map_fini(NULL);
}

int main(void)
{
	RUN(the_last_one_counts);
	RUN(a_renewed_map_has_what_is_mapped);
	RUN(a_map_of_living_pieces_grows);
	RUN(what_finds_no_room_is_counted);
	RUN(refuses_what_is_none);
	return harness_end();
}

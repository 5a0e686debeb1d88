/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_hash.c - the map against a plain array, and the string table
 */
#include "harness.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"

TEST(map_starts_empty)
{
	struct hash_map map;
	size_t cursor = 0;

	hash_map_init(&map);
	CHECK(hash_map_find(&map, 0) == NULL);
	CHECK(!hash_map_remove(&map, 0, NULL));
	CHECK(!hash_map_next(&map, &cursor, NULL, NULL));
	hash_map_fini(&map);
	hash_map_fini(NULL);
}

static void check_against(const struct hash_map *map, const uint64_t *model, size_t size)
{
	size_t cursor = 0, seen = 0, present = 0;
	uint64_t key, value;

	for (size_t i = 0; i < size; i++) {
		CHECK(hash_map_get(map, i << 12, UINT64_MAX) == model[i]);
		present += model[i] != UINT64_MAX;
	}
	while (hash_map_next(map, &cursor, &key, &value)) {
		CHECK(model[key >> 12] == value);
		seen++;
	}
	CHECK_EQUAL(seen, present);
	CHECK_EQUAL(map->count, present);
}

TEST(map_does_what_an_array_does)
{
	enum { SIZE = 700 };
	static uint64_t model[SIZE];
	struct hash_map map;
	uint64_t random = 1, removed;

	hash_map_init(&map);
	memset(model, 0xff, sizeof(model));
	for (int step = 0; step < 200000; step++) {
		size_t i;

		random = random * 6364136223846793005u + 1442695040888963407u;
		i = (random >> 33) % SIZE;
		if (random >> 63) {
			model[i] = (uint64_t)step;
			CHECK(hash_map_put(&map, i << 12, model[i]) == 0);
		} else {
			bool there = hash_map_remove(&map, i << 12, &removed);

			CHECK(there == (model[i] != UINT64_MAX));
			CHECK(!there || removed == model[i]);
			model[i] = UINT64_MAX;
		}
		if (step % 20000 == 0)
			check_against(&map, model, SIZE);
	}
	check_against(&map, model, SIZE);
	CHECK(map.capacity <= 2048);
	hash_map_clear(&map);
	CHECK(hash_map_find(&map, 0) == NULL);
	hash_map_fini(&map);
}

TEST(map_takes_extreme_keys)
{
	static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63};
	struct hash_map map;

	hash_map_init(&map);
	for (size_t i = 0; i < 5; i++)
		CHECK(hash_map_put(&map, keys[i], keys[i]) == 0);
	for (size_t i = 0; i < 5; i++)
		CHECK(hash_map_get(&map, keys[i], 5) == keys[i]);
	CHECK(hash_map_put_pointer(&map, 9, keys) == 0);
	CHECK(hash_map_find_pointer(&map, 9) == keys);
	CHECK(hash_map_find_pointer(&map, 10) == NULL);
	hash_map_fini(&map);
}

TEST(strings_keep_their_ids)
{
	struct string_table table;
	char text[32];
	size_t length;

	string_table_init(&table);
	CHECK_EQUAL(string_table_find(&table, "a", 1), 0);
	for (uint32_t i = 1; i <= 10000; i++) {
		int size = snprintf(text, sizeof(text), "text %u", i);

		CHECK_EQUAL(string_table_add(&table, text, (size_t)size), i);
	}
	for (uint32_t i = 1; i <= 10000; i++) {
		int size = snprintf(text, sizeof(text), "text %u", i);

		CHECK_EQUAL(string_table_add(&table, text, (size_t)size), i);
		CHECK_EQUAL(string_table_find(&table, text, (size_t)size), i);
		CHECK_TEXT(string_table_text(&table, i, &length), text);
		CHECK_EQUAL(length, size);
	}
	CHECK_EQUAL(table.count, 10000);
	string_table_fini(&table);
	string_table_fini(NULL);
}

TEST(strings_are_found_together)
{
	static char texts[600][8];
	struct string_key keys[600];
	struct string_table table;

	string_table_init(&table);
	for (size_t i = 0; i < 600; i++)
		keys[i] = (struct string_key){
			.bytes = texts[i],
			.length = (size_t)snprintf(texts[i], sizeof(texts[i]), "%zu", i % 500),
			.id = 7};
	keys[3].length = 0;
	string_table_find_all(&table, keys, 600);
	for (size_t i = 0; i < 600; i++)
		CHECK_EQUAL(keys[i].id, 0);
	for (size_t i = 0; i < 300; i++)
		string_table_add(&table, texts[i], strlen(texts[i]));
	string_table_find_all(&table, keys, 600);
	for (size_t i = 0; i < 600; i++)
		CHECK_EQUAL(keys[i].id, i == 3 || i % 500 >= 300 ? 0 : i % 500 + 1);
	string_table_fini(&table);
}

TEST(strings_may_hold_any_byte)
{
	struct string_table table;
	size_t length = 9;

	string_table_init(&table);
	CHECK_EQUAL(string_table_add(&table, "", 0), 0);
	CHECK_EQUAL(string_table_add(&table, "\0", 1), 1);
	CHECK_EQUAL(string_table_add(&table, "\0\0", 2), 2);
	CHECK_EQUAL(string_table_add(&table, "a\0b", 3), 3);
	CHECK_EQUAL(string_table_add(&table, "a\0c", 3), 4);
	CHECK(memcmp(string_table_text(&table, 4, &length), "a\0c", 4) == 0);
	CHECK_EQUAL(length, 3);
	CHECK_TEXT(string_table_text(&table, 5, &length), "");
	CHECK_EQUAL(length, 0);
	CHECK_TEXT(string_table_text(&table, 0, NULL), "");
	string_table_fini(&table);
}

int main(void)
{
	RUN(map_starts_empty);
	RUN(map_does_what_an_array_does);
	RUN(map_takes_extreme_keys);
	RUN(strings_keep_their_ids);
	RUN(strings_are_found_together);
	RUN(strings_may_hold_any_byte);
	return harness_end();
}

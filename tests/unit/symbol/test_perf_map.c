/* SPDX-License-Identifier: MIT
 *
 * /tmp/perf-PID.map: names with spaces, memory used again, lines that make no sense.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"
#include "symbol/jit/perf_map.h"

static int file = -1; /* the text of the last map */

/* Which is the same by search in the file, alone and between others. */
static const char *name_at(const struct perf_map *map, uint64_t address)
{
	struct perf_map_wanted wanted[3] = {
		{.address = address / 2}, {.address = address}, {.address = address + 1}};
	struct perf_map_entry entry;
	const char *name = perf_map_find(map, address, &entry) ? "-" : entry.name;
	char *searched;

	CHECK_EQUAL(perf_map_search(file, UINT64_MAX, wanted, 3), 0);
	searched = perf_map_name(file, &wanted[1]);
	CHECK_TEXT(searched ? searched : "-", name);
	free(searched);
	return name;
}

static struct perf_map *parse(const char *text)
{
	struct perf_map *map = NULL;

	if (file >= 0)
		close(file);
	file = memfd_create("map", 0);
	if (write(file, text, strlen(text)) != (ssize_t)strlen(text))
		return NULL;
	return perf_map_parse(text, strlen(text), &map) ? NULL : map;
}

TEST(names)
{
	struct perf_map *map = parse("1000 10 plain\n"
				     "0x1010 0x10 LazyCompile:*run /app/a b.js:1\n"
				     "1020 8 py::f:/home/my scripts/x.py\r\n"
				     "FFFFffffFFFFfff0 8 high\n");
	struct perf_map_entry entry;

	REQUIRE(map);
	CHECK_EQUAL(perf_map_count(map), 4);
	CHECK_EQUAL(perf_map_damaged_count(map), 0);
	CHECK_TEXT(name_at(map, 0xfff), "-");
	CHECK_TEXT(name_at(map, 0x1000), "plain");
	CHECK_TEXT(name_at(map, 0x100f), "plain");
	CHECK_TEXT(name_at(map, 0x1010), "LazyCompile:*run /app/a b.js:1");
	CHECK_TEXT(name_at(map, 0x1027), "py::f:/home/my scripts/x.py");
	CHECK_TEXT(name_at(map, 0x1028), "-");
	CHECK_TEXT(name_at(map, UINT64_MAX - 10), "high");
	REQUIRE(perf_map_find(map, 0x1015, &entry) == 0);
	CHECK_EQUAL(entry.start, 0x1010);
	CHECK_EQUAL(entry.size, 0x10);
	perf_map_close(map);
}

TEST(later_lines_win)
{
	struct perf_map *map = parse("1000 100 old\n"
				     "1040 20 middle\n"
				     "0ff0 20 across\n"
				     "1050 200 newest\n"
				     "1060 10 newer still\n"
				     "1060 10 and again\n");

	REQUIRE(map);
	CHECK_TEXT(name_at(map, 0x0fff), "across");
	CHECK_TEXT(name_at(map, 0x100f), "across");
	CHECK_TEXT(name_at(map, 0x1010), "old");
	CHECK_TEXT(name_at(map, 0x1045), "middle");
	CHECK_TEXT(name_at(map, 0x1050), "newest");
	CHECK_TEXT(name_at(map, 0x1065), "and again");
	CHECK_TEXT(name_at(map, 0x1070), "newest");
	CHECK_TEXT(name_at(map, 0x124f), "newest");
	CHECK_TEXT(name_at(map, 0x1250), "-");
	perf_map_close(map);
}

TEST(damaged_lines)
{
	struct perf_map *map = parse("\n"
				     "1000\n"
				     "1000 10\n"
				     "1000 10 \n"
				     "1000 0 empty\n"
				     "ffffffffffffffff 10 too far\n"
				     "10000000000000000 10 too large\n"
				     "x000 10 no number\n"
				     "1000 10good, but not a name\n"
				     "2000 10 good\n"
				     "3000 10 half writ");

	REQUIRE(map);
	CHECK_EQUAL(perf_map_count(map), 1);
	CHECK_EQUAL(perf_map_damaged_count(map), 9);
	CHECK_TEXT(name_at(map, 0x2000), "good");
	CHECK_TEXT(name_at(map, 0x3000), "-");
	perf_map_close(map);
	map = parse("");
	REQUIRE(map);
	CHECK_TEXT(name_at(map, 0), "-");
	perf_map_close(map);
}

/* Random lines against a list that is searched from its end. */
TEST(random_lines)
{
	struct {
		uint64_t start, size;
	} lines[400];
	char *text = malloc(400 * 64), *at = text;
	uint64_t state = 7;
	struct perf_map *map;
	int wrong = 0;

	REQUIRE(text);
	for (size_t i = 0; i < 400; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		lines[i].start = state >> 40 & 0xfff;
		lines[i].size = 1 + (state >> 54);
		at += sprintf(at, "%lx %lx %zu\n", lines[i].start, lines[i].size, i);
	}
	map = parse(text);
	REQUIRE(map);
	for (uint64_t address = 0; address < 0x1500; address++) {
		const char *got = name_at(map, address);
		size_t i = 400;

		while (i && (address < lines[i - 1].start ||
			     address >= lines[i - 1].start + lines[i - 1].size))
			i--;
		wrong += i ? strcmp(got, "-") == 0 || (size_t)atoi(got) != i - 1
			   : strcmp(got, "-") != 0;
	}
	CHECK_EQUAL(wrong, 0);
	perf_map_close(map);
	free(text);
}

TEST(no_file)
{
	struct perf_map *map;

	CHECK_EQUAL(perf_map_open("/nowhere/perf-1.map", &map), -ENOENT);
	CHECK(strstr(error_text(), "/nowhere/perf-1.map"));
	perf_map_close(NULL);
}

/* Of a file of 12 MB a block at a time, whose lines end anywhere in it. */
TEST(large_file)
{
	struct perf_map_wanted wanted[100];
	FILE *stream;
	char name[64];

	if (file >= 0)
		close(file);
	file = memfd_create("map", 0);
	stream = fdopen(dup(file), "w");
	REQUIRE(stream);
	for (int i = 0; i < 300000; i++)
		fprintf(stream, "%x 10 %.*sfunction_%d\n", 0x10000 + 16 * i, i % 60,
			"------------------------------------------------------------", i);
	for (int i = 0; i < 1 << 20; i++)
		fputc('1', stream);
	fprintf(stream, " a line that is longer than a block\n10000 8 last\n");
	fclose(stream);
	for (int i = 0; i < 100; i++)
		wanted[i] = (struct perf_map_wanted){.address = 0x10008u + 48000u * (unsigned)i};
	REQUIRE(perf_map_search(file, UINT64_MAX, wanted, 100) == 0);
	for (int i = 0; i < 100; i++) {
		char *found = perf_map_name(file, &wanted[i]);

		snprintf(name, sizeof(name), "function_%d", 3000 * i);
		CHECK(found && strcmp(found + strspn(found, "-"), name) == 0);
		free(found);
	}
	wanted[0].address = 0x10004;
	REQUIRE(perf_map_search(file, UINT64_MAX, wanted, 1) == 0);
	CHECK_EQUAL(wanted[0].length, 4);
	/* … of which only so much is looked at */
	REQUIRE(perf_map_search(file, 1 << 20, wanted, 1) == 0);
	CHECK_EQUAL(wanted[0].length, strlen("function_0"));
	/* the program has cut it since */
	CHECK_EQUAL(ftruncate(file, 5), 0);
	CHECK(!perf_map_name(file, &wanted[0]));
}

int main(void)
{
	RUN(names);
	RUN(later_lines_win);
	RUN(damaged_lines);
	RUN(random_lines);
	RUN(no_file);
	RUN(large_file);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * /tmp/perf-PID.map: names with spaces, memory used again, lines that make no sense.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "symbol/jit/perf_map.h"

static int file = -1; /* the last map */

/* Of an address between others; to be freed. "-": none. */
static char *name_at(uint64_t address)
{
	struct perf_map_wanted wanted[3] = {
		{.address = address / 2}, {.address = address}, {.address = address + 1}};
	char *name;

	CHECK_EQUAL(perf_map_search(file, UINT64_MAX, wanted, 3), 0);
	name = perf_map_name(file, &wanted[1]);
	return name ? name : strdup("-");
}

static void check_name(uint64_t address, const char *wanted)
{
	char *name = name_at(address);

	CHECK_TEXT(name, wanted);
	free(name);
}

static void write_map(const char *text)
{
	if (file >= 0)
		close(file);
	file = memfd_create("map", 0);
	CHECK_EQUAL(write(file, text, strlen(text)), strlen(text));
}

TEST(names)
{
	write_map("1000 10 plain\n"
		  "0x1010 0x10 LazyCompile:*run /app/a b.js:1\n"
		  "1020 8 py::f:/home/my scripts/x.py\r\n"
		  "FFFFffffFFFFfff0 8 high\n");

	check_name(0xfff, "-");
	check_name(0x1000, "plain");
	check_name(0x100f, "plain");
	check_name(0x1010, "LazyCompile:*run /app/a b.js:1");
	check_name(0x1027, "py::f:/home/my scripts/x.py");
	check_name(0x1028, "-");
	check_name(UINT64_MAX - 10, "high");
}

TEST(later_lines_win)
{
	write_map("1000 100 old\n"
		  "1040 20 middle\n"
		  "0ff0 20 across\n"
		  "1050 200 newest\n"
		  "1060 10 newer still\n"
		  "1060 10 and again\n");

	check_name(0x0fff, "across");
	check_name(0x100f, "across");
	check_name(0x1010, "old");
	check_name(0x1045, "middle");
	check_name(0x1050, "newest");
	check_name(0x1065, "and again");
	check_name(0x1070, "newest");
	check_name(0x124f, "newest");
	check_name(0x1250, "-");
}

TEST(damaged_lines)
{
	write_map("\n"
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

	check_name(0x1000, "-");
	check_name(UINT64_MAX, "-");
	check_name(0x2000, "good");
	check_name(0x3000, "-");
	write_map("");
	check_name(0, "-");
}

/* Random lines against a list that is searched from its end. */
TEST(random_lines)
{
	struct {
		uint64_t start, size;
	} lines[400];
	char *text = malloc(400 * 64), *at = text;
	uint64_t state = 7;
	int wrong = 0;

	REQUIRE(text);
	for (size_t i = 0; i < 400; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		lines[i].start = state >> 40 & 0xfff;
		lines[i].size = 1 + (state >> 54);
		at += sprintf(at, "%lx %lx %zu\n", lines[i].start, lines[i].size, i);
	}
	write_map(text);
	for (uint64_t address = 0; address < 0x1500; address++) {
		char *got = name_at(address);
		size_t i = 400;

		while (i && (address < lines[i - 1].start ||
			     address >= lines[i - 1].start + lines[i - 1].size))
			i--;
		wrong += i ? strcmp(got, "-") == 0 || (size_t)atoi(got) != i - 1
			   : strcmp(got, "-") != 0;
		free(got);
	}
	CHECK_EQUAL(wrong, 0);
	free(text);
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
	RUN(large_file);
	return harness_end();
}

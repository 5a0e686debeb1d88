/* SPDX-License-Identifier: MIT
 *
 * Line tables of CPython 3.6 to 3.13 against what the interpreters say of every byte of code
 * (python_lines.txt, made by tests/generate/python_lines.py), and damaged ones.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/io.h"
#include "harness.h"
#include "symbol/remote/python_lines.h"

static const char *golden_path;

struct code {
	uint32_t version, first_line, size;
	uint8_t table[8192];
	size_t table_size;
	char *changes;
};

static int hex(char digit)
{
	return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* Takes one line of the file apart. */
static void read_code(char *line, struct code *code)
{
	char *at;

	code->version = (uint32_t)strtoul(line, &at, 10) << 8;
	code->version |= (uint32_t)strtoul(at + 1, &at, 10);
	code->first_line = (uint32_t)strtoul(at, &at, 10);
	code->size = (uint32_t)strtoul(at, &at, 10);
	at++;
	for (code->table_size = 0; *at != ' ' && *at != '-'; at += 2)
		code->table[code->table_size++] = (uint8_t)(hex(at[0]) << 4 | hex(at[1]));
	code->changes = strchr(at, ' ') + 1;
}

/* Every byte of the code has the line that the last change before it names. */
static int compare(struct code *code)
{
	long want = -1;
	char *at = code->changes;
	uint32_t change = (uint32_t)strtoul(at, &at, 10);
	int wrong = 0;

	for (uint32_t offset = 0; offset < code->size; offset++) {
		uint32_t got = 0;
		int error = python_line(code->version, code->table, code->table_size,
					code->first_line, offset, &got);

		if (offset == change) {
			want = at[1] == '-' ? -1 : strtol(at + 1, NULL, 10);
			at = strchr(at, ' ');
			change = at ? (uint32_t)strtoul(at, &at, 10) : UINT32_MAX;
		}
		if (want < 0 ? error != -ENODATA : error || got != (uint32_t)want)
			wrong++;
	}
	return wrong;
}

TEST(as_the_interpreters_say)
{
	struct code code;
	char *text, *next;
	uint32_t versions = 0;
	size_t codes = 0, instructions = 0;

	REQUIRE(read_file(golden_path, 0, &text, NULL) == 0);
	for (char *line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		REQUIRE(strlen(line) < 2 * sizeof(code.table));
		read_code(line, &code);
		CHECK_EQUAL(compare(&code), 0);
		versions |= 1u << (code.version & 0xff);
		codes++;
		instructions += code.size / 2;
	}
	printf("# %zu code objects, %zu instructions\n", codes, instructions);
	CHECK_EQUAL(versions, 0xff << 6);
	free(text);
}

TEST(bad_tables)
{
	static const uint8_t bytes[] = {0x04, 0x81, 0xf0, 0x7f, 0x80, 0xe8, 0x7f};
	uint32_t line = 77;

	CHECK_EQUAL(python_line(0x0305, bytes, 2, 1, 0, &line), -ENOTSUP);
	CHECK_EQUAL(python_line(0x030f, bytes, 2, 1, 0, &line), -ENOTSUP);
	CHECK_EQUAL(python_line(0x030a, bytes, 0, 1, 0, &line), -EBADMSG);
	CHECK_EQUAL(python_line(0x030b, bytes, 0, 1, 0, &line), -EBADMSG);
	CHECK_EQUAL(python_line(0x030b, bytes, 1, 1, 0, &line), -EBADMSG);     /* no head */
	CHECK_EQUAL(python_line(0x030b, bytes + 5, 1, 1, 0, &line), -EBADMSG); /* varint ends */
	CHECK_EQUAL(python_line(0x030b, bytes + 5, 2, 1, 0, &line), -EBADMSG);
	/* a line before the first one of all */
	CHECK_EQUAL(python_line(0x030a, bytes, 2, 1, 0, &line), -EBADMSG);
	CHECK_EQUAL(python_line(0x030a, bytes, 2, 1, 4, &line), -EBADMSG);
	CHECK_EQUAL(line, 77);
}

TEST(any_bytes)
{
	uint64_t state = 42;
	uint8_t table[64];
	uint32_t line;

	for (int i = 0; i < 200000; i++) {
		for (size_t j = 0; j < sizeof(table); j++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			table[j] = (uint8_t)(state >> 56);
		}
		for (uint32_t version = 0x0306; version <= 0x030e; version++)
			python_line(version, table, table[0] % sizeof(table), table[1],
				    table[2] * 4u, &line);
	}
	CHECK(true);
}

int main(int argc, char **argv)
{
	golden_path = argc > 1 ? argv[1] : "tests/unit/symbol/python_lines.txt";
	RUN(as_the_interpreters_say);
	RUN(bad_tables);
	RUN(any_bytes);
	return harness_end();
}

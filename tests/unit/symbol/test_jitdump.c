/* SPDX-License-Identifier: MIT
 *
 * Dumps of generated code, made here record by record: times, moves, lines, ends that come too
 * soon.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <stdlib.h>

#include "base/error.h"
#include "harness.h"
#include "symbol/jit/jitdump.h"

static uint8_t bytes[4096];
static size_t size;

static void put(uint64_t value, size_t width)
{
	memcpy(bytes + size, &value, width);
	size += width;
}

static void put_text(const char *text)
{
	memcpy(bytes + size, text, strlen(text) + 1);
	size += strlen(text) + 1;
}

static void begin(void)
{
	size = 0;
	put(0x4a695444, 4); /* magic */
	put(1, 4);          /* version */
	put(40, 4);         /* size */
	put(62, 4);         /* x86-64 */
	put(0, 4);
	put(4711, 4); /* pid */
	put(1000, 8); /* time */
	put(0, 8);    /* flags */
}

static size_t begin_record(uint32_t kind, uint64_t time)
{
	put(kind, 4);
	put(0, 4);
	put(time, 8);
	return size - 16;
}

static void end_record(size_t start)
{
	uint32_t length = (uint32_t)(size - start);

	memcpy(bytes + start + 4, &length, sizeof(length));
}

static void load(uint64_t time, uint64_t address, uint64_t length, uint64_t id, const char *name)
{
	size_t start = begin_record(0, time);

	put(4711, 4);
	put(4712, 4);
	put(address, 8);
	put(address, 8);
	put(length, 8);
	put(id, 8);
	put_text(name);
	for (uint64_t i = 0; i < length; i++)
		put(0x90 + id, 1);
	end_record(start);
}

static void move(uint64_t time, uint64_t from, uint64_t to, uint64_t length, uint64_t id)
{
	size_t start = begin_record(1, time);

	put(4711, 4);
	put(4712, 4);
	put(to, 8);
	put(from, 8);
	put(to, 8);
	put(length, 8);
	put(id, 8);
	end_record(start);
}

/* Which is the same in what is read of a file for this address alone. */
static const char *name_at(struct jitdump *dump, uint64_t address, uint64_t time)
{
	int file = memfd_create("dump", 0);
	struct jitdump_frame frame;
	const char *name = jitdump_find(dump, address, time, &frame) ? "-" : frame.name;
	struct jitdump *part;

	CHECK_EQUAL(write(file, bytes, size), size);
	if (jitdump_open_part(file, UINT64_MAX, &address, 1, &part))
		return "not read";
	CHECK_TEXT(jitdump_find(part, address, time, &frame) ? "-" : frame.name, name);
	jitdump_close(part);
	close(file);
	return name;
}

TEST(memory_used_again)
{
	struct jitdump_info info;
	struct jitdump *dump;

	begin();
	load(1100, 0x1000, 0x40, 1, "first");
	load(1300, 0x1020, 0x40, 3, "third");
	load(1200, 0x1000, 0x40, 2, "second"); /* written later than it happened */
	end_record(begin_record(3, 1400));
	REQUIRE(jitdump_parse(bytes, size, &dump) == 0);
	jitdump_info(dump, &info);
	CHECK_EQUAL(info.pid, 4711);
	CHECK_EQUAL(info.machine, 62);
	CHECK_EQUAL(info.timestamp, 1000);
	CHECK_EQUAL(info.code_count, 3);
	CHECK(!info.is_truncated && !info.has_cpu_clock);
	CHECK_TEXT(name_at(dump, 0x1010, 1099), "-");
	CHECK_TEXT(name_at(dump, 0x1010, 1100), "first");
	CHECK_TEXT(name_at(dump, 0x1010, 1250), "second");
	CHECK_TEXT(name_at(dump, 0x1030, 1250), "second");
	CHECK_TEXT(name_at(dump, 0x1030, 1300), "third");
	CHECK_TEXT(name_at(dump, 0x1010, JITDUMP_LATEST), "second");
	CHECK_TEXT(name_at(dump, 0x1060, JITDUMP_LATEST), "-");
	CHECK_TEXT(name_at(dump, 0x0fff, JITDUMP_LATEST), "-");
	jitdump_close(dump);
}

TEST(moved_code)
{
	struct jitdump_frame frame;
	struct jitdump *dump;

	begin();
	load(100, 0x1000, 0x10, 1, "mover");
	move(200, 0x1000, 0x2000, 0x10, 1);
	move(300, 0x2000, 0x3000, 0x10, 1);
	move(350, 0x2000, 0x5000, 0x10, 1); /* is not there any more */
	load(400, 0x1000, 0x10, 2, "other");
	move(500, 0x1000, 0x4000, 0x10, 7); /* is another one */
	REQUIRE(jitdump_parse(bytes, size, &dump) == 0);
	CHECK_TEXT(name_at(dump, 0x1008, 199), "mover");
	CHECK_TEXT(name_at(dump, 0x1008, 200), "-");
	CHECK_TEXT(name_at(dump, 0x2008, 250), "mover");
	CHECK_TEXT(name_at(dump, 0x2008, 300), "-");
	CHECK_TEXT(name_at(dump, 0x1008, 400), "other");
	CHECK_TEXT(name_at(dump, 0x4008, 600), "-");
	CHECK_TEXT(name_at(dump, 0x5008, 600), "-");
	REQUIRE(jitdump_find(dump, 0x3008, JITDUMP_LATEST, &frame) == 0);
	CHECK_EQUAL(frame.start, 0x3000);
	CHECK_EQUAL(frame.size, 0x10);
	CHECK_EQUAL(frame.id, 1);
	REQUIRE(frame.code);
	CHECK_EQUAL(frame.code[0xf], 0x91);
	jitdump_close(dump);
}

static void debug(uint64_t time, uint64_t address, uint64_t count)
{
	static const struct {
		uint64_t offset;
		uint32_t line;
		const char *file;
	} lines[] = {{0, 10, "a.py"}, {4, 12, "\xff"}, {12, 3, "b.py"}, {8, 11, "a.py"}};
	size_t start = begin_record(2, time);

	put(address, 8);
	put(count, 8);
	for (size_t i = 0; i < 4; i++) {
		put(address + lines[i].offset, 8);
		put(lines[i].line, 4);
		put(0, 4);
		put_text(lines[i].file);
	}
	end_record(start);
}

static int line_at(struct jitdump *dump, uint64_t address, const char *file)
{
	struct jitdump_frame frame;

	if (jitdump_find(dump, address, JITDUMP_LATEST, &frame))
		return -1;
	CHECK(frame.file ? file && strcmp(frame.file, file) == 0 : !file);
	return (int)frame.line;
}

TEST(lines)
{
	struct jitdump *dump;

	begin();
	debug(100, 0x1000, 4);
	load(101, 0x1000, 0x10, 1, "with lines");
	load(102, 0x2000, 0x10, 2, "without");
	debug(103, 0x3000, 1000000); /* says that it has more */
	load(104, 0x3000, 0x10, 3, "cut");
	move(105, 0x1000, 0x5000, 0x10, 1);
	REQUIRE(jitdump_parse(bytes, size, &dump) == 0);
	CHECK_EQUAL(line_at(dump, 0x5000, "a.py"), 10);
	CHECK_EQUAL(line_at(dump, 0x5003, "a.py"), 10);
	CHECK_EQUAL(line_at(dump, 0x5007, "a.py"), 12);
	CHECK_EQUAL(line_at(dump, 0x5008, "a.py"), 11);
	CHECK_EQUAL(line_at(dump, 0x500f, "b.py"), 3);
	CHECK_EQUAL(line_at(dump, 0x2004, NULL), 0);
	CHECK_EQUAL(line_at(dump, 0x3004, "a.py"), 12);
	jitdump_close(dump);
}

TEST(cut_and_damaged)
{
	struct jitdump_info info;
	struct jitdump *dump;
	size_t whole;

	begin();
	debug(100, 0x1000, 4);
	load(101, 0x1000, 0x10, 1, "one");
	move(102, 0x1000, 0x2000, 0x10, 1);
	load(103, 0x1000, 0x10, 2, "two");
	end_record(begin_record(3, 104));
	whole = size;
	for (size = 0; size < whole; size++) {
		/* exactly as large as it is, so that a byte too far is seen */
		uint8_t *copy = malloc(size ? size : 1);
		int error;

		REQUIRE(copy);
		memcpy(copy, bytes, size);
		error = jitdump_parse(copy, size, &dump);
		CHECK_EQUAL(error, size < 40 ? -EPROTO : 0);
		if (!error) {
			jitdump_info(dump, &info);
			CHECK(info.is_truncated);
			CHECK(info.code_count <= 2);
			name_at(dump, 0x1000, JITDUMP_LATEST);
			jitdump_close(dump);
		}
		free(copy);
	}
	bytes[4] = 2;
	CHECK_EQUAL(jitdump_parse(bytes, whole, &dump), -ENOTSUP);
	CHECK(strstr(error_text(), "version 2"));
	memcpy(bytes, "JiTD", 4);
	CHECK_EQUAL(jitdump_parse(bytes, whole, &dump), -ENOTSUP);
	CHECK_EQUAL(jitdump_open("/nowhere/jit-1.dump", &dump), -ENOENT);
}

/* Any byte may be wrong. */
TEST(any_byte)
{
	struct jitdump_frame frame;
	struct jitdump *dump;
	uint8_t *copy;

	begin();
	debug(100, 0x1000, 4);
	load(101, 0x1000, 0x10, 1, "one");
	move(102, 0x1000, 0x2000, 0x10, 1);
	load(103, 0x1000, 0x10, 2, "two");
	copy = malloc(size);
	REQUIRE(copy);
	for (size_t i = 0; i < size; i++) {
		for (int value = 0; value < 256; value += 17) {
			memcpy(copy, bytes, size);
			copy[i] = (uint8_t)value;
			if (jitdump_parse(copy, size, &dump))
				continue;
			for (uint64_t address = 0x0ff0; address < 0x2020; address += 5) {
				if (!jitdump_find(dump, address, JITDUMP_LATEST, &frame))
					CHECK(strlen(frame.name) < size);
			}
			jitdump_close(dump);
		}
	}
	free(copy);
}

int main(void)
{
	RUN(memory_used_again);
	RUN(moved_code);
	RUN(lines);
	RUN(cut_and_damaged);
	RUN(any_byte);
	return harness_end();
}

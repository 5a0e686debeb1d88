/* SPDX-License-Identifier: MIT
 *
 * Dumps of generated code, made here record by record: times, moves, ends that come too soon.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <stdlib.h>

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

/* The file is as long as what is written so far. */
static int open_dump(const uint64_t *addresses, size_t count, struct jitdump **ret_dump)
{
	int file = memfd_create("dump", 0), error;

	CHECK_EQUAL(write(file, bytes, size), size);
	error = jitdump_open(file, UINT64_MAX, addresses, count, ret_dump);
	close(file);
	return error;
}

/* Reads a dump for this address alone. */
static void check_name(uint64_t address, uint64_t time, const char *wanted)
{
	struct jitdump *dump;
	const char *name;

	REQUIRE(open_dump(&address, 1, &dump) == 0);
	name = jitdump_find(dump, address, time);
	CHECK_TEXT(name ? name : "-", wanted);
	jitdump_close(dump);
}

TEST(memory_used_again)
{
	begin();
	load(1100, 0x1000, 0x40, 1, "first");
	load(1300, 0x1020, 0x40, 3, "third");
	load(1200, 0x1000, 0x40, 2, "second"); /* written later than it happened */
	end_record(begin_record(3, 1400));
	load(1500, 0x1000, 0x40, 4, "after the end");
	check_name(0x1010, 1099, "-");
	check_name(0x1010, 1100, "first");
	check_name(0x1010, 1250, "second");
	check_name(0x1030, 1250, "second");
	check_name(0x1030, 1300, "third");
	check_name(0x1010, UINT64_MAX, "second");
	check_name(0x1060, UINT64_MAX, "-");
	check_name(0x0fff, UINT64_MAX, "-");
	bytes[32] = 1; /* the processor's counter: no time can be compared */
	check_name(0x1010, 1100, "second");
}

TEST(moved_code)
{
	static const uint64_t addresses[] = {0x1008, 0x2008, 0x3008, 0x4008, 0x5008};
	struct jitdump *dump;

	begin();
	load(100, 0x1000, 0x10, 1, "mover");
	move(200, 0x1000, 0x2000, 0x10, 1);
	move(300, 0x2000, 0x3000, 0x10, 1);
	move(350, 0x2000, 0x5000, 0x10, 1); /* is not there any more */
	load(400, 0x1000, 0x10, 2, "other");
	move(500, 0x1000, 0x4000, 0x10, 7); /* is another one */
	check_name(0x1008, 199, "mover");
	check_name(0x1008, 200, "-");
	check_name(0x2008, 250, "mover");
	check_name(0x2008, 300, "-");
	check_name(0x1008, 400, "other");
	check_name(0x3008, UINT64_MAX, "mover");
	check_name(0x4008, 600, "-");
	check_name(0x5008, 600, "-");
	REQUIRE(open_dump(addresses, 5, &dump) == 0);
	CHECK_TEXT(jitdump_find(dump, 0x1008, 450), "other");
	CHECK_TEXT(jitdump_find(dump, 0x2008, 250), "mover");
	CHECK_TEXT(jitdump_find(dump, 0x300f, 450), "mover");
	CHECK(!jitdump_find(dump, 0x3010, 450));
	CHECK(!jitdump_find(dump, 0x5008, 450));
	jitdump_close(dump);
}

/* Lines of code, which are not read. */
static void debug(uint64_t time, uint64_t address)
{
	size_t start = begin_record(2, time);

	put(address, 8);
	put(1, 8);
	put(address + 4, 8);
	put(10, 4);
	put(0, 4);
	put_text("a.py");
	end_record(start);
}

static void make_each(void)
{
	begin();
	debug(100, 0x1000);
	load(101, 0x1000, 0x10, 1, "one");
	move(102, 0x1000, 0x2000, 0x10, 1);
	load(103, 0x1000, 0x10, 2, "two");
	end_record(begin_record(3, 104));
}

TEST(cut_and_damaged)
{
	static const uint64_t addresses[] = {0x1000, 0x2000};
	struct jitdump *dump;
	size_t whole;

	make_each();
	whole = size;
	for (size = 0; size < whole; size++) {
		int error = open_dump(addresses, 2, &dump);

		CHECK_EQUAL(error, size < 40 ? -EPROTO : 0);
		if (!error)
			jitdump_close(dump);
	}
	check_name(0x1000, UINT64_MAX, "two");
	check_name(0x2000, UINT64_MAX, "one");
	bytes[8] = 39;
	CHECK_EQUAL(open_dump(addresses, 2, &dump), -EPROTO);
	bytes[4] = 2;
	CHECK_EQUAL(open_dump(addresses, 2, &dump), -ENOTSUP);
	memcpy(bytes, "JiTD", 4);
	CHECK_EQUAL(open_dump(addresses, 2, &dump), -ENOTSUP);
	memcpy(bytes, "JITD", 4);
	CHECK_EQUAL(open_dump(addresses, 2, &dump), -EPROTO);
}

/* Any byte may be wrong. */
TEST(any_byte)
{
	static const uint64_t addresses[] = {0x0fff, 0x1000, 0x1008, 0x2000, 0x200f, UINT64_MAX};

	make_each();
	for (size_t i = 0; i < size; i++) {
		const uint8_t kept = bytes[i];

		for (int value = 0; value < 256; value += 17) {
			struct jitdump *dump;

			bytes[i] = (uint8_t)value;
			if (open_dump(addresses, 6, &dump))
				continue;
			for (size_t j = 0; j < 6; j++) {
				const char *name = jitdump_find(dump, addresses[j], UINT64_MAX);

				CHECK(!name || strlen(name) < size);
			}
			jitdump_close(dump);
		}
		bytes[i] = kept;
	}
}

int main(void)
{
	RUN(memory_used_again);
	RUN(moved_code);
	RUN(cut_and_damaged);
	RUN(any_byte);
	return harness_end();
}

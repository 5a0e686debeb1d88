/* SPDX-License-Identifier: MIT
 *
 * /proc/PID/maps: everything that the kernel writes there, what it does not write, and our own.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "symbol/proc_maps.h"

static const char text[] =
	"55d0c8a00000-55d0c8a02000 r--p 00000000 fe:01 1048607                    /usr/bin/cat\n"
	"55d0c8a02000-55d0c8a07000 r-xp 00002000 fe:01 1048607                    /usr/bin/cat\n"
	"55d0c9000000-55d0c9021000 rw-p 00000000 00:00 0                          [heap]\n"
	"7f0000000000-7f0000001000 r--p 00000000 fe:01 7 /tmp/with two  spaces .so\n"
	"7f0000001000-7f0000002000 r-xp 00001000 103:02f 18446744073709551615 /tmp/new\\012line\n"
	"7f0000002000-7f0000003000 rwxs 00000000 00:01 9   /memfd:jit code (deleted)\n"
	"7f0000003000-7f0000004000 r-xp 00000000 fe:01 8   /home/u/lib.so (deleted)\n"
	"7f0000004000-7f0000005000 rw-s 00000000 00:01 3   /dev/zero (deleted)\n"
	"7f0000005000-7f0000006000 rw-p 00000000 00:00 0 \n"
	"7f0000006000-7f0000007000 rw-p 00000000 00:00 0\n"
	"7f0000007000-7f0000008000 rw-p 00000000 00:00 0   [anon:arena]\n"
	"7f0000008000-7f0000009000 rw-s 00000000 00:01 32768 /SYSV00000000 (deleted)\n"
	"7f0000009000-7f000000a000 ---p 00000000 00:00 0   [stack]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

TEST(every_kind)
{
	static const struct {
		enum proc_mapping_kind kind;
		const char *path;
		bool is_deleted;
	} want[] = {
		{PROC_MAPPING_FILE, "/usr/bin/cat", false},
		{PROC_MAPPING_FILE, "/usr/bin/cat", false},
		{PROC_MAPPING_SPECIAL, "[heap]", false},
		{PROC_MAPPING_FILE, "/tmp/with two  spaces .so", false},
		{PROC_MAPPING_FILE, "/tmp/new\nline", false},
		{PROC_MAPPING_MEMORY, "/memfd:jit code", true},
		{PROC_MAPPING_FILE, "/home/u/lib.so", true},
		{PROC_MAPPING_MEMORY, "/dev/zero", true},
		{PROC_MAPPING_ANONYMOUS, "", false},
		{PROC_MAPPING_ANONYMOUS, "", false},
		{PROC_MAPPING_ANONYMOUS, "[anon:arena]", false},
		{PROC_MAPPING_MEMORY, "/SYSV00000000", true},
		{PROC_MAPPING_SPECIAL, "[stack]", false},
		{PROC_MAPPING_SPECIAL, "[vsyscall]", false},
	};
	struct proc_maps maps;

	REQUIRE(proc_maps_parse(text, sizeof(text) - 1, &maps) == 0);
	REQUIRE(maps.count == sizeof(want) / sizeof(want[0]));
	CHECK_EQUAL(maps.damaged_count, 0);
	for (size_t i = 0; i < maps.count; i++) {
		CHECK_EQUAL(maps.mappings[i].kind, want[i].kind);
		CHECK_TEXT(maps.mappings[i].path, want[i].path);
		CHECK_EQUAL(maps.mappings[i].is_deleted, want[i].is_deleted);
	}
	proc_maps_fini(&maps);
}

TEST(every_field)
{
	const struct proc_mapping *mapping;
	struct proc_maps maps;

	REQUIRE(proc_maps_parse(text, sizeof(text) - 1, &maps) == 0);
	mapping = proc_maps_find(&maps, 0x7f0000001fff);
	REQUIRE(mapping);
	CHECK_EQUAL(mapping->start, 0x7f0000001000);
	CHECK_EQUAL(mapping->end, 0x7f0000002000);
	CHECK_EQUAL(mapping->file_offset, 0x1000);
	CHECK_EQUAL(mapping->device_major, 0x103);
	CHECK_EQUAL(mapping->device_minor, 0x2f);
	CHECK(mapping->inode == UINT64_MAX);
	CHECK(mapping->is_readable && !mapping->is_writable && mapping->is_executable);
	CHECK(!mapping->is_shared);
	mapping = proc_maps_find(&maps, 0x7f0000002000);
	REQUIRE(mapping);
	CHECK(mapping->is_writable && mapping->is_shared);
	CHECK(!proc_maps_find(&maps, 0x55d0c8a07000));
	CHECK(!proc_maps_find(&maps, 0));
	CHECK(proc_maps_find(&maps, 0xffffffffff600000));
	CHECK(!proc_maps_find(&maps, UINT64_MAX));
	proc_maps_fini(&maps);
}

TEST(damaged_lines)
{
	static const char damaged[] = "1000-2000 r-xp 00000000 00:00 0 /a\n"
				      "\n"
				      "nothing at all\n"
				      "3000-2000 r-xp 00000000 00:00 0 /backwards\n"
				      "10000000000000000-2 r-xp 00000000 00:00 0 /large\n"
				      "4000-5000 r-x 00000000 00:00 0 /short\n"
				      "5000-6000 r-xp 00000000 00:00 0/close\n"
				      "6000-7000 r-xp 00000000 00:00 12";
	struct proc_maps maps;

	REQUIRE(proc_maps_parse(damaged, sizeof(damaged) - 1, &maps) == 0);
	CHECK_EQUAL(maps.count, 2);
	CHECK_EQUAL(maps.damaged_count, 6);
	proc_maps_fini(&maps);
	/* every beginning of a good text */
	for (size_t size = 0; size < sizeof(text); size++) {
		char *copy = malloc(size ? size : 1);

		REQUIRE(copy);
		memcpy(copy, text, size);
		REQUIRE(proc_maps_parse(copy, size, &maps) == 0);
		CHECK(maps.damaged_count <= 1);
		proc_maps_fini(&maps);
		free(copy);
	}
}

TEST(our_own)
{
	char name[] = "/tmp/duet maps\nXXXXXX";
	const struct proc_mapping *mapping;
	struct proc_maps maps;
	int fd = mkstemp(name);
	void *page;

	REQUIRE(fd >= 0 && ftruncate(fd, 4096) == 0);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	REQUIRE(page != MAP_FAILED);
	REQUIRE(proc_maps_read(getpid(), &maps) == 0);
	CHECK_EQUAL(maps.damaged_count, 0);
	mapping = proc_maps_find(&maps, (uint64_t)(uintptr_t)page);
	REQUIRE(mapping);
	CHECK_TEXT(mapping->path, name);
	CHECK(!mapping->is_deleted);
	proc_maps_fini(&maps);
	unlink(name);
	REQUIRE(proc_maps_read(getpid(), &maps) == 0);
	mapping = proc_maps_find(&maps, (uint64_t)(uintptr_t)page);
	CHECK(mapping && mapping->is_deleted);
	CHECK_TEXT(mapping->path, name);
	proc_maps_fini(&maps);
	munmap(page, 4096);
	close(fd);
	CHECK_EQUAL(proc_maps_read(0x7fffffff, &maps), -ENOENT);
}

int main(void)
{
	RUN(every_kind);
	RUN(every_field);
	RUN(damaged_lines);
	RUN(our_own);
	return harness_end();
}

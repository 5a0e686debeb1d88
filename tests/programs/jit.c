/* SPDX-License-Identifier: MIT
 *
 * tests/programs/jit.c - launch from functions that are made while the program runs
 *
 *	jit map|dump COUNT INTERVAL_US [PADDING_BYTES [ends]]
 *
 *	Makes COUNT functions made_0, made_1, … one after the other, tells each in /tmp/perf-PID.map
 *	    or in
 *	jit-PID.dump of the current folder, calls it, which launches once, and sleeps for
 *	    INTERVAL_US. Before them
 *	the file gets that many bytes about other code. ends: the file is deleted at the end,
 *	    otherwise its
 *	path goes to stdout. Without one of the two words, nothing is told. x86-64 and aarch64.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "launch_work.h"

enum { CODE_BYTES = 64 };

static int file = -1;
static char path[128];

static void put(const void *bytes, size_t size)
{
	if (file >= 0 && write(file, bytes, size) != (ssize_t)size)
		exit(99);
}

static size_t make_code(uint8_t *at, void (*call)(void))
{
	uint64_t target = (uint64_t)(uintptr_t)call;
#if defined(__x86_64__)
	/* push rbp; mov rbp, rsp; mov rax, target; call rax; pop rbp; ret */
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8};
	static const uint8_t end[] = {0xff, 0xd0, 0x5d, 0xc3};

	memcpy(at, begin, sizeof(begin));
	memcpy(at + sizeof(begin), &target, 8);
	memcpy(at + sizeof(begin) + 8, end, sizeof(end));
	return sizeof(begin) + 8 + sizeof(end);
#elif defined(__aarch64__)
	/* stp x29, x30, [sp, -16]!; mov x29, sp; ldr x8, 16; blr x8; ldp x29, x30, [sp], 16; ret;
	 * target */
	static const uint32_t words[] = {0xa9bf7bfd, 0x910003fd, 0x58000088,
					 0xd63f0100, 0xa8c17bfd, 0xd65f03c0};

	memcpy(at, words, sizeof(words));
	memcpy(at + sizeof(words), &target, 8);
	__builtin___clear_cache((char *)at, (char *)at + CODE_BYTES);
	return sizeof(words);
#else
	(void)at, (void)target;
	exit(77);
#endif
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void tell_map(uint64_t address, size_t size, const char *name)
{
	char line[160];
	int length = snprintf(line, sizeof(line), "%llx %zx %s\n", (unsigned long long)address,
			      size, name);

	put(line, (size_t)length);
}

static void tell_dump(uint64_t address, size_t size, const char *name, uint64_t index)
{
	static const uint8_t code[4096];
	size_t length = strlen(name) + 1;
	struct {
		uint32_t kind, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t section, address, bytes, index;
	} record = {.size = (uint32_t)(sizeof(record) + length + size),
		    .time = now_ns(),
		    .pid = (uint32_t)getpid(),
		    .section = address,
		    .address = address,
		    .bytes = size,
		    .index = index};

	put(&record, sizeof(record));
	put(name, length);
	put(code, size);
}

static void open_file(const char *kind)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} head = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), now_ns(), 0};

	if (strcmp(kind, "map") == 0)
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	else if (strcmp(kind, "dump") == 0)
		snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	else
		return;
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		exit(99);
	if (strcmp(kind, "dump") == 0) {
		put(&head, sizeof(head));
		/* by which a profiler finds it */
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
			exit(99);
	}
}

static void tell(const char *kind, uint64_t address, size_t size, const char *name, uint64_t index)
{
	if (strcmp(kind, "map") == 0)
		tell_map(address, size, name);
	else if (strcmp(kind, "dump") == 0)
		tell_dump(address, size, name, index);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "none";
	long count = argc > 2 ? atol(argv[2]) : 1, interval = argc > 3 ? atol(argv[3]) : 0;
	long padding = argc > 4 ? atol(argv[4]) : 0;
	uint8_t *code = mmap(NULL, (size_t)count * CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];

	if (code == MAP_FAILED)
		return 99;
	launch_open();
	open_file(kind);
	for (uint64_t i = 0; file >= 0 && lseek(file, 0, SEEK_CUR) < padding; i++) {
		snprintf(name, sizeof(name), "somewhere_else_%llu", (unsigned long long)i);
		tell(kind, 0x1000 + 4096 * i, 4096, name, 1000000 + i);
	}
	for (long i = 0; i < count; i++) {
		uint8_t *at = code + i * CODE_BYTES;
		size_t size = make_code(at, launch_once);
		void (*made)(void);

		snprintf(name, sizeof(name), "made_%ld", i);
		tell(kind, (uint64_t)(uintptr_t)at, size, name, (uint64_t)i);
		*(void **)&made = at;
		made();
		if (interval)
			usleep((useconds_t)interval);
	}
	launch_finish();
	if (argc > 5)
		unlink(path);
	else
		puts(path);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_jitdump.c - libFuzzer target: any bytes as a jitdump
 *
 *	fuzz_jitdump --seed FOLDER		writes one with each kind of record
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const uint64_t addresses[] = {0,      0x1000, 0x1001,         0x1010,
				     0x2000, 0x2001, UINT64_MAX - 1, UINT64_MAX};
static const uint64_t times[] = {0, 1, 5, 1000, UINT64_MAX};

enum { ADDRESSES = sizeof(addresses) / sizeof(addresses[0]) };

static volatile size_t total;

/* What is found must be readable. */
static void read_names(const struct jitdump *dump)
{
	for (size_t i = 0; i < ADDRESSES; i++) {
		for (size_t j = 0; j < sizeof(times) / sizeof(times[0]); j++) {
			const char *name = jitdump_find(dump, addresses[i], times[j]);

			total += name ? strlen(name) : 0;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct jitdump *dump;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	if (jitdump_open(fd, size, addresses, ADDRESSES, &dump) == 0) {
		read_names(dump);
		jitdump_close(dump);
	}
	close(fd);
	return 0;
}

/* ---- seeds ---- */

struct bytes {
	uint8_t data[512];
	size_t size;
};

static void put(struct bytes *bytes, const void *data, size_t size)
{
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

static void put_u32(struct bytes *bytes, uint32_t value)
{
	put(bytes, &value, sizeof(value));
}

static void put_u64(struct bytes *bytes, uint64_t value)
{
	put(bytes, &value, sizeof(value));
}

static void put_record(struct bytes *dump, uint32_t id, uint64_t time, const struct bytes *body)
{
	put_u32(dump, id);
	put_u32(dump, (uint32_t)(16 + body->size));
	put_u64(dump, time);
	put(dump, body->data, body->size);
}

static int write_seed(const char *folder)
{
	struct bytes dump = {.size = 0}, lines = {.size = 0}, load = {.size = 0},
		     move = {.size = 0}, none = {.size = 0};
	char path[4096];
	FILE *file;

	for (size_t i = 0; i < 6; i++)
		put_u32(&dump, (const uint32_t[]){0x4A695444, 1, 40, 62, 0, 7}[i]);
	put_u64(&dump, 1);
	put_u64(&dump, 0);
	put_u64(&lines, 0x1000);
	put_u64(&lines, 1);
	put_u64(&lines, 0x1000);
	put_u32(&lines, 12);
	put_u32(&lines, 0);
	put(&lines, "a.js", 5);
	put_u32(&load, 7);
	put_u32(&load, 7);
	put_u64(&load, 0x1000);
	put_u64(&load, 0x1000);
	put_u64(&load, 4);
	put_u64(&load, 1);
	put(&load, "f\0\x90\x90\x90\xc3", 6);
	put_u32(&move, 7);
	put_u32(&move, 7);
	put_u64(&move, 0x2000);
	put_u64(&move, 0x1000);
	put_u64(&move, 0x2000);
	put_u64(&move, 4);
	put_u64(&move, 1);
	put_record(&dump, 2, 1, &lines);
	put_record(&dump, 0, 2, &load);
	put_record(&dump, 1, 5, &move);
	put_record(&dump, 3, 9, &none);
	snprintf(path, sizeof(path), "%s/each", folder);
	file = fopen(path, "we");
	if (!file)
		return 1;
	fwrite(dump.data, 1, dump.size, file);
	return fclose(file) != 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "--seed"))
		exit(write_seed((*argv)[2]));
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_perf_map.c - libFuzzer target: any bytes as a perf map
 *
 *	fuzz_perf_map --seed FOLDER		writes one
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const uint64_t addresses[] = {0,      1,      0x10,           0x1000,    0x1004,
				     0x1fff, 0x2000, UINT64_MAX - 1, UINT64_MAX};

enum { ADDRESSES = sizeof(addresses) / sizeof(addresses[0]) };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perf_map_wanted wanted[ADDRESSES] = {{0}};
	int fd = memfd_create("map", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	for (size_t i = 0; i < ADDRESSES; i++)
		wanted[i].address = addresses[i];
	if (perf_map_search(fd, size, wanted, ADDRESSES) == 0) {
		for (size_t i = 0; i < ADDRESSES; i++) {
			if (wanted[i].length && wanted[i].at + wanted[i].length > size)
				abort();
			free(wanted[i].length ? perf_map_name(fd, &wanted[i]) : NULL);
		}
	}
	close(fd);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[4096];
	FILE *file;

	if (*argc != 3 || strcmp((*argv)[1], "--seed") != 0)
		return 0;
	snprintf(path, sizeof(path), "%s/map", (*argv)[2]);
	file = fopen(path, "we");
	if (!file || fputs("1000 10 f\n1004 ffc LazyCompile:~g a.js:1\n0x2000 4 "
			   "h\nffffffffffffffff 1 last\n1000 zz bad\n",
			   file) < 0)
		exit(1);
	exit(fclose(file) != 0);
}

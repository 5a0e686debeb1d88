// SPDX-License-Identifier: MIT
/* Prints what a disassembler and an instruction cost; no test, as the machine decides.
 *
 *	measure_isa x86_64|arm64|amdgpu|xe PROCESSOR CODE [print]
 *
 * CODE is a file of instructions and nothing else (objcopy -O binary -j .text). */
#include "isa/isa.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long resident_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void measure_new(enum isa_type type, const char *processor, struct isa **ret_isa)
{
	double begin = now();
	long before = resident_kib();

	if (isa_new(type, processor, ret_isa))
		exit(1);
	printf("new: %.1f ms, %ld KiB, %s\n", (now() - begin) * 1e3, resident_kib() - before,
	       isa_why(*ret_isa) ? isa_why(*ret_isa) : isa_library(*ret_isa));
	isa_free(*ret_isa);
	begin = now();
	if (isa_new(type, processor, ret_isa))
		exit(1);
	printf("another: %.2f ms\n", (now() - begin) * 1e3);
}

static void measure_decode(struct isa *isa, const uint8_t *code, size_t size, bool does_print)
{
	double begin = now();
	long before = resident_kib();
	char text[ISA_TEXT_SIZE];
	size_t count = 0, undecoded = 0, length;

	for (size_t at = 0; at < size; at += length, count++) {
		if (isa_decode(isa, code + at, size - at, at, text, sizeof(text), &length))
			exit(1);
		undecoded += text[0] == '.';
		if (does_print)
			printf("%8zx:\t%s\n", at, text);
	}
	printf("%zu instructions, %zu not decoded, %.3f us each, %ld KiB\n", count, undecoded,
	       (now() - begin) * 1e6 / (double)(count ? count : 1), resident_kib() - before);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"unknown", "x86_64", "arm64", "amdgpu", "xe"};
	static uint8_t code[64 << 20];
	enum isa_type type = ISA_UNKNOWN;
	struct isa *isa;
	size_t size;
	FILE *file = argc > 3 ? fopen(argv[3], "rb") : NULL;

	if (!file)
		return 2;
	size = fread(code, 1, sizeof(code), file);
	fclose(file);
	for (int i = ISA_X86_64; i <= ISA_XE; i++)
		if (strcmp(argv[1], names[i]) == 0)
			type = (enum isa_type)i;
	measure_new(type, argv[2], &isa);
	measure_decode(isa, code, size, argc > 4);
	isa_free(isa);
	return 0;
}

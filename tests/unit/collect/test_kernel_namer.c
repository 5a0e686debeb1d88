/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_kernel_namer.c - the kernel's answer and /proc/kallsyms agree
 */
#include "collect/kernel/namer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "harness.h"
#include "symbol/kernel/kallsyms.h"

/* More than the kernel names in one run. */
enum { SYMBOLS = 200, EVERY = 500 };

/* Functions of /proc/kallsyms, EVERY lines apart; returns how many. */
static size_t read_starts(uint64_t *starts)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024], type;
	uint64_t start;
	size_t count = 0;

	if (!file)
		return 0;
	for (size_t i = 0; count < SYMBOLS && fgets(line, sizeof(line), file); i++)
		if (i % EVERY == 0 && sscanf(line, "%" SCNx64 " %c", &start, &type) == 2 && start &&
		    strchr("tT", type))
			starts[count++] = start;
	fclose(file);
	return count;
}

/* Whether /proc/kallsyms lists this name there: several functions may start at one place. */
static bool is_listed(uint64_t start, const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024], listed[512];
	const size_t length = strcspn(name, " ");
	uint64_t at;
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%" SCNx64 " %*c %511s", &at, listed) == 2 && at == start &&
			strlen(listed) == length && memcmp(listed, name, length) == 0;
	fclose(file);
	return found;
}

static void compare(const struct kernel_symbol *kernel, const struct kernel_symbol *file)
{
	CHECK_EQUAL(kernel->address, file->address);
	CHECK_EQUAL(kernel->distance, file->distance);
	if (strcmp(kernel->name, file->name) != 0)
		CHECK(is_listed(kernel->address - kernel->distance, kernel->name));
}

static int compare_addresses(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

TEST(the_kernel_and_its_list_agree)
{
	static struct kernel_symbol kernel[SYMBOLS + 2], file[SYMBOLS + 2];
	uint64_t starts[SYMBOLS];
	struct kernel_namer *namer;
	size_t count;
	int error = kernel_namer_open(&namer);

	if (error)
		SKIP("no rights to load programs into this kernel, or it is too old");
	count = read_starts(starts);
	REQUIRE(count > 100);
	for (size_t i = 0; i < count; i++)
		kernel[i].address = file[i].address = starts[i] + i % 3;
	/* no function lies there */
	kernel[count].address = file[count].address = 0x1000;
	qsort(kernel, count + 1, sizeof(kernel[0]), compare_addresses);
	CHECK_EQUAL(kernel_namer_find(namer, kernel, count + 1), 0);
	CHECK_EQUAL(kallsyms_name(NULL, file, count + 1), 0);
	CHECK_TEXT(kernel[0].name, "");
	CHECK_TEXT(file[0].name, "");
	for (size_t i = 1; i <= count; i++)
		compare(&kernel[i], &file[i]);
	kernel_namer_close(namer);
	error_clear();
}

int main(void)
{
	RUN(the_kernel_and_its_list_agree);
	kernel_namer_close(NULL);
	return harness_end();
}

/* SPDX-License-Identifier: MIT
 *
 * symbol/kallsyms.c - functions of the running kernel and its modules
 *
 * Runs in:  the recorder, when the first sample inside the kernel comes
 * Gets:     "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]", a line each
 * Gives:    names
 * Owns:     a copy of the file, in which the names lie, and a sorted table into it: 10 to 20 MiB
 * Fails:    -EACCES where all addresses are 0, -ENOMEM, -errno
 * Why now:  modules come and go, and the next boot puts everything elsewhere: names are looked up while the kernel
 *           that was sampled still runs.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/io.h"

#define SIZE_LIMIT ((size_t)256 << 20)

struct function {
	uint64_t address;
	const char *name;
};

struct kallsyms {
	char *text; /* owned */
	struct function *functions;
	size_t count, capacity;
};

void kallsyms_close(struct kallsyms *symbols)
{
	if (!symbols)
		return;
	free(symbols->functions);
	free(symbols->text);
	free(symbols);
}

/* A line in place; what makes no sense, and what is no function, is left out. */
static int take_line(struct kallsyms *symbols, char *line)
{
	char *rest, *tab;
	uint64_t address = strtoull(line, &rest, 16);

	if (rest == line || rest[0] != ' ' || !rest[1] || rest[2] != ' ' || !rest[3] ||
	    !strchr("tTwW", rest[1]) || !address)
		return 0;
	if (array_grow(symbols->functions, symbols->capacity, symbols->count + 1))
		return -ENOMEM;
	tab = strchr(rest + 3, '\t');
	if (tab)
		*tab = ' ';
	symbols->functions[symbols->count++] = (struct function){address, rest + 3};
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static int read_functions(struct kallsyms *symbols, const char *path)
{
	int error = read_file(path, SIZE_LIMIT, &symbols->text, NULL);
	char *rest = symbols->text, *line;

	if (error)
		return error_set(error, "read '%s': %s", path, strerror(-error));
	while (!error && (line = strsep(&rest, "\n")))
		error = take_line(symbols, line);
	if (error)
		return error_set(error, "read '%s': out of memory", path);
	if (!symbols->count)
		return error_set(-EACCES,
				 "'%s' tells no addresses: run as root, or 'sysctl "
				 "kernel.kptr_restrict=0'",
				 path);
	qsort(symbols->functions, symbols->count, sizeof(*symbols->functions), compare);
	return 0;
}

int kallsyms_open(const char *path, struct kallsyms **ret_symbols)
{
	struct kallsyms *symbols = calloc(1, sizeof(*symbols));
	int error;

	if (!symbols)
		return error_set(-ENOMEM, "names of the kernel: out of memory");
	error = read_functions(symbols, path ? path : "/proc/kallsyms");
	if (error) {
		kallsyms_close(symbols);
		return error;
	}
	*ret_symbols = symbols;
	return 0;
}

size_t kallsyms_count(const struct kallsyms *symbols)
{
	return symbols->count;
}

/* The last one that begins up to address; NULL: none. */
static const struct function *find(const struct kallsyms *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &symbols->functions[low - 1] : NULL;
}

const char *kallsyms_find(const struct kallsyms *symbols, uint64_t address)
{
	const struct function *function = find(symbols, address);

	return function ? function->name : NULL;
}

const char *kallsyms_find_near(const struct kallsyms *symbols, uint64_t address,
			       uint64_t *ret_distance)
{
	const struct function *function = find(symbols, address);

	if (!function || address - function->address >= KALLSYMS_FAR)
		return NULL;
	*ret_distance = address - function->address;
	return function->name;
}

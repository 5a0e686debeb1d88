/* SPDX-License-Identifier: MIT
 *
 * symbol/kernel/kallsyms.c - functions of the running kernel and its modules, by address
 *
 * Runs in:  the recorder, at the end of a recording
 * Gets:     "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]", one per line, in any order
 * Gives:    a name per address
 * Owns:     the line that it reads
 * Fails:    -EACCES if all addresses are 0, -ENOMEM, -errno
 * Why during the recording and not in the report: modules are loaded and unloaded, and a reboot
 *           moves all addresses, so names are read while the sampled kernel still runs.
 * Why no table: a table of all names takes 12 ms more to parse and sort than a search for the few
 *           addresses.
 */
#include "symbol/kernel/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

enum { BUFFER_BYTES = 64 << 10 };

static int compare(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* The first symbol whose address is at or after a function's start; count: none. */
static size_t first_after(const struct kernel_symbol *symbols, size_t count, uint64_t start)
{
	return LOWER_BOUND(count, i, symbols[i].address < start);
}

static void set_name(struct kernel_symbol *symbol, uint64_t start, const char *name)
{
	char *tab;

	snprintf(symbol->name, sizeof(symbol->name), "%s", name);
	symbol->name[strcspn(symbol->name, "\n")] = '\0';
	tab = strchr(symbol->name, '\t');
	if (tab)
		*tab = ' ';
	symbol->distance = symbol->address - start;
}

/* Reads one line: false if it contains no function. Assigns the function to the first address after
 * it; fill_up copies it to later addresses. */
static bool parse_line(const char *line, struct kernel_symbol *symbols, size_t count)
{
	char *rest;
	const uint64_t start = strtoull(line, &rest, 16);
	size_t index;

	if (rest == line || rest[0] != ' ' || !rest[1] || rest[2] != ' ' || !rest[3] ||
	    !strchr("tTwW", rest[1]) || !start)
		return false;
	index = first_after(symbols, count, start);
	if (index < count &&
	    (!symbols[index].name[0] || symbols[index].address - start < symbols[index].distance))
		set_name(&symbols[index], start, rest + 3);
	return true;
}

/* Addresses with no function start between them lie in the same function. */
static void fill_up(struct kernel_symbol *symbols, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!symbols[i].name[0] && symbols[i - 1].name[0])
			set_name(&symbols[i], symbols[i - 1].address - symbols[i - 1].distance,
				 symbols[i - 1].name);
}

int kallsyms_name(const char *path, struct kernel_symbol *symbols, size_t count)
{
	const char *from = path ? path : "/proc/kallsyms";
	auto_fclose FILE *file = fopen(from, "re");
	auto_free char *line = NULL;
	size_t capacity = 0;
	bool has_any = false;

	if (!file)
		return error_set(-errno, "read '%s': %s", from, strerror(errno));
	setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
	qsort(symbols, count, sizeof(*symbols), compare);
	for (size_t i = 0; i < count; i++)
		symbols[i].name[0] = '\0';
	errno = 0;
	while (getline(&line, &capacity, file) >= 0)
		has_any |= parse_line(line, symbols, count);
	if (!feof(file))
		return error_set(errno ? -errno : -EIO, "read '%s': %s", from,
				 strerror(errno ? errno : EIO));
	if (!has_any)
		return error_set(-EACCES,
				 "'%s' holds no addresses for this user; run as root, or "
				 "'sysctl kernel.kptr_restrict=0'",
				 from);
	fill_up(symbols, count);
	return 0;
}

void kernel_symbol_parse(const char *text, struct kernel_symbol *symbol)
{
	const char *plus = strchr(text, '+'), *module = strchr(text, ' ');
	uint64_t distance;

	symbol->name[0] = '\0';
	if (!plus || sscanf(plus, "+0x%" SCNx64 "/0x", &distance) != 1)
		return;
	symbol->distance = distance;
	snprintf(symbol->name, sizeof(symbol->name), "%.*s%s", (int)(plus - text), text,
		 module ? module : "");
}

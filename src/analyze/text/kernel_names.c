/* SPDX-License-Identifier: MIT
 *
 * analyze/text/kernel_names.c - demangled names of kernels, for display
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the kernels of a trace
 * Gives:    their names, demangled
 * Owns:     the names
 * Fails:    -ENOMEM
 * Why for all kernels at once: parameters make the names of template kernels many times longer, but
 *           only overloaded names need them. Overloads show only when all names are compared.
 */
#include "analyze/text/kernel_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/short_names.h"
#include "base/array.h"
#include "symbol/demangle.h"
#include "trace/reader.h"

struct kernel_name {
	const char *symbol;
	char *text;      /* NULL: the symbol is shown */
	uint32_t string; /* string id of the symbol */
};

/* A kernel without a name, shown by its address. */
struct kernel_place {
	uint32_t code;
	char text[32];
};

struct kernel_names {
	struct kernel_name *rows; /* sorted by string */
	size_t count, capacity;
	struct kernel_place *places; /* sorted by code */
	size_t places_count, places_capacity;
};

static const char *shown(const struct kernel_name *row)
{
	return row->text ? row->text : row->symbol;
}

static int compare_strings(const void *left, const void *right)
{
	const struct kernel_name *a = left, *b = right;

	return (a->string > b->string) - (a->string < b->string);
}

static int compare_shown(const void *left, const void *right)
{
	const struct kernel_name *a = left, *b = right;
	int order = strcmp(shown(a), shown(b));

	return order ? order : strcmp(a->symbol, b->symbol);
}

static void sort(struct kernel_names *names, int (*compare)(const void *left, const void *right))
{
	if (names->count)
		qsort(names->rows, names->count, sizeof(*names->rows), compare);
}

static void drop_repeated(struct kernel_names *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++)
		if (!kept || names->rows[kept - 1].string != names->rows[i].string)
			names->rows[kept++] = names->rows[i];
	names->count = kept;
}

static int add_place(struct kernel_names *names, const struct event_code *row)
{
	struct kernel_place *place;

	if (array_grow(names->places, names->places_capacity, names->places_count + 1))
		return -ENOMEM;
	place = &names->places[names->places_count++];
	place->code = row->id;
	snprintf(place->text, sizeof(place->text), "[kernel 0x%" PRIx64 "]", row->address);
	return 0;
}

static int list_kernels(struct kernel_names *names, const struct trace_reader *reader)
{
	const struct event_code *codes;
	size_t count = trace_reader_entities(reader, EVENT_CODE, &codes);

	if (array_grow(names->rows, names->capacity, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (codes[i].type == CODE_KERNEL && codes[i].name_string)
			names->rows[names->count++] = (struct kernel_name){
				.symbol = trace_reader_string(reader, codes[i].name_string, NULL),
				.string = codes[i].name_string};
		else if (codes[i].type == CODE_KERNEL && codes[i].address &&
			 add_place(names, &codes[i]))
			return -ENOMEM;
	sort(names, compare_strings);
	drop_repeated(names);
	return 0;
}

/* demangler NULL: the symbol is shown. */
static void rename_row(struct kernel_name *row, struct demangler *demangler)
{
	free(row->text);
	row->text = demangler ? demangler_find(demangler, row->symbol) : NULL;
}

/* Renames kernels that have different symbols but the same shown name. */
static void rename_equal_names(struct kernel_names *names, struct demangler *demangler)
{
	size_t end;

	sort(names, compare_shown);
	for (size_t begin = 0; begin < names->count; begin = end) {
		struct kernel_name *first = &names->rows[begin];

		for (end = begin + 1; end < names->count; end++)
			if (strcmp(shown(first), shown(&names->rows[end])) != 0)
				break;
		if (strcmp(first->symbol, names->rows[end - 1].symbol) == 0)
			continue;
		for (size_t i = begin; i < end; i++)
			rename_row(&names->rows[i], demangler);
	}
}

static int name_kernels(struct kernel_names *names)
{
	struct demangler *plain = NULL, *with_parameters = NULL;
	int error = demangler_new(&(struct demangle_options){.is_kernel = true}, &plain);

	if (!error)
		error = demangler_new(
			&(struct demangle_options){.is_kernel = true, .has_parameters = true},
			&with_parameters);
	for (size_t i = 0; i < names->count && !error; i++)
		rename_row(&names->rows[i], plain);
	if (!error) {
		rename_equal_names(names, with_parameters);
		rename_equal_names(names, NULL);
		sort(names, compare_strings);
	}
	demangler_free(with_parameters);
	demangler_free(plain);
	return error;
}

/* Checked first, because demangling loads libstdc++ and few traces need it. */
static bool has_mangled(const struct kernel_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		if (names->rows[i].symbol[0] == '_')
			return true;
	return false;
}

int kernel_names_new(const struct trace_reader *reader, struct kernel_names **ret_names)
{
	struct kernel_names *names = calloc(1, sizeof(*names));
	int error = names ? list_kernels(names, reader) : -ENOMEM;

	if (!error && has_mangled(names))
		error = name_kernels(names);
	if (error) {
		kernel_names_free(names);
		return error;
	}
	*ret_names = names;
	return 0;
}

void kernel_names_free(struct kernel_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->count; i++)
		free(names->rows[i].text);
	free(names->rows);
	free(names->places);
	free(names);
}

static int compare_codes(const void *left, const void *right)
{
	const struct kernel_place *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

const char *kernel_names_place(const struct kernel_names *names, uint32_t code)
{
	const struct kernel_place key = {.code = code};
	const struct kernel_place *found =
		names->places_count ? bsearch(&key, names->places, names->places_count, sizeof(key),
					      compare_codes)
				    : NULL;

	return found ? found->text : NULL;
}

const char *kernel_names_find(const struct kernel_names *names, uint32_t symbol_string)
{
	const struct kernel_name key = {.string = symbol_string};
	const struct kernel_name *found = names->count ? bsearch(&key, names->rows, names->count,
								 sizeof(key), compare_strings)
						       : NULL;

	return found ? found->text : NULL;
}

int kernel_names_shorten(const struct kernel_names *names, struct short_names **ret_short)
{
	const char **full = calloc(names->count + 1, sizeof(*full));
	int error;

	if (!full)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++)
		full[i] = shown(&names->rows[i]);
	error = short_names_new(full, names->count, ret_short);
	free(full);
	return error;
}

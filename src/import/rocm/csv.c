/* SPDX-License-Identifier: MIT
 *
 * import/rocm/csv.c - read a table of comma-separated values by the names of its columns
 *
 * Runs in:  our own process
 * Gets:     lines of a source
 * Gives:    cells
 * Owns:     nothing; the cells are in the line of the source
 * Fails:    -EBADMSG with the line, errors of the source
 * Why by names: rocprofv3 adds columns in the middle from one version to the next
 */
#include "import/rocm/csv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/source.h"

/* Removes the quotes of the cell at `at`, in place. Returns what follows the cell. */
static char *unquote(char *at)
{
	char *to = at;

	for (char *from = at + 1;; from++) {
		if (*from == '"' && from[1] == '"')
			from++;
		else if (*from == '"' || !*from) {
			char *after = *from ? from + 1 : from;

			*to = '\0';
			return after;
		}
		*to++ = *from;
	}
}

/* Cells beyond the last column are left out. */
static size_t split(char *line, char *cells[MAX_CSV_COLUMNS])
{
	size_t count = 0;
	char *at = line;

	while (count < MAX_CSV_COLUMNS) {
		bool is_quoted = *at == '"';
		char *end, separator;

		cells[count++] = at;
		end = is_quoted ? unquote(at) : at;
		end += strcspn(end, ",");
		separator = *end;
		if (!is_quoted)
			*end = '\0';
		if (!separator)
			return count;
		at = end + 1;
	}
	return count;
}

int csv_table_open(struct csv_table *table, struct import_source *source, const char *const *names,
		   size_t names_count)
{
	char *line, *cells[MAX_CSV_COLUMNS];
	size_t length, count;
	int status = import_source_line(source, &line, &length);

	*table = (struct csv_table){.source = source, .names = names, .names_count = names_count};
	if (status < 0)
		return status;
	if (!status)
		return error_set(-EBADMSG, "expected a header of columns, found an empty file");
	count = split(line, cells);
	for (size_t name = 0; name < names_count; name++) {
		table->places[name] = -1;
		for (size_t i = 0; i < count; i++)
			if (strcmp(cells[i], names[name]) == 0)
				table->places[name] = (int)i;
	}
	return 0;
}

bool csv_table_has(const struct csv_table *table, size_t name)
{
	return table->places[name] >= 0;
}

int csv_table_next(struct csv_table *table)
{
	size_t length = 0;
	char *line;
	int status = 1;

	while (!length && status > 0)
		status = import_source_line(table->source, &line, &length);
	if (status <= 0)
		return status;
	table->cells_count = split(line, table->cells);
	return 1;
}

int csv_table_check(const struct csv_table *table)
{
	for (size_t name = 0; name < table->names_count; name++)
		if (table->places[name] >= (int)table->cells_count) {
			char expected[96];

			snprintf(expected, sizeof(expected), "a value of '%.60s'",
				 table->names[name]);
			return import_source_fail(table->source, expected, NULL);
		}
	return 0;
}

const char *csv_table_text(const struct csv_table *table, size_t name)
{
	return csv_table_has(table, name) ? table->cells[table->places[name]] : "";
}

int csv_table_number(const struct csv_table *table, size_t name, uint64_t *ret_number)
{
	const char *text = csv_table_text(table, name);
	uint64_t number = 0;

	for (const char *at = text; *at; at++) {
		unsigned int digit = (unsigned int)(*at - '0');

		if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number)) {
			char expected[96];

			snprintf(expected, sizeof(expected), "a whole number as '%.50s'",
				 table->names[name]);
			return import_source_fail(table->source, expected, text);
		}
	}
	*ret_number = number;
	return 0;
}

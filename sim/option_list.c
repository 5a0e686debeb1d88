/* SPDX-License-Identifier: MIT
 *
 * sim/option_list.c - read the options of a simulated runtime
 *
 * Runs in:  the test program, once
 * Fails:    by its result, so that a test with a misspelled option does not pass
 */
#include "option_list.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_real(const char *value, double *ret_value)
{
	char *end;

	*ret_value = strtod(value, &end);
	return *value && !*end;
}

static bool set_row(const struct option_row *row, char *place, const char *value)
{
	char *end;

	switch (row->type) {
	case OPTION_INTEGER:
		*(int64_t *)place = strtoll(value, &end, 0);
		return *value && !*end;
	case OPTION_REAL:
		return parse_real(value, (double *)place);
	default:
		return (size_t)snprintf(place, row->bytes, "%s", value) < row->bytes;
	}
}

static bool add_given(struct option_prefix *prefix, const char *name, const char *value)
{
	if (prefix->count == MAX_OPTION_GIVEN || strlen(name) >= OPTION_NAME_BYTES)
		return false;
	strcpy(prefix->given[prefix->count].name, name);
	return parse_real(value, &prefix->given[prefix->count++].value);
}

static bool set_option(const struct option_list *list, const char *name, const char *value)
{
	for (size_t i = 0; i < list->prefixes_count; i++) {
		size_t length = strlen(list->prefixes[i].prefix);

		if (strncmp(name, list->prefixes[i].prefix, length) == 0)
			return add_given(&list->prefixes[i], name + length, value);
	}
	for (size_t i = 0; i < list->rows_count; i++)
		if (strcmp(list->rows[i].name, name) == 0)
			return set_row(&list->rows[i], (char *)list->options + list->rows[i].offset,
				       value);
	return list->take_other && list->take_other(name, value);
}

bool option_list_read(const struct option_list *list, char *wrong, size_t bytes)
{
	const char *given = getenv(list->variable);
	char copy[4096], *rest = NULL;

	if (given && strlen(given) >= sizeof(copy)) {
		snprintf(wrong, bytes, "%s", given);
		return false;
	}
	strcpy(copy, given ? given : "");
	for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		char *equals = strchr(one, '=');

		snprintf(wrong, bytes, "%s", one);
		if (!equals)
			return false;
		*equals = '\0';
		if (!set_option(list, one, equals + 1))
			return false;
	}
	return true;
}

double option_prefix_find(const struct option_prefix *prefix, const char *name, double otherwise)
{
	for (size_t i = prefix->count; i > 0; i--)
		if (strcmp(prefix->given[i - 1].name, name) == 0)
			return prefix->given[i - 1].value;
	return otherwise;
}

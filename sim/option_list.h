/* SPDX-License-Identifier: MIT
 *
 * sim/option_list.h - a list of name=value, separated by commas, from an environment variable of a
 * simulated runtime
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum option_type {
	OPTION_INTEGER /* int64_t */,
	OPTION_REAL /* double */,
	OPTION_TEXT /* char[] */
};

struct option_row {
	const char *name;
	enum option_type type;
	size_t offset, bytes; /* of the member in the stand-in's struct */
};
#define OPTION_ROW(structure, member, type)                                 \
	{                                                                   \
#member, OPTION_##type, offsetof(struct structure, member), \
			sizeof(((struct structure *)0)->member)             \
	}

enum { OPTION_NAME_BYTES = 96, MAX_OPTION_GIVEN = 64 };

/* An option with a prefix: us_NAME=N. */
struct option_prefix {
	const char *prefix;
	struct {
		char name[OPTION_NAME_BYTES];
		double value;
	} given[MAX_OPTION_GIVEN];
	size_t count;
};

struct option_list {
	const char *variable;
	void *options;
	const struct option_row *rows;
	size_t rows_count;
	struct option_prefix *prefixes;
	size_t prefixes_count;
	/* Accepts an item that is none of these; false: the item is invalid. NULL: no other items
	 * are valid. */
	bool (*take_other)(const char *name, const char *value);
};

/* Sets the options from the variable. False: the item in wrong[0 … bytes-1] is invalid. */
bool option_list_read(const struct option_list *list, char *wrong, size_t bytes);

/* Returns the last value of `name`, or `otherwise`. */
double option_prefix_find(const struct option_prefix *prefix, const char *name, double otherwise);

/* SPDX-License-Identifier: MIT
 *
 * sim/option_list.h - a list of name=value with commas between, as each stand-in takes it from a variable
 */
#ifndef SIM_OPTION_LIST_H
#define SIM_OPTION_LIST_H

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

enum { OPTION_NAME_BYTES = 96, OPTION_GIVEN_MOST = 64 };

/* What was said with a prefix: us_NAME=N. */
struct option_prefix {
	const char *prefix;
	struct {
		char name[OPTION_NAME_BYTES];
		double value;
	} given[OPTION_GIVEN_MOST];
	size_t count;
};

struct option_list {
	const char *variable;
	void *options;
	const struct option_row *rows;
	size_t rows_count;
	struct option_prefix *prefixes;
	size_t prefixes_count;
	/* Takes what is none of these; false: it makes no sense. NULL: nothing else does. */
	bool (*take_other)(const char *name, const char *value);
};

/* Sets what the variable says. False: its item in wrong[0 … bytes-1] makes no sense. */
bool option_list_read(const struct option_list *list, char *wrong, size_t bytes);

/* What was said of `name` last, or `otherwise`. */
double option_prefix_find(const struct option_prefix *prefix, const char *name, double otherwise);

#endif

/* SPDX-License-Identifier: MIT
 *
 * collect/start/environment.h - environment of the profiled program: the user's variables, and
 * those for the guests
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct environment {
	char **entries; /* owned, NULL-terminated; the strings too */
	size_t count, capacity;
};

/* Copies the environment with which this process was started. Errors: -ENOMEM. */
int environment_init(struct environment *environment);
void environment_fini(struct environment *environment);

int environment_set(struct environment *environment, const char *name, const char *value);

/* Adds a value to the end of a list variable, unless the list already contains it. */
int environment_append(struct environment *environment, const char *name, const char *value,
		       char separator);

/* The same at the start of the list. */
int environment_prepend(struct environment *environment, const char *name, const char *value,
			char separator);

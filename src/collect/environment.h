/* SPDX-License-Identifier: MIT
 *
 * collect/environment.h - the environment of the program: the user's, and what guests need
 */
#ifndef COLLECT_ENVIRONMENT_H
#define COLLECT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct environment {
	char **entries; /* owned, NULL-terminated; the strings too */
	size_t count, capacity;
};

/* A copy of the one that this process was started with. Errors: -ENOMEM. */
int environment_init(struct environment *environment);
void environment_fini(struct environment *environment);

int environment_set(struct environment *environment, const char *name, const char *value);

/* Adds a value to a list variable behind what the user already has there; once. */
int environment_append(struct environment *environment, const char *name, const char *value,
		       char separator);

/* … before what is there. */
int environment_prepend(struct environment *environment, const char *name, const char *value,
			char separator);

/* Whether the ICD loader that a program of this environment would get has layers. True where no
 * loader is found: then there is nothing to preload for either. */
bool environment_loader_has_layers(void);

#endif

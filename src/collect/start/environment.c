/* SPDX-License-Identifier: MIT
 *
 * collect/start/environment.c - builds the environment of the profiled program
 *
 * Runs in:  the recorder, before the program starts
 * Gets:     the environment that duet was started with; if duet's file has capabilities, also the
 *           variables that the loader removed from it
 * Gives:    a copy with the guests' variables
 * Owns:     the copy
 * Fails:    -ENOMEM
 * Why some entries are appended and others prepended: an appended entry of a list variable stands
 *           behind the user's entries, so that a layer of the user is nearer to the program than
 *           duet's. A prepended one stands in front, as AMD's runtime needs it for HSA_TOOLS_LIB.
 */
#include "collect/start/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

static int add_string(struct environment *environment, char *entry)
{
	if (!entry ||
	    array_grow(environment->entries, environment->capacity, environment->count + 2) < 0) {
		free(entry);
		return error_set(-ENOMEM, "environment of the program: out of memory");
	}
	environment->entries[environment->count++] = entry;
	environment->entries[environment->count] = NULL;
	return 0;
}

/* Finds the process's original environment block: fields env_start and env_end of /proc/self/stat.
 * False: the kernel does not report them. */
static bool find_strings(const char **ret_begin, const char **ret_end)
{
	enum { ENV_START = 50, COMM = 2 };
	auto_free char *text = NULL;
	unsigned long begin = 0, end = 0;
	const char *at;

	if (read_file("/proc/self/stat", 4096, &text, &(size_t){0}))
		return false;
	at = strrchr(text, ')'); /* a name may have blanks */
	for (int field = COMM; at && field < ENV_START; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%lu %lu", &begin, &end) != 2 || !begin || end <= begin)
		return false;
	*ret_begin = (const char *)begin;
	*ret_end = (const char *)end;
	return true;
}

/* If duet's file has capabilities, the dynamic loader removes unsafe variables (LD_LIBRARY_PATH,
 * LD_PRELOAD, TMPDIR …) from duet's environment. The profiled program has no such rights and needs
 * all variables of its user. The strings still exist in the original block. */
static int add_taken(struct environment *environment)
{
	const char *begin, *end;
	int error = 0;

	if (!getauxval(AT_SECURE) || geteuid() != getuid() || getegid() != getgid() ||
	    !find_strings(&begin, &end))
		return 0;
	for (const char *at = begin; at < end && !error; at += strlen(at) + 1) {
		const char *value = strchr(at, '=');
		auto_free char *name = value ? strndup(at, (size_t)(value - at)) : NULL;

		if (name && !getenv(name))
			error = environment_set(environment, name, value + 1);
	}
	return error;
}

int environment_init(struct environment *environment)
{
	*environment = (struct environment){0};
	for (char **entry = environ; *entry; entry++) {
		int error = add_string(environment, strdup(*entry));

		if (error)
			return error;
	}
	return add_taken(environment);
}

void environment_fini(struct environment *environment)
{
	for (size_t i = 0; i < environment->count; i++)
		free(environment->entries[i]);
	free(environment->entries);
}

static char **find_entry(struct environment *environment, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < environment->count; i++)
		if (strncmp(environment->entries[i], name, length) == 0 &&
		    environment->entries[i][length] == '=')
			return &environment->entries[i];
	return NULL;
}

int environment_set(struct environment *environment, const char *name, const char *value)
{
	char **place = find_entry(environment, name), *entry = NULL;

	if (asprintf(&entry, "%s=%s", name, value) < 0)
		entry = NULL;
	if (!place || !entry)
		return add_string(environment, entry);
	free(*place);
	*place = entry;
	return 0;
}

static bool has_entry(const char *list, const char *value, char separator)
{
	size_t length = strlen(value);

	for (const char *at = list; at; at = strchr(at, separator)) {
		at += *at == separator;
		if (strncmp(at, value, length) == 0 && (!at[length] || at[length] == separator))
			return true;
	}
	return false;
}

static int add_entry(struct environment *environment, const char *name, const char *value,
		     char separator, bool is_first)
{
	char **place = find_entry(environment, name);
	const char *old = place ? *place + strlen(name) + 1 : "";
	auto_free char *joined = NULL;

	if (!*old)
		return environment_set(environment, name, value);
	if (has_entry(old, value, separator))
		return 0;
	if (asprintf(&joined, "%s%c%s", is_first ? value : old, separator, is_first ? old : value) <
	    0)
		return error_set(-ENOMEM, "environment of the program: out of memory");
	return environment_set(environment, name, joined);
}

int environment_append(struct environment *environment, const char *name, const char *value,
		       char separator)
{
	return add_entry(environment, name, value, separator, false);
}

int environment_prepend(struct environment *environment, const char *name, const char *value,
			char separator)
{
	return add_entry(environment, name, value, separator, true);
}

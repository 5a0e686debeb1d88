/* SPDX-License-Identifier: MIT
 *
 * collect/environment.c - build the program's environment
 *
 * Runs in:  the recorder, before the program starts
 * Gets:     the environment that duet was started with   Gives: a copy with the guests' variables
 * Owns:     the copy
 * Fails:    -ENOMEM
 * Why:      what the user set stays first in a list: a layer of theirs is nearer to the program
 */
#include "collect/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

extern char **environ;

static int add(struct environment *environment, char *entry)
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

/* Where the kernel laid the environment of this process, as proc(5) has it. False: it is not told. */
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

/* Where duet's file gives it rights, the dynamic loader takes out of its environment what could turn them against their owner:
 * LD_LIBRARY_PATH, LD_PRELOAD, TMPDIR … The program has no such rights, and is to have all that its user set; the strings are
 * where they were. */
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
		int error = add(environment, strdup(*entry));

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

static char **find(struct environment *environment, const char *name)
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
	char **place = find(environment, name), *entry = NULL;

	if (asprintf(&entry, "%s=%s", name, value) < 0)
		entry = NULL;
	if (!place || !entry)
		return add(environment, entry);
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
	char **place = find(environment, name);
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

static int file_has(const char *path, const char *word)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	void *file;
	int found;

	if (fd < 0 || fstat(fd, &about) < 0 || about.st_size <= 0)
		return -1;
	file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return -1;
	found = memmem(file, (size_t)about.st_size, word, strlen(word)) != NULL;
	munmap(file, (size_t)about.st_size);
	return found;
}

bool environment_loader_has_layers(void)
{
	static const char *const folders[] = {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					      "/usr/lib"};
	const char *own = getenv("LD_LIBRARY_PATH");
	char path[4096];
	int found = -1;

	while (own && *own && found < 0) {
		size_t length = strcspn(own, ":");

		snprintf(path, sizeof(path), "%.*s/libOpenCL.so.1", (int)length, own);
		found = file_has(path, "OPENCL_LAYERS");
		own += length + (own[length] == ':');
	}
	for (size_t i = 0; i < ARRAY_COUNT(folders) && found < 0; i++) {
		snprintf(path, sizeof(path), "%s/libOpenCL.so.1", folders[i]);
		found = file_has(path, "OPENCL_LAYERS");
	}
	return found != 0;
}

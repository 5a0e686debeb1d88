/* SPDX-License-Identifier: MIT
 *
 * cli/record/output_name.c - names of the files that `duet record` writes
 *
 * Runs in:  our own process, before a recording and when a trigger fires
 * Gets:     patterns of --output and --trigger-output
 * Gives:    names that the caller frees
 * Owns:     nothing
 * Fails:    NULL with the error chain: a variable is not set, or memory has run out
 * Why a variable must be set: otherwise processes of different ranks would write into one file
 */
#include "cli/record/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/string.h"
#include "cli/options.h"

/* %q{NAME}; as expand_one. */
static int expand_variable(struct string_builder *name, const char *at)
{
	const char *end = at[2] == '{' ? strchr(at + 3, '}') : NULL, *value;
	char variable[256];

	if (!end || (size_t)(end - at - 3) >= sizeof(variable))
		return 0;
	snprintf(variable, sizeof(variable), "%.*s", (int)(end - at - 3), at + 3);
	value = getenv(variable);
	if (!value)
		return error_set(-EINVAL, "the environment has no variable '%s'", variable);
	string_builder_append(name, value);
	return (int)(end - at) + 1;
}

/* Expands one % sequence. Returns its length, 0 for an unknown sequence, or -EINVAL for a variable
 * that is not set: otherwise processes of different ranks would write into one file. */
static int expand_one(struct string_builder *name, const char *at, const char *machine,
		      unsigned int number)
{
	char host[256];

	if (at[1] == 'n' && number) {
		string_builder_appendf(name, "%u", number);
		return 2;
	}
	if (at[1] == 'p') {
		string_builder_appendf(name, "%d", (int)getpid());
		return 2;
	}
	if (at[1] == 'h') {
		if (machine)
			snprintf(host, sizeof(host), "%s", machine);
		else if (gethostname(host, sizeof(host)) < 0)
			snprintf(host, sizeof(host), "unknown");
		host[sizeof(host) - 1] = '\0';
		string_builder_append(name, host);
		return 2;
	}
	if (at[1] == '%') {
		string_builder_append_char(name, '%');
		return 2;
	}
	return at[1] == 'q' ? expand_variable(name, at) : 0;
}

/* The ".duet" at the end of a name, otherwise its end. */
static const char *find_ending(const char *name)
{
	static const char ending[] = ".duet";
	const char *end = name + strlen(name), *dot = end - strlen(ending);

	return dot > name && strcmp(dot, ending) == 0 ? dot : end;
}

/* Finds the place to insert the number of a repeated recording: run.duet becomes run.2.duet. NULL:
 * no number is inserted. */
static const char *find_turn_place(const char *pattern, uint64_t turn)
{
	/* With %q the program chooses different names itself. */
	if (turn == OPTION_UNSET || turn < 2 || strstr(pattern, "%q{"))
		return NULL;
	return find_ending(pattern);
}

/* number: for %n; 0: it is not expanded. */
static char *expand_name(const char *pattern, const char *host, uint64_t turn, unsigned int number)
{
	const char *place = find_turn_place(pattern, turn);
	struct string_builder name = {0};

	for (;;) {
		int length;

		if (pattern == place)
			string_builder_appendf(&name, ".%llu", (unsigned long long)turn);
		if (!*pattern)
			break;
		length = *pattern == '%' ? expand_one(&name, pattern, host, number) : 0;
		if (length < 0) {
			string_builder_fini(&name);
			return NULL;
		}
		if (!length) {
			string_builder_append_char(&name, *pattern);
			length = 1;
		}
		pattern += length;
	}
	if (name.error)
		error_set(-ENOMEM, "out of memory");
	return string_builder_take(&name);
}

char *record_output_name(const char *pattern, const char *host, uint64_t turn)
{
	return expand_name(pattern, host, turn, 0);
}

char *trigger_name_expand(const char *pattern, const char *output, unsigned int number)
{
	struct string_builder name = {0};
	const char *ending;

	if (pattern)
		return expand_name(pattern, NULL, OPTION_UNSET, number);
	ending = find_ending(output);
	string_builder_append_bytes(&name, output, (size_t)(ending - output));
	string_builder_appendf(&name, ".trigger-%u%s", number, ending);
	if (name.error)
		error_set(-ENOMEM, "out of memory");
	return string_builder_take(&name);
}

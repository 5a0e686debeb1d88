/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_sets.c - the metric sets that a GPU's driver lists: what the counters of its OA unit may count
 *
 * Runs in:  the recorder and duet list
 * Gets:     files metrics/UUID/id of a card   Gives: names, the driver's numbers
 * Owns:     nothing
 * Fails:    a set that is not there is told with those that are
 * Why asked again each time: whoever has added a set may remove it at any time, and its number is another's then
 */
#include "collect/intel/oa_sets.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/intel/oa.h"

enum { UUID_CHARACTERS = 36 };

/* "8f3a1c52-6f0e-4d47-9e0b-3a5f0d1c7b21": what else stands in the folder is no set. */
static bool is_uuid(const char *name)
{
	for (size_t i = 0; i < UUID_CHARACTERS; i++) {
		const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? name[i] != '-' : !isxdigit((unsigned char)name[i]))
			return false;
	}
	return !name[UUID_CHARACTERS];
}

static void add(struct oa_sets *sets, const char *path)
{
	char folder[512], *name;

	if (snprintf(folder, sizeof(folder), "%.*s", (int)(strlen(path) - strlen("/id")), path) >=
	    (int)sizeof(folder))
		return;
	name = strrchr(folder, '/') + 1;
	if (sets->count < OA_SETS_MOST && is_uuid(name) && !oa_is_own_set(name))
		snprintf(sets->names[sets->count++], OA_SET_NAME_BYTES, "%s", name);
}

void oa_sets_find(const char *card, struct oa_sets *ret_sets)
{
	char pattern[400];
	glob_t found;

	ret_sets->count = 0;
	snprintf(pattern, sizeof(pattern), "%s/metrics/*/id", card);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add(ret_sets, found.gl_pathv[i]);
	globfree(&found);
}

int oa_sets_number(const char *card, const char *name)
{
	char pattern[400], number[32] = "";
	glob_t found;
	int fd, id = -ENOENT;

	if (!is_uuid(name))
		return -ENOENT;
	snprintf(pattern, sizeof(pattern), "%s/metrics/%s/id", card, name);
	if (glob(pattern, 0, NULL, &found))
		return -ENOENT;
	fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	if (fd < 0)
		return -ENOENT;
	if (read(fd, number, sizeof(number) - 1) > 0)
		id = atoi(number);
	close(fd);
	return id > 0 ? id : -ENOENT;
}

/* "a, b, and 3 more" */
static void format(const struct oa_sets *sets, char *text, size_t size)
{
	enum { ROOM = 24 };
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < sets->count; i++) {
		if (used + strlen(sets->names[i]) + ROOM > size) {
			snprintf(text + used, size - used, ", and %zu more", sets->count - i);
			return;
		}
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 sets->names[i]);
	}
}

int oa_sets_check(const struct gpu_node *node, const char *name)
{
	struct oa_sets *sets;
	char card[200], text[400];

	snprintf(card, sizeof(card), "%s/card*", node->folder);
	if (oa_sets_number(card, name) >= 0)
		return 0;
	sets = malloc(sizeof(*sets));
	if (!sets)
		return error_set(-ENOMEM, "OA: out of memory");
	oa_sets_find(card, sets);
	format(sets, text, sizeof(text));
	free(sets);
	return *text ? error_set(-ENOENT,
				 "OA: it offers no metric set '%s'; it offers: %s (duet list "
				 "oa-sets)",
				 name, text)
		     : error_set(-ENOENT,
				 "OA: it offers no metric set '%s', and no other: a driver lists "
				 "those that a program has added for it, as Intel's library of "
				 "metric sets and Mesa's tools do",
				 name);
}

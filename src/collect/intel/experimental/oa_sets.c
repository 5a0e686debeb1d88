/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/oa_sets.c - the metric sets of a GPU's OA unit
 *
 * Runs in:  the recorder and duet list
 * Gets:     files metrics/UUID/id of a card, Intel's library of sets
 * Gives:    names, the driver's ids
 * Owns:     nothing
 * Fails:    an unknown set is reported together with the available ones
 * Why:      The list is read again for each use, because the program that added a set may remove it
 *           at any time, and its id is then reused
 */
#include "collect/intel/experimental/oa_sets.h"

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

/* Sets have names such as "8f3a1c52-6f0e-4d47-9e0b-3a5f0d1c7b21". Other entries are ignored. */
static bool is_uuid(const char *name)
{
	for (size_t i = 0; i < UUID_CHARACTERS; i++) {
		const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? name[i] != '-' : !isxdigit((unsigned char)name[i]))
			return false;
	}
	return !name[UUID_CHARACTERS];
}

static void add(struct oa_sets *sets, const char *name, const char *text)
{
	struct oa_set_name *set = &sets->all[sets->count];

	if (sets->count == MAX_OA_SETS || strlen(name) >= sizeof(set->name))
		return;
	snprintf(set->name, sizeof(set->name), "%s", name);
	snprintf(set->text, sizeof(set->text), "%s", text);
	sets->count++;
}

static void add_listed(struct oa_sets *sets, const char *path)
{
	char folder[512], *name;

	if (snprintf(folder, sizeof(folder), "%.*s", (int)(strlen(path) - strlen("/id")), path) >=
	    (int)sizeof(folder))
		return;
	name = strrchr(folder, '/') + 1;
	if (is_uuid(name) && !oa_is_own_set(name) && strcmp(name, IGDMD_UUID) != 0)
		add(sets, name, "a set that a program has added to the driver's list");
}

void oa_sets_find(const char *card, const char *address, struct oa_sets *ret_sets)
{
	struct igdmd *library = NULL;
	const char *name, *text;
	char pattern[400];
	glob_t found;

	ret_sets->count = 0;
	ret_sets->why_none[0] = '\0';
	if (!igdmd_open(address, &library, ret_sets->why_none, sizeof(ret_sets->why_none)))
		ret_sets->why_none[0] = '\0';
	for (uint32_t i = 0; library && igdmd_set(library, i, &name, &text); i++)
		add(ret_sets, name, text);
	igdmd_close(library);
	snprintf(pattern, sizeof(pattern), "%s/metrics/*/id", card);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_listed(ret_sets, found.gl_pathv[i]);
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

/* Formats "a, b, and 3 more". */
static void format(const struct oa_sets *sets, char *text, size_t size)
{
	enum { ROOM = 24 };
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < sets->count; i++) {
		if (used + strlen(sets->all[i].name) + ROOM > size) {
			snprintf(text + used, size - used, ", and %zu more", sets->count - i);
			return;
		}
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 sets->all[i].name);
	}
}

/* Sets the error for an unknown set, with the available ones. */
static int refuse(const struct gpu_node *node, const char *card, const char *name)
{
	struct oa_sets *sets = malloc(sizeof(*sets));
	char text[400], why[240];

	if (!sets)
		return error_set(-ENOMEM, "OA: out of memory");
	oa_sets_find(card, node->address, sets);
	format(sets, text, sizeof(text));
	snprintf(why, sizeof(why), "%s", sets->why_none);
	free(sets);
	if (*text)
		return error_set(-ENOENT,
				 "OA: no metric set '%s'; this GPU has: %s (duet list oa-sets)%s%s",
				 name, text, *why ? "; " : "", why);
	return error_set(-ENOENT,
			 "OA: no metric set '%s', nor any other: %s, and no program has added one "
			 "to the driver's list",
			 name, why);
}

int oa_sets_choose(const struct gpu_node *node, const char *name, struct igdmd **ret_library,
		   uint32_t *ret_set)
{
	struct igdmd *library = NULL;
	const char *other, *text;
	char card[200], why[240];

	snprintf(card, sizeof(card), "%s/card*", node->folder);
	if (oa_sets_number(card, name) >= 0) {
		*ret_library = NULL;
		return 0;
	}
	if (igdmd_open(node->address, &library, why, sizeof(why)))
		return refuse(node, card, name);
	for (uint32_t i = 0; igdmd_set(library, i, &other, &text); i++) {
		if (strcmp(name, other) != 0)
			continue;
		*ret_library = library;
		*ret_set = i;
		return 0;
	}
	igdmd_close(library);
	return refuse(node, card, name);
}

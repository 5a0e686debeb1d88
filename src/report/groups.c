/* SPDX-License-Identifier: MIT
 *
 * report/groups.c - rows of many threads or processes joined by name
 *
 * Runs in:  our own process
 * Gets:     names
 * Gives:    groups of names that differ only in their numbers
 * Owns:     the list
 * Fails:    -ENOMEM
 * Why:      a table of a thousand threads shows ten rows and leaves most of the time out
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/name_pattern.h"
#include "base/array.h"

int name_groups_add(struct name_groups *groups, const char *scope, const char *name,
		    size_t *ret_index)
{
	const size_t room = strlen(name) + 1;
	struct name_group *group;
	char alone[32], *key;
	size_t offset;
	uint32_t id;

	snprintf(alone, sizeof(alone), "\n%zu", groups->count);
	scope = scope ? scope : alone;
	offset = strlen(scope) + 1;
	key = malloc(offset + room);
	if (!key)
		return -ENOMEM;
	memcpy(key, scope, offset);
	name_pattern_cut(name, key + offset, room);
	id = string_table_add(&groups->keys, key, offset + strlen(key + offset));
	free(key);
	if (!id || array_grow(groups->list, groups->capacity, id))
		return -ENOMEM;
	group = &groups->list[id - 1];
	if (id > groups->count) {
		groups->count = id;
		*group = (struct name_group){.name = name,
					     .pattern = string_table_text(&groups->keys, id, NULL) +
							offset};
	}
	group->count++;
	group->is_mixed |= strcmp(group->name, name) != 0;
	*ret_index = id - 1;
	return 0;
}

void name_group_label(const struct name_group *group, const char *noun, char *ret_label,
		      size_t size)
{
	if (group->count == 1)
		snprintf(ret_label, size, "%s", group->name);
	else
		snprintf(ret_label, size, "%s (%zu %s)",
			 group->is_mixed ? group->pattern : group->name, group->count, noun);
}

void name_groups_fini(struct name_groups *groups)
{
	string_table_fini(&groups->keys);
	free(groups->list);
	*groups = (struct name_groups){0};
}

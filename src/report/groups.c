/* SPDX-License-Identifier: MIT
 *
 * report/groups.c - rows of many threads, processes, queues or kernels joined by name
 *
 * Runs in:  our own process
 * Gets:     rows with names
 * Gives:    a table of sums, one for all names that differ only in their numbers
 * Owns:     the sums
 * Fails:    -ENOMEM
 * Why:      a table of a thousand threads shows ten rows and leaves most of the time out
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/name_pattern.h"
#include "report/table.h"

static size_t stride_of(const struct row_grouping *grouping)
{
	return grouping->size + sizeof(struct name_group);
}

void *row_groups_sum(const struct row_groups *groups, size_t index)
{
	return groups->rows + index * stride_of(groups->grouping);
}

static struct name_group *names_of(const struct row_grouping *grouping, void *sum)
{
	return (struct name_group *)((char *)sum + grouping->size);
}

const struct name_group *row_grouping_names(const struct row_grouping *grouping, const void *sum)
{
	return (const struct name_group *)((const char *)sum + grouping->size);
}

/* The id of the group's key: its scope and the pattern of its name. 0: out of memory. */
static uint32_t add_key(struct row_groups *groups, const char *scope, const char *name,
			size_t *ret_offset)
{
	const size_t room = strlen(name) + 1;
	char alone[32], *key;
	size_t offset;
	uint32_t id;

	snprintf(alone, sizeof(alone), "\n%zu", groups->count);
	scope = scope ? scope : alone;
	offset = strlen(scope) + 1;
	key = malloc(offset + room);
	if (!key)
		return 0;
	memcpy(key, scope, offset);
	name_pattern_cut(name, key + offset, room);
	id = string_table_add(&groups->keys, key, offset + strlen(key + offset));
	free(key);
	*ret_offset = offset;
	return id;
}

static int grow_rows(struct row_groups *groups)
{
	const size_t stride = stride_of(groups->grouping);
	size_t capacity = groups->capacity ? 2 * groups->capacity : 16;
	char *rows;

	if (groups->count < groups->capacity)
		return 0;
	rows = reallocarray(groups->rows, capacity, stride);
	if (!rows)
		return -ENOMEM;
	groups->rows = rows;
	groups->capacity = capacity;
	return 0;
}

int row_groups_add(struct row_groups *groups, const char *scope, const char *name, const void *row)
{
	struct name_group *group;
	size_t offset;
	const uint32_t id = add_key(groups, scope, name, &offset);
	const bool is_first = id > groups->count;
	void *sum;

	if (!id || grow_rows(groups))
		return -ENOMEM;
	sum = row_groups_sum(groups, id - 1);
	group = names_of(groups->grouping, sum);
	if (is_first) {
		memset(sum, 0, stride_of(groups->grouping));
		groups->count = id;
		group->name = name;
		group->pattern = string_table_text(&groups->keys, id, NULL) + offset;
	}
	group->count++;
	group->is_mixed |= strcmp(group->name, name) != 0;
	return groups->grouping->add(sum, row, is_first);
}

struct table_rows row_groups_sort(struct row_groups *groups)
{
	const size_t stride = stride_of(groups->grouping);

	if (groups->count)
		qsort(groups->rows, groups->count, stride, groups->grouping->compare);
	return (struct table_rows){groups->rows, groups->count, stride, false};
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

void row_groups_fini(struct row_groups *groups)
{
	for (size_t i = 0; i < groups->count && groups->grouping->fini; i++)
		groups->grouping->fini(row_groups_sum(groups, i));
	string_table_fini(&groups->keys);
	free(groups->rows);
	*groups = (struct row_groups){.grouping = groups->grouping};
}

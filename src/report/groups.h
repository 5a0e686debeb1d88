/* SPDX-License-Identifier: MIT
 *
 * report/groups.h - rows of many threads or processes joined by name
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum { GROUPS_HEAVY = 10 }; /* percent of a table's sum */

/* Names with one pattern. */
struct name_group {
	const char *name;    /* that of the first */
	const char *pattern; /* owned by the groups */
	size_t count;
	bool is_mixed; /* they have several names */
};

/* All zero: empty. */
struct name_groups {
	struct string_table keys; /* an id is an index + 1 */
	struct name_group *list;
	size_t count, capacity;
};

/* Whether a row stays alone: it has much of the table's sum. */
static inline bool name_groups_is_heavy(uint64_t value, uint64_t sum)
{
	return value && value >= sum / 100 * GROUPS_HEAVY;
}

/* Adds a name; names of different scopes are never in one group. scope NULL: a group of its
 * own. ret_index: of its group. -ENOMEM. */
int name_groups_add(struct name_groups *groups, const char *scope, const char *name,
		    size_t *ret_index);
/* "worker-* (1000 threads)"; the name itself if the group has one member. */
void name_group_label(const struct name_group *group, const char *noun, char *ret_label,
		      size_t size);
void name_groups_fini(struct name_groups *groups);

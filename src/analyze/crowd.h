/* SPDX-License-Identifier: MIT
 *
 * analyze/crowd.h - many commands in execution at once, that divide time among them
 *
 * The rule is the account's: each of k members gets length / k, the first length % k of them, in the order in which
 * they came, 1 ns more. Every operation takes O(log k).
 */
#ifndef ANALYZE_CROWD_H
#define ANALYZE_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crowd_member {
	uint64_t ended;
	uint64_t share_ns;  /* when it came; when it left, with what it got */
	uint64_t told_ns;   /* of share_ns; what was told of it by crowd_tell, or before it came */
	uint64_t joined_ns; /* of each_ns, when it came */
	uint32_t tag, tag2, class;
	bool is_gone;
};

struct crowd {
	struct crowd_member *members; /* in the order in which they came */
	uint64_t *extras;             /* Fenwick tree: extras[i]: 1 ns to members 0 … i */
	uint32_t *present;            /* Fenwick tree: members that are not gone */
	uint32_t *heap;               /* members that are not gone, the earliest end on top */
	size_t used, capacity, count; /* count: not gone */
	uint64_t each_ns;             /* what everyone got who was there all the time */
	uint64_t extras_sum;
};

void crowd_init(struct crowd *crowd);
void crowd_fini(struct crowd *crowd); /* NULL-safe */

/* -ENOMEM. */
int crowd_join(struct crowd *crowd, const struct crowd_member *member);
void crowd_divide(struct crowd *crowd, uint64_t length);

/* UINT64_MAX: nobody is there. */
uint64_t crowd_earliest_end(const struct crowd *crowd);

/* What each member got since it was told last, in the order in which they came. */
void crowd_tell(struct crowd *crowd, void (*on_part)(void *context, uint32_t tag, uint64_t part_ns),
		void *context);

/* The member with the earliest end leaves. */
struct crowd_member crowd_leave(struct crowd *crowd);

#endif

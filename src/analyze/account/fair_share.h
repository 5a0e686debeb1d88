/* SPDX-License-Identifier: MIT
 *
 * analyze/account/fair_share.h - divides time among many commands that execute at once
 *
 * The rule is that of account.c: each of k members gets length / k, and the first length % k of
 * them, in the order in which they joined, get 1 ns more. Each operation takes O(log k);
 * fair_share_emit takes O(k log k).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fair_share_member {
	uint64_t ended;
	uint64_t share_ns; /* at fair_share_join: its share so far; from fair_share_leave: its whole
			      share */
	uint64_t emitted_ns; /* part of share_ns that was passed on, by fair_share_emit or before it
			      * joined
			      */
	uint64_t joined_ns;  /* each_ns when it joined */
	uint32_t tag, tag2, class;
	bool is_gone;
};

struct fair_share {
	struct fair_share_member *members; /* in the order in which they joined */
	uint64_t *extras;                  /* Fenwick tree: extras[i]: 1 ns to members 0 … i */
	uint32_t *present;                 /* Fenwick tree: members that are not gone */
	uint32_t *heap;                    /* members that are not gone, the earliest end on top */
	size_t used, capacity, count;      /* count: not gone */
	uint64_t each_ns; /* share, without extras, of a member that was always there */
	uint64_t extras_sum;
};

void fair_share_fini(struct fair_share *fair_share); /* NULL-safe */

/* -ENOMEM. */
int fair_share_join(struct fair_share *fair_share, const struct fair_share_member *member);
void fair_share_divide(struct fair_share *fair_share, uint64_t length);

/* UINT64_MAX: there is no member. */
uint64_t fair_share_earliest_end(const struct fair_share *fair_share);

/* Passes what each member got since the last call, in the order in which they joined. */
void fair_share_emit(struct fair_share *fair_share,
		     void (*on_part)(void *context, uint32_t tag, uint64_t part_ns), void *context);

/* Removes and returns the member with the earliest end. */
struct fair_share_member fair_share_leave(struct fair_share *fair_share);

/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v1_arrows.h - arrows from calls to operations in the JSON of rocprof
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* A slice's row in the timeline, and a moment of it. */
struct v1_point {
	uint64_t pid, tid, us;
};

struct v1_arrow {
	struct v1_point from, to;
	uint64_t id;
};

struct v1_arrows {
	struct hash_map ids;   /* id -> index */
	struct v1_arrow *list; /* by from, once they are sorted */
	uint32_t *by_end;      /* indexes by to */
	uint32_t *taken;       /* by position in by_end: arrows of equal ends that were given */
	size_t count, capacity;
};

/* An end of the arrow with this id. Errors: -ENOMEM. */
int v1_arrows_add(struct v1_arrows *arrows, uint64_t id, const struct v1_point *point, bool is_end);
/* After the last one. Errors: -ENOMEM. */
int v1_arrows_sort(struct v1_arrows *arrows);
void v1_arrows_fini(struct v1_arrows *arrows); /* zero-safe */

/* The number of a call's arrow, which leaves in its middle or otherwise between its begin and its
 * end; 0: no arrow. Arrows that leave at one moment have the same number. */
uint64_t v1_arrows_from(const struct v1_arrows *arrows, const struct v1_point *begin,
			uint64_t middle_us, uint64_t end_us);
/* Each arrow that ends there is given once. */
uint64_t v1_arrows_to(struct v1_arrows *arrows, const struct v1_point *point);

/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/parts.h - the different threads and objects that one cause joins
 */
#pragma once

#include <stdint.h>

#include "base/pair_map.h"

struct analysis;
struct verdict_cause;

enum verdict_part_kind { PART_THREAD, PART_OTHER_THREAD, PART_WHAT, PART_KIND_COUNT };

/* A thread or an object of a cause of the first step. */
struct verdict_part {
	uint32_t cause; /* its id */
	enum verdict_part_kind kind;
	uint32_t thread;  /* id; 0: PART_WHAT */
	const char *what; /* PART_WHAT */
};

/* All zero: empty. */
struct verdict_parts {
	struct pair_map seen; /* (cause, kind and value) -> index */
	struct verdict_part *list;
	size_t count, capacity;
};

/* Remembers the threads and the object of `cause`, which belongs to the cause with this id.
 * -ENOMEM. */
int verdict_parts_add(struct verdict_parts *parts, uint32_t id, const struct verdict_cause *cause);

/* Fills in the numbers of different threads and objects. index: by id, the index of the cause that
 * joined it. -ENOMEM. */
int verdict_parts_count(const struct verdict_parts *parts, const struct analysis *analysis,
			const uint32_t *index, struct verdict_cause *causes);
void verdict_parts_fini(struct verdict_parts *parts);

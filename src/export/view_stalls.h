/* SPDX-License-Identifier: MIT
 *
 * export/view_stalls.h - the samples of device instructions in a view
 */
#ifndef EXPORT_VIEW_STALLS_H
#define EXPORT_VIEW_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pair_map.h"
#include "base/hash.h"

struct analysis;
struct json_writer;
struct view_code;

/* What one stack launched, one instruction and one reason. Names are of the table below. */
struct view_stall {
	uint32_t stack, function;             /* of view_code */
	uint32_t kernel, text, reason, place; /* place 0: of several instructions */
	uint32_t file, line;                  /* 0: not known */
	uint64_t samples;
};

struct view_stalls {
	struct string_table names;
	struct view_stall *rows; /* the most samples first, then what stands for several */
	size_t count, capacity;
	struct pair_map several; /* (stack << 32 | function, kernel << 32 | reason) -> row */
	struct view_rest {
		uint32_t reason;
		uint64_t samples;
	} * rest; /* by reason: of what is not in the rows */
	size_t rest_count, rest_capacity;
};

/* All of what the analysis has, after which view_code knows the stacks. -ENOMEM. */
int view_stalls_init(struct view_stalls *stalls, const struct analysis *analysis,
		     struct view_code *code);
void view_stalls_fini(struct view_stalls *stalls); /* NULL-safe */

/* An object, as docs/design/view.md has it. */
void view_stalls_write(const struct view_stalls *stalls, struct json_writer *json);

#endif

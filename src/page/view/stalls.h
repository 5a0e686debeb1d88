/* SPDX-License-Identifier: MIT
 *
 * page/view/stalls.h - the samples of device instructions in a view: launching stack, kernel,
 * instruction, stall reason
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/pair_map.h"

struct analysis;
struct json_writer;
struct view_code;

/* The samples of one launching stack, one instruction and one stall reason. kernel to file are ids
 * in `names` of view_stalls. */
struct view_stall {
	uint32_t stack, function;             /* numbers of view_code */
	uint32_t kernel, text, reason, place; /* place 0: several instructions */
	uint32_t file, line;                  /* 0: not known */
	uint64_t samples;
};

struct view_stalls {
	struct string_table names;
	struct view_stall *rows; /* single instructions by samples, then common rows */
	size_t count, capacity;
	struct pair_map several; /* (stack << 32 | function, kernel << 32 | reason) -> row */
	struct view_rest {
		uint32_t reason;
		uint64_t samples;
	} * rest; /* by reason: samples that are not in the rows */
	size_t rest_count, rest_capacity;
};

/* Takes all instruction samples of the analysis, and adds their stacks to view_code. Errors:
 * -ENOMEM. */
int view_stalls_init(struct view_stalls *stalls, const struct analysis *analysis,
		     struct view_code *code);
void view_stalls_fini(struct view_stalls *stalls); /* NULL-safe */

/* Writes the object that docs/design/view.md describes. */
void view_stalls_write(const struct view_stalls *stalls, struct json_writer *json);

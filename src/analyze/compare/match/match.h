/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/match.h - match the kernels, copies, API functions and places of two
 * profiles by meaning
 *
 * docs/design/compare-matching.md explains the steps, the thresholds and the confidence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct match_map;

/* The executions of an item that were launched from one call path. */
struct match_stack {
	uint64_t hash; /* made from the function names, not from the lines */
	uint64_t count;
	uint64_t time_ns;
};

struct match_item {
	const char *name; /* full and demangled; "" if unknown */
	uint32_t scope; /* items of different scopes never match: device pair and class, or table */
	bool is_kernel; /* otherwise only the map, equal names and numbers in names match */
	const struct match_stack *stacks; /* sorted by hash, each hash once */
	size_t stacks_count;              /* 0: not recorded; leave out stacks without frames */
	uint32_t position; /* order of the first execution in its run, from 1; 0: unknown */
	uint64_t count;    /* executions */
	uint64_t time_ns;  /* on the device */
};

enum match_reason {
	MATCH_NEW,       /* no partner in the base */
	MATCH_GONE,      /* no partner in the new profile */
	MATCH_MAP,       /* a line of the map */
	MATCH_EXACT,     /* equal names */
	MATCH_TEMPLATE,  /* equal without return type, template arguments and parameters */
	MATCH_VARIANT,   /* one key of a family of names (names.h) */
	MATCH_RENAMED,   /* 1:1 by call path */
	MATCH_SPLIT,     /* 1:n by call path */
	MATCH_FUSED,     /* n:1 by call path */
	MATCH_REGROUPED, /* n:m by call path */
	MATCH_REASONS,   /* number of reasons */
};

/* The word in JSON: "new", "exact", "template" and so on. */
const char *match_reason_name(enum match_reason reason);

/* For people: "same name". */
const char *match_reason_text(enum match_reason reason);

struct match_row {
	enum match_reason reason;
	double confidence;    /* 0 to 1; 0 for MATCH_NEW and MATCH_GONE */
	const char *pattern;  /* the family of names that matched, such as "triton"; NULL: none */
	const uint32_t *base; /* indices of items, ascending */
	size_t base_count;
	const uint32_t *changed;
	size_t changed_count;
};

struct match;

/* Puts each item of both profiles into exactly one row. The items and the map are not needed
 * afterwards. map: may be NULL. Items of one name and scope match together: the caller adds them up
 * before. Errors: -ENOMEM. */
int match_make(const struct match_item *base, size_t base_count, const struct match_item *changed,
	       size_t changed_count, const struct match_map *map, struct match **ret_match);
void match_free(struct match *match); /* NULL-safe */

/* The rows and their number, valid until free. Matches come first, by the order of their first
 * item of the base; then the rows of MATCH_GONE, then those of MATCH_NEW. */
size_t match_rows(const struct match *match, const struct match_row **ret_rows);

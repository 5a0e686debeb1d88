/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/paths.h - kernels of both profiles that share call paths
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/match/matcher.h"

/* A kernel without a row, as one end of edges. */
struct path_node {
	uint64_t name_bits[4];   /* pairs of letters of the function */
	uint64_t family;         /* hash of the loose key; 0: none */
	uint32_t previous, next; /* rows of the nearest kernels of equal names; 0: none */
	uint32_t group;          /* parent in a union; the root of a group of edges */
	double best, second;     /* scores of its edges */
};

/* Two kernels that share call paths. */
struct path_edge {
	uint32_t base, changed;           /* indices of items */
	double base_share, changed_share; /* part of its executions that shared paths launched */
	uint32_t others; /* kernels with rows that run from the same path, at most */
	bool has_stacks; /* false: neighbours in place of call paths */
	double score;    /* for a match 1:1; 0: impossible */
};

struct paths {
	struct matcher *matcher;
	struct path_node *nodes[SIDES]; /* per item */
	struct path_edge *edges;
	size_t count, capacity;
};

/* Errors: -ENOMEM; paths_fini is needed either way. */
int paths_init(struct paths *paths, struct matcher *matcher);
void paths_fini(struct paths *paths);

/* Matches what the edges decide. Errors: -ENOMEM. */
int paths_resolve(struct paths *paths);

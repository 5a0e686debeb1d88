/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/families.h - the table of patterns in names of kernels
 *
 * Patterns: "*" stands for any text, "#" for a whole number, everything else for itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A name of words between "_", such as "triton_poi_fused_add_3". */
struct flat_family {
	const char *pattern;    /* the family's name, for people */
	const char *names;      /* patterns of whole names, separated by blanks */
	const char *dropped;    /* patterns of words that a tuner or a compiler chooses */
	const char *stop;       /* the first word from which on all words are dropped; NULL */
	const char *loose;      /* words that a loose key drops too; NULL: no loose key */
	bool is_matrix_product; /* the loose key is the layout */
	bool keeps_numbers;     /* single numbers mean something */
};

/* A template whose arguments are its meaning. */
struct carrier_family {
	const char *pattern;
	const char *names; /* patterns of functions without arguments, separated by blanks */
	const char *kind;  /* takes the place of the function in the key; NULL: the function */
	bool is_flat;      /* the first argument is a name of a flat family */
};

const struct flat_family *flat_family_find(const char *name);
const struct carrier_family *carrier_family_find(const char *function);
double family_confidence(const char *pattern);

/* Whether one of the patterns, separated by blanks, covers the whole text. NULL has no pattern. */
bool patterns_cover(const char *patterns, const char *text, size_t size);

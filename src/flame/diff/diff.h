/* SPDX-License-Identifier: MIT
 *
 * flame/diff/diff.h - two recordings in one graph: NEW is drawn, and compared with BASE
 *
 *	struct flame_diff diff;
 *	error = flame_diff_init(&diff, flame); // has the stacks of NEW
 *	if (!error)
 *		error = flame_diff_add(&diff, base, NULL);
 *	if (!error)
 *		error = flame_write_svg(flame, &(struct flame_options){.diff = &diff}, file);
 *	flame_diff_fini(&diff);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "flame/flame.h"

struct string_builder;

/* All members may be read; the functions below change them. */
struct flame_diff {
	struct flame *flame; /* borrowed; has the stacks of both, with the values of NEW */
	uint64_t *others;    /* by node: values of BASE */
	size_t others_capacity;
	uint64_t other_total;
	uint64_t unscaled_total; /* that of BASE before flame_diff_scale; 0: not scaled */
	bool is_of_base;         /* flame has the values of BASE, and others those of NEW */
};

/* The name that a frame of BASE has in NEW; its own name if it was not renamed. */
struct flame_rename {
	const char *(*find)(void *context, const char *name, enum flame_class frame_class);
	void *context;
};

/* Borrows `flame`, whose stacks are those of NEW. -ENOMEM. */
int flame_diff_init(struct flame_diff *diff, struct flame *flame);
void flame_diff_fini(struct flame_diff *diff); /* accepts a half-built one */

/* Adds the stacks and notes of BASE. rename NULL: equal frames have equal names. Errors, with a
 * text: those of flame_add. */
int flame_diff_add(struct flame_diff *diff, const struct flame *base,
		   const struct flame_rename *rename);

/* Scales the values of BASE, so that their sum is exactly the total of NEW. Errors, with a text:
 * -EINVAL if one of the totals is 0, -ENOMEM. */
int flame_diff_scale(struct flame_diff *diff);

/* The widths of the graph become the values of BASE. Call it once, as the last change. */
void flame_diff_swap(struct flame_diff *diff);

/* Writes "stack BASE NEW" lines, sorted as those of flame_write_folded, whose errors it has. */
int flame_diff_write_folded(const struct flame_diff *diff, FILE *out);

/* Appends lines: the change of the total, and the scale. new_name, base_name: files. */
void flame_diff_describe(const struct flame_diff *diff, const char *new_name, const char *base_name,
			 const char *unit, struct string_builder *ret_text);

/* Whether all stacks have equal values. */
bool flame_diff_is_equal(const struct flame_diff *diff);

/* ---- diff/list.c ---- */

enum flame_change_kind {
	FLAME_GREW,
	FLAME_SHRANK,
	FLAME_ADDED, /* only in NEW */
	FLAME_GONE,  /* only in BASE */
	FLAME_CHANGE_KINDS
};

#define FLAME_CHANGES_LISTED 10

/* A path from the root to frame `length` of a node. If both recordings have the frame, its values
 * are its own, without those of its callees; instructions count towards their kernel. If only one
 * recording has it, the values include those of all frames above. */
struct flame_change {
	uint64_t now, base;
	uint32_t node, length;
};

struct flame_change_list {
	struct flame_change changes[FLAME_CHANGES_LISTED]; /* the largest first */
	uint32_t listed;
	uint64_t count, sum; /* all changes of the kind; without sign */
};

/* Each difference between the recordings is in exactly one list. -ENOMEM. */
int flame_diff_list(const struct flame_diff *diff,
		    struct flame_change_list ret_lists[FLAME_CHANGE_KINDS]);

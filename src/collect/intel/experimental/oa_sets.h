/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/oa_sets.h - the metric sets of a GPU's OA unit
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collect/intel/experimental/igdmd.h"
#include "collect/intel/gpu_node.h"

enum { MAX_OA_SETS = 512, OA_SET_NAME_BYTES = 64, OA_SET_TEXT_BYTES = 96 };

/* Sets of Intel's library, and sets in the driver's list, which the kernel knows by UUID only. */
struct oa_sets {
	struct oa_set_name {
		char name[OA_SET_NAME_BYTES], text[OA_SET_TEXT_BYTES];
	} all[MAX_OA_SETS];
	size_t count;
	char why_none[240]; /* why Intel's library has none; "": it has some */
};

/* card: its folder below /sys, which may be a pattern; address: the GPU's PCI address. duet's own
 * sets are left out. */
void oa_sets_find(const char *card, const char *address, struct oa_sets *ret_sets);

/* Returns the driver's id of a set in its list. -ENOENT, without the error chain: not in the
 * list. */
int oa_sets_number(const char *card, const char *name);

/* Checks that a GPU offers the set. *ret_library: owned by the caller; NULL: the driver lists the
 * set. Errors, with the error chain: -ENOENT: not offered, with the available sets; -ENOMEM. */
int oa_sets_choose(const struct gpu_node *node, const char *name, struct igdmd **ret_library,
		   uint32_t *ret_set);

/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_sets.h - the metric sets that a GPU's driver lists: what the counters of its OA unit may count
 */
#ifndef COLLECT_INTEL_OA_SETS_H
#define COLLECT_INTEL_OA_SETS_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/intel/gpu_node.h"

enum { OA_SETS_MOST = 256, OA_SET_NAME_BYTES = 64 };

/* Those that somebody has added, and nobody has removed; the kernel knows no other name of them than their UUID. */
struct oa_sets {
	char names[OA_SETS_MOST][OA_SET_NAME_BYTES]; /* sorted */
	size_t count;
};

/* card: its folder below /sys, which may be a pattern. duet's own are none of them. */
void oa_sets_find(const char *card, struct oa_sets *ret_sets);

/* The driver's number of one. -ENOENT, without the error chain: it lists no such. */
int oa_sets_number(const char *card, const char *name);

/* Whether a GPU offers it. Errors: -ENOENT, with the error chain: it does not, and what it does. */
int oa_sets_check(const struct gpu_node *node, const char *name);

#endif

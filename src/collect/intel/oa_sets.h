/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_sets.h - the metric sets of a GPU: what the counters of its OA unit may count
 */
#ifndef COLLECT_INTEL_OA_SETS_H
#define COLLECT_INTEL_OA_SETS_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/intel/gpu_node.h"
#include "collect/intel/igdmd.h"

enum { OA_SETS_MOST = 512, OA_SET_NAME_BYTES = 64, OA_SET_TEXT_BYTES = 96 };

/* Those of Intel's library, and those that somebody has added to the driver's list, and nobody has removed: of them the kernel
 * knows no other name than their UUID. */
struct oa_sets {
	struct oa_set_name {
		char name[OA_SET_NAME_BYTES], text[OA_SET_TEXT_BYTES];
	} all[OA_SETS_MOST];
	size_t count;
	char why_none[240]; /* there are none of Intel's library; "": there are */
};

/* card: its folder below /sys, which may be a pattern; address: the GPU's on PCI. duet's own are none of them. */
void oa_sets_find(const char *card, const char *address, struct oa_sets *ret_sets);

/* The driver's number of one of its list. -ENOENT, without the error chain: it lists no such. */
int oa_sets_number(const char *card, const char *name);

/* Whether a GPU offers it. *ret_library: the caller's; NULL: the driver lists it. Errors, with the error chain: -ENOENT: it does
 * not, and what it does; -ENOMEM. */
int oa_sets_choose(const struct gpu_node *node, const char *name, struct igdmd **ret_library,
		   uint32_t *ret_set);

#endif

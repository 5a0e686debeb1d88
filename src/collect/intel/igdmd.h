/* SPDX-License-Identifier: MIT
 *
 * collect/intel/igdmd.h - metric sets of a GPU's OA unit as Intel's library of them names them
 */
#ifndef COLLECT_INTEL_IGDMD_H
#define COLLECT_INTEL_IGDMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/intel/oa.h"

struct igdmd;

/* Of the GPU at a PCI address, "0000:03:00.0". DUET_IGDMD names another library. Errors: -ENOENT, -ENODEV, -ENOMEM; why: a
 * sentence that says what is missing. */
int igdmd_open(const char *address, struct igdmd **ret_library, char *ret_why, size_t size);
void igdmd_close(struct igdmd *library); /* NULL-safe */

/* "ComputeBasic", "Compute Metrics Basic set", valid until it is closed. False: there are not so many. */
bool igdmd_set(const struct igdmd *library, uint32_t index, const char **ret_name,
	       const char **ret_text);
/* What a counter of a set is called, by its place in a report; NULL: it has no name of its own. */
const char *igdmd_counter(const struct igdmd *library, uint32_t set, const struct oa_place *place);

/* Has the driver list a set, under IGDMD_UUID, where all programs with this library put theirs: one that is there goes. The library
 * takes it out when it is closed, with the rights that there are then. Errors: -EACCES, -EPROTO. */
#define IGDMD_UUID "2f01b241-7014-42a7-9eb6-a925cad3daba"
int igdmd_begin(const struct igdmd *library, uint32_t set);
void igdmd_end(const struct igdmd *library, uint32_t set);

#endif

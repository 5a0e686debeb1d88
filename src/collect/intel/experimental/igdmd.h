/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/igdmd.h - names of a GPU's OA metric sets and counters, from Intel's
 * library
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/intel/oa.h"

struct igdmd;

/* Opens the library for the GPU at a PCI address, "0000:03:00.0". DUET_IGDMD names another library.
 * Errors: -ENOENT, -ENODEV, -ENOMEM; why: a sentence about what is missing. */
int igdmd_open(const char *address, struct igdmd **ret_library, char *ret_why, size_t size);
void igdmd_close(struct igdmd *library); /* NULL-safe */

/* Finds a set by its index: "ComputeBasic", "Compute Metrics Basic set"; valid until igdmd_close.
 * False: index beyond the last set. */
bool igdmd_set(const struct igdmd *library, uint32_t index, const char **ret_name,
	       const char **ret_text);
/* Returns the set's name for a counter at a place of the report; NULL: none. */
const char *igdmd_counter(const struct igdmd *library, uint32_t set, const struct oa_place *place);

/* Adds a set to the driver's list under IGDMD_UUID, the entry of all programs with this library; a
 * set that is there is replaced. igdmd_close removes it, if the rights at that time allow it.
 * Errors: -EACCES, -EPROTO. */
#define IGDMD_UUID "2f01b241-7014-42a7-9eb6-a925cad3daba"
int igdmd_begin(const struct igdmd *library, uint32_t set);
void igdmd_end(const struct igdmd *library, uint32_t set);

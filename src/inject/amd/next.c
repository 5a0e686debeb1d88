/* SPDX-License-Identifier: MIT
 *
 * inject/amd/next.c - the HSA functions that the wrappers call, the recorder's options, and the
 * state of the runtime
 *
 * Runs in:  the profiled process
 * Gets:     nothing
 * Gives:    the table; hsa.c fills it
 * Owns:     the table
 * Fails:    never
 */
#include "inject/amd/hsa.h"

struct hsa_functions hsa_next;
uint32_t hsa_options;
_Atomic bool hsa_loaded;
bool hsa_overflow_fatal;

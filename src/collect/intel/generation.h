/* SPDX-License-Identifier: MIT
 *
 * collect/intel/generation.h - which generation of commands an Intel GPU has
 */
#ifndef COLLECT_INTEL_GENERATION_H
#define COLLECT_INTEL_GENERATION_H

#include <stdint.h>

#include "collect/intel/gpu_node.h"
#include "event/batch.h"

/* enum batch_generation and 1; 0: it is not known. */

/* By a render node. */
uint32_t generation_of(const struct gpu_node *node);

/* By a graphics IP (20, 1: Xe2); by the device number on PCI. */
uint32_t generation_of_ip(uint32_t major, uint32_t minor);
uint32_t generation_of_pci(uint32_t device);

#endif

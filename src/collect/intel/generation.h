/* SPDX-License-Identifier: MIT
 *
 * collect/intel/generation.h - finds the generation of an Intel GPU's commands
 */
#pragma once

#include <stdint.h>

#include "collect/intel/gpu_node.h"
#include "event/batch.h"

/* All return enum batch_generation and 1; 0: not known. */

/* By its render node. */
uint32_t generation_of(const struct gpu_node *node);

/* By a graphics IP (20, 1: Xe2); by the PCI device id. */
uint32_t generation_of_ip(uint32_t major, uint32_t minor);
uint32_t generation_of_pci(uint32_t device);

/* SPDX-License-Identifier: MIT
 *
 * collect/start/own_memory.h - measures the memory of the recorder
 */
#ifndef COLLECT_START_OWN_MEMORY_H
#define COLLECT_START_OWN_MEMORY_H

#include <stdint.h>

/* Bytes of private anonymous memory of this process in RAM. 0: not known. */
uint64_t own_memory_bytes(void);

#endif

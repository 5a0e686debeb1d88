/* SPDX-License-Identifier: MIT
 *
 * collect/own_memory.h - how much memory the recorder has
 */
#ifndef COLLECT_OWN_MEMORY_H
#define COLLECT_OWN_MEMORY_H

#include <stdint.h>

/* Of this process, in RAM now, without what is mapped from files and what others may map too. 0: the kernel does not say. */
uint64_t own_memory_bytes(void);

#endif

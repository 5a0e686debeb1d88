/* SPDX-License-Identifier: MIT
 *
 * inject/lock.h - ids of threads, as the guest's locks use them
 */
#pragma once

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The calling thread's id, never 0. In a child, the thread that forked keeps its id. */
uint32_t lock_own_id(void);

#pragma GCC visibility pop

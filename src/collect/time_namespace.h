/* SPDX-License-Identifier: MIT
 *
 * collect/time_namespace.h - the shift of a process's clocks by its time namespace
 */
#pragma once

#include <stdint.h>

/* CLOCK_MONOTONIC of a process minus that of the kernel; pid 0: this process. 0: the kernel has no
 * time namespaces. */
int64_t time_namespace_shift_ns(uint32_t pid);

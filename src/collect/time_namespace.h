/* SPDX-License-Identifier: MIT
 *
 * collect/time_namespace.h - how far a time namespace shifts the clocks of its processes
 */
#ifndef COLLECT_TIME_NAMESPACE_H
#define COLLECT_TIME_NAMESPACE_H

#include <stdint.h>

/* CLOCK_MONOTONIC of a process less that of the kernel; pid 0: of this one. 0 where the kernel has no such namespaces. */
int64_t time_namespace_shift_ns(uint32_t pid);

#endif

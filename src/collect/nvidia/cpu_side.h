/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cpu_side.h - CUDA's launches where CUPTI is not to be had: seen from outside, without device times
 */
#ifndef COLLECT_NVIDIA_CPU_SIDE_H
#define COLLECT_NVIDIA_CPU_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/recording.h"

struct cpu_side;

/* Nothing is done before a process is told of. has_stacks: of launches. NULL: no memory. */
struct cpu_side *cpu_side_open(struct recording *recording, bool has_stacks);
void cpu_side_close(struct cpu_side *side); /* NULL-safe */

/* A process in which CUPTI was refused, or cannot be brought. Once for each; what comes of it is noted. One
 * that has not loaded libcuda is left alone. */
void cpu_side_watch(struct cpu_side *side, uint32_t pid);

/* Whether a process was watched. */
bool cpu_side_is_on(const struct cpu_side *side);
void cpu_side_drain(struct cpu_side *side);
/* Writes losses since the last time, and forgets who has ended: to be called each second. */
void cpu_side_count(struct cpu_side *side, uint64_t now_ns);

#endif

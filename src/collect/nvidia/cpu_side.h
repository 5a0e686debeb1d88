/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cpu_side.h - records CUDA launches without CUPTI: by uprobes, without device times
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/recording.h"

struct cpu_side;

/* Does nothing until a process is added. has_stacks: record stacks of launches. NULL: out of
 * memory. */
struct cpu_side *cpu_side_open(struct recording *recording, bool has_stacks);
void cpu_side_close(struct cpu_side *side); /* NULL-safe */

/* Adds a process in which CUPTI was refused, or which the guest cannot enter. A repeated call does
 * nothing; the result is noted. A process without libcuda is ignored. */
void cpu_side_watch(struct cpu_side *side, uint32_t pid);

/* Whether a process was watched. */
bool cpu_side_is_on(const struct cpu_side *side);
void cpu_side_drain(struct cpu_side *side);
/* Writes losses since the last call and drops ended processes. Call it each second. */
void cpu_side_count(struct cpu_side *side, uint64_t now_ns);

/* SPDX-License-Identifier: MIT
 *
 * bpf/sched_unsure.bpf.c - sched.bpf.c for kernels whose types lack preempt_count
 */
#define PREEMPT_COUNT_IS_NOWHERE
#include "bpf/sched.bpf.c"

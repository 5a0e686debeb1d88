/* SPDX-License-Identifier: MIT
 *
 * bpf/sched_hot.bpf.c - sched.bpf.c for kernels that keep preempt_count in pcpu_hot (6.2 to 6.14)
 */
#define PREEMPT_COUNT_IS_HOT
#include "bpf/sched.bpf.c"

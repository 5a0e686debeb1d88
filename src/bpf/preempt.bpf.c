/* SPDX-License-Identifier: MIT
 *
 * bpf/preempt.bpf.c - which variable of this kernel holds preempt_count
 *
 * Runs in:  nowhere: that the kernel loads one of these programs is the answer
 * Gets:     nothing   Gives: nothing
 * Owns:     nothing
 * Fails:    to load where the kernel's types, or its list of symbols (CONFIG_KALLSYMS_ALL), lack the variable
 * Why:      a refused program of sched.bpf.c costs all of its maps and a second load (8 to 40 ms); one of these 0.5 ms.
 */
#include "bpf/kernel_types.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

extern const struct pcpu_hot pcpu_hot __ksym;
extern const int __preempt_count __ksym;

SEC("syscall")
int is_hot(void *context)
{
	return bpf_this_cpu_ptr(&pcpu_hot) != 0;
}

SEC("syscall")
int is_alone(void *context)
{
	return bpf_this_cpu_ptr(&__preempt_count) != 0;
}

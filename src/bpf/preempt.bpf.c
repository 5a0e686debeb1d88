/* SPDX-License-Identifier: MIT
 *
 * bpf/preempt.bpf.c - detect the variable that holds this kernel's preempt_count
 *
 * Runs in:  nowhere: the programs are only loaded. If the kernel accepts one of them, the kernel
 *           has that variable
 * Gets:     nothing
 * Gives:    nothing
 * Owns:     nothing
 * Fails:    to load if the kernel's types, or its list of symbols (CONFIG_KALLSYMS_ALL), lack the
 *           variable
 * Why a trial: if the kernel refuses a program of sched.bpf.c, all maps were created in vain and
 *           must be loaded again (8 to 40 ms). Loading a program of this file costs 0.5 ms.
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

/* Relocates a field, as programs at events do, and needs no variable. */
SEC("syscall")
int is_able(void *context)
{
	return bpf_core_field_size(((struct task_struct *)0)->__state);
}

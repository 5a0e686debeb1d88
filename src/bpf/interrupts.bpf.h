/* SPDX-License-Identifier: MIT
 *
 * bpf/interrupts.bpf.h - part of sched.bpf.c: time that interrupts took from watched processes
 *
 * Gets:     handlers of interrupts and of soft interrupts that strike threads of the processes in
 *           `watched`
 * Gives:    sums by process and handler in `interrupts`, read by the recorder
 * Fails:    a handler without room is counted in `counts`
 * Why sums: a network card often has 10^5 interrupts a second, and single ones are not of interest.
 * Why a part of sched.bpf.c: for an object of its own, the kernel's types would have to
 *           be read once more. These programs are loaded on request only.
 */
#pragma once

#include "bpf/watched.h"
#include "event/kernel_record.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct kernel_interrupt_key);
	__type(value, struct kernel_interrupt);
} interrupts SEC(".maps");

/* The handlers that run on this processor. A hardware interrupt may interrupt a soft one, but not
 * another hardware interrupt. */
struct handling {
	__u64 hard_ns, soft_ns; /* start; 0: none, or it struck an unwatched thread */
	__u64 inside_ns;        /* hardware time inside the soft one */
	__u32 tgid, reserved;
};

MAP(handlings, PERCPU_ARRAY, 1, __u32, struct handling);

static __always_inline struct handling *handling_here(void)
{
	const __u32 key = 0;

	return bpf_map_lookup_elem(&handlings, &key);
}

/* name: in kernel memory; NULL: the number suffices. */
static __always_inline void add_interrupt(__u32 tgid, __u32 number, __u64 spent_ns,
					  const char *name)
{
	const struct kernel_interrupt_key key = {tgid, number};
	struct kernel_interrupt *sum = bpf_map_lookup_elem(&interrupts, &key);
	struct kernel_interrupt fresh = {};

	if (!sum) {
		if (name)
			bpf_probe_read_kernel_str(fresh.name, sizeof(fresh.name), name);
		fresh.spent_ns = spent_ns;
		if (bpf_map_update_elem(&interrupts, &key, &fresh, BPF_ANY))
			count(KERNEL_COUNT_INTERRUPTS);
		return;
	}
	if (name && !sum->name[0])
		bpf_probe_read_kernel_str(sum->name, sizeof(sum->name), name);
	sum->spent_ns += spent_ns;
}

static __always_inline bool strikes_watched(struct handling *here)
{
	here->tgid = bpf_get_current_pid_tgid() >> 32;
	return is_watched(here->tgid);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_interrupt, int number, struct irqaction *action)
{
	struct handling *here = handling_here();

	if (here)
		here->hard_ns = strikes_watched(here) ? bpf_ktime_get_ns() : 0;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_interrupt_end, int number, struct irqaction *action, int handled)
{
	struct handling *here = handling_here();
	__u64 spent_ns;

	if (!here || !here->hard_ns)
		return 0;
	spent_ns = bpf_ktime_get_ns() - here->hard_ns;
	here->hard_ns = 0;
	here->inside_ns += spent_ns;
	add_interrupt(here->tgid, (__u32)number, spent_ns, action->name);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_soft_interrupt, unsigned int vector)
{
	struct handling *here = handling_here();

	if (!here)
		return 0;
	here->soft_ns = strikes_watched(here) ? bpf_ktime_get_ns() : 0;
	here->inside_ns = 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_soft_interrupt_end, unsigned int vector)
{
	struct handling *here = handling_here();

	if (!here || !here->soft_ns)
		return 0;
	add_interrupt(here->tgid, vector | KERNEL_SOFT_INTERRUPT,
		      bpf_ktime_get_ns() - here->soft_ns - here->inside_ns, NULL);
	here->soft_ns = 0;
	return 0;
}

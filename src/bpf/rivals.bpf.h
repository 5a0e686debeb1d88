/* SPDX-License-Identifier: MIT
 *
 * bpf/rivals.bpf.h - the thread that had a processor longest while a recorded thread waited for it
 *
 * Runs in:  the kernel, at every switch of a processor
 * Gets:     the threads of each switch
 * Gives:    struct rival: filled while its thread waits
 * Owns:     the BPF map `processors`
 * Fails:    a thread that waits on one processor and runs on another has no rival; of two waiting
 *           threads whose numbers are equal modulo RIVALS, the first has none
 * Why:      the thread that gets the processor first is often one of the kernel's, for microseconds
 */
#pragma once

#include "bpf/kernel_types.h"
#include "bpf/maps.h"
#include "event/kernel_record.h"

enum { RIVALS = 4 };

struct rival {
	__u32 tid; /* the waiting thread; 0: none */
	__u32 reserved;
	__u64 left_ns;    /* when it left the processor */
	__u64 longest_ns; /* longest time that another thread ran without a break; 0: none ran */
	struct kernel_task longest;
};

struct rivals {
	__u64 since_ns; /* time of the last switch */
	struct rival all[RIVALS];
};

MAP(processors, PERCPU_ARRAY, 1, __u32, struct rivals);

static __always_inline void name_task(struct kernel_task *task, const struct task_struct *of)
{
	task->tgid = of->tgid;
	task->tid = of->pid;
	__builtin_memcpy(task->name, of->comm, sizeof(task->name));
}

static __always_inline struct rivals *this_processor(void)
{
	const __u32 key = 0;

	return bpf_map_lookup_elem(&processors, &key);
}

/* The previous thread has run since the last switch. */
static __always_inline void rivals_ran(struct rivals *processor, const struct task_struct *previous,
				       __u64 now_ns)
{
	const __u64 ran_ns = now_ns - processor->since_ns;

	processor->since_ns = now_ns;
	if (!previous->pid) /* the processor was idle */
		return;
	for (unsigned int i = 0; i < RIVALS; i++) {
		struct rival *rival = &processor->all[i];

		if (!rival->tid || ran_ns <= rival->longest_ns)
			continue;
		rival->longest_ns = ran_ns;
		name_task(&rival->longest, previous);
	}
}

static __always_inline void rivals_begin(struct rivals *processor, const struct task_struct *task,
					 __u64 now_ns)
{
	struct rival *rival = &processor->all[(__u32)task->pid % RIVALS];

	rival->tid = task->pid;
	rival->left_ns = now_ns;
	rival->longest_ns = 0;
}

/* NULL: none is known. */
static __always_inline const struct rival *rivals_end(struct rivals *processor,
						      const struct task_struct *task)
{
	struct rival *rival = &processor->all[(__u32)task->pid % RIVALS];

	if (rival->tid != (__u32)task->pid)
		return NULL;
	rival->tid = 0;
	return rival->longest_ns ? rival : NULL;
}

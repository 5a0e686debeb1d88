/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/records.bpf.h - send rows to the recorder, and count those without room
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gives:    the ring `records`, the array `counts`, new numbers
 * Fails:    a record without room is counted in `counts`
 *
 * A part of submit.bpf.h. Include with these macros defined, or functions: find_range, on_found,
 * on_missed.
 */
#pragma once

enum {
	MAX_SUBMIT_STEPS = 16384, /* commands of a submission: about 0.7 ms */
	MAX_SUBMIT_TRIES = 4,
	MAX_SUBMIT_OBJECTS = 128, /* objects of a list that comes with a submission */
	SUBMIT_SCRATCHES = 32,
	SUBMIT_MAPPINGS = 4,
	SUBMIT_OPENS_A_PROCESS = 4,
	MAX_SUBMIT_OPENS = 128,
	PAGE_SHIFT = 12,
};
/* Marks an object that is not a buffer but memory of the process, in its lower half. */
#define SUBMIT_USER_POINTER (1ULL << 63)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The recorder sets its size on request. */
RING(records, 16 << 20);

COUNTS(SUBMIT_COUNTS)

#define USER_STACKS_RING records
#define USER_STACKS_LOST SUBMIT_COUNT_STACKS
/* Runtimes call drivers from deep stacks, and two of these differ far out. */
#define USER_STACKS_TOP  512
#include "bpf/user_stacks.bpf.h"

/* By the minor of a render node: enum batch_generation + 1, set by the recorder; 0: unknown. */
MAP(generations, ARRAY, MAX_SUBMIT_MINORS, __u32, __u32);

/* One sequence numbers files, address spaces, objects, bindings and submissions, so that it also
 * orders them. */
__u64 last_number;

static __always_inline __u64 new_number(void)
{
	return __sync_fetch_and_add(&last_number, 1) + 1;
}

/* ---- records sent to the recorder -------------------------------------------------------------
 */

static __always_inline void fill_head(struct kernel_head *head, __u32 kind)
{
	const __u64 current = bpf_get_current_pid_tgid();

	head->time_ns = bpf_ktime_get_ns();
	head->kind = kind;
	head->cpu = bpf_get_smp_processor_id();
	head->tid = (__u32)current;
	head->tgid = current >> 32;
	head->flags = 0;
}

static __always_inline void put_record(void *record, __u64 bytes)
{
	if (bpf_ringbuf_output(&records, record, bytes, BPF_RB_NO_WAKEUP))
		count(SUBMIT_COUNT_RECORDS);
}

SUBMIT_CALL send_unbound(__u64 vm, __u64 begin, __u64 end)
{
	struct submit_unbound record = {.vm = vm, .begin = begin, .end = end};

	fill_head(&record.head, SUBMIT_RECORD_UNBOUND);
	put_record(&record, sizeof(record));
}

static __always_inline __u64 start_of(struct task_struct *task)
{
	return task->group_leader->start_boottime;
}

SUBMIT_CALL send_process(__u32 kind)
{
	struct submit_process record = {.start_ns = start_of(bpf_get_current_task_btf())};

	fill_head(&record.head, kind);
	put_record(&record, sizeof(record));
}

/* A process that submits once and ends is examined before that. */
static __always_inline void send_met(void)
{
	send_process(SUBMIT_RECORD_MET);
}

/* SPDX-License-Identifier: MIT
 *
 * bpf/calls.bpf.c - calls of a library's functions, by processes that are watched
 *
 * Runs in:  the kernel, in the thread that calls, before the function does anything
 * Gives:    struct call_record and kernel_stack in `records`
 * Fails:    what has no room is counted in `counts`
 * Why:      it needs nothing inside the process: where a runtime's own interface is another tool's, or is not to be had in a
 *           program that runs, the calls are seen all the same. A probe at the return would put another address onto the
 *           stack, which then could not be walked; when the call ends is not told.
 */
#include "bpf/kernel_types.h"
#include "event/call_record.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALL_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* Processes of which is told: tgid -> 1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
} watched SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &which);

	if (value)
		++*value;
}

#define USER_STACKS_RING records
#define USER_STACKS_LOST CALL_COUNT_STACKS
#define USER_STACKS_OVER CALL_COUNT_STACKS
/* Runtimes are deep, and what tells two launches apart is far out. */
#define USER_STACKS_TOP  512
#include "bpf/user_stacks.h"

SEC("uprobe")
int on_call(struct pt_regs *registers)
{
	const __u64 id = bpf_get_current_pid_tgid();
	const __u64 cookie = bpf_get_attach_cookie(registers);
	const __u32 tgid = id >> 32;
	struct call_record *record;
	__u64 stack;

	if (!bpf_map_lookup_elem(&watched, &tgid))
		return 0;
	stack = cookie & CALL_COOKIE_STACKS ? find_stack(bpf_get_current_task_btf()) : 0;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		count(CALL_COUNT_RECORDS);
		return 0;
	}
	record->head.time_ns = bpf_ktime_get_ns();
	record->head.kind = CALL_RECORD;
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.tid = id;
	record->head.tgid = tgid;
	record->head.flags = 0;
	record->user_stack = stack;
	record->function = (__u32)cookie;
	record->reserved = 0;
	bpf_get_current_comm(record->thread, sizeof(record->thread));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * bpf/calls.bpf.c - calls of a library's functions by watched processes
 *
 * Runs in:  the kernel, in the calling thread, before the function starts
 * Gives:    struct call_record and kernel_stack in `records`
 * Fails:    records without room are counted in `counts`
 * Why a probe in the kernel: it needs nothing inside the process. So calls are recorded even if
 *           another tool uses the runtime's own interface, or the interface is unavailable in a
 *           running program. A return probe would replace the return address on the stack, which
 *           could then not be unwound, so the end of a call is not recorded.
 */
#include "bpf/kernel_types.h"
#include "bpf/maps.h"
#include "event/call_record.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

RING(records, 4 << 20);

COUNTS(CALL_COUNTS)

/* Watched processes: tgid -> 1. */
MAP(watched, HASH, 4096, __u32, __u8);

#define USER_STACKS_RING records
#define USER_STACKS_LOST CALL_COUNT_STACKS
#define USER_STACKS_OVER CALL_COUNT_STACKS
/* Runtimes have deep stacks, and two launches differ far out. */
#define USER_STACKS_TOP  512
#include "bpf/user_stacks.bpf.h"

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

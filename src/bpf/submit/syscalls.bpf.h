/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/syscalls.bpf.h - trace a driver's calls through the system call events, as a last
 * resort
 *
 * Runs in:  the kernel, at each system call of each thread of the machine; attached only on request
 * Why:      a kernel may have no types of its modules and no function probes, but every kernel has
 *           the events sys_enter and sys_exit. Listening to them costs every system call, so a call
 *           of no interest is dropped by its number, and an ioctl by its type, before anything is
 *           read. The driver's files are then recognized by the device number of their node, which
 *           the recorder provides: no type of the driver or of DRM is needed. There is no event for
 *           the final close of a file. The final close is detected when the last reference is
 *           dropped: in a call that closes a descriptor, or when the process ends or calls exec.
 *
 * x86-64's numbers and registers. Include with these macros defined, after
 * bpf/submit/programs.bpf.h: those that it needs.
 */
#pragma once

#include "bpf/submit/programs.bpf.h"

enum {
	SYSTEM_CALL_CLOSE = 3,
	SYSTEM_CALL_MMAP = 9,
	SYSTEM_CALL_IOCTL = 16,
	SYSTEM_CALL_DUP2 = 33,
	SYSTEM_CALL_DUP3 = 292,
	SYSTEM_CALL_CLOSE_RANGE = 436,
	MAPS_SHARED = 1,
	IS_COMPAT = 2,           /* a 32-bit program, with other numbers */
	CLOSES_LATER = 4,        /* CLOSE_RANGE_CLOEXEC: closed at exec */
	MAX_DESCRIPTORS = 16384, /* max descriptors checked in a range: about 0.5 ms */
	ERRORS = 4095
};

/* A node's device number -> the minor of its GPU's render node + 1. Set by the recorder. */
MAP(nodes, HASH, 512, __u32, __u32);

static __always_inline bool is_compat(const struct task_struct *task)
{
	return task->thread_info.status & IS_COMPAT;
}

/* NULL: no file. */
static __always_inline struct file *file_at(const struct task_struct *task, __u64 descriptor)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = NULL;

	if ((__u32)descriptor >= table->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), table->fd + (__u32)descriptor))
		return NULL;
	return file;
}

/* As in `nodes`; 0: not a node of the driver. */
static __always_inline __u32 node_of(const struct file *file)
{
	const __u32 device = BPF_CORE_READ(file, f_inode, i_rdev);
	const __u32 *node = bpf_map_lookup_elem(&nodes, &device);

	return node ? *node : 0;
}

static __always_inline bool is_last_reference(const struct file *file)
{
	if (bpf_core_field_exists(file->f_ref))
		return BPF_CORE_READ(file, f_ref.refcnt.counter) == 0;
	return BPF_CORE_READ(file, f_count.counter) == 1;
}

static __always_inline void own_file(const void *file, __u32 tgid)
{
	const __u64 number = file_number(file);
	const struct submit_owner owner = {(__u64)file, tgid, 0};

	if (bpf_map_lookup_elem(&owners, &number))
		return;
	know_caller();
	bpf_map_update_elem(&owners, &number, &owner, BPF_ANY);
	has_owners = 1;
}

static __always_inline void enter_ioctl(const struct task_struct *task, __u64 descriptor,
					__u32 command, const void *data)
{
	const struct file *file = file_at(task, descriptor);
	const __u32 node = file ? node_of(file) : 0;
	const struct drm_file *own;
	struct submit_call *call;

	if (!node || is_compat(task))
		return;
	own = BPF_CORE_READ(file, private_data);
	own_file(own, task->tgid);
	try_again();
	command &= 0xff;
	if (command < DRM_COMMANDS && command != DRM_GEM_CLOSE)
		return;
	call = enter_command(command, own, data);
	if (call)
		call->node = node;
}

/* For a call that closes a descriptor. */
SUBMIT_CALL close_at(const struct task_struct *task, __u64 descriptor)
{
	const struct file *file = file_at(task, descriptor);

	if (file && node_of(file) && is_last_reference(file))
		on_file_close(BPF_CORE_READ(file, private_data));
}

/* A process that has never called a driver owns nothing. */
static __always_inline bool is_caller(__u32 tgid)
{
	return bpf_map_lookup_elem(&callers, &tgid) != NULL;
}

struct closing {
	__u32 first, has_any;
};

static long look_at_descriptor(__u32 index, struct closing *closing)
{
	const struct file *file = file_at(bpf_get_current_task_btf(), closing->first + index);

	closing->has_any = file && node_of(file);
	return closing->has_any;
}

/* Several closed descriptors may refer to one file: all files of the process are then treated as
 * closed. */
SUBMIT_CALL close_range_of(const struct task_struct *task, __u32 first, __u32 last)
{
	const __u32 size = task->files->fdt->max_fds;
	struct closing closing = {first, 0};

	if (last >= size)
		last = size - 1;
	if (!is_caller(task->tgid) || first > last)
		return;
	if (last - first < MAX_DESCRIPTORS)
		bpf_loop(last - first + 1, look_at_descriptor, &closing, 0);
	else
		closing.has_any = 1;
	if (closing.has_any)
		disown_files(task->tgid);
}

SUBMIT_CALL end_map(const struct task_struct *task, __u64 descriptor, __u64 offset, __u64 address)
{
	const struct file *file = file_at(task, descriptor);
	struct submit_id key = {0};
	const __u64 *object;

	if (!file || !node_of(file))
		return;
	key.file = file_number(BPF_CORE_READ(file, private_data));
	key.id = offset;
	object = bpf_map_lookup_elem(&offsets, &key);
	if (object)
		add_mapping(*object, address, 0);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_enter, struct pt_regs *registers, long number)
{
	if (number == SYSTEM_CALL_IOCTL) {
		if ((registers->si >> 8 & 0xff) == DRM_TYPE)
			enter_ioctl(bpf_get_current_task_btf(), registers->di, (__u32)registers->si,
				    (const void *)registers->dx);
	} else if (!has_owners) {
		return 0;
	} else if (number == SYSTEM_CALL_CLOSE) {
		close_at(bpf_get_current_task_btf(), registers->di);
	} else if (number == SYSTEM_CALL_DUP2 || number == SYSTEM_CALL_DUP3) {
		close_at(bpf_get_current_task_btf(), registers->si);
	} else if (number == SYSTEM_CALL_CLOSE_RANGE) {
		if (!(registers->dx & CLOSES_LATER))
			close_range_of(bpf_get_current_task_btf(), (__u32)registers->di,
				       (__u32)registers->si);
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_exit, struct pt_regs *registers, long result)
{
	const long number = registers->orig_ax;

	if (number == SYSTEM_CALL_IOCTL) {
		if ((registers->si >> 8 & 0xff) == DRM_TYPE)
			exit_way((int)result);
	} else if (number == SYSTEM_CALL_MMAP && has_owners) {
		if ((registers->r10 & MAPS_SHARED) && (int)registers->r8 >= 0 &&
		    (unsigned long)result < -(unsigned long)ERRORS)
			end_map(bpf_get_current_task_btf(), registers->r8, registers->r9, result);
	}
	return 0;
}

/* Most files are closed at exec. Those that stay open count as new. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(call_exec, struct task_struct *task)
{
	if (has_owners && is_caller(task->tgid))
		disown_files(task->tgid);
	return 0;
}

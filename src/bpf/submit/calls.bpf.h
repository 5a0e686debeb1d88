/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/calls.bpf.h - the driver call that a thread is in, with its stack
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gives:    one submit_call per thread from entry to return
 * Fails:    a call whose end was missed is dropped at the next call of its thread
 *
 * A part of submit.bpf.h. Include with these macros defined, or functions: find_range, on_found,
 * on_missed.
 */
#pragma once

/* ---- calls ----------------------------------------------------------------------------------- */

/* A thread inside the driver. */
struct submit_call {
	__u64 enter_ns;
	const void *data; /* arguments: the kernel's copy, or */
	const struct drm_file *file;
	__u32 what;    /* defined by the including file; 0: none */
	__u32 is_user; /* the program's own memory */
	__u64 offset;  /* for a mapping: offset in the file */
	struct vm_area_struct *area;
	__u64 function;    /* for a submission: the driver's function, if its start was seen */
	__u64 system_call; /* and its system call */
	__u32 node;        /* the render node's minor + 1; 0: taken from the file */
	__u32 reserved;
	struct submit_id space; /* for calls that change an address space: its id */
	__u64 vm;               /* and its number at that time; 0: none */
};

/* Removed when the call ends; if its end was missed, when the thread ends. */
MAP(calls, HASH, 4096, __u32, struct submit_call);

static const struct submit_call no_call;

/* Processes that have called the driver: only their ends are of interest. */
MAP(callers, LRU_HASH, 8192, __u32, __u8);

__u32 has_callers;

static __always_inline void know_caller(void)
{
	const __u32 tgid = bpf_get_current_pid_tgid() >> 32;
	const __u8 one = 1;

	if (bpf_map_lookup_elem(&callers, &tgid))
		return;
	bpf_map_update_elem(&callers, &tgid, &one, BPF_ANY);
	has_callers = 1;
}

/* A thread is in one call at a time. The end of the previous call is missed if one of our programs
 * was already running on its processor, or all slots for returns were in use. */
static __always_inline void miss_call(__u32 tid)
{
	const struct submit_call *missed = bpf_map_lookup_elem(&calls, &tid);

	if (!missed)
		return;
	count(SUBMIT_COUNT_MISSED);
	on_missed(missed);
}

static __always_inline struct submit_call *begin_call(__u32 what, const void *data,
						      const struct drm_file *file, __u32 is_user)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct submit_call *call;

	know_caller();
	if (bpf_map_update_elem(&calls, &tid, &no_call, BPF_NOEXIST)) {
		miss_call(tid);
		bpf_map_update_elem(&calls, &tid, &no_call, BPF_ANY);
	}
	call = bpf_map_lookup_elem(&calls, &tid);
	if (!call)
		return NULL;
	call->what = what;
	call->data = data;
	call->file = file;
	call->is_user = is_user;
	call->enter_ns = bpf_ktime_get_ns();
	return call;
}

/* Kernel frames: only one path leads from a system call to a driver's function, so they are
 * captured once in a while and not at each call, which would be a third of the cost of a
 * submission. */
struct submit_frames_key {
	__u64 function, system_call;
};

struct submit_frames {
	__u64 taken_ns;
	__u32 count, first; /* the frames before `first` are our own */
	__u64 all[MAX_KERNEL_FRAMES];
};

MAP(kernel_frames, LRU_HASH, 64, struct submit_frames_key, struct submit_frames);

static const struct submit_frames no_frames;

/* NULL: they are known. */
static __always_inline struct submit_frames *need_frames(struct submit_call *call, __u64 function)
{
	enum { AGE_MAX_NS = 1000000000 };
	const struct pt_regs *registers =
		(const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	const struct submit_frames_key key = {function, registers->orig_ax};
	struct submit_frames *known = bpf_map_lookup_elem(&kernel_frames, &key);

	call->function = key.function;
	call->system_call = key.system_call;
	if (known && call->enter_ns - known->taken_ns < AGE_MAX_NS)
		return NULL;
	if (!known) {
		bpf_map_update_elem(&kernel_frames, &key, &no_frames, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&kernel_frames, &key);
	}
	if (known)
		known->taken_ns = call->enter_ns;
	return known;
}

static __always_inline void put_frames(struct submit_frames *frames, long bytes, __u64 function)
{
	enum { MAX_BELOW = 6, ENTRY_BYTES = 32 };

	frames->count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
	for (__u32 i = 0; i < MAX_BELOW; i++)
		if (frames->all[i] - function < ENTRY_BYTES) {
			frames->first = i;
			break;
		}
}

/* From a program at the function's entry: frames of code that runs on its behalf come first. */
static __always_inline void take_frames(void *context, struct submit_call *call, __u64 function)
{
	struct submit_frames *frames = need_frames(call, function);

	if (frames)
		put_frames(frames, bpf_get_stack(context, frames->all, sizeof(frames->all), 0),
			   function);
}

static __always_inline void copy_frames(const struct submit_call *call,
					struct submit_record *record)
{
	const struct submit_frames_key key = {call->function, call->system_call};
	const struct submit_frames *frames = bpf_map_lookup_elem(&kernel_frames, &key);

	record->frames_count = 0;
	if (!frames)
		return;
	record->frames_count = frames->count;
	record->frames_first = frames->first;
	__builtin_memcpy(record->frames, frames->all, sizeof(record->frames));
}

/* NULL: its start was not seen, or it is another call. */
static __always_inline struct submit_call *find_call(__u32 what)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct submit_call *call = bpf_map_lookup_elem(&calls, &tid);

	return call && call->what == what ? call : NULL;
}

static __always_inline void end_call(void)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&calls, &tid);
}

static __always_inline bool read_data(void *target, __u32 size, const void *data, __u32 is_user)
{
	return !(is_user ? bpf_probe_read_user(target, size, data)
			 : bpf_probe_read_kernel(target, size, data));
}

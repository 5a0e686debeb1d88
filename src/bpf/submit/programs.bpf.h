/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/programs.bpf.h - the programs at a driver's functions, attached by type or by name
 *
 * Runs in:  the kernel, in threads that call the driver
 * Why one file for all drivers: all driver functions that serve calls of programs have the same
 *           arguments (device, the program's data, its open file)
 *
 * Include with these macros defined, after the functions of a driver: on_begin(what, call),
 * on_exec(call, scratch), on_done(what, call), on_lost(what, data, file, is_user),
 * call_of(command), on_before(command, data, file), on_gem_close, on_file_close,
 * run_before(what, data, file), drop_files(number), and driver_name.
 */
#pragma once

#include "bpf/submit/submit.bpf.h"

SUBMIT_CALL end_exec(const struct submit_call *call)
{
	struct submit_scratch *scratch = take_scratch();

	if (!scratch) {
		count(SUBMIT_COUNT_BUSY);
		return;
	}
	on_exec(call, scratch);
	put_scratch(scratch);
}

static __always_inline struct submit_call *enter(__u32 what, const void *data,
						 const struct drm_file *file, __u32 is_user)
{
	struct submit_call *call = begin_call(what, data, file, is_user);

	if (call)
		on_begin(what, call);
	return call;
}

/* The driver returns from a call: a refused call has no effect. Arguments are read here if the
 * start was not seen; without a file they are unknown. */
static __always_inline int finish(__u32 what, long result, const void *data, const void *file,
				  __u32 is_user)
{
	struct submit_call *call = find_call(what);

	if (!call) {
		if (what == SUBMIT_EXEC)
			count(SUBMIT_COUNT_CALLS);
		else if (!result)
			on_lost(what, data, file, is_user);
		return 0;
	}
	if (result) {
		if (what == SUBMIT_EXEC)
			count(SUBMIT_COUNT_FAILED);
	} else if (what == SUBMIT_EXEC) {
		end_exec(call);
	} else {
		on_done(what, call);
	}
	end_call();
	return 0;
}

/* Never attached: runs the programs' code with a caller's memory and no file. */
SUBMIT_CALL run_begin(const struct submit_request *request)
{
	const void *data = (const void *)request->data, *file = (const void *)request->file;
	struct submit_call *call = enter(request->call, data, file, 1);
	struct submit_frames *frames =
		call && request->call == SUBMIT_EXEC ? need_frames(call, 0) : NULL;

	if (frames)
		put_frames(frames,
			   bpf_get_task_stack(bpf_get_current_task_btf(), frames->all,
					      sizeof(frames->all), 0),
			   0);
}

static __always_inline int run_through(const struct submit_request *request)
{
	if (request->seen != SUBMIT_SEEN_END)
		run_begin(request);
	if (request->seen == SUBMIT_SEEN_BEGIN)
		return 0;
	return finish(request->call, request->result, (const void *)request->data,
		      (const void *)request->file, 1);
}

/* The programs at a function of the driver, for both ways to attach them: with its types, and
 * without them. */
#define ON_CALL(name, function, what, lacks)                                                   \
	SEC("fentry/" #function)                                                               \
	int BPF_PROG(name##_enter, void *device, void *data, struct drm_file *file)            \
	{                                                                                      \
		struct submit_call *call = enter(what, data, file, 0);                         \
                                                                                               \
		if (call && what == SUBMIT_EXEC)                                               \
			take_frames(ctx, call, bpf_get_func_ip(ctx));                          \
		return 0;                                                                      \
	}                                                                                      \
	SEC("fexit/" #function)                                                                \
	int BPF_PROG(name##_exit, void *device, void *data, struct drm_file *file, int result) \
	{                                                                                      \
		return finish(what, result, data, file, 0);                                    \
	}                                                                                      \
	SEC("kprobe/" #function)                                                               \
	int probe_##name(struct pt_regs *registers)                                            \
	{                                                                                      \
		struct submit_call *call = enter(what, (const void *)registers->si,            \
						 (const struct drm_file *)registers->dx, 0);   \
                                                                                               \
		if (call && what == SUBMIT_EXEC)                                               \
			take_frames(registers, call, registers->ip);                           \
		return 0;                                                                      \
	}                                                                                      \
	SEC("kretprobe/" #function)                                                            \
	int return_##name(struct pt_regs *registers)                                           \
	{                                                                                      \
		return finish(what, (int)registers->ax, NULL, NULL, 0);                        \
	}

#define ON_BEGIN(name, function, does)                                             \
	SEC("fentry/" #function)                                                   \
	int BPF_PROG(name, void *device, void *data, struct drm_file *file)        \
	{                                                                          \
		does(data, file, 0);                                               \
		return 0;                                                          \
	}                                                                          \
	SEC("kprobe/" #function)                                                   \
	int probe_##name(struct pt_regs *registers)                                \
	{                                                                          \
		does((const void *)registers->si, (const void *)registers->dx, 0); \
		return 0;                                                          \
	}

#define ON_CLOSE(function)                                            \
	SEC("fentry/" #function)                                      \
	int BPF_PROG(file_close, void *device, struct drm_file *file) \
	{                                                             \
		on_file_close(file);                                  \
		return 0;                                             \
	}                                                             \
	SEC("kprobe/" #function)                                      \
	int probe_file_close(struct pt_regs *registers)               \
	{                                                             \
		on_file_close((const void *)registers->si);           \
		return 0;                                             \
	}

#define ON_MMAP(function)                                                                   \
	SEC("fentry/" #function)                                                            \
	int BPF_PROG(mmap_enter, struct file *file, struct vm_area_struct *area)            \
	{                                                                                   \
		begin_mmap(file, area);                                                     \
		return 0;                                                                   \
	}                                                                                   \
	SEC("fexit/" #function)                                                             \
	int BPF_PROG(mmap_exit, struct file *file, struct vm_area_struct *area, int result) \
	{                                                                                   \
		end_mmap(result);                                                           \
		return 0;                                                                   \
	}                                                                                   \
	SEC("kprobe/" #function)                                                            \
	int probe_mmap(struct pt_regs *registers)                                           \
	{                                                                                   \
		begin_mmap((const struct file *)registers->di,                              \
			   (struct vm_area_struct *)registers->si);                         \
		return 0;                                                                   \
	}                                                                                   \
	SEC("kretprobe/" #function)                                                         \
	int return_mmap(struct pt_regs *registers)                                          \
	{                                                                                   \
		end_mmap((int)registers->ax);                                               \
		return 0;                                                                   \
	}

SEC("fentry/drm_ioctl")
int BPF_PROG(again, struct file *file)
{
	try_again();
	return 0;
}

SEC("kprobe/drm_ioctl")
int probe_again(struct pt_regs *registers)
{
	try_again();
	return 0;
}

/* ---- drm_ioctl ------------------------------------------------------------------------------- */

enum {
	DRM_TYPE = 'd',
	DRM_GEM_CLOSE = 0x09,
	DRM_COMMANDS = 0x40, /* start of the driver's own commands */
};

/* Has room for one more byte, so that a longer name that starts with this driver's differs. */
struct driver_name {
	char all[sizeof(driver_name) + 1];
};

static __always_inline bool is_our_name(const struct driver_name *name)
{
	for (__u32 i = 0; i < sizeof(driver_name); i++)
		if (name->all[i] != driver_name[i])
			return false;
	return true;
}

static __always_inline bool is_ours(const struct drm_file *file)
{
	struct driver_name name = {""};

	bpf_probe_read_kernel_str(name.all, sizeof(name.all),
				  BPF_CORE_READ(file, minor, dev, driver, name));
	return is_our_name(&name);
}

/* Never attached: checks a name in the caller's memory. */
static __always_inline int run_name(const void *at)
{
	struct driver_name name = {""};

	bpf_probe_read_user_str(name.all, sizeof(name.all), at);
	return is_our_name(&name);
}

static __always_inline bool is_command(__u32 command, const struct drm_file *file)
{
	const __u32 number = command & 0xff;

	if ((command >> 8 & 0xff) != DRM_TYPE || (number < DRM_COMMANDS && number != DRM_GEM_CLOSE))
		return false;
	return file && is_ours(file);
}

/* NULL: its end is of no interest. */
static __always_inline struct submit_call *enter_command(__u32 command, const struct drm_file *file,
							 const void *data)
{
	__u32 what;

	if (command == DRM_GEM_CLOSE) {
		on_gem_close(data, file, 1);
		return NULL;
	}
	on_before(command - DRM_COMMANDS, data, file);
	what = call_of(command - DRM_COMMANDS);
	return what ? enter(what, data, file, 1) : NULL;
}

static __always_inline void enter_way(void *context, const struct drm_file *file, __u32 command,
				      const void *data, __u64 function)
{
	struct submit_call *call;

	if (!is_command(command, file))
		return;
	call = enter_command(command & 0xff, file, data);
	if (call && call->what == SUBMIT_EXEC)
		take_frames(context, call, function);
}

static __always_inline void exit_way(int result)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct submit_call *call = bpf_map_lookup_elem(&calls, &tid);

	if (call && call->is_user)
		finish(call->what, result, NULL, NULL, 0);
}

SEC("kprobe/drm_ioctl")
int way_enter(struct pt_regs *registers)
{
	const struct file *file = (const struct file *)registers->di;

	try_again();
	enter_way(registers, BPF_CORE_READ(file, private_data), (__u32)registers->si,
		  (const void *)registers->dx, registers->ip);
	return 0;
}

SEC("kretprobe/drm_ioctl")
int way_exit(struct pt_regs *registers)
{
	exit_way((int)registers->ax);
	return 0;
}

SEC("kprobe/drm_release")
int probe_release(struct pt_regs *registers)
{
	on_file_close(BPF_CORE_READ((const struct file *)registers->si, private_data));
	return 0;
}

SEC("kprobe/drm_release_noglobal")
int probe_release_noglobal(struct pt_regs *registers)
{
	on_file_close(BPF_CORE_READ((const struct file *)registers->si, private_data));
	return 0;
}

/* ---- ends ------------------------------------------------------------------------------------ */

struct disowning {
	__u32 tgid, has_any;
};

static long disown_one(void *map, const __u64 *number, const struct submit_owner *owner,
		       struct disowning *disowning)
{
	const __u64 own = *number;

	if (owner->tgid != disowning->tgid)
		return 0;
	disowning->has_any = 1;
	forget_file((const void *)owner->file);
	bpf_map_delete_elem(&owners, &own);
	return 0;
}

/* Everything that its files hold ends, although other processes may share them; their further calls
 * are then unknown. */
SUBMIT_CALL disown_files(__u32 tgid)
{
	struct disowning disowning = {tgid, 0};

	if (!has_owners)
		return;
	bpf_for_each_map_elem(&owners, disown_one, &disowning, 0);
	if (disowning.has_any)
		drop_files(SUBMIT_FILES_GONE);
}

static __always_inline void end_process(__u32 tgid)
{
	/* if two threads end at the same time, only one sends the record */
	if (bpf_map_delete_elem(&callers, &tgid))
		return;
	for (__u32 i = 0; i < SUBMIT_OPENS_A_PROCESS; i++)
		drop_open(i);
	disown_files(tgid);
	send_process(SUBMIT_RECORD_EXIT);
}

/* Called for every thread of the machine: most have never called a driver. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	const __u32 tgid = task->tgid, tid = task->pid;

	if (!has_callers || !bpf_map_lookup_elem(&callers, &tgid))
		return 0;
	miss_call(tid);
	bpf_map_delete_elem(&calls, &tid);
	if (task->signal->live.counter == 0)
		end_process(tgid);
	return 0;
}

/* ---- without a driver ------------------------------------------------------------------------ */

SEC("syscall")
int run_call(struct submit_request *request)
{
	const void *data = (const void *)request->data, *file = (const void *)request->file;

	switch (request->call) {
	case SUBMIT_GEM_CLOSE:
		on_gem_close(data, file, 1);
		return 0;
	case SUBMIT_FILE_CLOSE:
		on_file_close(file);
		return 0;
	case SUBMIT_NAME:
		return run_name(data);
	case SUBMIT_ANY:
		try_again();
		return 0;
	case SUBMIT_MMAP:
		run_mmap(request);
		return 0;
	case SUBMIT_EXIT:
		end_process(bpf_get_current_pid_tgid() >> 32);
		return 0;
	default:
		return run_before(request->call, data, file) ? 0 : run_through(request);
	}
}

/* SPDX-License-Identifier: MIT
 *
 * bpf/submit.h - what programs at Intel's drivers share: calls, identities, memory, and what is told of a submission
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gives:    submit_record, submit_unbound, submit_process, submit_dropped, kernel_stack in `records`
 * Fails:    what has no room is counted in `counts`
 * Why:      a driver's ids, handles and pointers are used again. Whatever outlives a call is kept under numbers that
 *           never are: a file gets one when it is seen first, and its spaces and buffers theirs. What was closed is
 *           found under no number any more.
 *           Memory is read where the program has it mapped, and only while the kernel's own list says that the same
 *           thing is mapped there still. So nobody needs to follow munmap, which is everybody's.
 *
 * Include with these macros defined:
 *
 *	SUBMIT_FIND(scratch, address, ret_range)	what lies at an address of the submission's address space; false:
 *							it is not known
 *	SUBMIT_FOUND(scratch)				kernels were found that are told next
 *	SUBMIT_MISSED(call)				what a call may have changed whose end was not seen is not known
 */
#ifndef BPF_SUBMIT_H
#define BPF_SUBMIT_H

#include "bpf/drm_types.h"

#define GPU_RANGES_FUNCTION __attribute__((noinline))
#include "event/gpu_ranges.h"
#include "event/submit_record.h"

struct submit_scratch;
struct submit_call;
static __always_inline void SUBMIT_MISSED(const struct submit_call *call);
static __always_inline void SUBMIT_FOUND(struct submit_scratch *scratch);
static __always_inline bool SUBMIT_FIND(struct submit_scratch *scratch, __u64 address,
					struct gpu_range *ret_range);

#define BATCH_FUNCTION                                      static __attribute__((noinline))
#define BATCH_READ                                          submit_fetch
#define BATCH_SEE(context, address, number, header, dwords) ((void)(address))
static __always_inline long submit_fetch(void *context, __u64 vm, __u64 address, __u32 bytes,
					 void *target);
#include "event/batch_parser.h"

/* What is done in a call is a function of its own, so that not all of them need room on one stack. */
#define SUBMIT_CALL static __attribute__((noinline)) void

enum {
	SUBMIT_STEPS_MOST = 16384, /* commands of a submission: some 0.7 ms */
	SUBMIT_TRIES_MOST = 4,
	SUBMIT_OBJECTS_MOST = 128, /* of a list that comes with a submission */
	SUBMIT_SCRATCHES = 32,
	SUBMIT_MAPPINGS = 4,
	SUBMIT_OPENS_A_PROCESS = 4,
	SUBMIT_OPENS_MOST = 128,
	PAGE_SHIFT = 12,
};
/* Of an object: no buffer, but memory of the process in its lower half. */
#define SUBMIT_USER_POINTER (1ULL << 63)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The recorder makes it as large as it was asked to. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SUBMIT_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &which);

	if (value)
		++*value;
}

#define USER_STACKS_RING records
#define USER_STACKS_LOST SUBMIT_COUNT_STACKS
/* Calls of drivers come from the depth of runtimes, and what tells two of them apart is far out. */
#define USER_STACKS_TOP  512
#include "bpf/user_stacks.h"

/* Of a render node by its minor: enum batch_generation and 1, by the recorder; 0: not known. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SUBMIT_MINORS_MOST);
	__type(key, __u32);
	__type(value, __u32);
} generations SEC(".maps");

/* Numbers of files, spaces, objects, bindings and submissions: one row for all, so that it tells which came first. */
__u64 last_number;

static __always_inline __u64 new_number(void)
{
	return __sync_fetch_and_add(&last_number, 1) + 1;
}

/* ---- what is told ------------------------------------------------------------------------------ */

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

static __always_inline void tell(void *record, __u64 bytes)
{
	if (bpf_ringbuf_output(&records, record, bytes, BPF_RB_NO_WAKEUP))
		count(SUBMIT_COUNT_RECORDS);
}

SUBMIT_CALL tell_unbound(__u64 vm, __u64 begin, __u64 end)
{
	struct submit_unbound record = {.vm = vm, .begin = begin, .end = end};

	fill_head(&record.head, SUBMIT_RECORD_UNBOUND);
	tell(&record, sizeof(record));
}

static __always_inline __u64 start_of(struct task_struct *task)
{
	return task->group_leader->start_boottime;
}

SUBMIT_CALL tell_process(__u32 kind)
{
	struct submit_process record = {.start_ns = start_of(bpf_get_current_task_btf())};

	fill_head(&record.head, kind);
	tell(&record, sizeof(record));
}

/* A process that submits once and ends is looked at before that. */
static __always_inline void tell_met(void)
{
	tell_process(SUBMIT_RECORD_MET);
}

/* ---- identities -------------------------------------------------------------------------------- */

/* Address of an open file -> its number. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u64);
} files SEC(".maps");

/* What the driver numbers within a file. */
struct submit_id {
	__u64 file;
	__u64 id;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct submit_id);
	__type(value, __u64);
} handles SEC(".maps");

/* Places in the file by which buffers are mapped. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct submit_id);
	__type(value, __u64);
} offsets SEC(".maps");

/* What commands have set in a queue, and which address space is its: xe's by its number in the file, as that may be void
 * meanwhile; i915's by ours. */
struct submit_queue {
	__u64 vm;
	struct batch_bases bases;
	__u64 bases_by, descriptors_by; /* the last submission that has set them */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct submit_id);
	__type(value, struct submit_queue);
} queues SEC(".maps");

static __always_inline __u64 number_of(void *map, const void *key)
{
	__u64 *known = bpf_map_lookup_elem(map, key);
	__u64 number;

	if (known)
		return *known;
	number = new_number();
	/* two threads may meet it at the same time: the first one's stays */
	bpf_map_update_elem(map, key, &number, BPF_NOEXIST);
	known = bpf_map_lookup_elem(map, key);
	return known ? *known : number;
}

static __always_inline __u64 file_number(const void *file)
{
	const __u64 key = (__u64)file;

	return number_of(&files, &key);
}

/* Where nobody sees how a file ends but by calls of its process: by our number, whose it is. */
struct submit_owner {
	__u64 file; /* address */
	__u32 tgid, reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct submit_owner);
} owners SEC(".maps");

__u32 has_owners;

/* In a number's place: all whose process is not there any more. */
#define SUBMIT_FILES_GONE (~0ULL)

static __always_inline bool is_of_file(__u64 file, __u64 sought)
{
	return sought == SUBMIT_FILES_GONE ? !bpf_map_lookup_elem(&owners, &file) : file == sought;
}

static __always_inline void forget_file(const void *file)
{
	const __u64 key = (__u64)file;

	bpf_map_delete_elem(&files, &key);
}

static __always_inline __u64 object_number(__u64 file, __u32 handle)
{
	const struct submit_id key = {file, handle};

	return number_of(&handles, &key);
}

static __always_inline void forget_handle(const void *file, __u32 handle)
{
	const struct submit_id key = {file_number(file), handle};

	bpf_map_delete_elem(&handles, &key);
}

static __always_inline __u32 minor_of(const struct drm_file *file)
{
	/* without drivers of GPUs a kernel does not know the types: BPF_PROG_TEST_RUN is tried there too */
	if (!bpf_core_type_exists(struct drm_file))
		return 0;
	return BPF_CORE_READ(file, minor, dev, render, index);
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* A thread inside the driver. */
struct submit_call {
	__u64 enter_ns;
	const void *data; /* arguments: the kernel's copy, or … */
	const struct drm_file *file;
	__u32 what;    /* the including file's own; 0: none */
	__u32 is_user; /* … the program's */
	__u64 offset;  /* of a mapping: where in the file */
	struct vm_area_struct *area;
	__u64 function;    /* of a submission: whose begin was seen … */
	__u64 system_call; /* … below this one */
	__u32 node;        /* the render node's minor and 1; 0: its file says it */
	__u32 reserved;
	struct submit_id space; /* of calls that change one: which, … */
	__u64 vm;               /* … and its number then; 0: none */
};

/* Taken out when it ends; of a thread whose end was missed, with the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct submit_call);
} calls SEC(".maps");

static const struct submit_call no_call;

/* Processes that have called the driver: of others nobody needs to know how they end. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u8);
} callers SEC(".maps");

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

/* A thread is in one call at a time. The end of the one before was not seen where a program of ours runs on its processor
 * already, or all places for returns are taken. */
static __always_inline void miss_call(__u32 tid)
{
	const struct submit_call *missed = bpf_map_lookup_elem(&calls, &tid);

	if (!missed)
		return;
	count(SUBMIT_COUNT_MISSED);
	SUBMIT_MISSED(missed);
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

/* Frames of the kernel: one way leads from a system call to a driver's function, so that they are taken once in a while
 * and not at each call, which would be a third of all that a submission costs. */
struct submit_frames_key {
	__u64 function, system_call;
};

struct submit_frames {
	__u64 taken_ns;
	__u32 count, first; /* those before it are our own */
	__u64 all[KERNEL_FRAMES_MOST];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, struct submit_frames_key);
	__type(value, struct submit_frames);
} kernel_frames SEC(".maps");

static const struct submit_frames no_frames;

/* NULL: they are known. */
static __always_inline struct submit_frames *need_frames(struct submit_call *call, __u64 function)
{
	enum { AGE_MOST_NS = 1000000000 };
	const struct pt_regs *registers =
		(const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	const struct submit_frames_key key = {function, registers->orig_ax};
	struct submit_frames *known = bpf_map_lookup_elem(&kernel_frames, &key);

	call->function = key.function;
	call->system_call = key.system_call;
	if (known && call->enter_ns - known->taken_ns < AGE_MOST_NS)
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
	enum { BELOW_MOST = 6, ENTRY_BYTES = 32 };

	frames->count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
	for (__u32 i = 0; i < BELOW_MOST; i++)
		if (frames->all[i] - function < ENTRY_BYTES) {
			frames->first = i;
			break;
		}
}

/* Of a program at the function's own begin: what runs below it on its behalf comes first. */
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

/* NULL: its begin was not seen, or it is another's. */
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

/* ---- memory ------------------------------------------------------------------------------------ */

/* Where a process has a part of an object. */
struct submit_mapping {
	__u64 begin, end;
	__u64 offset;              /* of begin, in the object */
	__u64 file, private, page; /* of the kernel's own list, by which it is known again */
};

struct submit_mappings {
	__u32 next, reserved;
	struct submit_mapping all[SUBMIT_MAPPINGS];
};

struct submit_mappings_key {
	__u64 object;
	__u64 tgid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct submit_mappings_key);
	__type(value, struct submit_mappings);
} mappings SEC(".maps");

static const struct submit_mappings no_mappings;

static __always_inline struct submit_mappings_key mappings_key(__u64 object)
{
	return (struct submit_mappings_key){object, bpf_get_current_pid_tgid() >> 32};
}

/* NULL: there is no room. */
static __always_inline struct submit_mapping *new_mapping(__u64 object)
{
	const struct submit_mappings_key key = mappings_key(object);
	struct submit_mappings *known = bpf_map_lookup_elem(&mappings, &key);

	if (!known) {
		bpf_map_update_elem(&mappings, &key, &no_mappings, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&mappings, &key);
	}
	return known ? &known->all[known->next++ & (SUBMIT_MAPPINGS - 1)] : NULL;
}

static __always_inline void fill_mapping(struct submit_mapping *mapping,
					 const struct vm_area_struct *area)
{
	mapping->begin = BPF_CORE_READ(area, vm_start);
	mapping->end = BPF_CORE_READ(area, vm_end);
	mapping->page = BPF_CORE_READ(area, vm_pgoff);
	mapping->file = (__u64)BPF_CORE_READ(area, vm_file);
	mapping->private = (__u64)BPF_CORE_READ(area, vm_private_data);
}

/* A driver's mmap: at its begin, as it may change where in the file that is; and at its end. */
static __always_inline void begin_mmap(__u32 what, const struct file *file,
				       struct vm_area_struct *area)
{
	struct submit_call *call = begin_call(what, NULL, BPF_CORE_READ(file, private_data), 0);

	if (!call)
		return;
	call->area = area;
	call->offset = BPF_CORE_READ(area, vm_pgoff) << PAGE_SHIFT;
}

static __always_inline void end_mmap(__u32 what, int result)
{
	struct submit_call *call = find_call(what);
	struct submit_mapping *mapping;
	struct submit_id key = {0};
	__u64 *object;

	if (!call)
		return;
	key.file = file_number(call->file);
	key.id = call->offset;
	object = result ? NULL : bpf_map_lookup_elem(&offsets, &key);
	mapping = object ? new_mapping(*object) : NULL;
	if (mapping) {
		fill_mapping(mapping, call->area);
		mapping->offset = 0;
	}
	end_call();
}

static long fill_from_area(struct task_struct *task, struct vm_area_struct *area,
			   struct submit_mapping *mapping)
{
	mapping->begin = area->vm_start;
	mapping->end = area->vm_end;
	mapping->page = area->vm_pgoff;
	mapping->file = (__u64)area->vm_file;
	mapping->private = (__u64)area->vm_private_data;
	return 0;
}

/* Of a driver that maps a buffer itself, at an address of the current process. */
static __always_inline void add_mapping(__u64 object, __u64 address, __u64 offset)
{
	struct submit_mapping found = {0};
	struct submit_mapping *mapping;

	if (bpf_find_vma(bpf_get_current_task_btf(), address, fill_from_area, &found, 0))
		return;
	found.page += (address - found.begin) >> PAGE_SHIFT;
	found.begin = address;
	found.offset = offset;
	mapping = new_mapping(object);
	if (mapping)
		*mapping = found;
}

/* A part of an address space of the GPU, and where the current process has it. */
struct submit_piece {
	__u64 begin, bytes;
	__u64 cpu;
};

/* An object of a list that comes with a submission, and where it is on the GPU. */
struct submit_object {
	__u64 address;
	__u32 handle, reserved;
};

/* A submission whose batches are looked through. */
struct submit_open {
	__u64 number;
	__u64 vm;
	__u64 file;
	__u64 enter_ns;
	struct gpu_range rest; /* where nothing else is known to be; end 0: nothing */
	/* The next batches: where the program has written their addresses is something else when it looks again. */
	__u64 further[SUBMIT_BATCHES_MOST];
	__u32 further_count, further_next;
	__u32 queue, tries, minor;
	__u32 objects_count, found_told, found_before;
	struct submit_object objects[SUBMIT_OBJECTS_MOST];
	struct batch_state state;
};

struct submit_scratch {
	__u32 is_taken, reserved;
	struct submit_piece piece;
	struct gpu_range range; /* that piece is in */
	/* A key, for which a stack is too small in a kernel that counts frames in steps of 32 bytes. */
	struct submit_id id;
	struct submit_open open;
	struct submit_record record;
	__u64 arguments[64];
	__u64 work[32]; /* the including file's own, for which a stack is too small */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SUBMIT_SCRATCHES);
	__type(key, __u32);
	__type(value, struct submit_scratch);
} scratches SEC(".maps");

/* A processor's own is no way: some kinds of programs can be interrupted by others. NULL: all are taken. */
static __always_inline struct submit_scratch *take_scratch(void)
{
	enum { PROBES = 8 };
	const __u32 first = bpf_get_smp_processor_id();

	for (__u32 i = 0; i < PROBES; i++) {
		const __u32 key = (first + i) & (SUBMIT_SCRATCHES - 1);
		struct submit_scratch *scratch = bpf_map_lookup_elem(&scratches, &key);

		if (scratch && !__sync_val_compare_and_swap(&scratch->is_taken, 0, 1))
			return scratch;
	}
	return NULL;
}

static __always_inline void put_scratch(struct submit_scratch *scratch)
{
	__sync_fetch_and_and(&scratch->is_taken, 0);
}

struct submit_look {
	const struct submit_mapping *known;
	__u64 address;
	__u64 begin, end; /* of what is there now */
	__u64 is_same;
};

static long look_at_area(struct task_struct *task, struct vm_area_struct *area,
			 struct submit_look *look)
{
	const __u64 page = area->vm_pgoff + ((look->address - area->vm_start) >> PAGE_SHIFT);

	look->begin = area->vm_start;
	look->end = area->vm_end;
	look->is_same =
		(__u64)area->vm_file == look->known->file &&
		(__u64)area->vm_private_data == look->known->private &&
		page == look->known->page + ((look->address - look->known->begin) >> PAGE_SHIFT);
	return 0;
}

/* Whether what was mapped is so still. */
static __always_inline bool is_mapped(struct submit_look *look)
{
	return !bpf_find_vma(bpf_get_current_task_btf(), look->address, look_at_area, look, 0) &&
	       look->is_same;
}

/* The part of [range) that lies in a mapping, around an address. */
static __always_inline bool clip_piece(struct submit_piece *piece, const struct gpu_range *range,
				       const struct submit_mapping *mapping, __u64 address)
{
	struct submit_look look = {.known = mapping};
	__u64 before, behind;

	look.address =
		mapping->begin + (range->offset + (address - range->begin) - mapping->offset);
	if (!is_mapped(&look))
		return false;
	if (look.begin < mapping->begin)
		look.begin = mapping->begin;
	if (look.end > mapping->end)
		look.end = mapping->end;
	before = look.address - look.begin;
	if (before > address - range->begin)
		before = address - range->begin;
	behind = look.end - look.address;
	if (behind > range->end - address)
		behind = range->end - address;
	piece->begin = address - before;
	piece->cpu = look.address - before;
	piece->bytes = before + behind;
	return true;
}

static __always_inline bool find_in_object(struct submit_scratch *scratch, __u64 address)
{
	struct submit_piece *piece = &scratch->piece;
	const struct gpu_range *range = &scratch->range;
	const __u64 offset = range->offset + (address - range->begin);
	const struct submit_mappings_key key = mappings_key(range->object);
	const struct submit_mappings *known = bpf_map_lookup_elem(&mappings, &key);

	if (!known)
		return false;
	for (int i = 0; i < SUBMIT_MAPPINGS; i++) {
		const struct submit_mapping *mapping = &known->all[i];

		if (offset - mapping->offset < mapping->end - mapping->begin &&
		    clip_piece(piece, range, mapping, address))
			return true;
	}
	return false;
}

/* What the current process can read of it. */
static __always_inline bool find_piece(struct submit_scratch *scratch, __u64 address)
{
	struct submit_piece *piece = &scratch->piece;
	struct gpu_range *range = &scratch->range;

	piece->bytes = 0;
	/* bound after the batch was handed in: it is another one's */
	if (!SUBMIT_FIND(scratch, address, range) || range->number > scratch->open.number)
		return false;
	if (!(range->object & SUBMIT_USER_POINTER))
		return find_in_object(scratch, address);
	if ((__u32)range->object != bpf_get_current_pid_tgid() >> 32)
		return false;
	piece->begin = range->begin;
	piece->bytes = range->end - range->begin;
	piece->cpu = range->offset;
	return true;
}

struct submit_work {
	struct submit_scratch *scratch;
};

/* Into the parser's window, all that it ever reads into. Neither static nor inlined: the kernel checks it once, and not in
 * each of the ways by which it is come to: 0.8 s. */
__attribute__((noinline)) int submit_read(struct submit_scratch *scratch, __u64 address,
					  __u32 bytes)
{
	struct submit_piece *piece;
	__u64 left;

	if (!scratch)
		return -1;
	piece = &scratch->piece;
	if (address - piece->begin >= piece->bytes && !find_piece(scratch, address))
		return -1;
	left = piece->bytes - (address - piece->begin);
	if (left < bytes)
		bytes = left;
	/* The compiler knows it; the verifier of 6.1 takes a limit only from a constant. */
	barrier_var(bytes);
	if (!bytes || bytes > BATCH_WINDOW_BYTES)
		return -1;
	return bpf_probe_read_user(scratch->open.state.window, bytes,
				   (const void *)(piece->cpu + (address - piece->begin)))
		       ? -1
		       : (int)bytes;
}

static __always_inline long submit_fetch(void *context, __u64 vm, __u64 address, __u32 bytes,
					 void *target)
{
	return submit_read(((struct submit_work *)context)->scratch, address, bytes);
}

/* ---- looking through batches ------------------------------------------------------------------- */

/* The next one of a submission that has several: what was found so far stays. */
static __always_inline bool begin_next(struct submit_open *open)
{
	struct batch_state *state = &open->state;
	__u64 address;

	if (open->further_next >= open->further_count)
		return false;
	address = open->further[open->further_next++ & (SUBMIT_BATCHES_MOST - 1)];
	state->address = state->levels[0].mark = batch_plain_address(state, address) & ~3ULL;
	state->levels[0].jumps = 0;
	state->levels[0].renew_after = 1;
	state->level = state->noops_in_row = 0;
	state->status = BATCH_GOING;
	return true;
}

static long submit_step(__u32 index, void *context)
{
	struct submit_scratch *scratch = ((struct submit_work *)context)->scratch;

	if (!batch_step(&scratch->open.state, context))
		return 0;
	return scratch->open.state.status != BATCH_DONE || !begin_next(&scratch->open);
}

static __always_inline void look_through(struct submit_scratch *scratch)
{
	struct submit_work work = {scratch};

	scratch->piece.bytes = 0;
	bpf_loop(SUBMIT_STEPS_MOST, submit_step, &work, 0);
	if (scratch->open.state.status == BATCH_GOING)
		scratch->open.state.status = BATCH_LIMIT;
}

/* Batches that were not all there, a few of each process: its next call looks again, where their memory is. */
struct submit_open_key {
	__u32 tgid, slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SUBMIT_OPENS_MOST);
	__type(key, struct submit_open_key);
	__type(value, struct submit_open);
} opens SEC(".maps");

__u32 opens_count; /* there may be so many: most calls find none, and need not look */

static __always_inline struct submit_open_key open_key(__u32 slot)
{
	return (struct submit_open_key){bpf_get_current_pid_tgid() >> 32, slot};
}

/* Whoever takes it out has it: two threads may want it. */
static __always_inline bool remove_open(__u32 slot)
{
	const struct submit_open_key key = open_key(slot);

	if (bpf_map_delete_elem(&opens, &key))
		return false;
	__sync_fetch_and_add(&opens_count, -1);
	return true;
}

SUBMIT_CALL drop_open(__u32 slot)
{
	const struct submit_open_key key = open_key(slot);
	const struct submit_open *open = bpf_map_lookup_elem(&opens, &key);
	struct submit_dropped record = {0};

	if (!open)
		return;
	record.number = open->number;
	if (!remove_open(slot))
		return;
	fill_head(&record.head, SUBMIT_RECORD_DROPPED);
	tell(&record, sizeof(record));
}

/* The one that has waited longest has had most tries. */
SUBMIT_CALL drop_oldest(void)
{
	__u64 oldest = ~0ULL;
	__u32 slot = 0;

	for (__u32 i = 0; i < SUBMIT_OPENS_A_PROCESS; i++) {
		const struct submit_open_key key = open_key(i);
		const struct submit_open *open = bpf_map_lookup_elem(&opens, &key);

		if (!open || open->number >= oldest)
			continue;
		oldest = open->number;
		slot = i;
	}
	drop_open(slot);
}

static __always_inline bool put_open(struct submit_open *open)
{
	for (__u32 i = 0; i < SUBMIT_OPENS_A_PROCESS; i++) {
		const struct submit_open_key key = open_key(i);

		if (bpf_map_update_elem(&opens, &key, open, BPF_NOEXIST))
			continue;
		__sync_fetch_and_add(&opens_count, 1);
		return true;
	}
	return false;
}

/* False: there is no room, and it stays incomplete. */
static __always_inline bool keep_open(struct submit_open *open)
{
	if (put_open(open))
		return true;
	drop_oldest();
	return put_open(open);
}

static __always_inline void put_found(struct submit_scratch *scratch)
{
	const struct batch_state *state = &scratch->open.state;
	struct submit_record *record = &scratch->record;

	for (__u32 i = 0; i < BATCH_FOUND_MOST; i++) {
		if (i >= state->found_count)
			break;
		record->found[i].address = state->found[i].address;
		record->found[i].count = state->found[i].count;
		record->found[i].kind = state->found[i].kind;
		record->found[i].flags = state->found[i].flags;
	}
}

static __always_inline void send_record(struct submit_scratch *scratch)
{
	struct submit_open *open = &scratch->open;
	struct submit_record *record = &scratch->record;
	__u32 found = open->state.found_count;

	record->number = open->number;
	record->vm = open->vm;
	record->enter_ns = open->enter_ns;
	record->queue = open->queue;
	record->minor = open->minor;
	record->status = open->state.status;
	record->counts = open->state.counts;
	record->found_count = found;
	record->found_first = open->found_before;
	barrier_var(found);
	if (found > BATCH_FOUND_MOST)
		found = BATCH_FOUND_MOST;
	tell(record,
	     __builtin_offsetof(struct submit_record, found) + found * sizeof(struct submit_found));
}

/* Looks and tells. The record has its flags: a kernel's verifier follows each value that it knows, and one in memory is
 * any. */
static __always_inline void look_and_tell(struct submit_scratch *scratch)
{
	struct submit_open *open = &scratch->open;
	__u32 *flags = &scratch->record.head.flags;

	scratch->record.tries = open->tries;
	if (!(*flags & ~SUBMIT_HAS_MORE)) {
		look_through(scratch);
		open->found_before = open->found_told;
		open->found_told = open->state.found_count;
		SUBMIT_FOUND(scratch);
		put_found(scratch);
		if (open->state.status == BATCH_INCOMPLETE && open->tries++ < SUBMIT_TRIES_MOST &&
		    keep_open(open))
			*flags |= SUBMIT_IS_OPEN;
	}
	send_record(scratch);
}

/* A batch that is read late sets nothing that a later one has set since; what it only took over may be older still. */
static __always_inline void keep_bases(struct submit_queue *queue, const struct submit_open *open)
{
	const struct batch_bases *bases = &open->state.bases;

	if ((bases->known & BATCH_SETS_BASES) && queue->bases_by <= open->number) {
		queue->bases_by = open->number;
		queue->bases.instruction = bases->instruction;
		queue->bases.dynamic = bases->dynamic;
		queue->bases.known = bases->known & (BATCH_KNOWS_INSTRUCTION | BATCH_KNOWS_DYNAMIC);
	}
	if ((bases->known & BATCH_SETS_DESCRIPTORS) && queue->descriptors_by <= open->number) {
		queue->descriptors_by = open->number;
		queue->bases.descriptors = bases->descriptors;
		queue->bases.descriptors_bytes = bases->descriptors_bytes;
	}
}

/* What is to be looked through of an accepted call: scratch->open has number, vm, file, queue, and more batches; the
 * arguments address and bases say where it begins. */
static __always_inline void tell_submission(struct submit_scratch *scratch,
					    const struct submit_call *call, __u64 address,
					    struct submit_queue *queue)
{
	struct submit_open *open = &scratch->open;
	struct submit_record *record = &scratch->record;
	__u32 *generation;

	fill_head(&record->head, SUBMIT_RECORD_BATCH);
	if (!open->vm)
		record->head.flags |= SUBMIT_NO_VM;
	open->enter_ns = call->enter_ns;
	open->minor = call->node ? call->node - 1 : minor_of(call->file);
	open->tries = open->found_told = open->found_before = 0;
	record->address = address;
	record->start_ns = start_of(bpf_get_current_task_btf());
	record->batches = open->further_count + 1;
	if (open->further_count > SUBMIT_BATCHES_MOST) {
		record->head.flags |= SUBMIT_HAS_MORE;
		open->further_count = SUBMIT_BATCHES_MOST;
	}
	record->user_stack = find_stack(bpf_get_current_task_btf());
	bpf_get_current_comm(record->thread, sizeof(record->thread));
	copy_frames(call, record);
	generation = bpf_map_lookup_elem(&generations, &open->minor);
	if (!generation || !*generation)
		record->head.flags |= SUBMIT_NO_GENERATION;
	else
		open->state.generation = *generation - 1;
	open->state.vm = open->vm;
	open->state.steps_most = SUBMIT_STEPS_MOST;
	if (queue)
		open->state.bases = queue->bases;
	else
		__builtin_memset(&open->state.bases, 0, sizeof(open->state.bases));
	batch_begin(&open->state, address);
	look_and_tell(scratch);
	if (queue && !(record->head.flags & SUBMIT_NO_GENERATION))
		keep_bases(queue, open);
}

static long try_slot(__u32 slot, void *context)
{
	const struct submit_open_key key_of_open = open_key(slot);
	struct submit_open *open = bpf_map_lookup_elem(&opens, &key_of_open);
	struct submit_scratch *scratch;
	struct submit_id key = {0};
	struct submit_queue *queue;

	if (!open)
		return 0;
	scratch = take_scratch();
	if (!scratch)
		return 1;
	bpf_probe_read_kernel(&scratch->open, sizeof(scratch->open), open);
	if (remove_open(slot)) {
		fill_head(&scratch->record.head, SUBMIT_RECORD_MORE);
		batch_resume(&scratch->open.state);
		look_and_tell(scratch);
		key.file = scratch->open.file;
		key.id = scratch->open.queue;
		queue = bpf_map_lookup_elem(&queues, &key);
		if (queue)
			keep_bases(queue, &scratch->open);
	}
	put_scratch(scratch);
	return 0;
}

/* At any later call of a process: what was not there may be by now. */
static __always_inline void try_again(void)
{
	if (*(volatile __u32 *)&opens_count)
		bpf_loop(SUBMIT_OPENS_A_PROCESS, try_slot, NULL, 0);
}

/* Without a driver: what is mapped already. */
SUBMIT_CALL run_mmap(const struct submit_request *request)
{
	const struct submit_id key = {file_number((const void *)request->file), request->offset};
	const __u64 *object = bpf_map_lookup_elem(&offsets, &key);

	if (object)
		add_mapping(*object, request->address, 0);
}

#endif

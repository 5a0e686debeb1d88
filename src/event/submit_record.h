/* SPDX-License-Identifier: MIT
 *
 * event/submit_record.h - what our programs inside the kernel tell of submissions to Intel's GPUs
 *
 * Written by src/bpf/xe.bpf.c and i915.bpf.c, read by src/collect/intel; as event/kernel_record.h, no format that lasts.
 * In the same ring, told apart by their size, lie struct kernel_stack: each before the first record that names it.
 */
#ifndef EVENT_SUBMIT_RECORD_H
#define EVENT_SUBMIT_RECORD_H

#include <linux/types.h>

#include "event/batch.h"
#include "event/kernel_record.h"

enum submit_record_kind {
	SUBMIT_RECORD_BATCH = 1, /* struct submit_record */
	SUBMIT_RECORD_MORE =
		2, /* … of an earlier one, looked at once more: kernels that are new, and counts in all */
	SUBMIT_RECORD_UNBOUND = 3, /* struct submit_unbound */
	SUBMIT_RECORD_MET = 4,     /* struct submit_process: it gets ready to submit */
	/* struct submit_process: its last thread ends. Told of those that called the driver. Its number may be another's from
	 * then on, and what its files held is told as unbound behind it. */
	SUBMIT_RECORD_EXIT = 5,
	/* struct submit_dropped: a batch that was told with SUBMIT_IS_OPEN is not looked at again: it stays incomplete */
	SUBMIT_RECORD_DROPPED = 6
};

enum submit_flag {
	SUBMIT_IS_OPEN = 1 << 0, /* the batch was not all there; perhaps there is more to come */
	SUBMIT_NO_VM = 1 << 1,   /* nobody saw its address space being made */
	SUBMIT_NO_GENERATION = 1 << 2, /* whose commands these are is not known: not looked at */
	SUBMIT_HAS_MORE =
		1 << 3 /* more batches than SUBMIT_BATCHES_MOST: the others were not looked at */
};

/* xe takes nine. */
enum { SUBMIT_BATCHES_MOST = 16 };

struct submit_found {
	__u64 address; /* on the GPU; with BATCH_IS_RELATIVE only an offset */
	__u32 count;   /* how many times it is named */
	__u8 kind;     /* enum batch_kind */
	__u8 flags;
	__u16 reserved;
};

/* A thread has handed batches to a GPU, in one call that was accepted. */
struct submit_record {
	struct kernel_head head; /* time_ns: when the call ended; flags: enum submit_flag */
	__u64 enter_ns;
	__u64 number;     /* of the submission */
	__u64 vm;         /* address space, numbered once for all files */
	__u64 user_stack; /* as in struct kernel_out */
	__u64 address;    /* of the first batch */
	__u64 start_ns;   /* as in struct submit_process */
	__u32 queue;      /* as the driver numbers it, in the file */
	__u32 minor;      /* of the GPU's render node */
	__u32 batches;
	__u32 status; /* enum batch_status of the last one that was looked at */
	__u32 tries;
	__u16 frames_count, frames_first; /* those before it are our own programs' */
	struct batch_counts counts;
	char thread[KERNEL_NAME_BYTES];
	__u64 frames
		[KERNEL_FRAMES_MOST];   /* of the kernel, innermost first: the driver's function */
	__u32 found_count, found_first; /* … of the submission's so many were told before */
	struct submit_found found[BATCH_FOUND_MOST]; /* found_count of them */
};

/* What was bound there is no more: it was unbound, or something else is bound there, or its address space is gone. */
struct submit_unbound {
	struct kernel_head head;
	__u64 vm;
	__u64 begin, end; /* end 0: all of the address space */
};

/* A process, by its number and when it began. */
struct submit_process {
	struct kernel_head head;
	__u64 start_ns; /* CLOCK_BOOTTIME, as field 22 of /proc/PID/stat in its own unit; 0: not known */
};

struct submit_dropped {
	struct kernel_head head;
	__u64 number; /* of the submission */
};

/* What had no room inside the kernel: the places in the map `counts`. */
enum submit_count {
	SUBMIT_COUNT_RECORDS = 0,  /* as kernel_load_lost reads it */
	SUBMIT_COUNT_STACKS = 1,   /* of users */
	SUBMIT_COUNT_BINDINGS = 2, /* or lists of objects that were cut */
	SUBMIT_COUNT_FAILED = 3,   /* calls that the driver refused */
	SUBMIT_COUNT_CALLS = 4,    /* submissions whose begin or end was not seen */
	SUBMIT_COUNT_BUSY = 5,     /* nobody was free to look through their batches */
	SUBMIT_COUNT_MISSED = 6, /* calls whose end was not seen: what they changed is not known */
	SUBMIT_COUNT_VOIDED = 7, /* address spaces of which all that was known is forgotten */
	SUBMIT_COUNTS
};

enum { SUBMIT_MINORS_MOST = 256 };

/* ---- to have a call of xe seen that nobody made (src/bpf/xe.bpf.c, BPF_PROG_TEST_RUN) ------------- */

enum submit_xe_call {
	SUBMIT_XE_EXEC = 1,
	SUBMIT_XE_VM_CREATE,
	SUBMIT_XE_VM_BIND,
	SUBMIT_XE_QUEUE_CREATE,
	SUBMIT_XE_MMAP_OFFSET,
	SUBMIT_XE_MMAP, /* the end of one that is there already */
	SUBMIT_XE_VM_DESTROY,
	/* Seen before the driver does it. */
	SUBMIT_XE_QUEUE_DESTROY,
	SUBMIT_XE_GEM_CLOSE,
	SUBMIT_XE_FILE_CLOSE,
	SUBMIT_XE_ANY,  /* a call that looks at open batches once more */
	SUBMIT_XE_EXIT, /* the last thread of the process ends */
	SUBMIT_XE_NAME  /* whether a driver of that name (data) is xe */
};

/* … of i915 (src/bpf/i915.bpf.c). */
enum submit_i915_call {
	SUBMIT_I915_EXEC = 1,
	SUBMIT_I915_CONTEXT_CREATE,
	SUBMIT_I915_MMAP_OFFSET,
	SUBMIT_I915_GEM_MMAP,
	SUBMIT_I915_USERPTR,
	SUBMIT_I915_MMAP, /* the end of one that is there already */
	SUBMIT_I915_CONTEXT_SETPARAM,
	SUBMIT_I915_CONTEXT_GETPARAM,
	SUBMIT_I915_VM_CREATE,
	/* Seen before the driver does it. */
	SUBMIT_I915_VM_DESTROY,
	SUBMIT_I915_CONTEXT_DESTROY,
	SUBMIT_I915_GEM_CLOSE,
	SUBMIT_I915_FILE_CLOSE,
	SUBMIT_I915_ANY,
	SUBMIT_I915_EXIT,
	SUBMIT_I915_NAME
};

/* How much of a call is seen. */
enum submit_seen { SUBMIT_SEEN = 0, SUBMIT_SEEN_BEGIN = 1, SUBMIT_SEEN_END = 2 };

struct submit_request {
	__u64 file;            /* stands for one; no address */
	__u64 data;            /* the call's arguments, in the caller's memory */
	__u64 address, offset; /* of SUBMIT_XE_MMAP: where it is, and where in the file */
	__u32 call;            /* enum submit_xe_call, or enum submit_i915_call */
	__s32 result;          /* the driver's */
	__u32 seen;            /* enum submit_seen */
	__u32 reserved;
};

#endif

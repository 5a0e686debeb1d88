/* SPDX-License-Identifier: MIT
 *
 * event/submit_record.h - records of submissions to Intel GPUs, from the BPF programs to the
 * recorder
 *
 * Written by src/bpf/xe.bpf.c and i915.bpf.c, read by src/collect/intel. Like
 * event/kernel_record.h, the format may change at any time. The same ring contains a struct
 * kernel_stack before the first record that refers to it. The reader recognises these by their
 * size.
 */
#pragma once

#include <linux/types.h>

#include "event/batch.h"
#include "event/kernel_record.h"

enum submit_record_kind {
	SUBMIT_RECORD_BATCH = 1, /* struct submit_record */
	SUBMIT_RECORD_MORE = 2,  /* struct submit_record of an earlier batch, parsed again: only new
				    kernels, but all counts */
	SUBMIT_RECORD_UNBOUND = 3, /* struct submit_unbound */
	SUBMIT_RECORD_MET =
		4, /* struct submit_process: the process prepares its first submission */
	/* struct submit_process: the last thread of a process that used the driver ends. Its pid
	 * may be reused from now on. SUBMIT_RECORD_UNBOUND records for its files follow. */
	SUBMIT_RECORD_EXIT = 5,
	/* struct submit_dropped: a batch with SUBMIT_IS_OPEN will not be parsed again and stays
	 * incomplete */
	SUBMIT_RECORD_DROPPED = 6
};

enum submit_flag {
	SUBMIT_IS_OPEN =
		1 << 0, /* the batch was not completely readable; a SUBMIT_RECORD_MORE may follow */
	SUBMIT_NO_VM = 1 << 1, /* the creation of its address space was not seen */
	SUBMIT_NO_GENERATION =
		1 << 2, /* the GPU's generation is not known, so the batch was not parsed */
	SUBMIT_HAS_MORE =
		1 << 3 /* more batches than MAX_SUBMIT_BATCHES: the others were not parsed */
};

/* xe accepts at most nine batches. */
enum { MAX_SUBMIT_BATCHES = 16 };

struct submit_found {
	__u64 address; /* GPU address; with BATCH_IS_RELATIVE only an offset */
	__u32 count;   /* number of commands that name it */
	__u8 kind;     /* enum batch_kind */
	__u8 flags;
	__u16 reserved;
};

/* A thread submitted batches to a GPU in one successful call. */
struct submit_record {
	struct kernel_head head; /* time_ns: when the call ended; flags: enum submit_flag */
	__u64 enter_ns;
	__u64 number;     /* number of the submission */
	__u64 vm;         /* address space, numbered once for all files */
	__u64 user_stack; /* as in struct kernel_out */
	__u64 address;    /* GPU address of the first batch */
	__u64 start_ns;   /* as in struct submit_process */
	__u32 queue;      /* the driver's number of the queue, unique per open file */
	__u32 minor;      /* minor number of the GPU's render node */
	__u32 batches;
	__u32 status; /* enum batch_status of the last parsed batch */
	__u32 tries;
	__u16 frames_count, frames_first; /* frames before frames_first belong to our BPF program */
	struct batch_counts counts;
	char thread[KERNEL_NAME_BYTES];
	__u64 frames[MAX_KERNEL_FRAMES]; /* innermost first; frames_first is the driver's function
					  */
	__u32 found_count, found_first;  /* found_first: number of this submission's kernels in
					    earlier records */
	struct submit_found found[MAX_BATCH_FOUND]; /* found_count items */
};

/* A binding ended: it was unbound or replaced, or its address space was destroyed. */
struct submit_unbound {
	struct kernel_head head;
	__u64 vm;
	__u64 begin, end; /* GPU addresses; end 0: the whole address space */
};

/* A process, identified by pid and start time. */
struct submit_process {
	struct kernel_head head;
	__u64 start_ns; /* CLOCK_BOOTTIME ns; field 22 of /proc/PID/stat has it in clock ticks; 0:
			   not known */
};

struct submit_dropped {
	struct kernel_head head;
	__u64 number; /* number of the submission */
};

/* Counts of lost or unusable data: indices of the BPF map `counts`. */
enum submit_count {
	SUBMIT_COUNT_RECORDS = 0, /* records without room in the ring; kernel_load_lost reads it */
	SUBMIT_COUNT_STACKS = 1,  /* user stacks without room in the ring */
	SUBMIT_COUNT_BINDINGS =
		2, /* bindings without room in the map, or lists of objects that were cut */
	SUBMIT_COUNT_FAILED = 3, /* calls that the driver refused */
	SUBMIT_COUNT_CALLS = 4,  /* submissions whose call's begin or end was not seen */
	SUBMIT_COUNT_BUSY =
		5, /* submissions that were not parsed because all scratch buffers were in use */
	SUBMIT_COUNT_MISSED =
		6, /* other calls whose end was not seen, so their effect is not known */
	SUBMIT_COUNT_VOIDED = 7, /* address spaces whose known bindings were discarded */
	SUBMIT_COUNTS
};

enum { MAX_SUBMIT_MINORS = 256 };

/* ---- calls of a driver; tests simulate them (BPF_PROG_TEST_RUN) -------------------------------
 */

/* Calls that both drivers have. */
enum submit_call_number {
	SUBMIT_EXEC = 1,
	SUBMIT_MMAP, /* simulated: only the end of an mmap that exists already */
	SUBMIT_GEM_CLOSE,
	SUBMIT_FILE_CLOSE,
	SUBMIT_ANY,  /* any call: it parses open batches again */
	SUBMIT_EXIT, /* the last thread of the process ends */
	SUBMIT_NAME, /* tests whether a driver of this name (data) is ours */
	SUBMIT_OWN   /* calls of one driver, from here on */
};

enum submit_xe_call {
	SUBMIT_XE_VM_CREATE = SUBMIT_OWN,
	SUBMIT_XE_VM_BIND,
	SUBMIT_XE_QUEUE_CREATE,
	SUBMIT_XE_MMAP_OFFSET,
	SUBMIT_XE_VM_DESTROY,
	SUBMIT_XE_QUEUE_DESTROY /* seen before the driver executes it */
};

enum submit_i915_call {
	SUBMIT_I915_CONTEXT_CREATE = SUBMIT_OWN,
	SUBMIT_I915_MMAP_OFFSET,
	SUBMIT_I915_GEM_MMAP,
	SUBMIT_I915_USERPTR,
	SUBMIT_I915_CONTEXT_SETPARAM,
	SUBMIT_I915_CONTEXT_GETPARAM,
	SUBMIT_I915_VM_CREATE,
	/* The following calls are seen before the driver executes them. */
	SUBMIT_I915_VM_DESTROY,
	SUBMIT_I915_CONTEXT_DESTROY
};

/* The part of a simulated call that the program sees. */
enum submit_seen { SUBMIT_SEEN = 0, SUBMIT_SEEN_BEGIN = 1, SUBMIT_SEEN_END = 2 };

struct submit_request {
	__u64 file;            /* stands for an open file; not a real address */
	__u64 data;            /* the call's arguments, in the caller's memory */
	__u64 address, offset; /* SUBMIT_MMAP: address of the mapping, and offset in the file */
	__u32 call;            /* enum submit_call_number, and the driver's own */
	__s32 result;          /* the driver's result */
	__u32 seen;            /* enum submit_seen */
	__u32 reserved;
};

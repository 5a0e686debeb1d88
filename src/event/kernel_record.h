/* SPDX-License-Identifier: MIT
 *
 * event/kernel_record.h - records of thread switches and interrupts, from the BPF programs to the
 * recorder
 *
 * Written by src/bpf, read by src/collect. Both are always of one build, so the format may change
 * at any time. It uses the OS kernel's integer types, because BPF programs have no other headers.
 */
#pragma once

#include <linux/types.h>

enum {
	KERNEL_NAME_BYTES = 16,
	MAX_KERNEL_FRAMES = 32,
	KERNEL_STACK_BYTES = 16 << 10,
	MAX_KERNEL_PYTHON = 128 /* frames of a Python stack; a deeper one is not sent */
};

/* A thread with its kernel name. tid 0: none; both are 0 for the idle thread. */
struct kernel_task {
	__u32 tgid, tid;
	char name[KERNEL_NAME_BYTES];
};

enum kernel_record_kind {
	KERNEL_RECORD_OUT = 1, /* struct kernel_out */
	KERNEL_RECORD_IN = 2,  /* struct kernel_in */
};

enum kernel_record_flags {
	KERNEL_PREEMPTED = 1 << 0, /* preempted: it was still runnable */
	KERNEL_IO_WAIT = 1 << 1,   /* the kernel counts it as waiting for a disk */
	KERNEL_IN_CALL = 1 << 2,   /* it is in a system call: call and arguments are valid */
	KERNEL_HAS_LOCK = 1 << 3,  /* it waits for a futex, and kernel_out.lock was read */
	KERNEL_INTERRUPT = 1 << 4, /* an interrupt woke it; the thread that ran at that moment is
				      not the waker */
	KERNEL_FAULT = 1 << 5,   /* a page fault outside of system calls: fault_address is valid */
	KERNEL_STOPPED = 1 << 6, /* stopped by a signal or a debugger */
	KERNEL_EXITED = 1 << 7,  /* the thread has ended */
	KERNEL_OWN_THREAD = 1 << 8, /* a thread of the OS kernel */
	KERNEL_THROTTLED = 1 << 9,  /* preempted because its cgroup's CPU time is used up */
};

struct kernel_head {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u16 kind;    /* enum kernel_record_kind */
	__u16 cpu;
	__u32 tid; /* the thread that the record is about */
	__u32 tgid;
	__u32 flags; /* enum kernel_record_flags */
};

/* Distance and number of the words that are copied from in front of a futex. There a lock (GIL) of
 * Python 3.8 to 3.14 has its holder, if the futex is the one that threads sleep on until the lock
 * is free. */
enum { KERNEL_BEFORE_LOCK = 68, KERNEL_BEFORE_LOCK_WORDS = 4 };

/* The word of a futex, the words in which a glibc mutex has its owner and kind, and words in front
 * of it. */
struct kernel_lock {
	__u32 word, owner, kind;
	__u32 before[KERNEL_BEFORE_LOCK_WORDS]; /* 0: could not be read */
};

/* A recorded thread leaves its processor. */
struct kernel_out {
	struct kernel_head head;
	struct kernel_task next; /* the thread that got the processor */
	__s64 call;              /* number of the current system call */
	__u64 arguments[3];
	struct kernel_lock lock;
	__u32 disk;        /* device number of the thread's last disk request; 0: none */
	__u32 file_device; /* device number of the file system of the call's file, or of the file
			      itself if it is a device; 0: no file */
	__s32 stack; /* id of the kernel frames in the BPF map of stacks; negative: not captured */
	__u16 file_mode;  /* mode of the call's file, as in stat(2); 0: no file */
	__u8 family;      /* if the file is a socket: AF_INET, … */
	__u8 socket_type; /* socket: SOCK_STREAM, … */
	__u16 own_port;   /* socket of AF_INET or AF_INET6; 0: not bound */
	__u16 peer_port;  /* 0: not connected */
	union {
		__u8 peer[16]; /* its address: 4 bytes of AF_INET, or 16 of AF_INET6 */
		char file_name[KERNEL_NAME_BYTES]; /* no socket: "[eventfd]", "inotify", … of a
						      file without a file system */
	};
	__u64 file_inode; /* inode number of the call's file */
	__u64 fault_address;
	__u32 mappings; /* a number that changes when the process's mappings change; only for waits
			   for a futex or a page; 0: not known */
	__u32 file_generation; /* differs if the file system gave the inode number to another file;
				  0: it keeps none */
	__u64 user_stack; /* hash of the registers, the top of the stack and the Python frames, see
			     struct kernel_stack; 0: not known */
};

/* Registers and stack memory of a user stack; sent once per user_stack. */
struct kernel_stack {
	__u64 user_stack;
	__u64 ip, sp, bp;
	__u32 tgid;
	__u32 bytes;                           /* number of bytes copied from sp on */
	__u8 stack[KERNEL_STACK_BYTES + 4096]; /* one page more than is used, because the verifier
						  assumes the largest copy */
};

/* Places of a Python interpreter's frames in its process: byte offsets in the structures of
 * abi/python_offsets.h. Value of a BPF map; key: tgid. */
struct kernel_python {
	__u64 newest_at; /* address of the pointer to the newest thread state */
	/* addresses, where all interpreters share one; 0: offsets from the interpreter, below */
	__u64 collecting_at, lock_at;
	__u16 thread_next, thread_id, thread_frame;
	__u16 cframe, cframe_frame;
	__u16 frame_bytes; /* the part of a frame that contains all members */
	__u16 frame_previous, frame_code, frame_instruction, frame_owner, frame_entry;
	__u16 thread_interpreter, interpreter_collecting, interpreter_lock;
	__u16 lock_holder, lock_taken;
	__u16 reserved;
};

/* A frame as the interpreter has it. instruction: the word at that offset. */
struct kernel_python_frame {
	__u64 address, code, instruction;
	__u8 owner, entry;
	__u8 reserved[6];
};

/* The Python frames of a thread, innermost first. Those of a user stack are sent before its struct
 * kernel_stack; those of a sample before perf writes the sample. The record ends with the
 * last frame. */
struct kernel_python_stack {
	__u64 user_stack;
	__u64 time_ns; /* some us before or after the sample's; 0: the frames belong to a user stack
			*/
	__u32 tgid, tid;
	__u32 count;
	__u32 is_collecting; /* 1: the thread collects the interpreter's garbage */
	struct kernel_python_frame frames[MAX_KERNEL_PYTHON];
};

/* A recorded thread gets a processor again. */
struct kernel_in {
	struct kernel_head head;
	__u64 woken_ns; /* when it was woken; 0: it did not wait, or the waking was not seen */
	struct kernel_task waker; /* the thread that woke it */
	__u64 left_ns; /* when it was preempted on this processor; 0: it was not, or not known */
	struct kernel_task rival; /* the thread that ran here longest from left_ns on */
	char name[KERNEL_NAME_BYTES];
};

/* Counts of data that did not fit into a map or ring: indices of the BPF map `counts`. */
enum kernel_count {
	KERNEL_COUNT_RECORDS = 0,
	KERNEL_COUNT_PROCESSES = 1,
	KERNEL_COUNT_INTERRUPTS = 2, /* handled interrupts */
	KERNEL_COUNT_WAKINGS = 3,
	KERNEL_COUNT_KERNEL_STACKS = 4, /* or stacks that could not be captured */
	KERNEL_COUNT_USER_STACKS = 5,
	KERNEL_COUNT_PYTHON_SAMPLES = 6,
	KERNEL_COUNTS
};

/* The time that one interrupt handler took from the threads of one process while they were on
 * processors: key and value of a BPF map. */
enum { KERNEL_INTERRUPT_NAME_BYTES = 32 };
#define KERNEL_SOFT_INTERRUPT 0x80000000u

struct kernel_interrupt_key {
	__u32 tgid;
	__u32 number; /* number of the interrupt; softirq: its vector | KERNEL_SOFT_INTERRUPT */
};

struct kernel_interrupt {
	__u64 spent_ns;
	char name[KERNEL_INTERRUPT_NAME_BYTES]; /* name given by the driver; "" for a softirq */
};

/* Kernel addresses and their names for one run of src/bpf/names.bpf.c. A name is
 * "function+0x12/0x80 [module]", cut at KERNEL_TEXT_BYTES. The recorder maps this memory. */
enum { KERNEL_ADDRESSES_MAX = 64, KERNEL_TEXT_BYTES = 256 };

struct kernel_texts {
	__u64 addresses[KERNEL_ADDRESSES_MAX];
	char texts[KERNEL_ADDRESSES_MAX][KERNEL_TEXT_BYTES];
};

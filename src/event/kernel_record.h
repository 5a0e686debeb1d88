/* SPDX-License-Identifier: MIT
 *
 * event/kernel_record.h - what our programs inside the kernel tell the recorder
 *
 * Written by src/bpf, read by src/collect; both are of one build, so this is no format that lasts. The kernel's own
 * integers, as its territory has no other headers.
 */
#ifndef EVENT_KERNEL_RECORD_H
#define EVENT_KERNEL_RECORD_H

#include <linux/types.h>

enum { KERNEL_NAME_BYTES = 16, KERNEL_FRAMES_MOST = 32, KERNEL_STACK_BYTES = 16 << 10 };

/* A thread as the kernel names it. tid 0: none; a processor that idles has both 0. */
struct kernel_task {
	__u32 tgid, tid;
	char name[KERNEL_NAME_BYTES];
};

enum kernel_record_kind {
	KERNEL_RECORD_OUT = 1, /* struct kernel_out */
	KERNEL_RECORD_IN = 2,  /* struct kernel_in */
};

enum kernel_record_flags {
	KERNEL_PREEMPTED = 1 << 0,  /* it could have gone on */
	KERNEL_IO_WAIT = 1 << 1,    /* it waits for a disk, as the kernel counts */
	KERNEL_IN_CALL = 1 << 2,    /* call and arguments are those of a system call */
	KERNEL_HAS_LOCK = 1 << 3,   /* of a futex: lock was read */
	KERNEL_INTERRUPT = 1 << 4,  /* it was woken by an interrupt, whoever ran then */
	KERNEL_FAULT = 1 << 5,      /* outside of calls, for a page: fault_address */
	KERNEL_STOPPED = 1 << 6,    /* by a signal, or a debugger */
	KERNEL_EXITED = 1 << 7,     /* it does not come back */
	KERNEL_OWN_THREAD = 1 << 8, /* of the kernel's */
};

struct kernel_head {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u16 kind;    /* enum kernel_record_kind */
	__u16 cpu;
	__u32 tid; /* of whom it tells */
	__u32 tgid;
	__u32 flags; /* enum kernel_record_flags */
};

/* The word that a futex waits for, and where a mutex of glibc's has its owner and kind. */
struct kernel_lock {
	__u32 word, owner, kind;
};

/* A recorded thread goes off its processor. */
struct kernel_out {
	struct kernel_head head;
	struct kernel_task next; /* who got the processor */
	__s64 call;              /* number of the system call that it is in */
	__u64 arguments[3];
	struct kernel_lock lock;
	__u32 disk; /* device number of the last request that it made; 0: none */
	__u32 file_device; /* … of the file system of the call's file; of one that is a device, its own; 0: it has none */
	__s32 stack;      /* of the kernel's frames, in the map of stacks; below 0: not taken */
	__u16 file_mode;  /* of the call's file, as in stat(2); 0: none */
	__u8 family;      /* of a socket: AF_INET, … */
	__u8 socket_type; /* … SOCK_STREAM, … */
	__u16 own_port;   /* … of AF_INET and AF_INET6; 0: not bound */
	__u16 peer_port;  /* 0: not connected */
	__u64 fault_address;
	__u32 mappings; /* changes with the mappings of the process, of a wait for a futex or a page; 0: not known */
	__u32 reserved;
	__u64 user_stack; /* what stands for all that has these registers and this stack; 0: not known */
};

/* The first of those that a user_stack stands for. */
struct kernel_stack {
	__u64 user_stack;
	__u64 ip, sp, bp;
	__u32 tgid;
	__u32 bytes; /* from sp on */
	__u8 stack[KERNEL_STACK_BYTES +
		   4096]; /* a page more than is used: the verifier counts on the worst */
};

/* … comes back. */
struct kernel_in {
	struct kernel_head head;
	__u64 woken_ns;           /* when it was let go on; 0: it never waited, or nobody saw it */
	struct kernel_task waker; /* who let it */
	char name[KERNEL_NAME_BYTES];
};

/* What had no room inside the kernel: the places in the map `counts`. */
enum kernel_count {
	KERNEL_COUNT_RECORDS = 0,
	KERNEL_COUNT_PROCESSES = 1,
	KERNEL_COUNT_INTERRUPTS = 2, /* handlings of them */
	KERNEL_COUNT_WAKINGS = 3,
	KERNEL_COUNT_KERNEL_STACKS = 4, /* or could not be taken */
	KERNEL_COUNT_USER_STACKS = 5,
	KERNEL_COUNTS
};

/* Of a process and a handler: what it took of the time that threads of that process had on processors. */
enum { KERNEL_INTERRUPT_NAME_BYTES = 32 };
#define KERNEL_SOFT_INTERRUPT 0x80000000u

struct kernel_interrupt_key {
	__u32 tgid;
	__u32 number; /* of the interrupt; of a soft one its vector, with KERNEL_SOFT_INTERRUPT */
};

struct kernel_interrupt {
	__u64 spent_ns;
	char name[KERNEL_INTERRUPT_NAME_BYTES]; /* the driver's; "": of a soft one */
};

/* Addresses that the kernel names in one run of src/bpf/names.bpf.c, and its texts: "function+0x12/0x80 [module]", cut
 * at KERNEL_TEXT_BYTES. The recorder maps it. */
enum { KERNEL_ADDRESSES_MAX = 64, KERNEL_TEXT_BYTES = 256 };

struct kernel_texts {
	__u64 addresses[KERNEL_ADDRESSES_MAX];
	char texts[KERNEL_ADDRESSES_MAX][KERNEL_TEXT_BYTES];
};

#endif

/* SPDX-License-Identifier: MIT
 *
 * event/call_record.h - what our program at functions of a library tells of their calls
 *
 * Written by src/bpf/calls.bpf.c, read by src/collect/call_probes.c; both are of one build, so this is no format that lasts.
 */
#ifndef EVENT_CALL_RECORD_H
#define EVENT_CALL_RECORD_H

#include "event/kernel_record.h"

/* A call begins. */
struct call_record {
	struct kernel_head head; /* kind: CALL_RECORD */
	__u64 user_stack;        /* as in struct kernel_out */
	__u32 function;          /* which one, as it was attached */
	__u32 reserved;
	char thread[KERNEL_NAME_BYTES];
};
enum { CALL_RECORD = 1 };

/* A probe's cookie: the function, and whether its stacks are wanted. */
#define CALL_COOKIE_STACKS (1ULL << 32)

/* What had no room inside the kernel: the places in the map `counts`. */
enum call_count { CALL_COUNT_RECORDS = 0, CALL_COUNT_STACKS = 1, CALL_COUNTS };

#endif

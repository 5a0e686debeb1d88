/* SPDX-License-Identifier: MIT
 *
 * event/call_record.h - records of library calls, from the BPF program on the library's functions
 * to the recorder
 *
 * Written by src/bpf/calls.bpf.c, read by src/collect/enter/call_probes.c. Both are always of one
 * build, so the format may change at any time.
 */
#pragma once

#include "event/kernel_record.h"

/* A call begins. */
struct call_record {
	struct kernel_head head; /* kind: CALL_RECORD */
	__u64 user_stack;        /* as in struct kernel_out */
	__u32 function;          /* number of the function, given when the probe was attached */
	__u32 reserved;
	char thread[KERNEL_NAME_BYTES];
};
enum { CALL_RECORD = 1 };

/* A probe's cookie: the number of the function, and this bit if stacks are wanted. */
#define CALL_COOKIE_STACKS (1ULL << 32)

/* Counts of data that did not fit into a map or ring: indices of the BPF map `counts`. */
enum call_count { CALL_COUNT_RECORDS = 0, CALL_COUNT_STACKS = 1, CALL_COUNTS };

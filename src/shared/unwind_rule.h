/* SPDX-License-Identifier: MIT
 *
 * shared/unwind_rule.h - where the frame of an instruction begins, on x86-64
 *
 * Runs in:  guests, which walk their own stack, and the recorder, which walks copies; freestanding
 */
#pragma once

#include <stdint.h>

enum rule_type {
	RULE_NONE,       /* not learned yet */
	RULE_SP,         /* the frame begins at rsp + cfa */
	RULE_BP,         /* … at rbp + cfa */
	RULE_BP_POINTER, /* … where the word at rbp + cfa points: stacks aligned by hand */
	RULE_SIGNAL,     /* the kernel has stored the registers at rsp (signal frame) */
	RULE_OUTERMOST,  /* the outermost function, which has no caller */
	RULE_UNKNOWN     /* no table, or a row of a shape that compilers do not write */
};

enum saved_bp {
	BP_SAME,   /* unchanged so far */
	BP_AT_CFA, /* saved at the frame's begin + bp */
	BP_AT_BP   /* saved where rbp + bp points */
};

/* The return address lies 8 bytes below the frame's begin. The rule is one word, so that it is read
 * and written as a whole. tag: free for the code that stores the rule; 0 in a new one. */
union unwind_rule {
	uint64_t word;
	struct {
		uint64_t type : 3;
		uint64_t saved : 2;
		int64_t cfa : 24; /* bytes */
		int64_t bp : 16;  /* bytes */
		uint64_t tag : 19;
	};
};

/* Byte offsets of the interrupted registers in the kernel's struct ucontext, which lies at rsp if
 * the rule is RULE_SIGNAL. */
enum { UNWIND_UC_BP = 120, UNWIND_UC_SP = 160, UNWIND_UC_IP = 168 };

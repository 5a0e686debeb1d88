/* SPDX-License-Identifier: MIT
 *
 * event/unwind_rule.h - where the frame of an instruction begins, on x86-64
 *
 * Runs in:  guests, which walk their own stack, and the recorder, which walks copies; freestanding
 */
#ifndef EVENT_UNWIND_RULE_H
#define EVENT_UNWIND_RULE_H

#include <stdint.h>

enum rule_type {
	RULE_NONE,       /* not learned yet */
	RULE_SP,         /* the frame begins at rsp + cfa */
	RULE_BP,         /* … at rbp + cfa */
	RULE_BP_POINTER, /* … where the word at rbp + cfa points: stacks aligned by hand */
	RULE_SIGNAL,     /* the kernel put the registers at rsp */
	RULE_OUTERMOST,  /* nothing called it */
	RULE_UNKNOWN     /* no table, or a row of a shape that compilers do not write */
};

enum saved_bp {
	BP_SAME,   /* not touched yet */
	BP_AT_CFA, /* saved at the frame's begin + bp */
	BP_AT_BP   /* saved where rbp + bp points */
};

/* The return address lies 8 bytes below the frame's begin. One word, so that it is read and written whole. tag:
 * free for whoever keeps the rule, 0 in a new one. */
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

/* Of the kernel's struct ucontext, which lies at rsp where RULE_SIGNAL holds: bytes to the registers of what was
 * interrupted. */
enum { UNWIND_UC_BP = 120, UNWIND_UC_SP = 160, UNWIND_UC_IP = 168 };

#endif

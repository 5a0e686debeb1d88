/* SPDX-License-Identifier: MIT
 *
 * symbol/unwind_walk.h - who called whom, from registers and a copy of the stack (x86-64)
 *
 * Pure: reads what it is given and asks its callbacks.
 */
#ifndef SYMBOL_UNWIND_WALK_H
#define SYMBOL_UNWIND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/unwind_rule.h"

struct unwind_state {
	uint64_t ip, sp, bp;
	const uint8_t *stack; /* copy of the memory from sp on */
	size_t stack_bytes;
	bool has_bp; /* false: bp is not known, as in /proc/PID/syscall */
};

/* The rule of the instruction at `pc` in the process; of a call that was left, pc is one before its return address.
 * RULE_NONE and RULE_UNKNOWN: there is none. */
typedef union unwind_rule (*unwind_find_rule)(void *context, uint64_t pc);

enum unwind_code {
	UNWIND_CODE_NONE,      /* no instruction can be there */
	UNWIND_CODE_SOME,      /* one can, and whether a call precedes it is not known */
	UNWIND_CODE_AFTER_CALL /* … and a call precedes it: unwind_is_after_call */
};
typedef enum unwind_code (*unwind_find_code)(void *context, uint64_t pc);

struct unwind_walk_frame {
	uint64_t pc, sp;
	bool is_return; /* pc is behind a call; else it is of the very instruction */
	bool is_guessed; /* found without a rule: this frame, and with it all further out, may be wrong */
};

enum unwind_walk_end {
	UNWIND_WALK_OUTERMOST,
	UNWIND_WALK_STACK_SHORT, /* the copy ends before the frame */
	UNWIND_WALK_NO_RULE,     /* and no guess; or a rule that needs bp, which is not known */
	UNWIND_WALK_BROKEN,      /* rules and stack do not fit each other */
	UNWIND_WALK_FULL         /* there are more than `most` frames */
};

/* Innermost frame first; returns how many, at most `most`. find_code NULL: nothing is guessed. */
size_t unwind_walk(const struct unwind_state *state, unwind_find_rule find_rule,
		   unwind_find_code find_code, void *context, struct unwind_walk_frame *frames,
		   size_t most, enum unwind_walk_end *ret_end);

/* Whether the `size` bytes before an address can end in a call. 7 are enough. */
bool unwind_is_after_call(const uint8_t *bytes, size_t size);

#endif

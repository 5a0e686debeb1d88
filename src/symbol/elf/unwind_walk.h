/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/unwind_walk.h - unwind a stack from registers and a copy of its memory (x86-64)
 *
 * Pure:     reads only its arguments and calls its callbacks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/unwind_rule.h"

struct unwind_state {
	uint64_t ip, sp, bp;
	const uint8_t *stack; /* copy of the memory from sp on */
	size_t stack_bytes;
	bool has_bp; /* false: bp is unknown, as in /proc/PID/syscall */
};

/* The rule of the instruction at `pc` in the process; for a caller, pc is one before its return
 * address. RULE_NONE and RULE_UNKNOWN: there is none. */
typedef union unwind_rule (*unwind_find_rule)(void *context, uint64_t pc);

enum unwind_code {
	UNWIND_CODE_NONE,      /* no instruction can be there */
	UNWIND_CODE_SOME,      /* code, not known whether a call precedes it */
	UNWIND_CODE_AFTER_CALL /* code, and a call precedes it: unwind_is_after_call */
};
typedef enum unwind_code (*unwind_find_code)(void *context, uint64_t pc);

struct unwind_walk_frame {
	uint64_t pc, sp;
	/* pc is a return address, otherwise the address of the instruction itself */
	bool is_return;
	/* found without a rule: this frame and all frames further out may be wrong */
	bool is_guessed;
};

enum unwind_walk_end {
	UNWIND_WALK_OUTERMOST,
	UNWIND_WALK_STACK_SHORT, /* the copy ends before the frame */
	UNWIND_WALK_NO_RULE,     /* and no guess; or a rule that needs bp, which is unknown */
	UNWIND_WALK_BROKEN,      /* rules and stack contradict each other */
	UNWIND_WALK_FULL         /* there are more than `most` frames */
};

/* Innermost frame first; returns the number of frames, at most `most`. find_code NULL: no guesses.
 */
size_t unwind_walk(const struct unwind_state *state, unwind_find_rule find_rule,
		   unwind_find_code find_code, void *context, struct unwind_walk_frame *frames,
		   size_t most, enum unwind_walk_end *ret_end);

/* Whether the `size` bytes before an address can end in a call. 7 bytes are enough. */
bool unwind_is_after_call(const uint8_t *bytes, size_t size);

/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/unwind_walk.c - unwind a stack from registers and a copy of its memory
 *
 * Runs in:  the recorder, hundreds of times a second
 * Gets:     registers, a copy of the stack, rules
 * Gives:    addresses
 * Owns:     nothing
 * Fails:    with a stack that ends early, and the reason; never reads outside the copy
 * Why a caller is guessed: JIT code often has no tables. An OpenCL kernel for the CPU is usually
 *           one function without calls, so only one guess is needed to find its caller. The outer
 *           frames have tables and lead to the launching code
 */
#include "symbol/elf/unwind_walk.h"

#include <string.h>

enum { SEARCHED_BYTES = 2048 }; /* max bytes searched for the caller of a frame without a rule */

/* The current frame of the walk. */
struct step {
	uint64_t pc, sp, bp;
	bool has_bp, is_return, is_guessed;
};

struct walk {
	const struct unwind_state *state;
	unwind_find_rule find_rule;
	unwind_find_code find_code;
	void *context;
};

/* Programs have 47 address bits, 56 with five levels of page tables; nothing is mapped in the first
 * page. */
static bool is_address(uint64_t address)
{
	return address >= 4096 && address >> 56 == 0;
}

/* UNWIND_WALK_OUTERMOST: success. */
static enum unwind_walk_end read_word(const struct unwind_state *state, uint64_t address,
				      uint64_t *ret_value)
{
	uint64_t into = address - state->sp;

	if (address < state->sp || !is_address(address))
		return UNWIND_WALK_BROKEN;
	if (state->stack_bytes < sizeof(*ret_value) ||
	    into > state->stack_bytes - sizeof(*ret_value))
		return UNWIND_WALK_STACK_SHORT;
	memcpy(ret_value, state->stack + into, sizeof(*ret_value));
	return UNWIND_WALK_OUTERMOST;
}

/* A signal handler may run on another stack than the code it interrupted. */
static enum unwind_walk_end leave_signal(const struct walk *walk, struct step *step)
{
	uint64_t at = step->sp;
	enum unwind_walk_end end = read_word(walk->state, at + UNWIND_UC_IP, &step->pc);

	if (!end)
		end = read_word(walk->state, at + UNWIND_UC_BP, &step->bp);
	if (!end)
		end = read_word(walk->state, at + UNWIND_UC_SP, &step->sp);
	step->has_bp = true;
	step->is_return = false;
	return end;
}

/* The start of the frame; same results as above. */
static enum unwind_walk_end find_begin(const struct walk *walk, const struct step *step,
				       union unwind_rule rule, uint64_t *ret_cfa)
{
	uint64_t from = rule.type == RULE_SP ? step->sp : step->bp;
	uint64_t at = from + (uint64_t)(int64_t)rule.cfa;

	if (rule.type != RULE_SP && !step->has_bp)
		return UNWIND_WALK_NO_RULE;
	if (rule.type == RULE_BP_POINTER)
		return read_word(walk->state, at, ret_cfa);
	*ret_cfa = at;
	return UNWIND_WALK_OUTERMOST;
}

/* Ignores a saved rbp below sp: gcc's tables still name its place after it was popped. */
static enum unwind_walk_end restore_bp(const struct walk *walk, struct step *step,
				       union unwind_rule rule, uint64_t cfa)
{
	uint64_t at = (rule.saved == BP_AT_CFA ? cfa : step->bp) + (uint64_t)(int64_t)rule.bp;
	enum unwind_walk_end end;

	if (rule.saved == BP_SAME || (rule.saved == BP_AT_BP && !step->has_bp) || at < step->sp)
		return UNWIND_WALK_OUTERMOST;
	end = read_word(walk->state, at, &step->bp);
	step->has_bp = true;
	return end;
}

static enum unwind_walk_end leave_frame(const struct walk *walk, struct step *step,
					union unwind_rule rule)
{
	uint64_t cfa;
	enum unwind_walk_end end = find_begin(walk, step, rule, &cfa);

	if (end)
		return end;
	/* A frame must lie above its callee, otherwise a loop would never end. */
	if (cfa <= step->sp)
		return UNWIND_WALK_BROKEN;
	end = read_word(walk->state, cfa - 8, &step->pc);
	if (!end)
		end = restore_bp(walk, step, rule, cfa);
	step->sp = cfa;
	step->is_return = true;
	return end;
}

/* ---- guesses --------------------------------------------------------------------------------- */

static enum unwind_code code_at(const struct walk *walk, uint64_t at, uint64_t *ret_pc)
{
	if (read_word(walk->state, at, ret_pc) || !is_address(*ret_pc))
		return UNWIND_CODE_NONE;
	return walk->find_code(walk->context, *ret_pc);
}

/* A leaf that has put nothing on the stack, or any function at its start or end. Tried before the
 * frame pointer, which at these places is still the caller's: the caller would be left out. */
static bool guess_leaf(const struct walk *walk, struct step *step)
{
	uint64_t pc;

	if (step->is_return || code_at(walk, step->sp, &pc) != UNWIND_CODE_AFTER_CALL)
		return false;
	step->pc = pc;
	step->sp += 8;
	return true;
}

static bool guess_by_bp(const struct walk *walk, struct step *step)
{
	uint64_t pc, bp, at = step->bp;

	if (!step->has_bp || at < step->sp || at % 8 ||
	    code_at(walk, at + 8, &pc) < UNWIND_CODE_SOME || read_word(walk->state, at, &bp))
		return false;
	step->pc = pc;
	step->bp = bp;
	step->sp = at + 16;
	return true;
}

/* For a frame of unknown size without a frame pointer (trampolines of Python 3.12, kernels of
 * PoCL): take the next word on the stack that follows a call and leads into code with tables. A
 * stale return address that was not overwritten is mistaken for it. */
static bool guess_by_search(const struct walk *walk, struct step *step)
{
	for (uint64_t at = step->sp; at < step->sp + SEARCHED_BYTES; at += 8) {
		union unwind_rule rule;
		uint64_t pc;

		if (code_at(walk, at, &pc) != UNWIND_CODE_AFTER_CALL)
			continue;
		rule = walk->find_rule(walk->context, pc - 1);
		if (rule.type == RULE_NONE || rule.type == RULE_UNKNOWN)
			continue;
		step->pc = pc;
		step->sp = at + 8;
		return true;
	}
	return false;
}

static bool guess(const struct walk *walk, struct step *step)
{
	if (!walk->find_code ||
	    (!guess_leaf(walk, step) && !guess_by_bp(walk, step) && !guess_by_search(walk, step)))
		return false;
	step->is_return = step->is_guessed = true;
	return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static union unwind_rule rule_of(const struct walk *walk, const struct step *step)
{
	union unwind_rule rule = walk->find_rule(walk->context, step->pc - step->is_return), before;

	if (step->is_return || (rule.type != RULE_NONE && rule.type < RULE_UNKNOWN))
		return rule;
	/* In the system call that leaves a signal handler, ip is already after the last entry of
	 * the table. */
	before = walk->find_rule(walk->context, step->pc - 1);
	return before.type == RULE_SIGNAL ? before : rule;
}

/* Moves to the calling frame; true: there is one. frame: the frame that was left. */
static bool move_out(const struct walk *walk, struct step *step, struct unwind_walk_frame *frame,
		     enum unwind_walk_end *ret_end)
{
	union unwind_rule rule = rule_of(walk, step);
	enum unwind_walk_end end;

	step->is_guessed = false;
	*ret_end = UNWIND_WALK_OUTERMOST;
	if (rule.type == RULE_OUTERMOST)
		return false;
	if (rule.type == RULE_NONE || rule.type >= RULE_UNKNOWN) {
		*ret_end = UNWIND_WALK_NO_RULE;
		return guess(walk, step);
	}
	/* A handler is called by the kernel: there is no call before its return address. */
	frame->is_return &= rule.type != RULE_SIGNAL;
	end = rule.type == RULE_SIGNAL ? leave_signal(walk, step) : leave_frame(walk, step, rule);
	/* A return address of 0 has no caller: so start coroutines and threads of some libraries.
	 */
	if (!end && !step->pc)
		return false;
	if (!end && !is_address(step->pc))
		end = UNWIND_WALK_BROKEN;
	*ret_end = end;
	return !end;
}

size_t unwind_walk(const struct unwind_state *state, unwind_find_rule find_rule,
		   unwind_find_code find_code, void *context, struct unwind_walk_frame *frames,
		   size_t most, enum unwind_walk_end *ret_end)
{
	const struct walk walk = {state, find_rule, find_code, context};
	struct step step = {state->ip, state->sp, state->bp, state->has_bp, false, false};
	size_t count = 0;

	*ret_end = UNWIND_WALK_BROKEN;
	if (!is_address(step.pc))
		return 0;
	do {
		if (count == most) {
			*ret_end = UNWIND_WALK_FULL;
			break;
		}
		frames[count++] = (struct unwind_walk_frame){step.pc, step.sp, step.is_return,
							     step.is_guessed};
	} while (move_out(&walk, &step, &frames[count - 1], ret_end));
	return count;
}

/* call rel32 is E8 and 4 bytes; call r/m64 is FF /2, whose second byte determines the length. */
bool unwind_is_after_call(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;

	if (size >= 5 && end[-5] == 0xe8)
		return true;
	for (size_t length = 2; length <= 7 && length <= size; length++) {
		uint8_t form = end[1 - (ptrdiff_t)length], mode = form >> 6, base = form & 7;
		size_t wanted = 2 + (mode == 1 ? 1 : mode == 2 ? 4 : 0);

		if (end[-(ptrdiff_t)length] != 0xff || (form >> 3 & 7) != 2)
			continue;
		if (mode != 3 && base == 4) { /* one more byte, with base and index */
			wanted++;
			if (length >= 3)
				base = end[2 - (ptrdiff_t)length] & 7;
		}
		if (mode == 0 && base == 5)
			wanted += 4;
		if (length == wanted)
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT
 *
 * inject/unwind.c - walk the stack by the unwind rules of unwind_rules.c
 *
 * Runs in:  the profiled process, at launches and waits
 * Gets:     the registers of the caller
 * Gives:    return addresses
 * Owns:     nothing; the steps of the last walk are in the thread's memory
 * Fails:    with a stack that ends early, and the reason; never with a fault: memory is checked
 *           before it is read
 * Why:      programs are built without frame pointers. With a rule that is already in the table, a
 *           frame takes 5 ns. If the outer frames are those of the last walk, checking them takes 1
 *           ns each.
 */
#include "inject/unwind.h"

#if defined(__x86_64__)

#include <string.h>
#include <sys/syscall.h>
#include <unwind.h>

#include "inject/unwind_rules.h"

/* ---- the walk -------------------------------------------------------------------------------- */

enum { STACK_PAGE = 4096, MAX_STACK_JUMP = 1 << 20 };

/* The kernel reads the signal set before it checks the operation. 70 ns, and no missing page is
 * touched: tables may be wrong, and a profiler must not crash because of that. */
static bool is_readable(uint64_t address)
{
	const long what = -1;
	long result;

	register uint64_t size __asm__("r10") = 8;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_rt_sigprocmask), "D"(what), "S"(address), "d"(0), "r"(size)
			 : "rcx", "r11", "memory");
	return result != -14 /* EFAULT */;
}

/* Switches to the stack at sp: keeps its known pages, or none if it is another stack. */
static bool enter_stack(struct unwind_thread *thread, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(STACK_PAGE - 1);

	if (GUEST_LIKELY(sp >= thread->low && sp < thread->high))
		return true;
	if (page >= thread->high || thread->low - page > MAX_STACK_JUMP) {
		if (!is_readable(page))
			return false;
		thread->low = page;
		thread->high = page + STACK_PAGE;
		return true;
	}
	while (thread->low > page) {
		if (!is_readable(thread->low - STACK_PAGE))
			return false;
		thread->low -= STACK_PAGE;
	}
	return true;
}

static __attribute__((noinline, cold)) bool extend_stack(struct unwind_thread *thread,
							 uint64_t address)
{
	if (address < thread->low || address % 8)
		return false;
	/* After a frame of that size only the word itself is checked: no page in between is
	 * touched. */
	if (address - thread->high > MAX_STACK_JUMP)
		return is_readable(address);
	while (address >= thread->high) {
		if (!is_readable(thread->high))
			return false;
		thread->high += STACK_PAGE;
	}
	return true;
}

static inline bool read_stack(struct unwind_thread *thread, uint64_t address, uint64_t *ret_value)
{
	if (GUEST_UNLIKELY(address < thread->low || address >= thread->high || address % 8) &&
	    !extend_stack(thread, address))
		return false;
	*ret_value = *(const uint64_t *)address;
	return true;
}

/* The kernel's struct ucontext is at sp. */
static bool leave_signal(struct unwind_thread *thread, struct unwind_step *step)
{
	uint64_t at = step->sp, pc;

	if (!read_stack(thread, at + UNWIND_UC_IP, &pc) ||
	    !read_stack(thread, at + UNWIND_UC_BP, &step->bp) ||
	    !read_stack(thread, at + UNWIND_UC_SP, &step->sp))
		return false;
	step->frame = pc | UNWIND_EXACT;
	step->bp_at = 0;
	return enter_stack(thread, step->sp);
}

static inline bool leave_frame(struct unwind_thread *thread, struct unwind_step *step,
			       union unwind_rule rule)
{
	uint64_t cfa, bp = step->bp;

	if (GUEST_LIKELY(rule.type == RULE_SP))
		cfa = step->sp + (uint64_t)rule.cfa;
	else if (rule.type == RULE_BP)
		cfa = bp + (uint64_t)rule.cfa;
	else if (!read_stack(thread, bp + (uint64_t)rule.cfa, &cfa))
		return false;
	/* A frame must lie above its callee, otherwise a loop would never end. */
	if (cfa <= step->sp || !read_stack(thread, cfa - 8, &step->frame))
		return false;
	step->bp_at = 0;
	if (rule.saved != BP_SAME) {
		step->bp_at = (rule.saved == BP_AT_CFA ? cfa : bp) + (uint64_t)rule.bp;
		if (!read_stack(thread, step->bp_at, &step->bp))
			return false;
	}
	step->sp = cfa;
	return true;
}

/* Moves to the calling frame. False at the end. ret_plain: is_unchanged checks all that this frame
 * depends on. */
static inline bool step_out(struct unwind_thread *thread, struct unwind_step *step,
			    enum unwind_end *ret_end, bool *ret_plain)
{
	union unwind_rule rule = unwind_find_rule(step->frame);
	bool moved;

	if (GUEST_UNLIKELY(rule.type == RULE_NONE))
		rule = unwind_learn_rule(step->frame);
	*ret_plain = rule.type == RULE_SP || rule.type == RULE_BP;
	*ret_end = UNWIND_COMPLETE;
	if (GUEST_UNLIKELY(rule.type == RULE_OUTERMOST))
		return false;
	*ret_end = UNWIND_NO_RULE;
	if (GUEST_UNLIKELY(rule.type == RULE_UNKNOWN))
		return false;
	moved = GUEST_UNLIKELY(rule.type == RULE_SIGNAL) ? leave_signal(thread, step)
							 : leave_frame(thread, step, rule);
	*ret_end = moved ? UNWIND_COMPLETE : UNWIND_BROKEN;
	return moved && step->frame;
}

/* Start of this library, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static inline bool is_own(uint64_t frame)
{
	return (frame & ~UNWIND_EXACT) - (uint64_t)__ehdr_start < (uint64_t)(etext - __ehdr_start);
}

static inline uint64_t add_to_hash(uint64_t hash, uint64_t frame)
{
	hash = (hash ^ frame) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* ---- stacks of many frames ------------------------------------------------------------------- */

static void reverse(uint64_t *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		uint64_t other = frames[i];

		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = other;
	}
}

/* The outermost frames are in a circular buffer: the oldest of them goes to the front. */
static void close_stack(struct unwind *stack, uint32_t depth)
{
	uint64_t *outer = stack->frames + UNWIND_END_FRAMES;
	uint32_t shift;

	stack->count = depth < MAX_UNWIND_FRAMES ? depth : MAX_UNWIND_FRAMES;
	stack->truncated = depth - stack->count;
	if (!stack->truncated)
		return;
	shift = (depth - UNWIND_END_FRAMES) % UNWIND_END_FRAMES;
	reverse(outer, shift);
	reverse(outer + shift, UNWIND_END_FRAMES - shift);
	reverse(outer, UNWIND_END_FRAMES);
}

/* Walks the whole stack step by step, without keeping anything for the next walk. */
static void walk_deep(struct unwind_thread *thread, struct unwind_step step)
{
	struct unwind *stack = &thread->deep;
	uint32_t depth = 0;
	bool plain;

	thread->count = 0;
	stack->hash = 0;
	for (uint32_t i = 0; i < MAX_UNWIND_DEPTH && step_out(thread, &step, &stack->end, &plain);
	     i++) {
		uint32_t index = depth;

		if (!depth && is_own(step.frame))
			continue;
		if (index >= MAX_UNWIND_FRAMES)
			index = UNWIND_END_FRAMES + (index - UNWIND_END_FRAMES) % UNWIND_END_FRAMES;
		stack->frames[index] = step.frame;
		stack->hash = add_to_hash(stack->hash, step.frame);
		depth++;
	}
	close_stack(stack, depth);
	stack->hash = add_to_hash(stack->hash, stack->end);
}

/* ---- stacks like the last one ---------------------------------------------------------------- */

/* True if the frames from a step of the last walk on are unchanged. A walk is a chain of dependent
 * loads; comparing words with their old values needs no chain. Inner frames are compared first: if
 * they are unchanged, the words of the next ones exist. */
static bool is_unchanged(const struct unwind_thread *thread, uint32_t from)
{
	const struct unwind_step *step = thread->steps + from + 1;
	const struct unwind_step *end = thread->steps + thread->count;

	for (; step < end; step++)
		if (*(const uint64_t *)(step->sp - 8) != step->frame ||
		    (step->bp_at && *(const uint64_t *)step->bp_at != step->bp))
			return false;
	return true;
}

/* Puts the steps of this walk in front of those of the last one from `old` on. False: too many. */
static bool join_steps(struct unwind_thread *thread, uint32_t fresh, uint32_t old)
{
	uint32_t tail = thread->count - old;

	if (fresh + tail > MAX_UNWIND_STEPS)
		return false;
	if (fresh != old)
		memmove(thread->steps + fresh, thread->steps + old,
			tail * sizeof(thread->steps[0]));
	memcpy(thread->steps, thread->fresh, fresh * sizeof(thread->steps[0]));
	thread->count = fresh + tail;
	return true;
}

static uint64_t hash_steps(struct unwind_thread *thread, uint32_t fresh)
{
	struct unwind_step *steps = thread->steps;
	uint64_t hash = fresh < thread->count ? steps[fresh].hash : thread->end;
	uint32_t own = 0;

	while (fresh-- > 0)
		hash = steps[fresh].hash = add_to_hash(hash, steps[fresh].frame);
	while (own < thread->count && is_own(steps[own].frame))
		own++;
	thread->own = own;
	return own < thread->count ? steps[own].hash : thread->end;
}

/* Walks to the outermost frame, or to a frame of the last walk from which nothing has changed: most
 * stacks differ from the previous one only in their innermost frames. False: too many frames. */
static bool walk_steps(struct unwind_thread *thread, struct unwind_step step, uint64_t *ret_hash)
{
	const struct unwind_step *last = thread->steps;
	uint32_t count = 0, old = thread->plain, plain_from = 0;
	bool plain, same, moved;
	enum unwind_end end;

	do {
		thread->fresh[count++] = step;
		while (old < thread->count && last[old].sp < step.sp)
			old++;
		same = old < thread->count && last[old].sp == step.sp &&
		       last[old].frame == step.frame && last[old].bp == step.bp;
		if (same && is_unchanged(thread, old))
			break;
		if (same) /* further out it will not be the same either */
			old = thread->count;
		same = false;
		moved = step_out(thread, &step, &end, &plain);
		if (moved && !plain)
			plain_from = count;
	} while (moved && count < MAX_UNWIND_STEPS);
	if (!same) {
		thread->end = end;
		thread->count = 0;
	}
	if ((!same && moved) || !join_steps(thread, count, same ? old + 1 : 0))
		return false;
	thread->plain = plain_from;
	*ret_hash = hash_steps(thread, count);
	return true;
}

__attribute__((noinline)) bool unwind_take(struct unwind_thread *thread, uint64_t *ret_hash)
{
	struct unwind_step step = {0};
	uint64_t unloads;

	if (GUEST_UNLIKELY(thread->busy))
		return false;
	thread->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	unloads = unwind_forget_unloaded(&thread->loads);
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=r"(step.frame), "=r"(step.sp), "=r"(step.bp));
	step.frame |= UNWIND_EXACT;
	if (GUEST_UNLIKELY(unloads != thread->unloads))
		thread->count = 0;
	thread->unloads = unloads;
	if (GUEST_UNLIKELY(!enter_stack(thread, step.sp))) {
		thread->busy = false;
		return false;
	}
	if (GUEST_UNLIKELY(!walk_steps(thread, step, ret_hash))) {
		walk_deep(thread, step);
		*ret_hash = thread->deep.hash;
	}
	return true;
}

void unwind_done(struct unwind_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = false;
}

bool unwind_has(const struct unwind_thread *thread, bool (*is)(uint64_t frame))
{
	for (uint32_t i = thread->own; i < thread->count; i++)
		if (is(thread->steps[i].frame))
			return true;
	for (uint32_t i = 0; !thread->count && i < thread->deep.count; i++)
		if (is(thread->deep.frames[i]))
			return true;
	return false;
}

void unwind_stack(const struct unwind_thread *thread, struct unwind *ret_stack)
{
	if (!thread->count) {
		*ret_stack = thread->deep;
		return;
	}
	ret_stack->count = thread->count - thread->own;
	ret_stack->truncated = 0;
	ret_stack->end = thread->end;
	for (uint32_t i = 0; i < ret_stack->count; i++)
		ret_stack->frames[i] = thread->steps[thread->own + i].frame;
	ret_stack->hash = ret_stack->count ? thread->steps[thread->own].hash : thread->end;
}

/* ---- check by another unwinder --------------------------------------------------------------- */

struct check {
	const struct unwind *stack;
	uint32_t depth;
	bool differs;
};

static _Unwind_Reason_Code check_frame(struct _Unwind_Context *context, void *data)
{
	struct check *check = data;
	const struct unwind *stack = check->stack;
	int is_exact = 0;
	uint64_t frame = _Unwind_GetIPInfo(context, &is_exact);
	uint32_t index;

	if (is_exact)
		frame |= UNWIND_EXACT;
	if (!frame || (!check->depth && is_own(frame)))
		return _URC_NO_REASON;
	index = check->depth++;
	if (stack->truncated && index >= UNWIND_END_FRAMES) {
		if (index < UNWIND_END_FRAMES + stack->truncated)
			return _URC_NO_REASON;
		index -= stack->truncated;
	}
	check->differs |= index < stack->count && stack->frames[index] != frame;
	return _URC_NO_REASON;
}

__attribute__((noinline)) bool unwind_check(const struct unwind *stack)
{
	struct check check = {.stack = stack};

	_Unwind_Backtrace(check_frame, &check);
	return !check.differs && (check.depth == stack->count + stack->truncated ||
				  (stack->end == UNWIND_NO_RULE && check.depth > stack->count));
}

#else

bool unwind_take(struct unwind_thread *thread, uint64_t *ret_hash)
{
	return false;
}

void unwind_done(struct unwind_thread *thread)
{
}

bool unwind_has(const struct unwind_thread *thread, bool (*is)(uint64_t frame))
{
	return false;
}

void unwind_stack(const struct unwind_thread *thread, struct unwind *ret_stack)
{
	*ret_stack = thread->deep;
}

bool unwind_check(const struct unwind *stack)
{
	return true;
}

struct unwind_counts unwind_counts(void)
{
	return (struct unwind_counts){0};
}

#endif
